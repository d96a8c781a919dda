// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The real-time runner: a thread that steps the NIC, polls for a while after
 * work if that has helped lately (spin.h), and then sleeps until a port, a timer
 * or a caller wakes it.
 *
 * The holder of `nic_lock` may use the NIC.  Each thread takes `entry_lock` first and
 * keeps it until it has nic_lock.  So the NIC's thread, which wants the NIC
 * back at once after each step, cannot overtake a caller who waits for the NIC.
 *
 * snic_rt_ring() does not wait for the NIC: it records the doorbell, and the
 * next holder of the NIC executes recorded doorbells first.
 *
 * Other threads may do the NIC's work while they wait (help.c).  The NIC's
 * thread does what comes while none of them waits, and all timers.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include "../cm/cm.h"
#include "../device/device.h"
#include "../engine/engine.h"
#include "../net/net.h"
#include "../../own/own.h"
#include "run-priv.h"

/* The longest sleep if ports cannot wake the thread, or wake it without a
 * frame. */
#define NAP_NS		1000000ull
#define MAX_FALSE_ALARMS 64

uint64_t snic_rt_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SNIC_NS_PER_S + ts.tv_nsec;
}

/* The value of an eventfd does not matter here, only whether it is readable. */
static void set_fd(int fd)
{
	uint64_t one = 1;
	ssize_t r = write(fd, &one, sizeof(one));

	(void)r;	/* EAGAIN: it is readable already */
}

static void clear_fd(int fd)
{
	uint64_t n;
	ssize_t r = read(fd, &n, sizeof(n));

	(void)r;	/* EAGAIN: it was not readable */
}

/* Executes recorded doorbells; the caller holds the NIC. */
static void answer_rings(struct snic_rt *rt)
{
	struct snic_ring rings[SNIC_RT_RINGS];
	unsigned int i, nr;

	if (!atomic_load(&rt->nr_rings))
		return;
	pthread_mutex_lock(&rt->rings_lock);
	nr = atomic_load_explicit(&rt->nr_rings, memory_order_relaxed);
	memcpy(rings, rt->rings, nr * sizeof(rings[0]));
	atomic_store_explicit(&rt->nr_rings, 0, memory_order_relaxed);
	pthread_mutex_unlock(&rt->rings_lock);
	snic_set_now(rt->nic, snic_rt_clock());
	for (i = 0; i < nr; i++)
		snic_qp_doorbell(rt->nic, rings[i].qpn, rings[i].pi);
}

static void take_nic(struct snic_rt *rt)
{
	pthread_mutex_lock(&rt->entry_lock);
	pthread_mutex_lock(&rt->nic_lock);
	pthread_mutex_unlock(&rt->entry_lock);
	answer_rings(rt);
}

static void notify_completions(struct snic_rt *rt)
{
	uint64_t cqes = snic_stats(rt->nic)->cqes;

	if (cqes == rt->cqes_notified)
		return;
	rt->cqes_notified = cqes;
	if (rt->completed)
		rt->completed(rt->arg);
}

/* Calls completed(), makes event_fd readable or not, and releases the NIC. */
static void give_nic(struct snic_rt *rt)
{
	bool pending = snic_cm_pending(snic_cm_of(rt->nic));

	notify_completions(rt);
	if (pending != rt->event_set) {
		if (pending)
			set_fd(rt->event_fd);
		else
			clear_fd(rt->event_fd);
		rt->event_set = pending;
	}
	pthread_mutex_unlock(&rt->nic_lock);
}

void snic_rt_kick(struct snic_rt *rt)
{
	atomic_store(&rt->kicked, true);
	if (atomic_load(&rt->asleep))
		set_fd(rt->kick_fd);
}

/* True: a call has left work that cannot wait until wake_at. */
static bool has_news(const struct snic_rt *rt)
{
	struct snic *nic = rt->nic;

	return snic_is_busy(nic) || snic_timers_next(nic) < rt->wake_at ||
	       snic_net_fds(snic_net_of(nic), NULL, 0) != rt->nr_ports;
}

void snic_rt_lock(struct snic_rt *rt)
{
	take_nic(rt);
	/* The last step may be long ago; the caller's time-outs start now. */
	snic_set_now(rt->nic, snic_rt_clock());
}

void snic_rt_unlock(struct snic_rt *rt)
{
	bool news = has_news(rt);

	give_nic(rt);
	if (news)
		snic_rt_kick(rt);
}

