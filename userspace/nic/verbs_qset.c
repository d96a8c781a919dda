/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Queue sets of verbs: queues, and a completion queue for all of them, and one for all wires,
 * whose queue pairs other threads make and end. One of datagrams has one queue.
 *
 * States of waiting; verbs_qset_wait() and verbs_qset_wake() change `state`:
 *
 *	QUIET --wake--> RUNG --wait--> QUIET
 *	QUIET --wait--> SLEEPING --wake (writes the eventfd)--> RUNG --sleeper--> QUIET
 *	                SLEEPING --completion, or time is up--> QUIET
 *
 * verbs_qset_fd_arm() begins to sleep as verbs_qset_wait() does, and its caller polls;
 * verbs_qset_fd_disarm() ends that.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include <own/own.h>

#include "real.h"
#include "verbs_priv.h"
#include "wr.h"

#define POLL_BATCH	16
#define WIRES_AT_FIRST	2u

enum { SLEEP_QUIET, SLEEP_RUNG, SLEEP_SLEEPING };

struct verbs_qset {
	struct far_qset qset;
	struct far_qset_stats stats;
	unsigned depth, nr_peers;
	unsigned turn;			/* the peer whose completions poll() takes first */
	uint16_t serial;		/* of the last queue pair */
	bool more;			/* a ring may have completions for poll() to take */
	uint32_t state;			/* SLEEP_*; atomic */
	int bell;			/* eventfd */
	int both;			/* epoll of bell and door.channel; 0: not made yet */
	struct verbs_doorbell db;
	struct verbs_datagram *datagram;	/* NULL: a queue set of connections */
	struct ibv_cq *wire_cq;		/* NULL: not made yet; atomic */
	unsigned nr_wires;		/* numbers of wires, each with room for depth entries */
	unsigned wire_room;		/* for how many the completion queue has room */
	struct ibv_send_wr *wr;		/* depth elements, used during a post() */
	struct ibv_sge *sge;
	struct verbs_queue queue[];	/* nr_peers */
};

static struct verbs_qset *qset_of(struct far_qset *qset)
{
	return (struct verbs_qset *)qset;
}

static struct verbs_nic *qset_nic(const struct verbs_qset *mine)
{
	return verbs_nic_of(mine->qset.nic);
}

/* ---- start and end ---- */

/* -EINVAL: invalid; -ENOMEM: the device has no room; -EOPNOTSUPP. */
static int attr_check(const struct verbs_nic *verbs, const struct far_qset_attr *attr)
{
	if (!attr->nr_peers || attr->nr_peers > UINT16_MAX || !attr->depth ||
	    attr->depth > 32768)
		return -EINVAL;
	if (attr->datagrams && (attr->nr_peers > 1 || attr->group != FAR_NIC_OWN ||
				!attr->recvs || attr->recvs > 32768))
		return -EINVAL;
	if (attr->doorbell == FAR_DOORBELL_CONTEXT)
		return -EOPNOTSUPP;
	if (attr->depth > (unsigned)verbs->attr.max_qp_wr ||
	    (attr->datagrams && attr->recvs > (unsigned)verbs->attr.max_qp_wr))
		return -ENOMEM;
	return 0;
}

static struct verbs_qset *qset_alloc(const struct far_qset_attr *attr)
{
	struct verbs_qset *mine;

	mine = calloc(1, sizeof(*mine) + attr->nr_peers * sizeof(mine->queue[0]));
	if (!mine)
		return NULL;
	mine->wr = calloc(attr->depth, sizeof(mine->wr[0]));
	mine->sge = calloc(attr->depth, sizeof(mine->sge[0]));
	if (mine->wr && mine->sge)
		return mine;
	free(mine->wr);
	free(mine->sge);
	free(mine);
	return NULL;
}

static void qset_free(struct verbs_qset *mine)
{
	free(mine->wr);
	free(mine->sge);
	free(mine);
}

static uint16_t serial_next(struct verbs_qset *mine)
{
	mine->serial = (mine->serial + 1) % VERBS_SERIALS;
	return mine->serial;
}

/* Makes the one queue of a queue set of datagrams. */
static int datagrams_begin(struct verbs_qset *mine, unsigned recvs)
{
	struct verbs_nic *verbs = qset_nic(mine);
	int err = verbs_doorbell_cq(verbs, (uint64_t)mine->depth + recvs, &mine->db);

	if (!err)
		err = verbs_datagram_new(verbs, &mine->db, mine->depth, recvs, &mine->datagram);
	if (err)
		return err;
	mine->datagram->serial = serial_next(mine);
	return verbs_queue_open(verbs, &mine->queue[0], mine->depth, mine->datagram,
				mine->datagram->serial);
}

