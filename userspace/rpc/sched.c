/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A server's scheduling of queue pairs. */
#include "sched.h"

#include <errno.h>
#include <stdlib.h>

#define FRESH	2u	/* the interval in which a client comes, and a whole one */
#define USE_UNIT	256u	/* of rpc_sender.use: a request */
#define SMOOTH	4u	/* a report's part of the mean is one of so many */

static void seat_set(struct rpc_sched *sched, struct rpc_seat *seat, bool active)
{
	__atomic_store_n(&seat->active, active, __ATOMIC_RELEASE);
	if (active)
		seat->sender->nr_active++;
	else
		seat->sender->nr_active--;
	if (sched->changed)
		sched->changed(seat);
}

/* The active seat that was used least, or the first that is inactive. */
static struct rpc_seat *seat_find(const struct rpc_sender *sender, bool active)
{
	struct rpc_seat *seat, *best = NULL;

	for (seat = sender->seats; seat; seat = seat->next) {
		if (!!seat->active != active)
			continue;
		if (!best || (active && seat->last < best->last))
			best = seat;
	}
	return best;
}

static void sender_set(struct rpc_sched *sched, struct rpc_sender *sender, unsigned nr)
{
	struct rpc_seat *seat;

	while (sender->nr_active < nr && (seat = seat_find(sender, false)))
		seat_set(sched, seat, true);
	while (sender->nr_active > nr && (seat = seat_find(sender, true)))
		seat_set(sched, seat, false);
}

/* The mean of what clients ask that are functioning and not new, which new ones get. */
static uint64_t use_mean(const struct rpc_sched *sched)
{
	const struct rpc_sender *sender;
	uint64_t sum = 0, nr = 0;

	for (sender = sched->senders; sender; sender = sender->next)
		if (sender->runs && !sender->fresh) {
			sum += sender->use;
			nr++;
		}
	return sum > nr ? sum / nr : 1;
}

/* Queue pairs that the client can use: no more than it has threads that ask. */
static unsigned sender_most(const struct rpc_sender *sender)
{
	return sender->threads && sender->threads < sender->nr ? sender->threads : sender->nr;
}

/* Makes as many queue pairs of each client active as it gets. */
static void sched_divide(struct rpc_sched *sched)
{
	uint64_t mean = use_mean(sched);
	struct rpc_sender *sender;
	unsigned nr = 0;

	for (sender = sched->senders; sender; sender = sender->next)
		if (sender->runs)
			sched->claim[nr++] = (struct rpc_claim) {
				.use = sender->fresh ? mean : sender->use,
				.most = sender_most(sender),
				.now = sender->nr_active,
			};
	rpc_share(sched->claim, nr, sched->max);
	nr = 0;
	for (sender = sched->senders; sender; sender = sender->next) {
		unsigned active = sender->runs ? sched->claim[nr++].active : 1;

		/* While there are few, none has to be inactive. */
		sender_set(sched, sender, sched->nr_seats <= sched->max ? sender->nr : active);
	}
}

/* Takes the client's report, if there is a new one. */
static void report_take(struct rpc_sender *sender)
{
	uint32_t report = __atomic_exchange_n(&sender->report, 0, __ATOMIC_RELAXED);
	uint64_t use = (uint64_t)(report >> 16) * USE_UNIT;

	if (!report)
		return;
	sender->threads = report & UINT16_MAX;
	sender->use = sender->use ? (sender->use * (SMOOTH - 1) + use) / SMOOTH : use;
}

static void sender_collect(struct rpc_sender *sender)
{
	struct rpc_seat *seat;
	bool ran = false;

	for (seat = sender->seats; seat; seat = seat->next) {
		uint32_t now = __atomic_load_n(&seat->ran, __ATOMIC_RELAXED);

		seat->last = now - seat->seen;
		seat->seen = now;
		ran |= seat->last != 0;
	}
	report_take(sender);
	if (sender->fresh)
		sender->fresh--;
	if (ran)
		sender->fresh = 0;
	if (!ran)
		sender->use = sender->threads = 0;
	/* It has sent something, and reported nothing yet. */
	else if (!sender->use)
		sender->use = USE_UNIT;
	sender->runs = ran || sender->fresh;
}

static struct rpc_sender *sender_find(const struct rpc_sched *sched, uint64_t id)
{
	struct rpc_sender *sender = sched->senders;

	while (sender && sender->id != id)
		sender = sender->next;
	return sender;
}

static struct rpc_sender *sender_new(struct rpc_sched *sched, uint64_t id)
{
	struct rpc_claim *claim = reallocarray(sched->claim, sched->nr_senders + 1,
					       sizeof(*claim));
	struct rpc_sender *sender = calloc(1, sizeof(*sender));

	if (claim)
		sched->claim = claim;
	if (!claim || !sender) {
		free(sender);
		return NULL;
	}
	sender->id = id;
	sender->fresh = FRESH;
	sender->runs = true;
	sender->next = sched->senders;
	sched->senders = sender;
	sched->nr_senders++;
	return sender;
}

static void sender_free(struct rpc_sched *sched, struct rpc_sender *sender)
{
	struct rpc_sender **at = &sched->senders;

	while (*at != sender)
		at = &(*at)->next;
	*at = sender->next;
	free(sender);
	if (--sched->nr_senders)
		return;
	free(sched->claim);
	sched->claim = NULL;
}

int rpc_sched_join(struct rpc_sched *sched, struct rpc_seat *seat, uint64_t id)
{
	struct rpc_sender *sender;
	int err = 0;

	pthread_mutex_lock(&sched->lock);
	sender = sender_find(sched, id);
	if (!sender)
		sender = sender_new(sched, id);
	if (sender) {
		seat->sender = sender;
		seat->next = sender->seats;
		sender->seats = seat;
		sender->nr++;
		sched->nr_seats++;
		sched_divide(sched);
	} else {
		err = -ENOMEM;
	}
	pthread_mutex_unlock(&sched->lock);
	return err;
}

void rpc_sched_leave(struct rpc_sched *sched, struct rpc_seat *seat)
{
	struct rpc_sender *sender = seat->sender;
	struct rpc_seat **at;

	if (!sender)
		return;
	pthread_mutex_lock(&sched->lock);
	for (at = &sender->seats; *at != seat; at = &(*at)->next)
		;
	*at = seat->next;
	sender->nr--;
	sender->nr_active -= seat->active;
	sched->nr_seats--;
	if (!sender->nr)
		sender_free(sched, sender);
	else if (!sender->nr_active)
		sender_set(sched, sender, 1);
	pthread_mutex_unlock(&sched->lock);
	seat->sender = NULL;
}

void rpc_sched_look(struct rpc_sched *sched, uint64_t now)
{
	uint64_t begun = __atomic_load_n(&sched->begun, __ATOMIC_RELAXED);
	struct rpc_sender *sender;

	/* Threads look with times that they have read before, some earlier than begun. */
	if ((int64_t)(now - begun) < (int64_t)RPC_INTERVAL_NS ||
	    !__atomic_compare_exchange_n(&sched->begun, &begun, now, false, __ATOMIC_RELAXED,
					 __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&sched->lock);
	for (sender = sched->senders; sender; sender = sender->next)
		sender_collect(sender);
	sched_divide(sched);
	pthread_mutex_unlock(&sched->lock);
}