void snic_rt_work(struct snic_rt *rt)
{
	uint64_t next;
	int old;

	/* A thread of the program that is cancelled here would keep the NIC. */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	take_nic(rt);
	snic_step(rt->nic, snic_rt_clock(), &next);
	snic_rt_unlock(rt);
	pthread_setcancelstate(old, NULL);
}

/* Records a doorbell in place of an earlier one of the queue pair.  False: no
 * room. */
static bool note_ring(struct snic_rt *rt, uint32_t qpn, uint16_t pi)
{
	unsigned int i, nr;

	pthread_mutex_lock(&rt->rings_lock);
	nr = atomic_load_explicit(&rt->nr_rings, memory_order_relaxed);
	for (i = 0; i < nr && rt->rings[i].qpn != qpn; i++)
		;
	if (i < SNIC_RT_RINGS)
		rt->rings[i] = (struct snic_ring){ .qpn = qpn, .pi = pi };
	if (i == nr && i < SNIC_RT_RINGS)
		atomic_store(&rt->nr_rings, nr + 1);
	pthread_mutex_unlock(&rt->rings_lock);
	return i < SNIC_RT_RINGS;
}

void snic_rt_ring(struct snic_rt *rt, uint32_t qpn, uint16_t pi)
{
	if (note_ring(rt, qpn, pi)) {
		snic_rt_kick(rt);
		return;
	}
	snic_rt_lock(rt);
	snic_qp_doorbell(rt->nic, qpn, pi);
	snic_rt_unlock(rt);
}

bool snic_rt_note(struct snic_rt *rt, uint32_t qpn, uint16_t pi)
{
	if (!atomic_load(&rt->helped) || !note_ring(rt, qpn, pi)) {
		snic_rt_ring(rt, qpn, pi);
		return false;
	}
	/* Either the thread sees kicked and executes the doorbell, or it sleeps. */
	atomic_store(&rt->kicked, true);
	return atomic_load(&rt->asleep);
}

void snic_rt_push(struct snic_rt *rt)
{
	if (atomic_load(&rt->nr_rings))
		snic_rt_work(rt);
}

/* ---- the thread --------------------------------------------------------- */

static uint64_t work_done(struct snic *nic)
{
	const struct snic_stats *s = snic_stats(nic);

	return s->rx_frames + s->tx_frames + s->wqes + s->cqes;
}

static void list_fds(struct snic_rt *rt)
{
	int fds[SNIC_RT_PORTS];
	unsigned int i, n = snic_net_fds(snic_net_of(rt->nic), fds, SNIC_RT_PORTS);

	rt->nr_ports = n;
	if (rt->ports_fd >= 0 && n == rt->ports_in) {
		fds[0] = rt->ports_fd;
		n = 1;
	}
	rt->blind = n > SNIC_RT_PORTS;
	if (rt->blind)
		n = SNIC_RT_PORTS;
	rt->fds[0] = (struct pollfd){ .fd = rt->kick_fd, .events = POLLIN };
	for (i = 0; i < n; i++) {
		rt->fds[i + 1] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
		rt->blind |= fds[i] < 0;
	}
	rt->nr_fds = n + 1;
}

/* One step.  True: go on without a pause.  False: sleep until *ret_next. */
static bool rt_step(struct snic_rt *rt, uint64_t *ret_next)
{
	struct snic *nic = rt->nic;
	uint64_t now, before;
	bool busy;

	take_nic(rt);
	now = snic_rt_clock();
	before = work_done(nic);
	snic_step(nic, now, ret_next);
	busy = work_done(nic) != before || *ret_next <= now;
	if (busy) {
		snic_spin_found(&rt->spin, now);
		rt->false_alarms = 0;
	}
	/* A thread that polls would take the frames from a helper, and its processor. */
	if (atomic_load(&rt->nr_helping))
		busy = *ret_next <= now;
	else
		busy = busy || snic_spin_on(&rt->spin, now);
	/*
	 * Look for frames again after the ports were told to wake the thread.
	 */
	busy = busy || snic_net_doze(snic_net_of(nic));
	if (!busy)
		list_fds(rt);
	rt->wake_at = busy ? now : *ret_next;
	give_nic(rt);
	return busy;
}

