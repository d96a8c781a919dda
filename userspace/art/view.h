/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A walk through all of a tree: each block once, from above, in the order of the keys.
 * What can be reached during the whole walk is met, while others go on. A walk of many
 * epochs: see form/walk.h.
 *
 * The place of a leaf is its key, that of a node the bytes that all keys below it begin
 * with, down to its depth: these never change, whatever is put above the block or taken
 * away there. The way to a block begins with no other bytes than these, but may become
 * longer or shorter. So the walk goes on behind a place, not behind a way.
 *
 * The walk ends, however fast others insert. What it has still to visit is kept from epoch to
 * epoch, as ways: what was below a node when the walk came there is below one of them, and
 * what is not came later. A way is only replaced by longer ones, and no key is endless.
 */
#ifndef FAR_ART_VIEW_H
#define FAR_ART_VIEW_H

#include "../form/walk.h"
#include "art_priv.h"

/* A slot, and the bytes that all keys below it begin with. */
struct art_way {
	uint64_t slot;
	unsigned depth;			/* of the slot's node */
	uint8_t key[ART_MAX_KEY];	/* depth + 1 of them; of ART_END, depth */
};

enum art_item_kind { ART_ITEM_ROOT, ART_ITEM_NODE, ART_ITEM_LEAF };

struct art_item {
	enum art_item_kind kind;
	uint64_t addr;
	uint64_t len;
	const struct art_node *node;	/* of a node, but not of the root */
	const struct art_seen *seen;	/* of a leaf that is live: else NULL */
};

struct art_view {
	struct form_walk walk;		/* whose epochs these are */
	struct far_art *art;
	/* Each block; other than 0 ends the walk. */
	int (*block)(void *arg, const struct art_item *item);
	/* What is wrong; NULL: nobody asks, and it is -EBADMSG. */
	void (*problem)(void *arg, uint64_t addr, const char *what);
	void *arg;
};

/* After form_walk_enter(). 0, what block() returned, or an error. */
int art_view(struct art_view *view);

/*
 * The way through slot i of a node that was met on `way` (NULL: the first node).
 * false: the slot leads nowhere, or the node cannot be there.
 */
bool art_way_on(const struct art_way *way, const struct art_node *node, unsigned i,
		struct art_way *ret_way);
/* True if a key is where it belongs. */
bool art_way_fits(const struct art_way *way, const struct art_seen *seen);

#endif