int verbs_qset_new(struct far_nic *nic, const struct far_qset_attr *attr,
		   struct far_qset **ret_qset)
{
	struct verbs_qset *mine;
	int err = attr_check(verbs_nic_of(nic), attr);

	if (err)
		return err;
	mine = qset_alloc(attr);
	if (!mine)
		return -ENOMEM;
	mine->qset.nic = nic;
	mine->depth = attr->depth;
	mine->nr_peers = attr->nr_peers;
	mine->bell = own_fd(eventfd(0, EFD_NONBLOCK));
	if (mine->bell < 0) {
		err = mine->bell;
		goto free_mine;
	}
	err = verbs_doorbell_open(verbs_nic_of(nic), attr->doorbell, &mine->db);
	if (err)
		goto close_bell;
	mine->stats.shared_doorbell = !mine->db.td;
	err = attr->datagrams ? datagrams_begin(mine, attr->recvs) : 0;
	if (err)
		verbs_qset_free(&mine->qset);
	else
		*ret_qset = &mine->qset;
	return err;

close_bell:
	own_fd_close(mine->bell);
free_mine:
	qset_free(mine);
	return err;
}

void verbs_qset_free(struct far_qset *qset)
{
	struct verbs_qset *mine = qset_of(qset);
	unsigned i;

	if (mine->datagram)
		verbs_datagram_free(mine->datagram);
	for (i = 0; i < mine->nr_peers; i++)
		verbs_queue_fini(qset_nic(mine), &mine->queue[i]);
	if (mine->both)
		own_fd_close(mine->both);
	if (mine->wire_cq)
		ibv_destroy_cq(mine->wire_cq);
	verbs_doorbell_close(&mine->db);
	own_fd_close(mine->bell);
	qset_free(mine);
}

unsigned verbs_qset_depth(const struct far_qset *qset)
{
	return ((const struct verbs_qset *)qset)->depth;
}

