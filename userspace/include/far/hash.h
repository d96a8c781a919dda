/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A hash table in far memory: extendible, resized while in use.
 *
 * Keys have 1 to FAR_HASH_MAX_KEY bytes, values 0 to FAR_HASH_MAX_VALUE. Operations
 * of one key are linearizable, also across clients, threads and crashes of clients.
 * Operations of several keys (mget, mput, scan) are as many single ones. Gets, updates and
 * deletes wait for no other client; an insert waits while another one inserts in its bucket,
 * or splits its subtable.
 *
 * Errors besides those of far_sync():
 *	-ENOENT	    no such key (get, update, delete), or table (open)
 *	-EEXIST	    the key (insert) or the table (create) is there
 *	-ENOSPC	    the space is full (never get, delete); nothing was changed
 *	-ETIME	    it was late (far_deadline_set()); nothing was changed
 *	-EINVAL	    a key of 0 bytes, a name that is empty or too long
 *	-E2BIG	    key or value longer than can be
 *	-EMSGSIZE   the value is longer than the buffer; its length is stored
 *	-EMEDIUMTYPE, -EPROTONOSUPPORT  open: another type of structure, or version
 *	-EIO	    the fate of a change is unknown: it happened once or not at all
 *	-EBADMSG    the table is damaged ("far space check" says where)
 */
#ifndef FAR_HASH_H
#define FAR_HASH_H

#include <far/far.h>
#include <far/modify.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define FAR_HASH_MAX_KEY	65535u
#define FAR_HASH_MAX_VALUE	(1u << 20)
#define FAR_NAME_MAX		31u	/* bytes of a structure's name, without the NUL */

struct far_hash;

/* How a table is made; zeros are the defaults. */
struct far_hash_attr {
	uint64_t expected;	/* keys to be expected: the first size; it grows all the same */
};

/* Creates a table under a name of the space's directory, and opens it. */
int far_hash_create(struct far_task *task, const char *name,
		    const struct far_hash_attr *attr, struct far_hash **ret_hash);
/* Opens one; the handle is for all threads of this client. */
int far_hash_open(struct far_task *task, const char *name, struct far_hash **ret_hash);
/* No task uses the handle any more. */
void far_hash_close(struct far_hash *hash);
/*
 * Deletes the table and gives back its memory. No client has it open. Of a table of more than
 * 4,096 blocks the rest comes back later: whoever finds the space full waits, for
 * five seconds at most.
 */
int far_hash_destroy(struct far_task *task, const char *name);

/* *ret_len gets the value's length, also with -EMSGSIZE; NULL: nobody asks for it. */
int far_hash_get(struct far_task *task, struct far_hash *hash,
		 const void *key, size_t key_len,
		 void *value, size_t value_size, size_t *ret_len);
/* Stores, whether the key is there or not. */
int far_hash_put(struct far_task *task, struct far_hash *hash,
		 const void *key, size_t key_len, const void *value, size_t value_len);
int far_hash_insert(struct far_task *task, struct far_hash *hash,
		    const void *key, size_t key_len,
		    const void *value, size_t value_len);
int far_hash_update(struct far_task *task, struct far_hash *hash,
		    const void *key, size_t key_len,
		    const void *value, size_t value_len);
int far_hash_delete(struct far_task *task, struct far_hash *hash,
		    const void *key, size_t key_len);

/*
 * modify(arg, ...) says what becomes of the key: far/modify.h. It is asked again when another
 * change was faster, and what it says happens at most once. 0, also if it leaves the key as
 * it is; -E2BIG, -EINVAL: it wants to store what cannot be, or says nothing that there is.
 * Of a hot key one round trip serves the functions, and other changes, of many tasks.
 */
int far_hash_modify(struct far_task *task, struct far_hash *hash,
		    const void *key, size_t key_len, far_modify_fn *modify, void *arg);

/* One operation of a batch; status is its own result. */
struct far_hash_item {
	const void *key;
	size_t key_len;
	void *value;		/* mget: where to; mput: what */
	size_t value_len;	/* mget: room, then length; mput: length */
	int status;
};

/* All items at once, depth without tasks. Returns 0, or the first item's error. */
int far_hash_mget(struct far_task *task, struct far_hash *hash,
		  struct far_hash_item *item, size_t nr);
int far_hash_mput(struct far_task *task, struct far_hash *hash,
		  struct far_hash_item *item, size_t nr);

/*
 * Calls each(...) for every key. A key that is there during the whole scan is given
 * exactly once; one that is inserted or deleted meanwhile, at most once. each()
 * returns 0 to go on; anything else ends the scan and is returned.
 */
int far_hash_scan(struct far_task *task, struct far_hash *hash,
		  int (*each)(void *arg, const void *key, size_t key_len,
			      const void *value, size_t value_len),
		  void *arg);

/*
 * A piece of a scan, which begins with *cursor 0 and goes on until that is 0 again: at most
 * max keys, 0: as many as there are, of one part of the table, of at most 21,504 slots; it may
 * be none. A key that is there from the first piece to the last is given at least once, also
 * when the table grows in between; it may come twice, and so may others, or not at all. The
 * cursor is behind what was given; after an error that is not each()'s it is as it was. It
 * belongs to no task, client or process, and holds nothing. -EINVAL: it is none.
 */
int far_hash_scan_from(struct far_task *task, struct far_hash *hash, uint64_t *cursor,
		       uint64_t max,
		       int (*each)(void *arg, const void *key, size_t key_len,
				   const void *value, size_t value_len),
		       void *arg);
/*
 * Calls each() for up to max keys that are there now, none twice: the first is any key of the
 * table, about as likely as another, and the others lie beside it. It READs one part of the
 * table, as far_hash_scan_from() does, and gives fewer keys, or none, if that has no more.
 * each() as there. -EINVAL: max is 0.
 */
int far_hash_sample(struct far_task *task, struct far_hash *hash, uint64_t max,
		    int (*each)(void *arg, const void *key, size_t key_len,
				const void *value, size_t value_len),
		    void *arg);
/*
 * Deletes each key that is there from its begin to its end, one after the other. What others
 * insert meanwhile may stay. After an error some are deleted.
 */
int far_hash_clear(struct far_task *task, struct far_hash *hash);

/*
 * About how many keys there are, by one READ of each memory node. Exact some milliseconds after
 * the last insert and delete of all clients; what a client has done in the milliseconds before
 * it was fenced or a connection of it broke, and what has answered -EIO, may be missing from
 * then on. far_hash_stat() counts. -EPROTONOSUPPORT: the table is one of before there was a
 * count.
 */
int far_hash_count(struct far_task *task, struct far_hash *hash, uint64_t *ret_keys);

struct far_hash_stats {
	uint64_t keys;
	uint64_t slots;			/* of all subtables */
	uint64_t subtables;
	uint64_t global_depth;
	uint64_t key_bytes;
	uint64_t value_bytes;
	uint64_t block_bytes;		/* allocated for keys and values */
	uint64_t table_bytes;		/* allocated for directory and subtables */
	uint64_t splits;		/* since it was created */
};

/* Walks the table, and holds up nobody; exact when nobody changes it meanwhile. */
int far_hash_stat(struct far_task *task, struct far_hash *hash,
		  struct far_hash_stats *ret_stats);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
