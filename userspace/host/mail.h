/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue pair for a few short messages, one at a time: what a handshake needs. It
 * reaches no memory but its own, and opens none to its peer.
 */
#ifndef FAR_HOST_MAIL_H
#define FAR_HOST_MAIL_H

#include <nic/nic.h>

/* Bytes of a message, and messages of each direction. */
#define FAR_MAIL_MAX	192u
#define FAR_MAIL_NR	2u

/**
 * struct far_mail - one that exists has dev
 * @mem:	receive queue, send queue, doorbell record; then what is sent and what comes
 * @key:	of the latter half
 * @sent, @taken: messages
 */
struct far_mail {
	struct nic *dev;
	uint32_t cqn, qpn, key;
	uint8_t *mem;
	unsigned sent, taken;
};

/* Not connected yet, and FAR_MAIL_NR messages may come. */
int far_mail_new(struct nic *dev, uint32_t pdn, struct far_mail *ret_mail);
/* No effect on one that does not exist. */
void far_mail_free(struct far_mail *mail);
/* -ENOBUFS: it was the last but one that was. */
int far_mail_send(struct far_mail *mail, const void *bytes, size_t len);
/* The next message. -EAGAIN: none yet. -EPIPE: none comes any more, or it was too long. */
int far_mail_take(struct far_mail *mail, uint8_t ret_bytes[FAR_MAIL_MAX],
		  size_t *ret_len);

#endif
