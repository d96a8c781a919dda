/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Links on a NIC; see nic_link.h. */
#include "nic_link.h"

#include <errno.h>
#include <string.h>

_Static_assert(NIC_PRIV_MAX <= sizeof(((struct far_news *)0)->bytes) &&
	       FAR_MAIL_MAX <= sizeof(((struct far_news *)0)->bytes), "room");

int far_nic_link_open(struct far_link *link, bool messages)
{
	struct far_nic_link *l = (struct far_nic_link *)link;
	int err = messages ? far_mail_new(l->dev, l->pdn, &l->mail) :
		  far_qp_new(l->dev, l->pdn, l->cqn, l->log_sq, l->access,
			     l->rq.log_rq ? &l->rq : NULL, &l->qp);

	link->qpn = messages ? l->mail.qpn : l->qp.qpn;
	return err;
}

int far_nic_link_send(struct far_link *link, const void *bytes, size_t len)
{
	return far_mail_send(&((struct far_nic_link *)link)->mail, bytes, len);
}

void far_nic_link_free(struct far_nic_link *l)
{
	far_mail_free(&l->mail);
	far_qp_free(&l->qp);
}

void far_nic_link_event(const struct nic_event *event, struct far_news *ret_news)
{
	ret_news->kind = event->type == NIC_ESTABLISHED ? FAR_NEWS_ACCEPTED :
			 event->reason == NIC_REJECTED ? FAR_NEWS_REJECTED :
			 FAR_NEWS_BROKEN;
	ret_news->err = -EHOSTUNREACH;
	ret_news->local_ip = event->local_ip;
	ret_news->peer_qpn = event->peer_qpn;
	ret_news->len = event->priv_len;
	memcpy(ret_news->bytes, event->priv, sizeof(event->priv));
}

bool far_nic_link_take(struct far_nic_link *l, struct far_news *ret_news)
{
	int err = l->mail.dev ? far_mail_take(&l->mail, ret_news->bytes, &ret_news->len) :
		  -EAGAIN;

	ret_news->kind = err ? FAR_NEWS_BROKEN : FAR_NEWS_MESSAGE;
	ret_news->err = err;
	return err != -EAGAIN;
}
