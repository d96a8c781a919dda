/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The copy of a split: the memory in which a client builds the sibling before anybody
 * knows that one.
 *
 * Who splits gets the copy first and notes it in the subtable, with its own name. So a
 * subtable in which something is frozen has a sibling, or a copy that a living client
 * fills, or one that waits for the next who helps: that one needs no memory of its own.
 * That is why a delete or an update of a frozen slot never answers -ENOSPC.
 *
 *	0 -> who | copy		by the client that has allocated it
 *	who | copy -> copy	by that client, when it cannot go on or was not needed
 *	who | copy -> me | copy	when `who` is dead, or nobody: it is this client's now
 *	who | copy -> 0		when it is the sibling
 *
 * A client that dies between the last two leaves the note of a copy that is a sibling
 * already; who takes it over compares it with all of them.
 *
 * The tasks of a client take turns at the note of a subtable, by the client's local locks:
 * a note with the client's own name is that of the task whose turn it is. One that it
 * meets there was left by an earlier task whose answer was lost, and is taken over as it
 * is; or the client's service makes it nobody's (far_owe()). Both wait until no verb of that
 * task may come any more (core/loose.h).
 */
#ifndef FAR_HASH_COPY_H
#define FAR_HASH_COPY_H

#include "../core/lock.h"
#include "hash_priv.h"

struct hash_copy {
	struct far_task *task;
	struct far_locks *locks;
	uint64_t sub;		/* the subtable that is split, and its shard */
	unsigned shard;
	uint64_t len;
	uint64_t addr;		/* FAR_NIL: none */
	uint64_t word;		/* how the subtable notes it; 0: another one is noted there */
	struct hash_sub *head;	/* registered memory */
	struct far_lock turn;
};

/*
 * Waits for the turn of the task, until hash_copy_leave(). The operation has no deadline
 * meanwhile, but where it waits for others. -ETIME: it is late already.
 */
__attribute__((warn_unused_result)) int hash_copy_enter(struct hash_copy *copy);
/* Gives back the copy that the task still has, unless this client is fenced (-ESTALE). */
void hash_copy_leave(struct hash_copy *copy, int err);
/*
 * Gets a copy: the one that is noted, or new memory, or waits for the client that has the
 * one that is noted. Nothing of the split needs memory after that. copy->head has been
 * READ before. What the caller has appended is done. *ret_sibling: what a split of this
 * depth has published meanwhile, and no copy; else FAR_NIL. -ENOSPC only if nothing is
 * noted, hence nothing frozen; -ETIME: the other client is in no hurry.
 */
int hash_copy_take(struct hash_copy *copy, unsigned depth, uint64_t *ret_sibling);
/*
 * Appends the end of the note to the list that publishes the copy: once that is done without
 * an error, copy->word is 0.
 */
void hash_copy_end(struct hash_copy *copy);
/* It is the sibling now. */
void hash_copy_published(struct hash_copy *copy);
/* It may be the sibling: the note is nobody's, for whoever comes next. */
void hash_copy_lost(struct hash_copy *copy);

/* The far address of a copy that was noted so in the head, unless it is a sibling; or FAR_NIL. */
uint64_t hash_copy_noted(const struct hash_sub *head, uint64_t note);

#endif
