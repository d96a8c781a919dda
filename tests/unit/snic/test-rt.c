// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The real-time runner: work is done without anyone stepping, callers get the
 * NIC, CQEs can be read by other threads, helpers come and go, and an idle NIC costs
 * nothing.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "bed/end.h"

struct run {
	struct host b;
	struct end x, y;
	struct snic_rt *rt;
	uint64_t *src, *dst;
};

static void start(struct run *r, uint32_t spin_us)
{
	struct snic_rt_config cfg = { .spin_us = spin_us };

	host_open(&r->b, NULL);
	end_open(&r->b, NULL, &r->x);
	end_open(&r->b, NULL, &r->y);
	end_join(&r->x, &r->y);
	r->src = host_alloc(&r->b, 4096);
	r->dst = host_alloc(&r->b, 4096);
	assert_int_equal(snic_rt_start(r->b.nic, &cfg, &r->rt), 0);
}

static void stop(struct run *r)
{
	snic_rt_stop(r->rt);
	host_close(&r->b);
}

static void pause_ns(long ns)
{
	struct timespec ts = { .tv_nsec = ns };

	nanosleep(&ts, NULL);
}

/* Waits for CQE n as a driver does: by its owner bit. */
static void wait_cqe(struct run *r, const struct wrc_cqe *ring, uint32_t n,
		     uint32_t size)
{
	const uint64_t *last = (const uint64_t *)&ring[n % size] + 7;
	uint8_t op_own;

	for (;;) {
		uint64_t word = __atomic_load_n(last, __ATOMIC_ACQUIRE);

		memcpy(&op_own, (uint8_t *)&word + 7, 1);
		if (op_own >> 4 != WRC_CQE_INVALID &&
		    (op_own & 1) == ((n / size) & 1))
			break;
		pause_ns(1000);
	}
	assert_int_equal(op_own >> 4, WRC_CQE_REQ);
}

static const struct wrc_cqe *cq_buf(struct run *r, uint32_t cqn)
{
	return snic_cq_lookup(r->b.nic, cqn)->attr.buf;
}

/* Data written before a doorbell, and read after the CQE, without the lock. */
static void writes_seen_by_cqe(void **state)
{
	struct run r;
	const struct wrc_cqe *ring_of;
	unsigned int i, k;

	start(&r, 0);
	ring_of = cq_buf(&r, r.x.scqn);
	for (i = 0; i < 3000; i++) {
		for (k = 0; k < 512; k++)
			r.src[k] = (uint64_t)i << 32 | k;
		snic_rt_lock(r.rt);
		put_write(&r.x, CE, r.src, 4096, r.dst);
		ring(&r.x);
		/* the same as polling, so that the CQ does not fill */
		snic_cq_lookup(r.b.nic, r.x.scqn)->ci = i & SNIC_CQ_MASK;
		snic_rt_unlock(r.rt);
		wait_cqe(&r, ring_of, i, 1024);
		for (k = 0; k < 512; k++)
			assert_true(r.dst[k] == ((uint64_t)i << 32 | k));
	}
	stop(&r);
}

struct locker {
	struct run *r;
	unsigned int turns;
};

/* Until both have had their turns: the caller, and the NIC between them. */
static void *lock_often(void *arg)
{
	struct locker *l = arg;
	struct snic_stats st;

	do {
		snic_rt_lock(l->r->rt);
		l->turns++;
		snic_get_stats(l->r->b.nic, &st);
		snic_rt_unlock(l->r->rt);
	} while (l->turns < 300 || st.wqes <= 1000);
	return NULL;
}

