/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An adaptive radix tree in far memory: keys in order, lock-free.
 *
 * Keys have 1 to FAR_ART_MAX_KEY bytes, values 0 to FAR_ART_MAX_VALUE; both may differ
 * from key to key. Keys are in the order of <far/range.h>. Operations of one key are
 * linearizable, also across clients, threads and crashes of clients. A value of 8 bytes
 * that replaces one of 8 bytes is written in place, and such updates never wait for
 * each other; but see far_art_modify().
 *
 * Errors besides those of far_sync():
 *	-ENOENT	    no such key (get, update, delete), or tree (open)
 *	-EEXIST	    the key (insert) or the name (create) is there
 *	-ENOSPC	    the space is full (never get, delete); nothing was changed
 *	-ETIME	    it was late (far_deadline_set()); nothing was changed
 *	-EINVAL	    a key of 0 bytes, a name that is empty or too long
 *	-E2BIG	    key or value longer than can be
 *	-EMSGSIZE   the value is longer than the buffer; its length is stored
 *	-EMEDIUMTYPE, -EPROTONOSUPPORT  open: another type of structure, or version
 *	-EIO	    the fate of a change is unknown: it happened once or not at all
 *	-EBADMSG    the tree is damaged ("far space check" says where)
 */
#ifndef FAR_ART_H
#define FAR_ART_H

#include <far/far.h>
#include <far/modify.h>
#include <far/range.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define FAR_ART_MAX_KEY		256u
#define FAR_ART_MAX_VALUE	(1u << 20)

struct far_art;

/* Creates a tree under a name of the space's directory, and opens it. */
int far_art_create(struct far_task *task, const char *name, struct far_art **ret_art);
/* Opens one; the handle is for all threads of this client. */
int far_art_open(struct far_task *task, const char *name, struct far_art **ret_art);
/* No task uses the handle any more. */
void far_art_close(struct far_art *art);
/*
 * Deletes the tree and gives back its memory. No client has it open. Of a tree of more than
 * 4,096 blocks the rest comes back later: whoever finds the space full waits, for
 * five seconds at most.
 */
int far_art_destroy(struct far_task *task, const char *name);

/* *ret_len gets the value's length, also with -EMSGSIZE; NULL: nobody asks for it. */
int far_art_get(struct far_task *task, struct far_art *art, const void *key, size_t key_len,
		void *value, size_t value_size, size_t *ret_len);
/* Stores, whether the key is there or not. */
int far_art_put(struct far_task *task, struct far_art *art, const void *key, size_t key_len,
		const void *value, size_t value_len);
int far_art_insert(struct far_task *task, struct far_art *art,
		   const void *key, size_t key_len, const void *value, size_t value_len);
int far_art_update(struct far_task *task, struct far_art *art,
		   const void *key, size_t key_len, const void *value, size_t value_len);
int far_art_delete(struct far_task *task, struct far_art *art,
		   const void *key, size_t key_len);

/*
 * modify(arg, ...) says what becomes of the key: far/modify.h. 0, also if it leaves the key
 * as it is; -E2BIG: it wants to store more than can be; -EINVAL: it says nothing that there
 * is. The first one that changes a value of 8 bytes which another call has stored waits until
 * all operations have ended that other tasks and clients have begun, some milliseconds;
 * -ETIME if one of them does not. From then on updates of the key are not written in place.
 * Between far_hold() and far_unhold(): -EDEADLK then.
 */
int far_art_modify(struct far_task *task, struct far_art *art, const void *key, size_t key_len,
		   far_modify_fn *modify, void *arg);

/*
 * Calls each(...) for the keys of the range, in its order. A key that is there during
 * the whole scan is given exactly once; one that is inserted or deleted meanwhile, at
 * most once. each() returns 0 to go on; anything else ends the scan and is returned.
 */
int far_art_scan(struct far_task *task, struct far_art *art, const struct far_range *range,
		 int (*each)(void *arg, const void *key, size_t key_len,
			     const void *value, size_t value_len),
		 void *arg);

struct far_art_stats {
	uint64_t keys;
	uint64_t key_bytes;
	uint64_t value_bytes;
	uint64_t leaf_bytes;		/* of keys, values and what belongs to them */
	uint64_t nodes;
	uint64_t node_bytes;
	uint64_t leaf_room, node_room;	/* of the blocks that leaves and nodes lie in */
};

/* Walks the tree, and holds up nobody; exact when nobody changes it meanwhile. */
int far_art_stat(struct far_task *task, struct far_art *art,
		 struct far_art_stats *ret_stats);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
