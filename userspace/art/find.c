/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finding a key: from node to node, by what the cache knows of them as far as that can
 * be proved, and by READs.
 *
 * A hint is proved by what it leads to. A node or leaf that is what the hint says was
 * not born after the hint's age: a block that was retired after that and given to
 * somebody else was. A node in which the slot that matters is not frozen is
 * in the tree, and then all keys with its prefix are below it, whatever has happened
 * above. A leaf that is live is its key's, whatever leads to it. What is not there is
 * never told by a hint: the node that says so is READ.
 *
 * What is frozen is read like anything else: a node that a slot led to which was READ in
 * the tree was the tree's own then, and what a frozen slot of it says holds until somebody
 * has replaced it. So who looks for a key waits for nobody and needs no memory. A node that
 * only a hint leads to may have been replaced long ago: one that is frozen is found by the
 * slot above.
 *
 * What does not fit makes the search begin anew, with hints only of nodes above that
 * one: op->trust. Without hints it is a plain descent.
 */
#include "art_priv.h"

#include <string.h>

#include "../core/alloc.h"
#include "../core/deadline.h"
#include "../core/epoch.h"
#include "../core/stats.h"
#include "../core/task.h"

/* What a part of the way has come to, beside errors. */
enum { WAY_ON = 1, WAY_DONE, WAY_ANEW };

/* A READ of the descent: the first one tells where it has begun. */
static void look(struct art_op *op, bool cached)
{
	if (!op->looked)
		op->begun = cached;
	op->looked = true;
}

/* A hint of the node of this depth was wrong: it is READ when it is met again. */
static int hint_wrong(struct art_op *op, unsigned depth)
{
	op->trust = depth;
	return WAY_ANEW;
}

int art_leaf_read(struct art_op *op, uint64_t slot)
{
	unsigned size = art_slot_size(slot);
	uint32_t len = size ? 8 * size : ART_FIRST;

	if (op->leaf_room < len) {
		op->leaf = far_buf(op->task, len);
		if (!op->leaf)
			return -ENOMEM;
		op->leaf_room = len;
	}
	op->leaf_addr = art_pointee(slot);
	far_read(op->task, op->leaf_addr, op->leaf, len);
	return far_sync(op->task);
}

/* The rest of a long leaf. */
static int leaf_read_rest(struct art_op *op)
{
	uint64_t len = op->seen.len;
	struct art_leaf *leaf = op->leaf;

	if (op->leaf_room < len) {
		leaf = far_buf(op->task, len);
		if (!leaf)
			return -ENOMEM;
		memcpy(leaf, op->leaf, ART_FIRST);
		op->leaf = leaf;
		op->leaf_room = len;
	}
	far_read(op->task, op->leaf_addr + ART_FIRST, (uint8_t *)leaf + ART_FIRST,
		 len - ART_FIRST);
	return far_sync(op->task);
}

int art_leaf_seen(struct art_op *op)
{
	uint64_t seed = art_seed(op->art->root, op->leaf_addr);
	unsigned size = art_slot_size(op->step.word);
	int err;

	err = art_leaf_look(op->leaf, seed, size, size ? 8 * size : ART_FIRST, &op->seen);
	if (err != -EAGAIN)
		return err;
	err = leaf_read_rest(op);
	return err ? err : art_leaf_look(op->leaf, seed, 0, op->seen.len, &op->seen);
}

uint64_t art_leaf_bytes(const struct art_op *op, uint64_t slot)
{
	uint64_t extra;

	if (art_slot_size(slot))
		return 8 * (uint64_t)art_slot_size(slot);
	memcpy(&extra, op->leaf->data, sizeof(extra));
	return (uint32_t)extra;
}

