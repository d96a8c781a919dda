// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Asks a card about its objects without waiting: a thread of its own runs the query
 * commands, one question at a time, and nothing else.  It uses the question and the
 * objects that the question names; all else belongs to the caller's thread.  So an object
 * is destroyed only when the thread has its answer: mlx5_look_leaves().
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>
#include "mlx5-priv.h"

#define LEAVE_NS	20000000L	/* a query takes some 100 us */

/**
 * struct mlx5_look - the thread and its question
 * @lock:	protects all below; not taken while the card is asked
 * @changed:	@asking, @quit or @refs has changed
 * @refs:	the NIC, and the thread
 * @asking:	the thread has the question; else the caller has it
 * @asked:	there is a question, whose answer nobody has taken yet
 * @tired:	somebody has waited for this answer in vain
 * @quit:	the thread ends after this question
 * @look, @q, @nr: the question, and its commands
 */
struct mlx5_look {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned int refs;
	bool threaded, asking, asked, tired, quit;
	int fd;
	struct nic_look look;
	struct wrc_mlx5_question q[3];
	unsigned int nr;
};

static void look_put(struct mlx5_look *l)
{
	bool last;

	pthread_mutex_lock(&l->lock);
	last = !--l->refs;
	pthread_mutex_unlock(&l->lock);
	if (!last)
		return;
	pthread_cond_destroy(&l->changed);
	pthread_mutex_destroy(&l->lock);
	close(l->fd);
	free(l);
}

/* Ends at the first command that fails. */
static void questions_run(struct mlx5_look *l)
{
	unsigned int i;

	for (i = 0; i < l->nr; i++) {
		wrc_mlx5_question_run(&l->q[i]);
		if (l->q[i].err)
			break;
	}
}

static void *look_thread(void *arg)
{
	struct mlx5_look *l = arg;

	pthread_mutex_lock(&l->lock);
	for (;;) {
		while (!l->asking && !l->quit)
			pthread_cond_wait(&l->changed, &l->lock);
		if (!l->asking)
			break;
		pthread_mutex_unlock(&l->lock);
		questions_run(l);
		pthread_mutex_lock(&l->lock);
		l->asking = false;
		pthread_cond_broadcast(&l->changed);
		eventfd_write(l->fd, 1);
	}
	pthread_mutex_unlock(&l->lock);
	look_put(l);
	return NULL;
}

/* Signals are for the program's own threads. */
static int thread_start(struct mlx5_look *l)
{
	sigset_t all, old;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, NULL, look_thread, l);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r)
		return -r;
	/* Nobody waits for the thread's end: its command may never return. */
	pthread_detach(thread);
	l->refs++;
	return 0;
}

