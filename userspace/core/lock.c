/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Locks in far memory: taking, repairing, releasing, handing over.
 *
 * Within a client the local queue lets one task at a time come here for a lock. That is
 * what makes a fate known: a word with this client's name on it is this task's.
 */
#include "lock.h"

#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core.h"
#include "deadline.h"
#include "loose.h"
#include "owed.h"
#include "owner.h"
#include "task.h"

#define TRIES		16u		/* connections that may break, or looks at contents */
#define TRY_NS		UINT64_C(500)	/* before the first of them; doubles */
#define LOOKS		4u		/* at a taken lock, before its owner is looked at */
/* Processor time for the model: copying and checksums, bytes a ns. */
#define COPY_BYTES	8u

/* Room of the taker in registered memory. */
struct scratch {
	uint64_t found;		/* by the CAS */
	uint64_t word;		/* by a READ */
};

uint32_t far_lock_checksum(const void *contents, size_t len)
{
	return XXH3_64bits(contents, len) & FAR_LOCK_SUM_MASK;
}

static struct far_locks *locks_of(struct far_task *task)
{
	return far_task_far(task)->locks;
}

static bool is_unknown(int err)
{
	return err == -EIO || err == -EHOSTDOWN || err == -ETIMEDOUT;
}

static bool is_mine(const struct far_task *task, uint64_t word)
{
	return (word & FAR_OWNER_MASK) == far_owner_self(task);
}

static void pause_before(struct far_task *task, unsigned try)
{
	far_sleep(task, TRY_NS << try);
}

static uint32_t lock_sum(const struct far_lock *lock)
{
	if (lock->kind == FAR_LOCK_PLAIN)
		return 0;
	far_spend(lock->task, lock->len / COPY_BYTES);
	return far_lock_checksum(lock->image, lock->len);
}

static bool lock_matches(const struct far_lock *lock)
{
	const struct far_lock_ops *ops = lock->ops;

	if (lock->kind == FAR_LOCK_PLAIN)
		return true;
	return lock_sum(lock) == far_lock_sum(lock->word) &&
	       (!ops || !ops->whole || ops->whole(lock));
}

/* The word of whoever holds it with that log slot, in front of what a free one says. */
static uint64_t word_held(struct far_task *task, unsigned slot, uint64_t word)
{
	return far_lock_word(far_owner_self(task), slot, far_lock_flags(word),
			     far_lock_sum(word));
}

static int word_read(struct far_lock *lock, struct scratch *scratch)
{
	far_read(lock->task, lock->addr, &scratch->word, sizeof(scratch->word));
	return far_sync(lock->task);
}

/*
 * The task leaves the lock, whose word may be `word` of this client. The client lives, so
 * nobody else would take that word over: its service makes it a dead owner's, and whoever
 * meets it puts the contents in order. A word that is not there costs a CAS.
 */
static void word_owe(struct far_lock *lock, uint64_t word)
{
	if (is_mine(lock->task, word))
		far_owe(lock->task, lock->addr, word, far_owner_nobody(word));
}

static void words_owe(struct far_lock *lock, uint64_t word)
{
	word_owe(lock, lock->word);
	if (word != lock->word)
		word_owe(lock, word);
}

/* What the word is after a CAS or WRITE of it of unknown fate. */
static int word_settle(struct far_lock *lock, struct scratch *scratch)
{
	int err = -EIO;

	for (unsigned i = 0; i < TRIES && is_unknown(err); i++) {
		pause_before(lock->task, i);
		err = word_read(lock, scratch);
	}
	return err;
}

static void contents_append(struct far_lock *lock)
{
	if (lock->len)
		far_read(lock->task, lock->data, lock->image, lock->len);
}

static int contents_read(struct far_lock *lock)
{
	int err = -EIO;

	for (unsigned i = 0; i < TRIES && is_unknown(err); i++) {
		if (i)
			pause_before(lock->task, i);
		contents_append(lock);
		err = far_sync(lock->task);
	}
	return err;
}