int art_leaf_tidy(struct art_op *op)
{
	uint64_t old = op->step.word, head = op->leaf->head;
	unsigned symbol = art_slot_symbol(old);
	uint64_t new = art_slot_void(symbol);
	int won;

	if (old & ART_FROZEN)
		return 0;
	if (art_head_state(head) == ART_MOVED)
		new = art_slot(symbol, art_slot_size(head), art_pointee(head)) | ART_LEAF;
	won = art_cas(op, op->step.at, old, new, false);
	if (won < 0) {
		/* if it has won the leaf is in nobody's hands */
		far_alloc_lost(op->task);
		return won;
	}
	if (won && far_retire(op->task, op->leaf_addr, art_leaf_bytes(op, old)))
		far_alloc_lost(op->task);
	if (won)
		op->step.word = new;
	return 0;
}

int art_leaf_follow(struct art_op *op)
{
	uint64_t met = FAR_NIL, nr = 0, kind = op->step.word & (ART_LEAF | ART_FROZEN);
	int err = 0;

	while (!err && art_head_state(op->leaf->head) == ART_MOVED) {
		if (op->leaf_addr == met)
			return -EBADMSG;
		if (!(nr & (nr + 1)))
			met = op->leaf_addr;
		nr++;
		op->step.word = kind | art_slot(art_slot_symbol(op->step.word),
						art_slot_size(op->leaf->head),
						art_pointee(op->leaf->head));
		err = art_leaf_read(op, op->step.word);
	}
	return err;
}

/* What is wrong with a leaf that a slot leads to: the slot, if it was a hint. */
static int leaf_wrong(struct art_op *op, int err)
{
	if (!op->step.fresh && (err == -EFAULT || err == -EBADMSG))
		return hint_wrong(op, op->step.depth);
	return err;
}

/*
 * Tidies a leaf that has moved. What this operation has retired is led to by nothing, and
 * nothing is reused within an epoch: who meets it again goes in a circle, which is damage.
 * A leaf is compared with one that was retired, of which it takes the next one ever later.
 */
static int moved_gone(struct art_op *op)
{
	uint64_t old = op->step.word;
	int err;

	if (op->leaf_addr == op->moved || art_pointee(op->leaf->head) == op->leaf_addr)
		return -EBADMSG;
	err = art_leaf_tidy(op);
	if (err || op->step.word == old)
		return err;
	if (!(op->nr_moved & (op->nr_moved + 1)))
		op->moved = op->leaf_addr;
	op->nr_moved++;
	return 0;
}

/* A leaf that is no key's any more, if its slot is no hint: whose slot it is. */
static int leaf_gone(struct art_op *op, enum art_what *ret_what)
{
	int err;

	if (!op->step.fresh)
		return hint_wrong(op, op->step.depth);
	if (art_head_state(op->leaf->head) == ART_DEAD) {
		*ret_what = ART_VACANT;
		return WAY_DONE;
	}
	op->progress = true;
	err = moved_gone(op);
	return err ? err : hint_wrong(op, op->step.depth);
}

/* The leaf that op->step leads to. */
static int way_leaf(struct art_op *op, enum art_what *ret_what)
{
	unsigned state;
	int err;

	look(op, !op->step.fresh);
	err = art_leaf_read(op, op->step.word);
	if (err)
		return leaf_wrong(op, err);
	if (op->art->variant->see)
		op->art->variant->see(op->leaf);
	if (op->step.word & ART_FROZEN)
		err = art_leaf_follow(op);
	if (err)
		return err;
	state = art_head_state(op->leaf->head);
	if (state == ART_MOVED)
		return leaf_gone(op, ret_what);
	err = art_leaf_seen(op);
	if (err)
		return leaf_wrong(op, err);
	if (!op->step.fresh &&
	    art_born_after(op, art_head_birth(op->leaf->head), op->step.age))
		return hint_wrong(op, op->step.depth);
	if (state == ART_DEAD)
		return leaf_gone(op, ret_what);
	*ret_what = op->seen.key_len == op->key.len &&
		    !memcmp(op->seen.key, op->key.data, op->key.len) ?
		    ART_HERE : ART_OTHER;
	if (*ret_what == ART_OTHER && !op->step.fresh)
		return hint_wrong(op, op->step.depth);
	return WAY_DONE;
}