int mlx5_look_new(struct nic_mlx5 *m, bool threaded)
{
	struct mlx5_look *l = calloc(1, sizeof(*l));
	pthread_condattr_t attr;
	int r = 0;

	if (!l)
		return -ENOMEM;
	l->refs = 1;
	l->threaded = threaded;
	l->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (l->fd < 0) {
		r = -errno;
		free(l);
		return r;
	}
	pthread_mutex_init(&l->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&l->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (threaded)
		r = thread_start(l);
	if (r) {
		look_put(l);
		return r;
	}
	m->look = l;
	m->card.node.look_fd = threaded ? l->fd : -1;
	return 0;
}

/* True: the thread has no question any more.  Needs the lock. */
static bool look_wait(struct mlx5_look *l)
{
	struct timespec end;

	if (l->tired)
		return !l->asking;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += LEAVE_NS;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	while (l->asking && !l->tired)
		l->tired = pthread_cond_timedwait(&l->changed, &l->lock, &end);
	return !l->asking;
}

void mlx5_look_stop(struct nic_mlx5 *m)
{
	if (!m->look)
		return;
	pthread_mutex_lock(&m->look->lock);
	m->look->quit = true;
	pthread_cond_broadcast(&m->look->changed);
	look_wait(m->look);
	pthread_mutex_unlock(&m->look->lock);
}

void mlx5_look_free(struct nic_mlx5 *m)
{
	if (m->look)
		look_put(m->look);
	m->look = NULL;
}

bool mlx5_look_leaves(struct nic_mlx5 *m, const void *obj)
{
	struct mlx5_look *l = m->look;
	bool leaves = true;
	unsigned int i;

	if (!l)
		return true;
	pthread_mutex_lock(&l->lock);
	for (i = 0; l->asking && i < l->nr; i++)
		if (l->q[i].obj == obj)
			leaves = look_wait(l);
	pthread_mutex_unlock(&l->lock);
	return leaves;
}

/* -ENOENT: an object does not exist. */
static int questions_make(struct nic_mlx5 *m, struct mlx5_look *l)
{
	const struct mlx5_cq *c = numbers_find(&m->card.cqs, l->look.cqn);
	const struct mlx5_qp *q;
	unsigned int i;

	l->nr = 0;
	for (i = 0; i < 2; i++) {
		if (!l->look.qpn[i])
			continue;
		q = numbers_find(&m->card.qps, l->look.qpn[i]);
		if (!q)
			return -ENOENT;
		wrc_mlx5_qp_ask(&q->qp, &l->q[l->nr++]);
	}
	if (l->look.cqn && !c)
		return -ENOENT;
	if (l->look.cqn)
		wrc_mlx5_cq_ask(&c->cq, &l->q[l->nr++]);
	return 0;
}

int mlx5_look(struct nic *nic, const struct nic_look *look)
{
	struct nic_mlx5 *m = mlx5_of(nic);
	struct mlx5_look *l = m->look;
	int r;

	/* Nobody else sets it, or uses the question while it is not set. */
	if (l->asked)
		return -EBUSY;
	l->look = *look;
	r = questions_make(m, l);
	if (r)
		return r;
	l->asked = true;
	l->tired = false;
	if (!l->threaded) {
		questions_run(l);
		return 0;
	}
	pthread_mutex_lock(&l->lock);
	l->asking = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return 0;
}

/* The answer of queue pair qpn; q: its command. */
static int qp_seen(struct nic *nic, uint32_t qpn, const struct wrc_mlx5_question *q,
		   struct nic_qp_info *ret_info)
{
	struct nic_mlx5 *m = mlx5_of(nic);
	const struct mlx5_qp *qp = numbers_find(&m->card.qps, qpn);
	struct wrc_mlx5_qp_info hw;
	int r = wrc_mlx5_qp_answer(&m->dev, q, &hw);

	if (!r && !qp)
		r = -ENOENT;
	if (!r)
		mlx5_qp_info(nic, qp, &hw, ret_info);
	return r;
}

static int cq_seen(struct nic_mlx5 *m, uint32_t cqn, const struct wrc_mlx5_question *q,
		   struct nic_cq_info *ret_info)
{
	const struct mlx5_cq *c = numbers_find(&m->card.cqs, cqn);
	struct wrc_mlx5_cq_info hw;
	int r = wrc_mlx5_cq_answer(&m->dev, q, &hw);

	if (!r && !c)
		r = -ENOENT;
	if (!r)
		mlx5_cq_info(c, &hw, ret_info);
	return r;
}

static bool look_is_asking(struct mlx5_look *l)
{
	bool asking;

	pthread_mutex_lock(&l->lock);
	asking = l->asking;
	pthread_mutex_unlock(&l->lock);
	return asking;
}

int mlx5_seen(struct nic *nic, struct nic_seen *ret_seen)
{
	struct nic_mlx5 *m = mlx5_of(nic);
	struct mlx5_look *l = m->look;
	unsigned int i, at = 0;
	eventfd_t nr;

	if (!l->asked)
		return -ENODATA;
	if (look_is_asking(l))
		return -EAGAIN;
	if (l->threaded)
		eventfd_read(l->fd, &nr);
	l->asked = false;
	*ret_seen = (struct nic_seen){ .err = 0 };
	for (i = 0; !ret_seen->err && i < 2; i++)
		if (l->look.qpn[i])
			ret_seen->err = qp_seen(nic, l->look.qpn[i], &l->q[at++],
						&ret_seen->qp[i]);
	if (!ret_seen->err && l->look.cqn)
		ret_seen->err = cq_seen(m, l->look.cqn, &l->q[at], &ret_seen->cq);
	return 0;
}
