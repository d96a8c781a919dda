/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The client that owns a lock, a claim or a chunk, and whether it is dead.
 */
#ifndef FAR_CORE_OWNER_H
#define FAR_CORE_OWNER_H

#include <far/far.h>

#include "../space/layout.h"

/* Number and incarnation of this client in their places of a word (FAR_OWNER_MASK). */
uint64_t far_owner_self(const struct far_task *task);

/* A number for such a word, another one than those before it of this client (32 bits). */
uint32_t far_owner_nonce(struct far_task *task);

/*
 * Whether the owner in word can do nothing any more: 1 after its fence, or after it
 * left; 0 while it may live; -EBADMSG: no client has that number; errors of far_sync(),
 * which it calls. One READ. Who meets something of a dead owner puts it in order, by a
 * CAS that names that owner, and calls far_repaired().
 */
int far_owner_dead(struct far_task *task, uint64_t word);
/*
 * Whether this client was fenced: 0, or -ESTALE; errors of far_sync(). One READ. Who
 * finds something changed that only it should have changed asks.
 */
int far_am_i_fenced(struct far_task *task);
/* Counts it (far_stats.repaired). */
void far_repaired(struct far_task *task);

#endif
