/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Claims: an insert owns the header of its key's home bucket from before it looks for
 * the key until its slot is filled, so that two inserts of one key cannot both find
 * it absent. Updates, deletes and gets claim nothing and wait for no claim.
 *
 *	idle -> claim	CAS by the inserter
 *	claim -> idle	CAS by the same, or by anybody after the owner was fenced
 *
 * A release is a CAS behind the CAS of the slot, not a WRITE: a WRITE may land before
 * an atomic that was posted before it.
 */
#include "hash_priv.h"

#include <errno.h>

#include "../core/owed.h"
#include "../core/owner.h"

#define CLAIM_WAIT_MIN	2000u		/* ns; at most 512 times as long */
#define CLAIM_TRIES	16u		/* connections that may break under a release */

uint64_t hash_claim_word(struct hash_op *op, uint64_t idle)
{
	return hash_claim(idle, far_owner_self(op->task), far_owner_nonce(op->task));
}

/* What the header is when the claim in it is gone. */
static uint64_t claim_idle(uint64_t header)
{
	return header & ~HASH_CLAIM_MASK;
}

int hash_claim_release(struct hash_op *op, uint64_t addr, uint64_t claim)
{
	unsigned i;
	int err = 0;

	for (i = 0; i < CLAIM_TRIES; i++) {
		far_cas(op->task, addr, claim, claim_idle(claim), NULL);
		err = far_sync(op->task);
		if (!err || err == -ESTALE)
			break;
		far_sleep(op->task, CLAIM_WAIT_MIN << (i < 9 ? i : 9));
	}
	if (err && err != -ESTALE)
		far_owe(op->task, addr, claim, claim_idle(claim));
	return err;
}

int hash_claim_wait(struct far_task *task, uint64_t addr, uint64_t header,
		    unsigned round)
{
	uint64_t ns = (uint64_t)CLAIM_WAIT_MIN << (round < 9 ? round : 9);
	int dead = 0;
	int err;

	if (far_op_is_late(task))
		return -ETIME;
	if (round >= 4)
		dead = far_owner_dead(task, header);
	if (dead < 0)
		return dead;
	if (!dead) {
		far_sleep(task, ns);
		return 0;
	}
	far_cas(task, addr, header, claim_idle(header), NULL);
	err = far_sync(task);
	if (!err)
		far_repaired(task);
	return err;
}
