/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of host/. */
#ifndef FAR_HOST_PRIV_H
#define FAR_HOST_PRIV_H

#include "host.h"

/* Ends and frees a queue of an attachment. The caller has unlinked it from attach->queues. */
void far_host_queue_end(struct far_host *host, struct far_host_attach *attach,
			struct far_host_link *link);

/* fence.c: handles a completion of the loop queue pair. False: of another queue pair. */
bool far_host_loop_note(struct far_host *host, const struct wrc_cqe *cqe);
void far_host_loop_fini(struct far_host *host);

#endif
