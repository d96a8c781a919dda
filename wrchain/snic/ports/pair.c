// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Two ports connected by a queue of frames in each direction.  Different
 * threads may use the two ends.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "../../own/own.h"
#include "../snic.h"

#define QUEUE_BYTES	(1u << 20)
/* In place of a length: the rest of the buffer up to its end is unused. */
#define SKIP		UINT32_MAX

/* A ring of records {length, frame}, each contiguous and 8-byte aligned. */
struct queue {
	uint8_t *buf;
	uint64_t head, tail;	/* bytes ever put, ever taken */
	uint32_t shown;		/* length of the record that the reader has; taken by the next
				 * call */
	int fd;			/* eventfd, readable while not empty */
	bool signalled;
};

struct pair;

struct end {
	struct snic_port port;
	struct pair *pair;
	struct queue in;
	struct end *other;
	bool open;
};

struct pair {
	pthread_mutex_t lock;
	struct end ends[2];
};

static size_t record_len(size_t frame_len)
{
	return (sizeof(uint64_t) + frame_len + 7) & ~(size_t)7;
}

static uint8_t *record(struct queue *q, uint64_t pos)
{
	return q->buf + (pos & (QUEUE_BYTES - 1));
}

static int queue_put(struct queue *q, const struct iovec *iov, int n, uint32_t len)
{
	size_t need = record_len(len);
	size_t rest = QUEUE_BYTES - (q->head & (QUEUE_BYTES - 1));
	size_t skip = rest < need ? rest : 0;
	uint8_t *p;
	int i;

	if (QUEUE_BYTES - (q->head - q->tail) < need + skip)
		return -EAGAIN;
	if (skip) {
		*(uint32_t *)record(q, q->head) = SKIP;
		q->head += skip;
	}
	p = record(q, q->head);
	*(uint32_t *)p = len;
	p += sizeof(uint64_t);
	for (i = 0; i < n; i++) {
		memcpy(p, iov[i].iov_base, iov[i].iov_len);
		p += iov[i].iov_len;
	}
	q->head += need;
	return 0;
}

/* fd only has to be readable while the queue is not empty.  A failed call is
 * harmless: the counter is full or empty then. */
static void signal_reader(struct queue *q)
{
	uint64_t one = 1;

	if (!q->signalled && write(q->fd, &one, sizeof(one)) > 0)
		q->signalled = true;
}

static void clear_signal(struct queue *q)
{
	uint64_t n;

	if (q->signalled && read(q->fd, &n, sizeof(n)) > 0)
		q->signalled = false;
}

static int pair_send(struct snic_port *port, const struct iovec *iov, int n)
{
	struct end *e = (struct end *)port;
	size_t len = 0;
	int i, r = 0;

	for (i = 0; i < n; i++)
		len += iov[i].iov_len;
	if (!len || record_len(len) > QUEUE_BYTES / 4)
		return -EMSGSIZE;
	pthread_mutex_lock(&e->pair->lock);
	if (e->other->open) {
		r = queue_put(&e->other->in, iov, n, len);
		if (!r)
			signal_reader(&e->other->in);
	}
	pthread_mutex_unlock(&e->pair->lock);
	return r;
}

static int queue_take(struct queue *q, const void **ret_frame)
{
	uint32_t len;

	q->tail += q->shown;
	q->shown = 0;
	if (q->tail != q->head && *(uint32_t *)record(q, q->tail) == SKIP)
		q->tail += QUEUE_BYTES - (q->tail & (QUEUE_BYTES - 1));
	if (q->tail == q->head) {
		clear_signal(q);
		return 0;
	}
	len = *(uint32_t *)record(q, q->tail);
	q->shown = record_len(len);
	*ret_frame = record(q, q->tail) + sizeof(uint64_t);
	return len;
}

static int pair_peek(struct snic_port *port, const void **ret_frame)
{
	struct end *e = (struct end *)port;
	int len;

	pthread_mutex_lock(&e->pair->lock);
	len = queue_take(&e->in, ret_frame);
	pthread_mutex_unlock(&e->pair->lock);
	return len;
}

static int pair_recv(struct snic_port *port, void *buf, size_t room)
{
	struct end *e = (struct end *)port;
	const void *frame;
	int len;

	pthread_mutex_lock(&e->pair->lock);
	len = queue_take(&e->in, &frame);
	/* A frame longer than the buffer is cut off, as a datagram is. */
	if (len > 0)
		memcpy(buf, frame, (size_t)len < room ? (size_t)len : room);
	pthread_mutex_unlock(&e->pair->lock);
	return len > 0 && (size_t)len > room ? (int)room : len;
}

/*
 * fd always works; a runner without a thread asks here, without a system call.
 */
static bool pair_doze(struct snic_port *port)
{
	struct end *e = (struct end *)port;
	bool waits;

	pthread_mutex_lock(&e->pair->lock);
	waits = e->in.tail + e->in.shown != e->in.head;
	pthread_mutex_unlock(&e->pair->lock);
	return waits;
}

static void pair_free(struct pair *p)
{
	int i;

	for (i = 0; i < 2; i++) {
		own_fd_close(p->ends[i].in.fd);
		free(p->ends[i].in.buf);
	}
	pthread_mutex_destroy(&p->lock);
	free(p);
}

static void pair_close(struct snic_port *port)
{
	struct end *e = (struct end *)port;
	struct pair *p = e->pair;
	bool last;

	pthread_mutex_lock(&p->lock);
	e->open = false;
	last = !e->other->open;
	pthread_mutex_unlock(&p->lock);
	if (last)
		pair_free(p);
}

static const struct snic_port_ops pair_ops = {
	.send = pair_send, .recv = pair_recv, .close = pair_close,
	.peek = pair_peek, .doze = pair_doze,
	.shared = true,
};

static int end_init(struct pair *p, int i)
{
	struct end *e = &p->ends[i];

	e->pair = p;
	e->other = &p->ends[!i];
	e->open = true;
	e->in.buf = malloc(QUEUE_BYTES);
	if (!e->in.buf)
		return -ENOMEM;
	e->in.fd = own_fd(eventfd(0, EFD_NONBLOCK));
	if (e->in.fd < 0)
		return e->in.fd;
	e->port.ops = &pair_ops;
	e->port.fd = e->in.fd;
	return 0;
}

int snic_port_pair_open(struct snic_port **ret_a, struct snic_port **ret_b)
{
	struct pair *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	r = pthread_mutex_init(&p->lock, NULL);
	if (r) {
		free(p);
		return -r;
	}
	p->ends[0].in.fd = -1;
	p->ends[1].in.fd = -1;
	r = end_init(p, 0);
	if (!r)
		r = end_init(p, 1);
	if (r) {
		pair_free(p);
		return r;
	}
	*ret_a = &p->ends[0].port;
	*ret_b = &p->ends[1].port;
	return 0;
}
