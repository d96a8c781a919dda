// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Objects and connections of NICs on hardware; see card.h.  The RDMA connection manager knows
 * our queue pairs by number only, so the NIC changes their states, with its attributes.
 */
#include <string.h>
#include "card.h"

#define RNR_RETRY	7	/* the peer retries for ever */

static struct nic_card *card_of(struct nic *nic)
{
	return (struct nic_card *)nic;
}

/* ---- objects ---------------------------------------------------------------------- */

static void empty(struct nic *nic, void **root, void (*destroy)(struct nic *nic, uint32_t n))
{
	while (*root) {
		uint32_t number = **(uint32_t **)*root;
		void *left;

		destroy(nic, number);
		left = numbers_find(root, number);
		if (left) {
			numbers_drop(root, left);
			free(left);
		}
	}
}

static void drop_qp(struct nic *nic, uint32_t qpn)
{
	nic->ops->qp_destroy(nic, qpn);
}

static void drop_mr(struct nic *nic, uint32_t key)
{
	nic->ops->mr_dereg(nic, key);
}

void nic_card_empty(struct nic_card *card)
{
	struct nic *nic = &card->nic;

	while (card->conns)
		nic_card_release(nic, card->conns->id);
	if (card->cm_ctx)
		card->cm->close(card->cm_ctx);
	empty(nic, &card->qps, drop_qp);
	empty(nic, &card->cqs, nic->ops->cq_destroy);
	empty(nic, &card->mrs, drop_mr);
	empty(nic, &card->pds, nic->ops->pd_free);
}

/* ---- connections ------------------------------------------------------------------ */

int nic_card_open_cm(struct nic_card *card, const struct nic_cm *cm, const char *device,
		     uint8_t port)
{
	card->cm = cm;
	return cm->open(device, port, &card->cm_ctx, &card->nic.event_fd);
}

static struct nic_conn *conn_find(const struct nic_card *card, uint32_t id)
{
	struct nic_conn *c = card->conns;

	while (c && c->id != id)
		c = c->next;
	return c;
}

void *nic_card_conn(const struct nic_card *card, uint32_t id)
{
	const struct nic_conn *c = conn_find(card, id);

	return c ? c->conn : NULL;
}

struct nic_conn *nic_card_add_conn(struct nic_card *card, void *conn)
{
	struct nic_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	if (!++card->next_id)
		card->next_id = 1;
	c->id = card->next_id;
	c->conn = conn;
	c->next = card->conns;
	card->conns = c;
	return c;
}

void nic_card_forget_qp(struct nic_card *card, uint32_t qpn)
{
	struct nic_conn *c;

	for (c = card->conns; c; c = c->next) {
		if (c->qpn == qpn)
			c->qpn = 0;
	}
}

/* The connection of an event.  NULL: it is unknown, or there is no memory for it. */
static struct nic_conn *event_conn(struct nic_card *card, const struct nic_cm_event *ev)
{
	struct nic_conn *c = card->conns;

	if (ev->type == NIC_REQUEST) {
		c = nic_card_add_conn(card, ev->conn);
		if (!c) {
			card->cm->reject(ev->conn, NULL, 0);
			card->cm->release(ev->conn);
		}
		return c;
	}
	while (c && c->conn != ev->conn)
		c = c->next;
	return c;
}

/* Takes an event of the connection manager, and its connection.  -EAGAIN: no event. */
static int next_event(struct nic_card *card, struct nic_cm_event *ret_event,
		      struct nic_conn **ret_conn)
{
	int r;

	if (!card->cm_ctx)
		return -EAGAIN;
	do {
		r = card->cm->event(card->cm_ctx, ret_event);
		if (r)
			return r;
		*ret_conn = event_conn(card, ret_event);
	} while (!*ret_conn);
	return 0;
}

/* The peer has accepted our request: the queue pair begins, then the peer hears of that. */
static int conn_begin(struct nic_card *card, const struct nic_conn *c)
{
	struct nic_cm_accept unused;
	int r = card->qp_connect(card, c->qpn, c->conn, &unused);

	return r ? r : card->cm->establish(c->conn);
}

/* ---- functions of nic.h and node.h ------------------------------------------------- */

int nic_card_listen(struct nic *nic, uint16_t port)
{
	struct nic_card *card = card_of(nic);

	return card->cm_ctx ? card->cm->listen(card->cm_ctx, port) : -EOPNOTSUPP;
}

int nic_card_event(struct nic *nic, struct nic_event *ret_event)
{
	struct nic_card *card = card_of(nic);
	struct nic_cm_event ev;
	struct nic_conn *c;
	int r = next_event(card, &ev, &c);

	if (r)
		return r;
	if (ev.answer && conn_begin(card, c)) {
		card->cm->reject(c->conn, NULL, 0);
		ev.type = NIC_GONE;
		ev.reason = NIC_UNREACHABLE;
	}
	if (ev.type == NIC_GONE && c->qpn)
		nic->ops->qp_error(nic, c->qpn);
	ret_event->type = ev.type;
	ret_event->reason = ev.reason;
	ret_event->id = c->id;
	ret_event->peer_ip = ev.peer_ip;
	ret_event->local_ip = ev.local_ip;
	ret_event->peer_qpn = ev.peer_qpn;
	ret_event->priv_len = ev.priv_len;
	memcpy(ret_event->priv, ev.priv, sizeof(ret_event->priv));
	return 0;
}

int nic_card_accept(struct nic *nic, uint32_t id, uint32_t qpn, const void *priv,
		    uint8_t priv_len)
{
	struct nic_cm_accept accept = {
		.qpn = qpn, .rnr_retry = RNR_RETRY, .priv = priv, .priv_len = priv_len,
	};
	struct nic_card *card = card_of(nic);
	struct nic_conn *c = conn_find(card, id);
	int r = c ? card->qp_connect(card, qpn, c->conn, &accept) : -ENOENT;

	if (r)
		return r;
	r = card->cm->accept(c->conn, &accept);
	if (r)
		nic->ops->qp_error(nic, qpn);
	else
		c->qpn = qpn;
	return r;
}

int nic_card_reject(struct nic *nic, uint32_t id, const void *priv, uint8_t priv_len)
{
	struct nic_conn *c = conn_find(card_of(nic), id);

	return c ? card_of(nic)->cm->reject(c->conn, priv, priv_len) : -ENOENT;
}

int nic_card_disconnect(struct nic *nic, uint32_t id)
{
	struct nic_conn *c = conn_find(card_of(nic), id);
	int r;

	if (!c)
		return -ENOENT;
	r = card_of(nic)->cm->disconnect(c->conn);
	if (c->qpn)
		nic->ops->qp_error(nic, c->qpn);
	return r;
}

void nic_card_release(struct nic *nic, uint32_t id)
{
	struct nic_card *card = card_of(nic);
	struct nic_conn **at = &card->conns, *c;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	c = *at;
	if (!c)
		return;
	*at = c->next;
	card->cm->release(c->conn);
	free(c);
}

uint64_t nic_card_cpu_ns(struct nic *nic)
{
	return 0;
}

int nic_card_freeze(struct nic *nic)
{
	return -EOPNOTSUPP;
}

void nic_card_thaw(struct nic *nic)
{
}