/* The contents that the free word had released are on their way, if not there. */
static int contents_wait(struct far_lock *lock)
{
	int err = 0;

	for (unsigned i = 0; !lock_matches(lock) && !err; i++) {
		if (i == TRIES)
			return -EBADMSG;
		pause_before(lock->task, i);
		err = contents_read(lock);
	}
	return err;
}

/* True if verbs of an earlier task of this client may come to the lock still. */
static bool word_is_loose(const struct far_lock *lock)
{
	return far_is_loose(lock->task, far_addr_node(lock->addr));
}

/*
 * One CAS from `from`, with the READ behind it. 1: taken, contents read; 2: the same, but
 * the word was there before, or may have been if the fate of the CAS was unknown: this
 * client had left it; 0: not, and scratch->word is what is there.
 */
static int cas_read(struct far_lock *lock, uint64_t from, struct scratch *scratch)
{
	uint64_t mine = word_held(lock->task, lock->slot, from);
	bool unsure;
	int err;

	lock->word = mine;
	far_cas(lock->task, lock->addr, from, mine, &scratch->found);
	contents_append(lock);
	err = far_sync(lock->task);
	unsure = is_unknown(err);
	if (unsure) {
		err = word_settle(lock, scratch);
		if (!err && scratch->word == mine)
			err = contents_read(lock);
	} else {
		unsure = scratch->found != from;
		scratch->word = unsure ? scratch->found : mine;
	}
	if (err)
		return err;
	if (scratch->word != mine)
		lock->word = 0;
	/* what this client had left is for lock_regain(), while verbs of that task may come */
	if (!lock->word || (unsure && word_is_loose(lock)))
		return 0;
	return unsure ? 2 : 1;
}

static int contents_write(struct far_lock *lock, uint32_t from, uint32_t to,
			  uint64_t word)
{
	if (from < to && lock->redo)
		far_write(lock->task, lock->redo_addr, lock->redo, lock->redo_len);
	if (from < to)
		far_write(lock->task, lock->data + from, (char *)lock->image + from,
			  to - from);
	far_write(lock->task, lock->addr, &word, sizeof(word));
	return far_sync(lock->task);
}

/*
 * What became of WRITEs of unknown fate that end with `word`: 0 they are done, 1 not, the
 * word is this task's still. A client that was fenced does not know: somebody may have
 * taken the word away from it, and put the contents back.
 */
static int contents_settle(struct far_lock *lock, uint64_t word)
{
	size_t mark = far_buf_mark(lock->task);
	struct scratch *scratch = far_buf(lock->task, sizeof(*scratch));
	int err = scratch ? word_read(lock, scratch) : -ENOMEM;

	if (!err && is_mine(lock->task, scratch->word))
		err = 1;
	else if (!err)
		err = far_am_i_fenced(lock->task);
	if (!err && !far_lock_is_free(word))
		err = -EBADMSG;
	far_buf_release(lock->task, mark);
	return err;
}

/*
 * Writes part of the image, and the word behind it, until that is known to be done. The
 * word that is there is this task's: nobody else writes, and the image is all there is.
 */
static int contents_put(struct far_lock *lock, uint32_t from, uint32_t to, uint64_t word)
{
	int err = contents_write(lock, from, to, word);

	for (unsigned i = 0; i < TRIES && is_unknown(err); i++) {
		pause_before(lock->task, i);
		err = contents_settle(lock, word);
		if (err > 0)
			err = contents_write(lock, 0, lock->len, word);
	}
	if (!err)
		lock->word = word;
	return err;
}

/* The lock is ours, after one who did not release it. */
static int lock_repair(struct far_lock *lock)
{
	const struct far_lock_ops *ops = lock->ops;
	uint64_t word;
	int err;

	if (lock->kind == FAR_LOCK_SUMMED && lock_matches(lock))
		return 0;
	if (!ops || !ops->repair)
		return lock->kind == FAR_LOCK_SUMMED ? -EBADMSG : 0;
	err = ops->repair(lock->task, lock);
	if (err || lock->kind == FAR_LOCK_PLAIN)
		return err;
	word = far_lock_word(0, 0, far_lock_flags(lock->word), lock_sum(lock));
	return contents_put(lock, 0, lock->len,
			    word_held(lock->task, lock->slot, word));
}

