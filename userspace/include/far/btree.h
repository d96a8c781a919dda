/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A B+ tree in far memory: keys in order, values beside them.
 *
 * All keys of a tree have one size, and all values; both are 8 to 256 bytes, and chosen
 * when the tree is made. Keys are compared as memcmp() does. Operations of one key are
 * linearizable, also across clients, threads and crashes of clients. A scan is as many
 * single gets, in order. A change waits for the lock of the key's leaf; a get waits only
 * while the leaf is being written.
 *
 * Errors besides those of far_sync():
 *	-ENOENT	    no such key (get, update, delete), or tree (open)
 *	-EEXIST	    the key (insert) or the tree (create) is there
 *	-ENOSPC	    the space is full; nothing was changed
 *	-ETIME	    it was late (far_deadline_set()); nothing was changed
 *	-EINVAL	    a key or value of another size; a name that is empty or too long
 *	-EMSGSIZE   the value is longer than the buffer
 *	-EMEDIUMTYPE, -EPROTONOSUPPORT  open: another type of structure, or version
 *	-EIO	    the fate of a change is unknown: it happened once or not at all
 *	-EBADMSG    the tree is damaged ("far space check" says where)
 */
#ifndef FAR_BTREE_H
#define FAR_BTREE_H

#include <far/far.h>
#include <far/modify.h>
#include <far/range.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define FAR_BTREE_MIN_SIZE	8u
#define FAR_BTREE_MAX_SIZE	256u

struct far_btree;

/* How a tree is made; zeros are the defaults. */
struct far_btree_attr {
	uint32_t key_size;	/* bytes, FAR_BTREE_MIN_SIZE to _MAX_SIZE; 0: 8 */
	uint32_t value_size;	/* the same */
	uint32_t span;		/* entries of a leaf, 4 to 128; 0: about 512 bytes of them */
};

/* Creates a tree under a name of the space's directory, and opens it. */
int far_btree_create(struct far_task *task, const char *name,
		     const struct far_btree_attr *attr, struct far_btree **ret_tree);
/* Opens one; the handle is for all threads of this client. */
int far_btree_open(struct far_task *task, const char *name, struct far_btree **ret_tree);
/* No task uses the handle any more. */
void far_btree_close(struct far_btree *tree);
/*
 * Deletes the tree and gives back its memory. No client has it open. Of a tree of more than
 * 4,096 blocks the rest comes back later: whoever finds the space full waits, for
 * five seconds at most.
 */
int far_btree_destroy(struct far_task *task, const char *name);

/* *ret_len gets the size of values; NULL: nobody asks for it. */
int far_btree_get(struct far_task *task, struct far_btree *tree, const void *key,
		  size_t key_len, void *value, size_t value_size, size_t *ret_len);
/* Stores, whether the key is there or not. */
int far_btree_put(struct far_task *task, struct far_btree *tree, const void *key,
		  size_t key_len, const void *value, size_t value_len);
int far_btree_insert(struct far_task *task, struct far_btree *tree, const void *key,
		     size_t key_len, const void *value, size_t value_len);
int far_btree_update(struct far_task *task, struct far_btree *tree, const void *key,
		     size_t key_len, const void *value, size_t value_len);
int far_btree_delete(struct far_task *task, struct far_btree *tree, const void *key,
		     size_t key_len);

/*
 * modify(arg, ...) says what becomes of the key: far/modify.h. It is asked while the key's leaf
 * is locked. 0, also if it leaves the key as it is; -EINVAL: it wants to store a value of
 * another size, or says nothing that there is.
 */
int far_btree_modify(struct far_task *task, struct far_btree *tree, const void *key,
		     size_t key_len, far_modify_fn *modify, void *arg);

/*
 * Calls each(...) for the keys of the range, in order. A key that is there during the whole
 * scan is given exactly once; one that is inserted or deleted meanwhile, at most once.
 * each() returns 0 to go on; anything else ends the scan and is returned. It may use
 * the tree.
 */
int far_btree_scan(struct far_task *task, struct far_btree *tree,
		   const struct far_range *range,
		   int (*each)(void *arg, const void *key, size_t key_len,
			       const void *value, size_t value_len),
		   void *arg);

struct far_btree_stats {
	uint64_t keys;
	uint64_t levels;
	uint64_t leaves, inner;		/* nodes */
	uint64_t leaf_bytes, inner_bytes;	/* allocated for them */
	uint64_t places;		/* of entries, in leaves */
};

/* Walks the tree, and holds up nobody; exact when nobody changes it meanwhile. */
int far_btree_stat(struct far_task *task, struct far_btree *tree,
		   struct far_btree_stats *ret_stats);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
