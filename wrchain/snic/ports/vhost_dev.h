/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The device that a virtual machine's monitor sets up by vhost-user messages:
 * its memory, its two queues.  vhost_dev.c keeps it, vhost.c moves frames.
 */
#ifndef SNIC_VHOST_DEV_H
#define SNIC_VHOST_DEV_H

#include <stdbool.h>
#include "vhost_user.h"
#include "vring.h"

#define VHOST_RX		0	/* to the guest */
#define VHOST_TX		1	/* from the guest */
#define VHOST_QUEUES		2
#define VHOST_MAX_FDS		SNIC_GUEST_REGIONS

struct snic_vhost {
	struct snic_guest_mem mem;
	struct snic_vring rings[VHOST_QUEUES];
	uint64_t features;
	bool reply_ack;			/* VHOST_USER_PROTOCOL_F_REPLY_ACK */
};

void snic_vhost_init(struct snic_vhost *v);
/* All back to init(). */
void snic_vhost_clear(struct snic_vhost *v);
/* Bytes of struct virtio_net_hdr before each frame. */
size_t snic_vhost_header(const struct snic_vhost *v);
/*
 * Executes a message that came with nr file descriptors, which it takes, or
 * closes.  1: *msg is the answer now; 0: there is none; -errno: *msg makes no
 * sense, from here on nothing that the monitor says can be trusted.
 */
int snic_vhost_message(struct snic_vhost *v, struct vhost_user_msg *msg,
		       int *fds, unsigned int nr);

#endif /* SNIC_VHOST_DEV_H */
