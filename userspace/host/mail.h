/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue pair for the few short messages of a handshake. The peer has no access to any
 * memory: messages are SENDs, received into the queue pair's own memory.
 */
#ifndef FAR_HOST_MAIL_H
#define FAR_HOST_MAIL_H

#include <nic/nic.h>

/* Most bytes of a message, and most messages in each direction. */
#define FAR_MAIL_MAX	192u
#define FAR_MAIL_NR	2u

/**
 * struct far_mail - a queue pair for messages; @dev is NULL while it does not exist
 * @mem:	receive queue, send queue, doorbell record, sent messages, received ones
 * @key:	lkey of the part of @mem that has the messages
 * @sent, @taken: numbers of messages
 */
struct far_mail {
	struct nic *dev;
	uint32_t cqn, qpn, key;
	uint8_t *mem;
	unsigned sent, taken;
};

/* Makes the queue pair, with receives posted for FAR_MAIL_NR messages; not connected. */
int far_mail_new(struct nic *dev, uint32_t pdn, struct far_mail *ret_mail);
/* No effect if mail->dev is NULL. */
void far_mail_free(struct far_mail *mail);
/* -ENOBUFS: FAR_MAIL_NR messages were sent already, or len is above FAR_MAIL_MAX. */
int far_mail_send(struct far_mail *mail, const void *bytes, size_t len);
/*
 * Takes the next message. -EAGAIN: none yet. -EPIPE: the connection failed, a message was
 * too long, or it was more than FAR_MAIL_NR.
 */
int far_mail_take(struct far_mail *mail, uint8_t ret_bytes[FAR_MAIL_MAX],
		  size_t *ret_len);

#endif
