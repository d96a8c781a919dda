/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between the files of host/. */
#ifndef FAR_HOST_PRIV_H
#define FAR_HOST_PRIV_H

#include "host.h"

/* Ends a queue of an attachment, which has been taken out of its list. */
void far_host_queue_end(struct far_host *host, struct far_host_attach *attach,
			struct far_host_link *link);

/* fence.c: of the loop queue's completions. False: it is none of its. */
bool far_host_loop_note(struct far_host *host, const struct wrc_cqe *cqe);
void far_host_loop_fini(struct far_host *host);

#endif