/* By the cache from the node at op->node_addr. 0: it knows nothing, or no way on. */
static int way_cached(struct art_op *op)
{
	struct art_hint hint;
	unsigned depth;

	if (!op->art->cache || op->renew == op->node_addr ||
	    !art_cache_get(op->art->cache, op->node_addr, &op->key, &hint))
		return 0;
	depth = art_header_depth(hint.header);
	if (depth >= op->trust || !hint.slot ||
	    (op->up.at != FAR_NIL && depth <= op->up.depth))
		return 0;
	op->step = (struct art_step) {
		.at = art_slot_at(op->node_addr, hint.at), .word = hint.slot,
		.node = op->node_addr, .depth = depth, .age = hint.age,
	};
	return WAY_ON;
}

void art_remember(struct art_op *op)
{
	if (op->art->cache)
		art_cache_put(op->art->cache, op->node_addr, &op->key, op->node,
			      op->node_age);
}

void art_forget(struct art_op *op, uint64_t node)
{
	if (op->art->cache)
		art_cache_drop(op->art->cache, node);
}

/* READs the node at op->node_addr, which op->up leads to, and proves it. */
static int node_read(struct art_op *op)
{
	bool first = op->up.at == FAR_NIL;
	unsigned type = first ? ART_TYPES - 1 : art_slot_size(op->up.word);
	int err;

	if (type >= ART_TYPES)
		return op->up.fresh ? -EBADMSG : hint_wrong(op, op->up.depth);
	op->node_age = form_age_now(op->task);
	op->reads++;
	far_read(op->task, op->node_addr, op->node, art_node_len(type));
	err = far_sync(op->task);
	if (!op->up.fresh && err == -EFAULT)
		return hint_wrong(op, op->up.depth);
	if (err)
		return err;
	if (!art_node_sane(op->node, art_seed(op->art->root, op->node_addr)) ||
	    art_header_type(op->node->header) != type)
		return op->up.fresh ? -EBADMSG : hint_wrong(op, op->up.depth);
	if (!op->up.fresh && art_born_after(op, art_node_birth(op->node), op->up.age))
		return hint_wrong(op, op->up.depth);
	return WAY_ON;
}

/* True if somebody has begun to replace it. -EBADMSG: a slot has no symbol. */
static int node_frozen(const struct art_node *node)
{
	unsigned nr = art_type_slots(art_header_type(node->header));
	uint64_t all = 0;
	unsigned i;

	for (i = 0; i < nr; i++) {
		if (art_slot_symbol(node->slot[i]) >= ART_SYMBOLS)
			return -EBADMSG;
		all |= node->slot[i];
	}
	return !!(all & ART_FROZEN);
}

/*
 * Replaces the node that was READ, if op->up was READ as well. What somebody else has
 * begun is left to that one for a while: it is faster alone.
 */
static int way_renew(struct art_op *op, bool frozen)
{
	int err;

	art_forget(op, op->node_addr);
	if (frozen && op->patience) {
		op->patience--;
		op->progress = true;
		art_forget(op, op->up.node);
		far_backoff(op->task);
		return hint_wrong(op, op->up.depth);
	}
	if (!op->up.fresh)
		return hint_wrong(op, op->up.depth);
	if (op->up.word & ART_FROZEN) {
		op->renew = op->up.node;
		op->progress = true;
		return hint_wrong(op, op->up.depth);
	}
	err = art_renew(op);
	if (err)
		return err;
	art_forget(op, op->up.node);
	op->progress = true;
	op->renew = FAR_NIL;
	return hint_wrong(op, op->up.depth);
}

/* The key's slot in the node that was READ. */
static int way_slot(struct art_op *op, bool frozen, enum art_what *ret_what)
{
	unsigned depth = art_header_depth(op->node->header);
	unsigned i = art_node_find(op->node, art_symbol(op->key.data, op->key.len, depth));

	if (!frozen)
		art_remember(op);
	op->step = (struct art_step) {
		.node = op->node_addr, .depth = depth, .fresh = true,
	};
	if (i == ART_FULL) {
		*ret_what = ART_CROWDED;
		return WAY_DONE;
	}
	op->step.at = art_slot_at(op->node_addr, i);
	op->step.word = op->node->slot[i];
	if (art_pointee(op->step.word))
		return WAY_ON;
	*ret_what = ART_VACANT;
	return WAY_DONE;
}

