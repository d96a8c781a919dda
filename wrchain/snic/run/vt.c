// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The virtual-time runner: a discrete-event simulation of NICs that are joined
 * by port pairs.  Everything that can happen at one instant happens, in a fixed
 * order, before the clock moves on to the next event.
 */
#include <errno.h>
#include "../engine/engine.h"

/* Steps at one instant before it is an endless loop that costs no time. */
#define MAX_ROUNDS (1u << 14)

struct run {
	struct snic *const *nics;
	unsigned int nr;
	bool (*done)(void *arg);
	void *arg;
	uint64_t now, next;
};

static bool is_done(const struct run *run)
{
	return run->done && run->done(run->arg);
}

/* Steps each NIC once.  True: there may be more to do at this instant. */
static bool step_all(struct run *run)
{
	bool more = false;
	unsigned int i;

	run->next = SNIC_NEVER;
	for (i = 0; i < run->nr; i++) {
		struct snic *nic = run->nics[i];
		const struct snic_stats *st = snic_stats(nic);
		uint64_t frames = st->rx_frames + st->tx_frames;
		uint64_t next;

		snic_step(nic, run->now, &next);
		/* A frame sent is one to receive for another, and a frame
		 * received may have been sent on. */
		if (next <= run->now || st->rx_frames + st->tx_frames != frames)
			more = true;
		if (next < run->next)
			run->next = next;
	}
	return more;
}

/* 0: nothing left at this instant; 1: done; -ELOOP. */
static int settle(struct run *run)
{
	unsigned int rounds = 0;

	while (step_all(run)) {
		if (is_done(run))
			return 1;
		if (++rounds == MAX_ROUNDS)
			return -ELOOP;
	}
	return is_done(run);
}

int snic_vt_run(struct snic *const *nics, unsigned int nr_nics, uint64_t until,
		bool (*done)(void *arg), void *arg, uint64_t *ret_now)
{
	struct run run = {
		.nics = nics, .nr = nr_nics, .done = done, .arg = arg,
	};
	unsigned int i;
	int r;

	for (i = 0; i < nr_nics; i++)
		if (snic_now(nics[i]) > run.now)
			run.now = snic_now(nics[i]);
	for (;;) {
		r = settle(&run);
		if (r || run.next == SNIC_NEVER)
			break;
		if (run.next > until) {
			if (until > run.now)
				run.now = until;
			break;
		}
		run.now = run.next;
	}
	*ret_now = run.now;
	return r < 0 ? r : 0;
}
