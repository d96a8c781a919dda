/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The part of a call's link (peer/link.h) that is the same for all users of a NIC of
 * wrchain's table: the queue pair, and what the NIC's events mean. The user has the
 * connection itself.
 */
#ifndef FAR_HOST_NIC_LINK_H
#define FAR_HOST_NIC_LINK_H

#include "../peer/link.h"
#include "mail.h"
#include "qp.h"

/**
 * struct far_nic_link - a link whose queue pair is on @dev
 * @pdn, @cqn, @log_sq, @access: of a queue pair without messages; see far_qp_new()
 * @rq:	its receive queue; all zeros: none
 * @mail, @qp:	the queue pair of messages, or the other one
 */
struct far_nic_link {
	struct far_link link;
	struct nic *dev;
	uint32_t pdn, cqn;
	uint8_t log_sq;
	unsigned access;
	struct far_rq rq;
	struct far_mail mail;
	struct far_qp qp;
};

/* far_link_ops.open and .send. */
int far_nic_link_open(struct far_link *link, bool messages);
int far_nic_link_send(struct far_link *link, const void *bytes, size_t len);
/* Destroys the queue pair, if there is one. */
void far_nic_link_free(struct far_nic_link *l);
/* Translates an event of the connection. */
void far_nic_link_event(const struct nic_event *event, struct far_news *ret_news);
/* Takes a message, if one has come. True: *ret_news has changed. */
bool far_nic_link_take(struct far_nic_link *l, struct far_news *ret_news);

#endif