/* READs the node and looks for the way on. */
static int way_read(struct art_op *op, enum art_what *ret_what)
{
	unsigned from = op->up.at == FAR_NIL ? 0 : op->up.depth + 1;
	unsigned depth;
	int at, ret, frozen;

	/* that the first node is known says nothing: it is every descent's */
	look(op, !op->up.fresh && op->up.node != art_first_node(op->art));
	ret = node_read(op);
	if (ret != WAY_ON)
		return ret;
	depth = art_header_depth(op->node->header);
	if (depth < from)
		return op->up.fresh ? -EBADMSG : hint_wrong(op, op->up.depth);
	frozen = node_frozen(op->node);
	if (frozen < 0)
		return op->up.fresh ? frozen : hint_wrong(op, op->up.depth);
	if (frozen && op->up.at == FAR_NIL)
		return -EBADMSG;	/* the first node is never replaced */
	if (op->renew == op->node_addr)
		return way_renew(op, frozen);
	if (frozen)
		art_forget(op, op->node_addr);
	if (frozen && !op->up.fresh)
		return hint_wrong(op, op->up.depth);
	at = art_leaves(op->node->header, &op->key, from);
	if (at == (int)depth)
		return way_slot(op, frozen, ret_what);
	/* above it something has changed, or it tells by a hint that the key is not there */
	if (!op->up.fresh)
		return hint_wrong(op, op->up.depth);
	if (at < 0)
		return -EBADMSG;
	op->below = op->node->header;
	op->leaves_at = at;
	op->step = op->up;
	*ret_what = ART_ASIDE;
	return WAY_DONE;
}

/* One descent from the first node. */
static int way(struct art_op *op, enum art_what *ret_what)
{
	int ret;

	op->node_addr = art_first_node(op->art);
	op->up = (struct art_step) { .at = FAR_NIL, .fresh = true };
	op->looked = false;
	for (;;) {
		ret = way_cached(op);
		if (!ret)
			ret = way_read(op, ret_what);
		if (ret == WAY_ON && op->step.word & ART_LEAF)
			ret = way_leaf(op, ret_what);
		if (ret != WAY_ON)
			return ret;
		op->up = op->step;
		op->node_addr = art_pointee(op->step.word);
	}
}

/* By the descent that has come to an end. */
static void find_count(struct art_op *op)
{
	far_count(op->task, op->begun ? FAR_COUNT_CACHE_HITS : FAR_COUNT_CACHE_MISSES, 1);
	if (op->begun && op->reads)
		far_count(op->task, FAR_COUNT_CACHE_PARTIAL, 1);
}

/*
 * One more round after others have changed something, or this one has. They may be faster
 * for ever: who has to find the key though it is late gives up some time.
 */
static int find_progress(struct art_op *op, unsigned rounds)
{
	return rounds % ART_TRIES || !far_op_is_late(op->task) ? 0 : -ETIME;
}

int art_find(struct art_op *op, enum art_what *ret_what)
{
	unsigned tries = 0, rounds = 0;
	unsigned trust;
	int ret;

	if (op->batch)
		far_combine_again(op->batch);
	op->reads = 0;
	do {
		trust = op->trust;
		op->progress = false;
		ret = way(op, ret_what);
		/* hints are less each time; without them others have changed something */
		if (ret != WAY_ANEW || op->trust < trust)
			continue;
		if (op->progress) {
			if (find_progress(op, ++rounds))
				return -ETIME;
			continue;
		}
		if (++tries == ART_TRIES)
			return -EBADMSG;
		op->trust = 0;
		far_backoff(op->task);
	} while (ret == WAY_ANEW);
	if (ret > 0 && op->art->cache)
		find_count(op);
	return ret < 0 ? art_far_err(ret) : 0;
}
