/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long the NIC's thread polls for work before it sleeps.
 *
 * Polling saves the time of a wake-up if work comes soon. It does harm where whoever makes
 * the work waits for the processor that polls: then no work comes before the thread
 * sleeps, and each step of a round trip takes as long as a poll. So the thread learns from
 * each poll. One that has found work makes the next ones likelier; one that has found
 * nothing ends polling until several sleeps have been short, each of which a poll would
 * have saved.
 */
#ifndef SNIC_RUN_SPIN_H
#define SNIC_RUN_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#define SNIC_SPIN_MAX_WAIT	1024u	/* short sleeps */

struct snic_spin {
	uint64_t max_ns;	/* of a poll; 0: never poll */
	uint64_t since;		/* when work was found last */
	bool off;		/* sleep without polling */
	bool polling;		/* nothing was found since then */
	unsigned int wait;	/* short sleeps before the thread polls again */
	unsigned int naps;	/* short sleeps since polling was switched off */
};

/* A step has found work. */
void snic_spin_found(struct snic_spin *spin, uint64_t now);
/* A step has found no work. Returns whether to look again without a sleep. */
bool snic_spin_on(struct snic_spin *spin, uint64_t now);
/* The thread has slept for ns and was woken; not for an end of time. */
void snic_spin_slept(struct snic_spin *spin, uint64_t ns);

#endif