/* Appends the CAS that frees a word of ours. */
static void free_append(struct far_lock *lock, uint64_t held)
{
	far_cas(lock->task, lock->addr, held, far_lock_freed(held), NULL);
}

/* Gives it back as it was. If that fails the word is owed. */
static void lock_drop(struct far_lock *lock)
{
	if (lock->kind == FAR_LOCK_SUMMED) {
		contents_put(lock, 0, 0, far_lock_freed(lock->word));
		return;
	}
	free_append(lock, lock->word);
	far_sync(lock->task);
}

/*
 * The word says again what it said, so that anybody may repair what this task could not:
 * a word that is free promises that its contents match.
 */
static void lock_return(struct far_lock *lock, uint64_t word)
{
	far_cas(lock->task, lock->addr, lock->word, word, NULL);
	far_sync(lock->task);
}

/* Takes over a word whose owner is dead, or which this client has left. 1, 0, error. */
static int lock_inherit(struct far_lock *lock, uint64_t word, struct scratch *scratch)
{
	int got, err = 0;

	if (lock->ops && lock->ops->inherit)
		err = lock->ops->inherit(lock->task, lock, word);
	if (err)
		return err;
	got = cas_read(lock, word, scratch);
	if (got <= 0)
		return got;
	err = lock_repair(lock);
	if (!err)
		far_repaired(lock->task);
	else if (err == -EBADMSG)
		lock_drop(lock);
	else
		lock_return(lock, word);
	return err ? err : 1;
}

/* Somebody else has it: waits a little, and looks. */
static int lock_stand_by(struct far_lock *lock, unsigned look, struct scratch *scratch)
{
	int err;

	if (far_op_is_late(lock->task))
		return -ETIME;
	far_backoff(lock->task);
	if (look % LOOKS == LOOKS - 1) {
		err = far_owner_dead(lock->task, scratch->word);
		if (err > 0)
			return lock_inherit(lock, scratch->word, scratch);
		if (err && !is_unknown(err))
			return err;
	}
	err = word_read(lock, scratch);
	return is_unknown(err) ? word_settle(lock, scratch) : err;
}

/*
 * What an earlier task of this client has left. Its last verbs may come still, and would
 * write beside this task.
 */
static int lock_regain(struct far_lock *lock, struct scratch *scratch)
{
	int err;

	if (!word_is_loose(lock))
		return lock_inherit(lock, scratch->word, scratch);
	if (far_op_is_late(lock->task))
		return -ETIME;
	far_backoff(lock->task);
	err = word_read(lock, scratch);
	return is_unknown(err) ? word_settle(lock, scratch) : err;
}

/* Takes a word that is free. 1, 0, error. */
static int lock_try(struct far_lock *lock, uint64_t word, struct scratch *scratch)
{
	int got = cas_read(lock, word, scratch);
	int err;

	if (got <= 0)
		return got;
	err = contents_wait(lock);
	if (got == 2 && (err == -EBADMSG || (!err && lock->kind == FAR_LOCK_PLAIN)))
		err = lock_repair(lock);
	/* else the word stays this client's, and is owed: whoever comes next repairs */
	if (err && (got == 1 || err == -EBADMSG))
		lock_drop(lock);
	return err ? err : 1;
}

static int lock_acquire(struct far_lock *lock, struct scratch *scratch)
{
	unsigned looks = 0;
	int got = 0;

	scratch->word = far_lock_freed(lock->seen);
	lock->word = 0;
	while (!got) {
		if (far_lock_is_free(scratch->word))
			got = lock_try(lock, scratch->word, scratch);
		else if (is_mine(lock->task, scratch->word))
			got = lock_regain(lock, scratch);
		else
			got = lock_stand_by(lock, looks++, scratch);
	}
	/* It came by a CAS of unknown fate. One that was only met is owed by who has left it. */
	if (got < 0 && got != -ESTALE && lock->word)
		words_owe(lock, scratch->word);
	return got < 0 ? got : 0;
}

