/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the files of host/. */
#ifndef FAR_HOST_PRIV_H
#define FAR_HOST_PRIV_H

#include "host.h"

/* Ends and frees a queue of an attachment. The caller has unlinked it from attach->queues. */
void far_host_queue_end(struct far_host *host, struct far_host_attach *attach,
			struct far_host_link *link);

#endif
