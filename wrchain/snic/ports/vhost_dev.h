/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The device that a monitor configures by vhost-user messages: its memory and
 * its two queues.  vhost_dev.c handles messages, vhost.c moves frames.
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
/* Back to the state of snic_vhost_init(): closes descriptors, unmaps memory. */
void snic_vhost_clear(struct snic_vhost *v);
/* Size of the virtio header before each frame. */
size_t snic_vhost_header(const struct snic_vhost *v);
/*
 * Executes a message with nr file descriptors; keeps or closes each of them.
 * 1: *msg is the answer now.  0: there is no answer.  -errno: the message is
 * invalid; the caller closes the connection.  If the monitor asked for an
 * acknowledgement, the answer reports the error instead.
 */
int snic_vhost_message(struct snic_vhost *v, struct vhost_user_msg *msg,
		       int *fds, unsigned int nr);

#endif /* SNIC_VHOST_DEV_H */