/* A ring that re-arms itself: the NIC is never idle. */
static void busy_nic_does_not_starve_callers(void **state)
{
	struct snic_config cfg = host_default;
	struct snic_rt_config rt_cfg = { .spin_us = 0 };
	struct end_opts o = { .master = true, .slave = true, .log_sq = 8 };
	struct locker l[2];
	pthread_t t[2];
	struct run r;
	int i;

	cfg.relaxed_index = true;
	host_open(&r.b, &cfg);
	end_open(&r.b, &o, &r.x);
	end_join(&r.x, &r.x);
	put_endless(&r.x);
	assert_int_equal(snic_rt_start(r.b.nic, &rt_cfg, &r.rt), 0);
	snic_rt_lock(r.rt);
	ring(&r.x);
	snic_rt_unlock(r.rt);
	for (i = 0; i < 2; i++) {
		l[i] = (struct locker){ .r = &r };
		assert_int_equal(pthread_create(&t[i], NULL, lock_often, &l[i]),
				 0);
	}
	for (i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	snic_rt_lock(r.rt);
	assert_int_equal(state_of(&r.x), SNIC_QP_RTS);
	snic_rt_unlock(r.rt);
	assert_true(snic_rt_cpu_ns(r.rt) > 0);
	stop(&r);
}

/* An RNR timer runs out while nobody calls. */
static void sleeping_thread_keeps_time(void **state)
{
	struct run r;
	struct wqe w;

	start(&r, 0);
	snic_rt_lock(r.rt);
	w = wqe_begin(&r.x, WRC_WQE_SEND, 0, CE);
	wqe_data(&w, r.src, 8);
	wqe_end(&w);
	ring(&r.x);
	snic_rt_unlock(r.rt);
	pause_ns(2000000);
	r.src[0] = 4711;
	/* Receive entries have no doorbell but their record. */
	snic_rt_lock(r.rt);
	post_recv(&r.y, r.dst, 8);
	snic_rt_unlock(r.rt);
	wait_cqe(&r, cq_buf(&r, r.x.scqn), 0, 1024);
	assert_true(r.dst[0] == 4711);
	stop(&r);
}

struct reader {
	const uint64_t *words;
	unsigned int nr;
	bool stop, torn;
	unsigned int changes;
};

static void *read_words(void *arg)
{
	struct reader *r = arg;
	uint64_t last = 0;
	unsigned int i;

	while (!__atomic_load_n(&r->stop, __ATOMIC_RELAXED)) {
		for (i = 0; i < r->nr; i++) {
			uint64_t v = __atomic_load_n(&r->words[i],
						     __ATOMIC_RELAXED);

			if (v != 0 && v != ~0ull)
				r->torn = true;
			r->changes += v != last;
			last = v;
		}
	}
	return NULL;
}

/* A reader of an aligned word while it is written sees all of it or nothing. */
static void words_are_not_torn(void **state)
{
	struct snic_config cfg = host_default;
	struct snic_rt_config rt_cfg = { .spin_us = 0 };
	struct end_opts o = { .master = true, .slave = true, .log_sq = 8 };
	struct reader reader = { .nr = 9 };
	struct end writer;
	pthread_t t;
	struct run r;
	int i;

	cfg.relaxed_index = true;
	host_open(&r.b, &cfg);
	end_open(&r.b, &o, &r.x);
	end_open(&r.b, &(struct end_opts){ .oi = true, .log_sq = 15 }, &writer);
	end_join(&r.x, &r.x);
	end_join(&writer, &writer);
	r.src = host_alloc(&r.b, 256);
	r.dst = host_alloc(&r.b, 256);
	memset(r.src + 16, 0xff, 128);
	reader.words = r.dst + 1;
	for (i = 0; i < 32768; i++)
		put_write(&writer, 0, r.src + (i & 1 ? 16 : 0) + 1, 72,
			  r.dst + 1);
	assert_int_equal(pthread_create(&t, NULL, read_words, &reader), 0);
	assert_int_equal(snic_rt_start(r.b.nic, &rt_cfg, &r.rt), 0);
	for (i = 0; i < 20; i++) {
		struct snic_qp_info info;

		snic_rt_lock(r.rt);
		/* the ring once more, and again */
		assert_int_equal(snic_qp_doorbell(r.b.nic, writer.qpn,
						  (i + 1) * 32768), 0);
		snic_rt_unlock(r.rt);
		do {
			pause_ns(100000);
			snic_rt_lock(r.rt);
			assert_int_equal(snic_qp_query(r.b.nic, writer.qpn,
						       &info), 0);
			snic_rt_unlock(r.rt);
		} while (info.sq_executed != info.sq_limit);
		assert_int_equal(info.state, SNIC_QP_RTS);
	}
	__atomic_store_n(&reader.stop, true, __ATOMIC_RELAXED);
	pthread_join(t, NULL);
	assert_false(reader.torn);
	assert_true(reader.changes > 0);
	stop(&r);
}

/* ---- two threads and the CM ------------------------------------------------- */

struct peer {
	struct run run;
	struct snic_port *port;
};

static void peer_start(struct peer *h, struct snic_port *port, uint8_t nr)
{
	struct snic_rt_config rt_cfg = { .spin_us = 5 };
	struct snic_config cfg = host_default;
	struct run *r = &h->run;

	cfg.ip = host_ip(nr);
	cfg.mac[5] = nr;
	cfg.seed = nr;
	cfg.mtu = 4500;
	host_open(&r->b, &cfg);
	end_open(&r->b, NULL, &r->x);
	r->src = host_alloc(&r->b, 65536);
	h->port = port;
	assert_int_equal(snic_rt_start(r->b.nic, &rt_cfg, &r->rt), 0);
	/* while the thread sleeps */
	snic_rt_lock(r->rt);
	assert_int_equal(snic_port_add(r->b.nic, port), 0);
	snic_rt_unlock(r->rt);
}

static void peer_stop(struct peer *h)
{
	stop(&h->run);
	h->port->ops->close(h->port);
}

/* Sleeps on the descriptor, as an agent does. */
static void next_event(struct peer *h, enum snic_cm_event_type type,
		       struct snic_cm_event *ret_ev)
{
	struct pollfd p = {
		.fd = snic_rt_event_fd(h->run.rt), .events = POLLIN,
	};
	int r;

	assert_int_equal(poll(&p, 1, 60000), 1);
	snic_rt_lock(h->run.rt);
	r = snic_cm_poll(h->run.b.nic, ret_ev);
	snic_rt_unlock(h->run.rt);
	assert_int_equal(r, 0);
	assert_int_equal(ret_ev->type, type);
	/* one event at a time here: none is left */
	assert_int_equal(poll(&p, 1, 0), 0);
}

/* Connects the queue pairs x of both; b has a receive of 40000 bytes. */
static void peers_connect(struct peer *a, struct peer *b, uint32_t *ret_id)
{
	struct snic_cm_event ev, ev_b;
	struct snic_cm_param param = { .retry_cnt = 7, .rnr_retry = 7 };
	uint32_t listener;

	snic_rt_lock(b->run.rt);
	assert_int_equal(snic_cm_listen(b->run.b.nic, 7000, &listener), 0);
	snic_rt_unlock(b->run.rt);
	snic_rt_lock(a->run.rt);
	param.qpn = a->run.x.qpn;
	assert_int_equal(snic_cm_connect(a->run.b.nic, htobe32(0x0a000002), 7000,
					 &param, ret_id), 0);
	snic_rt_unlock(a->run.rt);

	next_event(b, SNIC_CM_REQUEST, &ev_b);
	assert_int_equal(ev_b.listener, listener);
	snic_rt_lock(b->run.rt);
	param.qpn = b->run.x.qpn;
	post_recv(&b->run.x, b->run.src, 40000);
	assert_int_equal(snic_cm_accept(b->run.b.nic, ev_b.id, &param), 0);
	snic_rt_unlock(b->run.rt);
	next_event(a, SNIC_CM_ESTABLISHED, &ev);
	next_event(b, SNIC_CM_ESTABLISHED, &ev);
}

static void two_threads_connect(void **state)
{
	struct snic_cm_event ev;
	struct snic_port *pa, *pb;
	struct peer a, b;
	uint32_t id;
	struct wqe w;

	assert_int_equal(snic_port_pair_open(&pa, &pb), 0);
	peer_start(&a, pa, 1);
	peer_start(&b, pb, 2);
	peers_connect(&a, &b, &id);

	memset(a.run.src, 0x6b, 40000);
	snic_rt_lock(a.run.rt);
	w = wqe_begin(&a.run.x, WRC_WQE_SEND, 0, CE);
	wqe_data(&w, a.run.src, 40000);
	wqe_end(&w);
	ring(&a.run.x);
	snic_rt_unlock(a.run.rt);
	wait_cqe(&a.run, cq_buf(&a.run, a.run.x.scqn), 0, 1024);
	assert_memory_equal(a.run.src, b.run.src, 40000);

	snic_rt_lock(a.run.rt);
	assert_int_equal(snic_cm_disconnect(a.run.b.nic, id), 0);
	snic_rt_unlock(a.run.rt);
	next_event(&b, SNIC_CM_DISCONNECTED, &ev);
	next_event(&a, SNIC_CM_DISCONNECTED, &ev);
	peer_stop(&a);
	peer_stop(&b);
}

/* ---- helpers ------------------------------------------------------------------ */

/* Two NICs; the first may have helpers, and sends. */
struct helped {
	struct peer a, b;
	unsigned int sent;
};

static void helped_start(struct helped *h)
{
	struct snic_port *pa, *pb;
	uint32_t id;

	h->sent = 0;
	assert_int_equal(snic_port_pair_open(&pa, &pb), 0);
	peer_start(&h->a, pa, 1);
	peer_start(&h->b, pb, 2);
	peers_connect(&h->a, &h->b, &id);
}

static void helped_stop(struct helped *h)
{
	peer_stop(&h->a);
	peer_stop(&h->b);
}

/* Writes a SEND that is not rung yet, and gives the other end a receive for it. */
static void helped_put(struct helped *h)
{
	struct wqe w;

	snic_rt_lock(h->b.run.rt);
	post_recv(&h->b.run.x, h->b.run.src, 40000);
	snic_rt_unlock(h->b.run.rt);
	snic_rt_lock(h->a.run.rt);
	w = wqe_begin(&h->a.run.x, WRC_WQE_SEND, 0, CE);
	wqe_data(&w, h->a.run.src, 8);
	wqe_end(&w);
	/* the same as polling, so that the CQ does not fill */
	snic_cq_lookup(h->a.run.b.nic, h->a.run.x.scqn)->ci = h->sent & SNIC_CQ_MASK;
	snic_rt_unlock(h->a.run.rt);
}

static void helped_await(struct helped *h)
{
	wait_cqe(&h->a.run, cq_buf(&h->a.run, h->a.run.x.scqn), h->sent++, 1024);
}

/* A message and its ACK, which is for the helper or for the NIC's thread. */
static void helped_send(struct helped *h)
{
	helped_put(h);
	snic_rt_ring(h->a.run.rt, h->a.run.x.qpn, h->a.run.x.pi);
	helped_await(h);
}

struct assistant {
	struct snic_helper *helper;
	pthread_t thread;
	int wake_fd;
	unsigned int most;	/* frames after which it leaves */
	atomic_uint frames;	/* for which it was woken */
	bool woken;
};

static void *assist(void *arg)
{
	struct assistant *s = arg;
	unsigned int woken = 0;

	while (!(woken & SNIC_WOKEN_BY_CALLER) && atomic_load(&s->frames) < s->most) {
		if (snic_helper_wait(s->helper, SNIC_NEVER, &woken))
			return NULL;
		if (!(woken & SNIC_WOKEN_BY_FRAME))
			continue;
		snic_helper_work(s->helper);
		atomic_fetch_add(&s->frames, 1);
	}
	s->woken = true;
	return NULL;
}

static void assistant_make(struct helped *h, struct assistant *s)
{
	*s = (struct assistant){ .wake_fd = eventfd(0, EFD_NONBLOCK) };
	assert_true(s->wake_fd >= 0);
	assert_int_equal(snic_helper_new(h->a.run.rt, s->wake_fd, &s->helper), 0);
}

static void assistant_start(struct helped *h, struct assistant *s, unsigned int most)
{
	assistant_make(h, s);
	s->most = most;
	assert_int_equal(pthread_create(&s->thread, NULL, assist, s), 0);
}

static void assistant_free(struct assistant *s)
{
	snic_helper_free(s->helper);
	close(s->wake_fd);
}

static void assistant_end(struct assistant *s)
{
	assert_int_equal(eventfd_write(s->wake_fd, 1), 0);
	pthread_join(s->thread, NULL);
	assert_true(s->woken);
	assistant_free(s);
}

/* There is a helper, and it does not wait: the NIC's thread takes the frames. */
static void no_helper_waits(void **state)
{
	struct assistant s;
	struct helped h;
	unsigned int i;

	helped_start(&h);
	assistant_make(&h, &s);
	for (i = 0; i < 50; i++)
		helped_send(&h);
	assistant_free(&s);
	for (i = 0; i < 50; i++)
		helped_send(&h);
	helped_stop(&h);
}

/* A helper that waits takes frames, until it is woken. */
static void helper_takes_frames(void **state)
{
	struct assistant s;
	struct helped h;

	helped_start(&h);
	assistant_start(&h, &s, UINT32_MAX);
	while (atomic_load(&s.frames) < 50)
		helped_send(&h);
	assistant_end(&s);
	helped_send(&h);
	helped_stop(&h);
}

/* The first of several leaves each time while the others wait. */
static void helpers_leave(void **state)
{
	struct assistant s[3];
	struct helped h;
	unsigned int i;

	helped_start(&h);
	for (i = 0; i < 3; i++)
		assistant_start(&h, &s[i], 1 + i);
	for (i = 0; i < 3; i++)
		while (atomic_load(&s[i].frames) < 1 + i)
			helped_send(&h);
	for (i = 0; i < 3; i++)
		assistant_end(&s[i]);
	for (i = 0; i < 50; i++)
		helped_send(&h);
	helped_stop(&h);
}

/* The NIC's thread does what a helper has no part in: timers, and calls. */
static void helper_waits_for_timer(void **state)
{
	struct assistant s;
	struct helped h;
	struct wqe w;

	helped_start(&h);
	assistant_start(&h, &s, UINT32_MAX);
	helped_send(&h);	/* takes the first receive */
	snic_rt_lock(h.a.run.rt);
	w = wqe_begin(&h.a.run.x, WRC_WQE_SEND, 0, CE);
	wqe_data(&w, h.a.run.src, 8);
	wqe_end(&w);
	ring(&h.a.run.x);
	w = wqe_begin(&h.a.run.x, WRC_WQE_SEND, 0, CE);
	wqe_data(&w, h.a.run.src, 8);
	wqe_end(&w);
	ring(&h.a.run.x);
	snic_rt_unlock(h.a.run.rt);
	/* The second is refused until there is a receive, and sent again by a timer. */
	helped_await(&h);
	snic_rt_lock(h.b.run.rt);
	post_recv(&h.b.run.x, h.b.run.src, 40000);
	snic_rt_unlock(h.b.run.rt);
	helped_await(&h);
	assistant_end(&s);
	helped_stop(&h);
}

/* Doorbells that the caller pushes, and that the NIC's thread executes where it is awake. */
static void noted_doorbells(void **state)
{
	unsigned int put_off = 0;
	struct assistant s;
	struct helped h;

	helped_start(&h);
	/* nobody has ever helped: a push is not needed */
	helped_put(&h);
	assert_false(snic_rt_note(h.a.run.rt, h.a.run.x.qpn, h.a.run.x.pi));
	helped_await(&h);
	assistant_make(&h, &s);
	while (put_off < 50) {
		helped_put(&h);
		if (snic_rt_note(h.a.run.rt, h.a.run.x.qpn, h.a.run.x.pi)) {
			snic_rt_push(h.a.run.rt);
			put_off++;
		}
		helped_await(&h);
	}
	assistant_free(&s);
	helped_stop(&h);
}

/* A descriptor that changes cannot be waited for by several threads. */
static void no_helper_of_stream(void **state)
{
	char path[] = "/tmp/odrp-rt-XXXXXX";
	struct snic_helper *helper;
	struct snic_port *port;
	struct run r;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	unlink(path);
	assert_int_equal(snic_port_stream_open(path, &port), 0);
	start(&r, 0);
	snic_rt_lock(r.rt);
	assert_int_equal(snic_port_add(r.b.nic, port), 0);
	snic_rt_unlock(r.rt);
	fd = eventfd(0, EFD_NONBLOCK);
	assert_true(fd >= 0);
	assert_int_equal(snic_helper_new(r.rt, fd, &helper), -EOPNOTSUPP);
	close(fd);
	stop(&r);
	port->ops->close(port);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_seen_by_cqe),
		cmocka_unit_test(busy_nic_does_not_starve_callers),
		cmocka_unit_test(sleeping_thread_keeps_time),
		cmocka_unit_test(words_are_not_torn),
		cmocka_unit_test(two_threads_connect),
		cmocka_unit_test(no_helper_waits),
		cmocka_unit_test(helper_takes_frames),
		cmocka_unit_test(helpers_leave),
		cmocka_unit_test(helper_waits_for_timer),
		cmocka_unit_test(noted_doorbells),
		cmocka_unit_test(no_helper_of_stream),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
