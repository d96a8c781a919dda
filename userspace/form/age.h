/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ages: whether a block was born after a client remembered its address.
 *
 * A client keeps what it has seen in far memory as hints, with the age of what it saw:
 * an epoch that E had reached before the READ was posted. A block keeps the epoch that
 * its client knew of when it had been allocated: its birth. A block that is retired and
 * allocated again after the hint's READ has a birth that is greater than the hint's age,
 * because its tag is at least that age, and a birth exceeds the tag (core/epoch.h). So a
 * hint leads to the block that it meant if that was not born after the hint's age.
 *
 * A word that a CAS names is a hint, too, and proves nothing: the CAS changes whatever block
 * is there. It goes only to what was READ in the epoch of now, in which nothing that died
 * since is reused.
 *
 * Clients keep ages in 64 bits, which never come round. Far memory has room for the low
 * bits of a birth only. No code but this file compares them with anything, and an age is
 * never taken from a birth: the low bits of an old one look like those of one that is
 * still to come.
 */
#ifndef FAR_FORM_AGE_H
#define FAR_FORM_AGE_H

#include <stdbool.h>
#include <stdint.h>

#include "../core/epoch.h"

/* E had reached this epoch. */
struct form_age {
	uint64_t epoch;
};

/* The age of what the task READs from now on, or the birth of what it has allocated. */
static inline struct form_age form_age_now(const struct far_task *task)
{
	return (struct form_age){ far_epoch_known(task) };
}

/*
 * Whether the block that was READ at that age has not become another one, also if it was
 * retired since. now: form_age_now(), in the same epoch as what relies on the answer.
 */
static inline bool form_age_is_now(struct form_age age, struct form_age now)
{
	return age.epoch == now.epoch;
}

/* What far memory keeps of a birth. */
static inline uint64_t form_age_low(struct form_age birth, unsigned bits)
{
	return birth.epoch & ((UINT64_C(1) << bits) - 1);
}

/*
 * Whether a block may have been born after the hint, that is, in (hint, E], of whose
 * birth these are the low bits; bits is at most 63. now: form_age_now() after the birth
 * was READ, in the same epoch, so that E is below now + FAR_EPOCH_LEAD. Never false of a
 * block that was born after the hint, however old both are. True of one that was born
 * before it only if another birth with the same low bits lies in between; a hint that is
 * as old as that is not worth keeping.
 */
static inline bool form_age_after(uint64_t low, unsigned bits, struct form_age hint,
				  struct form_age now)
{
	uint64_t span = UINT64_C(1) << bits;
	/* epochs from the hint to the first birth after it that has these bits: 1 to span */
	uint64_t ahead = ((low - hint.epoch - 1) & (span - 1)) + 1;

	return hint.epoch + ahead < now.epoch + FAR_EPOCH_LEAD;
}

#endif