int verbs_qset_wire_cq(struct far_qset *qset, struct ibv_cq **ret_cq)
{
	struct verbs_qset *mine = qset_of(qset);
	struct verbs_nic *verbs = qset_nic(mine);
	struct ibv_cq *cq;
	int err = 0;

	pthread_mutex_lock(&verbs->lock);
	cq = mine->wire_cq;
	if (!cq) {
		errno = 0;
		cq = ibv_create_cq(verbs->ctx, WIRES_AT_FIRST * mine->depth, NULL,
				   mine->db.channel, 0);
		err = verbs_errno(!cq);
		mine->wire_room = WIRES_AT_FIRST;
		/* The queue set's thread may be in poll(). */
		__atomic_store_n(&mine->wire_cq, cq, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&verbs->lock);
	*ret_cq = cq;
	return err;
}

/* ---- completions ---- */

/* Records an entry of a queue set of datagrams. Ignores those of before it started again. */
static void datagram_note(struct verbs_qset *mine, const struct ibv_wc *wc, uint16_t serial)
{
	if (mine->datagram->serial != serial)
		return;
	if (!verbs_datagram_note(mine->datagram, wc))
		verbs_queue_note(qset_nic(mine), &mine->queue[0], wc);
	mine->more = true;
}

/* Records an entry. Ignores entries of destroyed queue pairs. */
static void wc_note(struct verbs_qset *mine, const struct ibv_wc *wc)
{
	uint16_t idx = wc->wr_id >> 32, serial = (wc->wr_id >> 48) % VERBS_SERIALS;
	struct verbs_queue *queue;

	if (idx >= mine->nr_peers)
		return;
	queue = &mine->queue[idx];
	if (mine->datagram) {
		datagram_note(mine, wc, serial);
		return;
	}
	if (wc->wr_id & VERBS_WR_RECV) {
		if (!queue->recv || queue->recv->recv_serial != serial)
			return;
		verbs_wire_note(queue->recv, wc);
		mine->more = true;
		return;
	}
	if (!queue->qp || queue->serial != serial)
		return;
	verbs_queue_note(qset_nic(mine), queue, wc);
	mine->more = true;
}

static int cq_drain_one(struct verbs_qset *mine, struct ibv_cq *cq)
{
	struct ibv_wc wc[POLL_BATCH];
	int nr, i;

	if (!cq)
		return 0;
	do {
		nr = ibv_poll_cq(cq, POLL_BATCH, wc);
		for (i = 0; i < nr; i++)
			wc_note(mine, &wc[i]);
	} while (nr == POLL_BATCH);
	return nr < 0 ? -EIO : 0;
}

static struct ibv_cq *wire_cq_of(const struct verbs_qset *mine)
{
	return __atomic_load_n(&mine->wire_cq, __ATOMIC_ACQUIRE);
}

/* Starts the queue pair of datagrams again. What was to be sent is lost. */
static int datagram_heal(struct verbs_qset *mine)
{
	struct verbs_queue *queue = &mine->queue[0];
	int err;

	verbs_datagram_halt(mine->datagram);
	err = cq_drain_one(mine, mine->db.cq);
	queue->ring.done = queue->ring.posted;
	queue->serial = serial_next(mine);
	verbs_datagram_heal(mine->datagram, queue->serial);
	queue->connected &= !mine->datagram->deaf;
	return err;
}

/* Takes all entries of the completion queues. */
static int cq_drain(struct verbs_qset *mine)
{
	int err = cq_drain_one(mine, mine->db.cq);

	if (!err && mine->datagram && mine->datagram->hurt)
		err = datagram_heal(mine);
	return err ? err : cq_drain_one(mine, wire_cq_of(mine));
}

int verbs_qset_poll(struct far_qset *qset, struct far_wc *wc, unsigned max)
{
	struct verbs_qset *mine = qset_of(qset);
	unsigned nr = 0, i;
	int err = cq_drain(mine);

	if (err)
		return err;
	if (!mine->more)
		return 0;
	for (i = 0; i < mine->nr_peers && nr < max; i++) {
		unsigned idx = (mine->turn + i) % mine->nr_peers;
		struct verbs_queue *queue = &mine->queue[idx];

		nr += far_ring_take(&queue->ring, idx, wc + nr, max - nr);
		if (queue->recv)
			nr += far_ring_take(&queue->recv->ring, idx, wc + nr, max - nr);
		if (queue->datagram)
			nr += far_ring_take(&queue->datagram->ring, idx, wc + nr, max - nr);
	}
	mine->turn = (mine->turn + 1) % mine->nr_peers;
	mine->more = nr == max;
	return nr;
}

/* ---- connecting and posting ---- */

/* Finds queue number idx, and makes its ring. -EISCONN: a wire has the number. */
static int queue_get(struct verbs_qset *mine, unsigned idx, struct verbs_queue **ret_queue)
{
	struct verbs_queue *queue;

	if (idx >= mine->nr_peers || mine->datagram)
		return -EINVAL;
	queue = &mine->queue[idx];
	if (queue->wire)
		return -EISCONN;
	*ret_queue = queue;
	return queue->ring.rec ? 0 : verbs_queue_init(qset_nic(mine), queue, mine->depth);
}

int verbs_qset_connect(struct far_qset *qset, unsigned idx, const struct far_peer *peer)
{
	struct verbs_qset *mine = qset_of(qset);
	struct verbs_nic *verbs = qset_nic(mine);
	struct verbs_queue *queue;
	int err = queue_get(mine, idx, &queue);

	if (!err && !mine->db.cq)
		err = verbs_doorbell_cq(verbs, (uint64_t)mine->depth * mine->nr_peers, &mine->db);
	if (err)
		return err;
	verbs_queue_reset(verbs, queue);
	/* Make room for the entries of the new queue pair. */
	err = cq_drain(mine);
	mine->more |= far_ring_takeable(&queue->ring);
	if (err)
		return err;
	return verbs_queue_connect(verbs, queue, &mine->db, mine->depth, peer->priv,
				   serial_next(mine));
}

/* Makes room for the entries of one more number of a wire. */
static int wire_enter(struct verbs_qset *mine)
{
	const unsigned most = qset_nic(mine)->attr.max_cqe / mine->depth;
	unsigned room = 2 * mine->wire_room;
	int err;

	if (room > most)
		room = most;
	/* Only this thread posts over wires. */
	if (mine->nr_wires == mine->wire_room) {
		if (room <= mine->wire_room || ibv_resize_cq(mine->wire_cq, room * mine->depth))
			return -ENOMEM;
		mine->wire_room = room;
	}
	err = cq_drain(mine);
	if (!err)
		mine->nr_wires++;
	return err;
}

int verbs_qset_link(struct far_qset *qset, unsigned idx, struct verbs_wire *wire)
{
	struct verbs_qset *mine = qset_of(qset);
	struct verbs_nic *verbs = qset_nic(mine);
	struct verbs_queue *queue;
	int err = queue_get(mine, idx, &queue);

	if (err)
		return err;
	verbs_queue_reset(verbs, queue);
	mine->more |= far_ring_takeable(&queue->ring);
	err = wire_enter(mine);
	if (err)
		return err;
	err = verbs_queue_link(verbs, queue, wire, serial_next(mine));
	mine->nr_wires -= err != 0;
	return err;
}

void verbs_qset_unlink(struct far_qset *qset, unsigned idx)
{
	struct verbs_qset *mine = qset_of(qset);

	cq_drain(mine);
	mine->nr_wires--;
	verbs_queue_unlink(&mine->queue[idx]);
}

int verbs_qset_hear(struct far_qset *qset, unsigned idx, struct verbs_wire *wire)
{
	struct verbs_qset *mine = qset_of(qset);
	int err;

	if (idx >= mine->nr_peers || mine->datagram)
		return -EINVAL;
	if (mine->queue[idx].recv)
		return -EISCONN;
	err = wire_enter(mine);
	if (err)
		return err;
	wire->recv_serial = serial_next(mine);
	mine->queue[idx].recv = wire;
	return 0;
}

void verbs_qset_unhear(struct far_qset *qset, unsigned idx)
{
	struct verbs_qset *mine = qset_of(qset);

	cq_drain(mine);
	mine->nr_wires--;
	mine->queue[idx].recv = NULL;
}

/* True if the device can send messages of these lengths. */
static bool lengths_ok(const struct verbs_nic *verbs, const struct far_wr *wr, unsigned nr)
{
	unsigned i;

	for (i = 0; i < nr; i++)
		if (wr[i].len > verbs->max_msg)
			return false;
	return true;
}

static int post_recv(struct verbs_qset *mine, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	int err = -ENOTCONN;

	if (mine->datagram)
		err = verbs_datagram_recv(mine->datagram, wr, nr);
	else if (mine->queue[idx].recv)
		err = verbs_wire_recv(mine->queue[idx].recv, wr, nr);
	if (!err)
		far_wr_count(&mine->stats, wr, nr);
	return err;
}

int verbs_qset_post(struct far_qset *qset, unsigned idx, const struct far_wr *wr, unsigned nr)
{
	struct verbs_qset *mine = qset_of(qset);
	struct verbs_queue *queue = idx < mine->nr_peers ? &mine->queue[idx] : NULL;
	struct far_wr_queue to = { .exists = false };
	int where;

	if (queue)
		to = (struct far_wr_queue) {
			.exists = true, .connected = queue->connected,
			.calls = queue->wire != NULL,
			.used = queue->ring.posted - queue->ring.freed,
			.depth = mine->depth,
			.packet = mine->datagram ? mine->datagram->ways.packet : 0,
		};
	where = far_wr_check_post(&to, wr, nr, qset->nic->ops->caps);
	if (where == FAR_WR_TO_RECVS)
		return post_recv(mine, idx, wr, nr);
	if (where != FAR_WR_TO_QUEUE)
		return where;
	if (!lengths_ok(qset_nic(mine), wr, nr))
		return -EINVAL;
	verbs_queue_post(queue, idx, wr, nr, mine->wr, mine->sge);
	mine->more |= !queue->connected;
	far_wr_count(&mine->stats, wr, nr);
	return 0;
}

/* ---- waiting ---- */

static bool qset_rung(struct verbs_qset *mine)
{
	uint32_t rung = SLEEP_RUNG;

	return __atomic_compare_exchange_n(&mine->state, &rung, SLEEP_QUIET, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/* Polls for a while. True: a ring by wake(), a completion or an error is there. */
static bool qset_spin(struct verbs_qset *mine, uint64_t until)
{
	uint64_t end = far_real_now(NULL) + qset_nic(mine)->spin_us * UINT64_C(1000);

	if (end > until)
		end = until;
	do {
		if (qset_rung(mine) || cq_drain(mine) || mine->more)
			return true;
	} while (far_real_now(NULL) < end);
	return false;
}

/* Takes the events of the completion queue; cq_drain() takes the entries. */
static void events_take(struct verbs_qset *mine)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(mine->db.channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
}

/* False: the time is up. */
static bool qset_sleep(struct verbs_qset *mine, uint64_t until)
{
	struct pollfd fd[2] = {
		{ .fd = mine->db.channel->fd, .events = POLLIN },
		{ .fd = mine->bell, .events = POLLIN },
	};
	uint64_t now = far_real_now(NULL), left = until > now ? until - now : 0;
	struct timespec ts = { .tv_sec = left / 1000000000, .tv_nsec = left % 1000000000 };
	eventfd_t count;
	int nr = ppoll(fd, 2, until == UINT64_MAX ? NULL : &ts, NULL);

	if (nr > 0 && fd[0].revents)
		events_take(mine);
	if (nr > 0 && fd[1].revents)
		eventfd_read(mine->bell, &count);
	return nr != 0;
}

static uint32_t sleep_end(struct verbs_qset *mine)
{
	return __atomic_exchange_n(&mine->state, SLEEP_QUIET, __ATOMIC_ACQ_REL);
}

static int cqs_arm(struct verbs_qset *mine)
{
	struct ibv_cq *wire_cq = wire_cq_of(mine);

	return (mine->db.cq && ibv_req_notify_cq(mine->db.cq, 0)) ||
	       (wire_cq && ibv_req_notify_cq(wire_cq, 0));
}

/* From here on wake() and completions make descriptors readable. False: do not sleep. */
static bool sleep_begin(struct verbs_qset *mine)
{
	uint32_t state = SLEEP_QUIET;

	/* Acquire pairs with the release of verbs_qset_wake(). */
	if (__atomic_compare_exchange_n(&mine->state, &state, SLEEP_SLEEPING, false,
					__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE) &&
	    /* Entries that came before ibv_req_notify_cq() make no event: look again. */
	    !cqs_arm(mine) && !cq_drain(mine) && !mine->more)
		return true;
	sleep_end(mine);
	return false;
}

int verbs_qset_wait(struct far_qset *qset, uint64_t until)
{
	struct verbs_qset *mine = qset_of(qset);
	bool woken;

	if (mine->more || qset_spin(mine, until) || !sleep_begin(mine))
		return 0;
	woken = qset_sleep(mine, until);
	return sleep_end(mine) == SLEEP_RUNG || woken ? 0 : -ETIME;
}

/* Makes the one descriptor that is readable when either of the two is. */
static int both_make(struct verbs_qset *mine)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd;

	if (mine->both)
		return 0;
	fd = own_fd(epoll_create1(EPOLL_CLOEXEC));
	if (fd < 0)
		return fd;
	if (epoll_ctl(fd, EPOLL_CTL_ADD, mine->db.channel->fd, &event) ||
	    epoll_ctl(fd, EPOLL_CTL_ADD, mine->bell, &event)) {
		int err = -errno;

		own_fd_close(fd);
		return err;
	}
	mine->both = fd;
	return 0;
}

int verbs_qset_fd_arm(struct far_qset *qset)
{
	struct verbs_qset *mine = qset_of(qset);
	int err = both_make(mine);

	if (err)
		return err;
	return mine->more || !sleep_begin(mine) ? -EAGAIN : mine->both;
}

void verbs_qset_fd_disarm(struct far_qset *qset)
{
	struct verbs_qset *mine = qset_of(qset);
	eventfd_t count;

	sleep_end(mine);
	events_take(mine);
	eventfd_read(mine->bell, &count);
}

void verbs_qset_wake(struct far_qset *qset)
{
	struct verbs_qset *mine = qset_of(qset);
	uint32_t old = __atomic_exchange_n(&mine->state, SLEEP_RUNG, __ATOMIC_ACQ_REL);

	if (old == SLEEP_SLEEPING)
		eventfd_write(mine->bell, 1);
}

/* ---- addresses, statistics and messages ---- */

uint64_t verbs_qset_address(struct far_qset *qset)
{
	const struct verbs_datagram *datagram = qset_of(qset)->datagram;

	return verbs_address(datagram->ways.ip, datagram->qp->qp_num);
}

void verbs_qset_stats(struct far_qset *qset, struct far_qset_stats *ret_stats)
{
	*ret_stats = qset_of(qset)->stats;
}

void verbs_qset_explain(struct far_qset *qset, const struct far_wc *wc, char *text,
			size_t len)
{
	struct verbs_qset *mine = qset_of(qset);

	snprintf(text, len, "%s, queue pair 0x%x: %s, vendor error 0x%x",
		 verbs_name(qset_nic(mine)),
		 wc->peer < mine->nr_peers ? mine->queue[wc->peer].qpn : 0,
		 ibv_wc_status_str(wc->syndrome & 0xff), wc->syndrome >> 8);
}
