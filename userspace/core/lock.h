/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks in far memory, for what more than one word of 8 bytes has to change. The word
 * is that of space/layout.h:
 *
 *	63     52 51        36 35     28 27   24 23       0
 *	|  owner | incarnation | log slot | flags | checksum |
 *
 * Owner 0 is free. A free word keeps flags and checksum; who takes the lock puts
 * itself and its log slot in front of them. The flags are the structure's.
 *
 *	take	{CAS of the word, READ of the contents}		1 doorbell, 1 round trip
 *	release	{WRITE of what has changed, WRITE of the word}	FAR_LOCK_SUMMED
 *		{what the caller has appended, CAS of the word}	FAR_LOCK_PLAIN
 *
 * Summed: the word has a checksum of the contents that its WRITE has released. An
 * unlock may be visible before its data, so who has taken the lock READs until what it
 * has matches, and is whole, and writes only then. The word's WRITE comes behind that of the data,
 * never in one with it: so when it is executed the data is as good as there, even if
 * its client dies. Nobody but the holder writes contents or word; nobody adds to the
 * word.
 * Plain: the contents change by words of 8 bytes, or the caller waits for its WRITEs
 * before it releases. The checksum is 0.
 *
 * Two levels (Sherman's, smart-art section 4.2): tasks of one client queue at home
 * first, see lock_queue.h. The holder hands the far lock over to the next one of them,
 * at most FAR_LOCK_ROW times in a row, so that other clients get their turn. A lock
 * that is handed over stays taken: its release is only {WRITE of what has changed,
 * WRITE of the word with the new checksum}, acknowledged, since a change that its
 * caller is told of must be there for readers, who take no lock. The next one gets the
 * contents from memory here, and has no round trip at all.
 *
 * Dead holders. A word whose owner is dead (core/owner.h: after its fence) is taken over
 * by whoever meets it, by a CAS that names that owner: first inherit() lets the taker's
 * log slot say what the dead one's says, so that a second death loses nothing; then the
 * CAS; then, unless the contents match the checksum, repair(). The same for a word of
 * this client's own that nobody here holds, which a connection that broke has left behind.
 * Others cannot take such a word over, so the client's service gives it the incarnation 0,
 * with which each owner is dead.
 *
 * Redo. A WRITE of more than a word may end half way, when its client dies. A structure
 * that has no log of its own puts a record beside the contents, on their node, with
 * lock.redo: it is written in front of them, by the same doorbell. WRITEs of a queue pair
 * are executed in order, so contents of which anything has changed have their record.
 *
 * How a B+ tree uses it. A leaf of 1 KiB begins with its word; the rest is contents:
 *
 *	find the leaf as a reader does, and keep the word that was seen
 *	lock = { .addr = leaf, .data = leaf + 8, .len = 1016, .image = far_buf(),
 *		 .seen = word, .kind = FAR_LOCK_SUMMED, .slot = ..., .ops = ... }
 *	far_lock_take()		CAS + READ; or the image at once
 *	lock.flags say "merged away", or the fences in the image that the key has moved
 *	to the right: release, and go there
 *	change the image; lock.from, lock.to: which bytes
 *	more than a word of 8 bytes: lock.redo
 *	far_lock_release()	WRITE + WRITE; 2 round trips in all, 1 after a hand-over
 *
 * A split holds the left leaf, writes the new right one, and changes the left one under
 * its lock, as above. Whoever holds several locks takes them in one order: a leaf
 * before its right neighbour, a level before the one above.
 */
#ifndef FAR_CORE_LOCK_H
#define FAR_CORE_LOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <far/far.h>

#include "../space/layout.h"
#include "lock_queue.h"

#define FAR_LOCK_ROW	8u	/* times that a lock is handed over before it is released */
#define FAR_LOCK_SLOTS	(FAR_LOCK_SLOT_MASK + 1)

enum far_lock_kind {
	FAR_LOCK_PLAIN,
	FAR_LOCK_SUMMED,
};

struct far_lock;

/* What a structure knows; each may be NULL. 0, or an error, which far_lock_take() returns. */
struct far_lock_ops {
	/*
	 * Makes log slot lock->slot of this client say what the slot that word names says,
	 * acknowledged. word's owner is dead, or is this client.
	 */
	int (*inherit)(struct far_task *task, struct far_lock *lock, uint64_t word);
	/*
	 * This task holds the lock. Puts into lock->image what the contents have to be, by
	 * log slot lock->slot; they are written then, if the lock is summed. Called for
	 * summed contents only if they do not match. NULL: such contents are -EBADMSG.
	 */
	int (*repair)(struct far_task *task, struct far_lock *lock);
	/*
	 * Whether the image is a state of the contents. Asked when its checksum is right,
	 * which it is by accident for one torn image in 16 million. NULL: it is.
	 */
	bool (*whole)(const struct far_lock *lock);
};

struct far_lock {
	/* what the caller says; all who want a lock mean the same contents by it */
	uint64_t addr;			/* of the word */
	uint64_t data;			/* of the contents: on the same node, without the word */
	uint32_t len;			/* of the contents; 0: none are read */
	enum far_lock_kind kind;
	void *image;			/* len bytes of far_buf() */
	uint64_t seen;			/* the word, as somebody has seen it: a guess */
	unsigned slot;			/* below FAR_LOCK_SLOTS */
	const struct far_lock_ops *ops;	/* NULL: nothing to repair */

	/* while it is held: image is the contents, and */
	unsigned flags;			/* of the word; what release writes */
	uint32_t from, to;		/* summed: bytes of image that have changed */
	const void *redo;		/* of far_buf(), redo_len bytes; NULL: none */
	uint64_t redo_addr;		/* on the node of the contents, not among them */
	uint32_t redo_len;
	unsigned row;			/* hand-overs since it was taken in far memory */

	/* the lock's own */
	uint64_t word;			/* that is there while it is held */
	bool handed;			/* it woke with lock and image */
	bool chosen;			/* it will have the next turn */
	struct far_task *task;
	struct far_lock *chain, *last;	/* lock_queue.c */
	_Atomic(struct far_lock *) next;
	atomic_int state;
};

/*
 * Waits for the lock, and takes it. Inside of an epoch. 0, and the image is what far
 * memory has. Else this task does not hold it: errors of far_sync();
 * -EBADMSG: the contents do not match, and nobody is on the way to change that; those of
 * ops; -ETIME: the operation was late, and somebody else had it. After an unknown fate that
 * could not be cleared up in some connections the client's service sees to it that the lock
 * is free for others (owed.h).
 */
int far_lock_take(struct far_task *task, struct far_lock *lock);

/*
 * Makes the lock of contents that nobody can reach yet, and that the caller has: it is
 * held, and lock->word is what the caller writes as its word, with lock->flags in it.
 * From then on it is as if it had been taken.
 */
void far_lock_make(struct far_task *task, struct far_lock *lock);

/*
 * Releases it, or hands it over. The image is what the contents are from now on.
 * Summed: nothing is appended before; 0: the change is there, and acknowledged. A fate
 * that is unknown is cleared up; if that is impossible its error is returned, and the
 * service goes on as above. Plain: errors are those of what was appended.
 */
int far_lock_release(struct far_task *task, struct far_lock *lock);

/* Leaves a lock whose contents this task could not put in order: whoever comes next repairs. */
void far_lock_abandon(struct far_task *task, struct far_lock *lock);

/* The checksum of contents in a word: of structures' images, and for readers. */
uint32_t far_lock_checksum(const void *contents, size_t len);

static inline bool far_lock_is_free(uint64_t word)
{
	return !far_owner_number(word);
}

/* The word without its owner: flags and checksum. */
static inline uint64_t far_lock_freed(uint64_t word)
{
	return far_lock_word(0, 0, far_lock_flags(word), far_lock_sum(word));
}

#endif