static void wait_for_work(struct snic_rt *rt, uint64_t next)
{
	uint64_t now = snic_rt_clock(), ns = next > now ? next - now : 0;
	unsigned int nr = rt->nr_fds;
	struct timespec ts;
	int n;

	if (rt->false_alarms > MAX_FALSE_ALARMS)
		nr = 1;
	if ((rt->blind || nr == 1) && rt->nr_fds > 1 && ns > NAP_NS)
		ns = NAP_NS;
	ts.tv_sec = ns / SNIC_NS_PER_S;
	ts.tv_nsec = ns % SNIC_NS_PER_S;
	n = ppoll(rt->fds, nr, next == SNIC_NEVER && ns > NAP_NS ? NULL : &ts,
		  NULL);
	if (rt->fds[0].revents)
		clear_fd(rt->kick_fd);
	else if (n > 0)
		rt->false_alarms++;	/* reset if there is work */
}

static void sleep_until(struct snic_rt *rt, uint64_t next)
{
	/* Either a caller sees asleep, or this thread sees kicked. */
	uint64_t from = snic_rt_clock();

	atomic_store(&rt->asleep, true);
	if (!atomic_load(&rt->kicked) && !atomic_load(&rt->stop))
		wait_for_work(rt, next);
	atomic_store(&rt->asleep, false);
	atomic_store(&rt->kicked, false);
	snic_spin_slept(&rt->spin, snic_rt_clock() - from);
}

static void *rt_run(void *arg)
{
	struct snic_rt *rt = arg;
	uint64_t next;

	/* RNR timers are a few us long. */
	prctl(PR_SET_TIMERSLACK, 1000ul);
	while (!atomic_load(&rt->stop))
		if (!rt_step(rt, &next))
			sleep_until(rt, next);
	return NULL;
}

/* ---- set-up and tear-down ----------------------------------------------- */

static int start_thread(struct snic_rt *rt)
{
	int r = own_thread_start(&rt->thread, rt_run, rt);

	if (!r)
		pthread_setname_np(rt->thread, "snic");
	return r;
}

static int open_fds(struct snic_rt *rt)
{
	rt->kick_fd = own_fd(eventfd(0, EFD_NONBLOCK));
	if (rt->kick_fd < 0)
		return rt->kick_fd;
	rt->event_fd = own_fd(eventfd(0, EFD_NONBLOCK));
	if (rt->event_fd >= 0)
		return 0;
	own_fd_close(rt->kick_fd);
	return rt->event_fd;
}

int snic_rt_start(struct snic *nic, const struct snic_rt_config *cfg,
		  struct snic_rt **ret_rt)
{
	struct snic_rt *rt = calloc(1, sizeof(*rt));
	int r;

	if (!rt)
		return -ENOMEM;
	rt->nic = nic;
	rt->ports_fd = -1;
	rt->spin.max_ns = cfg->spin_us * 1000ull;
	rt->completed = cfg->completed;
	rt->arg = cfg->arg;
	r = open_fds(rt);
	if (r)
		goto free_rt;
	r = -pthread_mutex_init(&rt->entry_lock, NULL);
	if (r)
		goto close_fds;
	r = -pthread_mutex_init(&rt->nic_lock, NULL);
	if (r)
		goto destroy_entry_lock;
	r = -pthread_mutex_init(&rt->rings_lock, NULL);
	if (r)
		goto destroy_nic_lock;
	r = start_thread(rt);
	if (r)
		goto destroy_rings_lock;
	*ret_rt = rt;
	return 0;

destroy_rings_lock:
	pthread_mutex_destroy(&rt->rings_lock);
destroy_nic_lock:
	pthread_mutex_destroy(&rt->nic_lock);
destroy_entry_lock:
	pthread_mutex_destroy(&rt->entry_lock);
close_fds:
	own_fd_close(rt->kick_fd);
	own_fd_close(rt->event_fd);
free_rt:
	free(rt);
	return r;
}

void snic_rt_stop(struct snic_rt *rt)
{
	if (!rt)
		return;
	atomic_store(&rt->stop, true);
	snic_rt_kick(rt);
	pthread_join(rt->thread, NULL);
	pthread_mutex_destroy(&rt->rings_lock);
	pthread_mutex_destroy(&rt->nic_lock);
	pthread_mutex_destroy(&rt->entry_lock);
	own_fd_close(rt->kick_fd);
	own_fd_close(rt->event_fd);
	own_fd_close(rt->ports_fd);
	free(rt);
}

int snic_rt_event_fd(struct snic_rt *rt)
{
	return rt->event_fd;
}

uint64_t snic_rt_cpu_ns(struct snic_rt *rt)
{
	struct timespec ts;
	clockid_t clock;

	if (pthread_getcpuclockid(rt->thread, &clock) ||
	    clock_gettime(clock, &ts))
		return 0;
	return ts.tv_sec * SNIC_NS_PER_S + ts.tv_nsec;
}
