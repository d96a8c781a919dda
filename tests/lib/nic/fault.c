/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fault wrapper: its rules, and the death of the client. */
#include "fault.h"

#include <errno.h>
#include <stdlib.h>

#include "fault_priv.h"

static void claims_give_up(struct fault_nic *fault)
{
	struct far_nic *inner = fault->wrap.inner;
	unsigned i;

	pthread_mutex_lock(&fault->lock);
	for (i = 0; i < FAULT_CLAIMS; i++) {
		struct fault_claim *claim = &fault->claim[i];

		if (claim->peer)
			inner->ops->unclaim(inner, claim->peer, claim->client);
		claim->peer = NULL;
	}
	pthread_mutex_unlock(&fault->lock);
}

/*
 * A thread that enters after the client's death executes nothing. A thread that entered
 * before may still execute operations; the last thread to leave gives up the claims.
 * Accesses to inside and dead are sequentially consistent, so that a thread which does
 * not see dead is counted by all that do.
 */
void fault_leave(struct fault_nic *fault)
{
	if (!__atomic_sub_fetch(&fault->inside, 1, __ATOMIC_SEQ_CST) &&
	    __atomic_load_n(&fault->dead, __ATOMIC_SEQ_CST))
		claims_give_up(fault);
}

int fault_enter(struct fault_nic *fault)
{
	__atomic_add_fetch(&fault->inside, 1, __ATOMIC_SEQ_CST);
	if (!__atomic_load_n(&fault->dead, __ATOMIC_SEQ_CST))
		return 0;
	fault_leave(fault);
	return -ESHUTDOWN;
}

static int fault_claim(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	struct fault_nic *fault = fault_nic_of(nic);
	struct far_nic *inner = fault->wrap.inner;
	int err = -ENOMEM;
	unsigned i;

	if (fault_enter(fault))
		return -ESHUTDOWN;
	pthread_mutex_lock(&fault->lock);
	for (i = 0; i < FAULT_CLAIMS && fault->claim[i].peer; i++)
		;
	if (i < FAULT_CLAIMS)
		err = inner->ops->claim(inner, peer, client);
	if (!err)
		fault->claim[i] = (struct fault_claim) { peer, client };
	pthread_mutex_unlock(&fault->lock);
	fault_leave(fault);
	return err;
}

static void fault_unclaim(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	struct fault_nic *fault = fault_nic_of(nic);
	struct far_nic *inner = fault->wrap.inner;
	unsigned i;

	pthread_mutex_lock(&fault->lock);
	for (i = 0; i < FAULT_CLAIMS; i++) {
		struct fault_claim *claim = &fault->claim[i];

		if (claim->peer != peer || claim->client != client)
			continue;
		inner->ops->unclaim(inner, peer, client);
		claim->peer = NULL;
	}
	pthread_mutex_unlock(&fault->lock);
}

/* The inner back end's detach() ends the claims of this peer. */
static void fault_detach(struct far_nic *nic, struct far_peer *peer)
{
	struct fault_nic *fault = fault_nic_of(nic);
	struct far_nic *inner = fault->wrap.inner;
	unsigned i;

	pthread_mutex_lock(&fault->lock);
	for (i = 0; i < FAULT_CLAIMS; i++)
		if (fault->claim[i].peer == peer)
			fault->claim[i].peer = NULL;
	pthread_mutex_unlock(&fault->lock);
	inner->ops->detach(inner, peer);
}

static void fault_close(struct far_nic *nic)
{
	struct fault_nic *fault = fault_nic_of(nic);
	struct far_nic *inner = fault->wrap.inner;

	inner->ops->close(inner);
	pthread_mutex_destroy(&fault->lock);
	free(fault);
}

int far_fault_new(struct far_nic *inner, uint64_t seed, unsigned always,
		  struct far_nic **ret_nic)
{
	struct fault_nic *fault = calloc(1, sizeof(*fault));

	if (!fault)
		return -ENOMEM;
	far_wrap_init(&fault->wrap, inner, "fault", "makes operations of another back "
		      "end fail");
	fault->seed = seed;
	fault->always = always;
	pthread_mutex_init(&fault->lock, NULL);
	fault->wrap.ops.caps &= ~FAR_NIC_CAP_MSG;
	fault_call_init(&fault->call);
	if (inner->ops->call)
		fault->wrap.ops.call = &fault->call;
	fault->wrap.ops.close = fault_close;
	fault->wrap.ops.claim = fault_claim;
	fault->wrap.ops.unclaim = fault_unclaim;
	fault->wrap.ops.detach = fault_detach;
	fault->wrap.ops.qset_new = fault_qset_new;
	fault->wrap.ops.qset_free = fault_qset_free;
	fault->wrap.ops.connect = fault_connect;
	fault->wrap.ops.post = fault_post;
	fault->wrap.ops.poll = fault_poll;
	fault->wrap.ops.wait = fault_wait;
	if (inner->ops->fd_arm)
		fault->wrap.ops.fd_arm = fault_fd_arm;
	fault->wrap.ops.stats = fault_qset_stats;
	*ret_nic = &fault->wrap.nic;
	return 0;
}

void far_fault_always(struct far_nic *nic, unsigned always)
{
	__atomic_store_n(&fault_nic_of(nic)->always, always, __ATOMIC_RELAXED);
}

/* Sets the count of a rule. Release: a thread that sees it sees the rule's other values. */
static void rule_set(const struct fault_nic *fault, uint64_t *at, uint64_t n)
{
	uint64_t count = __atomic_load_n(&fault->count, __ATOMIC_RELAXED);

	__atomic_store_n(at, n ? count + n : 0, __ATOMIC_RELEASE);
}

void far_fault_fail_at(struct far_nic *nic, uint64_t n, int status)
{
	struct fault_nic *fault = fault_nic_of(nic);

	__atomic_store_n(&fault->fail_status, status, __ATOMIC_RELAXED);
	rule_set(fault, &fault->fail_at, n);
}

void far_fault_delay_at(struct far_nic *nic, uint64_t n, unsigned polls)
{
	struct fault_nic *fault = fault_nic_of(nic);

	__atomic_store_n(&fault->delay_polls, polls, __ATOMIC_RELAXED);
	rule_set(fault, &fault->delay_at, n);
}

void far_fault_kill_at(struct far_nic *nic, uint64_t n, void (*die)(void *arg),
		       void *arg)
{
	struct fault_nic *fault = fault_nic_of(nic);

	__atomic_store_n(&fault->die, die, __ATOMIC_RELAXED);
	__atomic_store_n(&fault->die_arg, arg, __ATOMIC_RELAXED);
	rule_set(fault, &fault->kill_at, n);
}

int far_fault_dead(const struct far_nic *nic)
{
	const struct fault_nic *fault = (const struct fault_nic *)nic;

	return __atomic_load_n(&fault->dead, __ATOMIC_SEQ_CST);
}

uint64_t far_fault_count(const struct far_nic *nic)
{
	const struct fault_nic *fault = (const struct fault_nic *)nic;

	return __atomic_load_n(&fault->count, __ATOMIC_RELAXED);
}