int far_lock_take(struct far_task *task, struct far_lock *lock)
{
	size_t mark = far_buf_mark(task);
	struct scratch *scratch = far_buf(task, sizeof(*scratch));
	struct far_ops inner;
	int err;

	if (!scratch)
		return -ENOMEM;
	lock->task = task;
	lock->handed = false;
	lock->row = 0;
	lock->redo = NULL;
	err = far_lock_enter(locks_of(task), lock);
	if (err)
		goto release;
	far_inner_begin(task, &inner);
	err = lock->handed ? 0 : lock_acquire(lock, scratch);
	far_inner_end(task, &inner);
	if (err)
		far_lock_leave(locks_of(task), lock);
release:
	far_buf_release(task, mark);
	if (err)
		return err;
	lock->flags = far_lock_flags(lock->word);
	lock->from = lock->to = 0;
	lock->redo = NULL;
	return 0;
}

void far_lock_make(struct far_task *task, struct far_lock *lock)
{
	lock->task = task;
	lock->handed = false;
	lock->row = 0;
	lock->from = lock->to = 0;
	lock->redo = NULL;
	/* nobody else knows of it: its turn comes at once */
	(void)!far_lock_enter(locks_of(task), lock);
	lock->word = word_held(task, lock->slot,
			       far_lock_word(0, 0, lock->flags, lock_sum(lock)));
}

/* The heir gets the lock without a release; NULL: nobody does. */
static struct far_lock *lock_heir(struct far_lock *lock)
{
	struct far_lock *heir;

	if (lock->row == FAR_LOCK_ROW)
		return NULL;
	heir = far_lock_heir(locks_of(lock->task), lock);
	if (!heir || heir->data != lock->data ||
	    heir->len != lock->len || heir->kind != lock->kind)
		return NULL;
	return heir;
}

/* It sleeps, and wakes with the lock. */
static void lock_hand_over(const struct far_lock *lock, struct far_lock *heir)
{
	heir->word = lock->word;
	heir->row = lock->row + 1;
	heir->handed = true;
	far_spend(lock->task, lock->len / COPY_BYTES);
	if (lock->len)
		memcpy(heir->image, lock->image, lock->len);
}

/* By a CAS behind what is appended. After an unknown fate it frees what is still ours. */
static int word_put(struct far_lock *lock, uint64_t word)
{
	size_t mark = far_buf_mark(lock->task);
	struct scratch *scratch = far_buf(lock->task, sizeof(*scratch));
	int err, settled;

	far_cas(lock->task, lock->addr, lock->word, word, NULL);
	err = settled = far_sync(lock->task);
	for (unsigned i = 0; scratch && i < TRIES && is_unknown(settled); i++) {
		settled = word_settle(lock, scratch);
		if (settled || !is_mine(lock->task, scratch->word))
			break;
		free_append(lock, scratch->word);
		settled = far_sync(lock->task);
	}
	far_buf_release(lock->task, mark);
	if (!err)
		lock->word = word;
	return err;
}

/* What the word is when this task has left it. */
static uint64_t word_left(const struct far_lock *lock, const struct far_lock *heir)
{
	uint32_t sum = lock->from < lock->to ? lock_sum(lock) : far_lock_sum(lock->word);
	uint64_t word = far_lock_word(0, 0, lock->flags, sum);

	return heir ? word_held(lock->task, heir->slot, word) : word;
}

int far_lock_release(struct far_task *task, struct far_lock *lock)
{
	struct far_lock *heir = lock_heir(lock);
	uint64_t word = word_left(lock, heir);
	int err;

	if (word == lock->word && lock->from >= lock->to)
		err = far_sync(task);
	else if (lock->kind == FAR_LOCK_SUMMED)
		err = contents_put(lock, lock->from, lock->to, word);
	else
		err = word_put(lock, word);
	if (!err && heir)
		lock_hand_over(lock, heir);
	if (err && err != -ESTALE)
		words_owe(lock, word);
	far_lock_leave(locks_of(task), lock);
	return err;
}

void far_lock_abandon(struct far_task *task, struct far_lock *lock)
{
	word_owe(lock, lock->word);
	far_lock_leave(locks_of(task), lock);
}
