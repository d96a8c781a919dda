// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A wire in memory: see link.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <cmocka.h>
#include "link.h"

#define MOST_FRAMES	(1u << 14)	/* under way: more is a storm */

/* ---- frames under way, a heap ----------------------------------------------- */

static bool before(const struct link_frame *a, const struct link_frame *b)
{
	return a->due < b->due || (a->due == b->due && a->nr < b->nr);
}

static void make_room(struct link_port *p)
{
	if (p->nr_queue < p->room)
		return;
	assert_true(p->room < MOST_FRAMES);
	p->room = p->room ? 2 * p->room : 16;
	p->queue = realloc(p->queue, p->room * sizeof(*p->queue));
	assert_non_null(p->queue);
}

static void push(struct link_port *p, struct link_frame *f)
{
	unsigned int i;

	make_room(p);
	f->nr = p->nr++;
	i = p->nr_queue++;
	for (; i && before(f, p->queue[(i - 1) / 2]); i = (i - 1) / 2)
		p->queue[i] = p->queue[(i - 1) / 2];
	p->queue[i] = f;
}

static struct link_frame *pop(struct link_port *p)
{
	struct link_frame *first = p->queue[0];
	struct link_frame *last = p->queue[--p->nr_queue];
	unsigned int i = 0, k;

	for (;;) {
		k = 2 * i + 1;
		if (k >= p->nr_queue)
			break;
		if (k + 1 < p->nr_queue &&
		    before(p->queue[k + 1], p->queue[k]))
			k++;
		if (!before(p->queue[k], last))
			break;
		p->queue[i] = p->queue[k];
		i = k;
	}
	p->queue[i] = last;
	return first;
}

static bool has_frame(const struct link_port *p)
{
	return p->nr_queue && p->queue[0]->due <= p->vt->now;
}

/* ---- the port ------------------------------------------------------------------ */

static struct link_frame *frame_new(size_t len)
{
	struct link_frame *f = malloc(sizeof(*f) + len);

	assert_non_null(f);
	f->len = len;
	return f;
}

static struct link_frame *gather(const struct iovec *iov, int n)
{
	struct link_frame *f;
	size_t len = 0;
	int i;

	for (i = 0; i < n; i++)
		len += iov[i].iov_len;
	f = frame_new(len);
	for (i = 0, len = 0; i < n; i++) {
		memcpy(f->data + len, iov[i].iov_base, iov[i].iov_len);
		len += iov[i].iov_len;
	}
	return f;
}

static int port_send(struct snic_port *port, const struct iovec *iov, int n)
{
	struct link_port *p = (struct link_port *)port;
	struct link_frame *f;
	uint64_t delay = 0;

	if (p->broken)
		return -EIO;
	f = gather(iov, n);
	if (p->tap)
		delay = p->tap(p->tap_arg, f->data, f->len);
	if (delay == LINK_LOST) {
		free(f);
		return 0;
	}
	if (p->peer)
		link_inject(p->peer, f->data, f->len, delay);
	free(p->sent[p->nr_sent % LINK_SENT]);
	p->sent[p->nr_sent++ % LINK_SENT] = f;
	return 0;
}

static int port_peek(struct snic_port *port, const void **ret_frame)
{
	struct link_port *p = (struct link_port *)port;

	if (p->broken)
		return -EIO;
	free(p->shown);
	p->shown = NULL;
	if (!has_frame(p))
		return 0;
	p->shown = pop(p);
	*ret_frame = p->shown->data;
	return p->shown->len;
}

static bool port_doze(struct snic_port *port)
{
	struct link_port *p = (struct link_port *)port;

	return has_frame(p) && !p->broken;
}

static void port_close(struct snic_port *port)
{
}

static const struct snic_port_ops link_ops = {
	.send = port_send, .peek = port_peek, .doze = port_doze,
	.close = port_close,
};

/* When the next frame is there; the NIC takes it out. */
static uint64_t link_next(struct snic_actor *actor, uint64_t now)
{
	struct link_port *p = (struct link_port *)
		((char *)actor - offsetof(struct link_port, actor));
	uint64_t due = p->nr_queue ? p->queue[0]->due : SNIC_NEVER;

	return due > now ? due : SNIC_NEVER;
}

static int link_step(struct snic_actor *actor, uint64_t now,
		     uint64_t *ret_cost)
{
	return 0;
}

static const struct snic_actor_ops actor_ops = {
	.next = link_next, .step = link_step,
};

void link_port_init(struct link_port *p, struct snic_vt *vt)
{
	memset(p, 0, sizeof(*p));
	p->port.ops = &link_ops;
	p->port.fd = -1;
	p->actor.ops = &actor_ops;
	p->vt = vt;
	snic_vt_add(vt, &p->actor);
}

void link_port_fini(struct link_port *p)
{
	unsigned int i;

	snic_vt_remove(p->vt, &p->actor);
	if (p->peer)
		p->peer->peer = NULL;
	while (p->nr_queue)
		free(p->queue[--p->nr_queue]);
	free(p->queue);
	free(p->shown);
	for (i = 0; i < LINK_SENT; i++)
		free(p->sent[i]);
}

void link_join(struct link_port *a, struct link_port *b)
{
	a->peer = b;
	b->peer = a;
}

void link_inject(struct link_port *p, const void *frame, size_t len,
		 uint64_t delay)
{
	struct link_frame *f = frame_new(len);

	memcpy(f->data, frame, len);
	f->due = p->vt->now + p->latency + delay;
	push(p, f);
}

const struct link_frame *link_latest(const struct link_port *p)
{
	return p->nr_sent ? p->sent[(p->nr_sent - 1) % LINK_SENT] : NULL;
}
