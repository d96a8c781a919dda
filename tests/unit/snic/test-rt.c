// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The real-time runner: work is done without anyone stepping, callers get the
 * NIC, CQEs can be read by other threads, and an idle NIC costs nothing.
 */
#include <pthread.h>
#include <time.h>
#include "loop.h"

struct run {
	struct bed b;
	struct end x, y;
	struct snic_rt *rt;
	uint64_t *src, *dst;
};

static void start(struct run *r, uint32_t spin_us)
{
	struct snic_rt_config cfg = { .spin_us = spin_us };

	bed_open(&r->b, NULL);
	end_open(&r->b, NULL, &r->x);
	end_open(&r->b, NULL, &r->y);
	end_join(&r->x, &r->y);
	r->src = bed_alloc(&r->b, 4096);
	r->dst = bed_alloc(&r->b, 4096);
	assert_int_equal(snic_rt_start(r->b.nic, &cfg, &r->rt), 0);
}

static void stop(struct run *r)
{
	snic_rt_stop(r->rt);
	bed_close(&r->b);
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

static void *lock_often(void *arg)
{
	struct locker *l = arg;

	while (l->turns < 300) {
		snic_rt_lock(l->r->rt);
		l->turns++;
		snic_rt_unlock(l->r->rt);
	}
	return NULL;
}

/* A ring that re-arms itself: the NIC is never idle. */
static void busy_nic_does_not_starve_callers(void **state)
{
	struct snic_config cfg = bed_config;
	struct snic_rt_config rt_cfg = { .spin_us = 0 };
	struct end_opts o = { .master = true, .log_sq = 8 };
	struct locker l[2];
	struct snic_stats st;
	pthread_t t[2];
	struct run r;
	int i;

	cfg.relaxed_index = true;
	bed_open(&r.b, &cfg);
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
	snic_get_stats(r.b.nic, &st);
	snic_rt_unlock(r.rt);
	assert_true(st.wqes > 1000);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writes_seen_by_cqe),
		cmocka_unit_test(busy_nic_does_not_starve_callers),
		cmocka_unit_test(sleeping_thread_keeps_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
