/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The table as others published it, for comparisons. For benchmarks and for tests
 * that show that the checker finds what is wrong with it; not installed.
 */
#ifndef FAR_PAPER_HASH_H
#define FAR_PAPER_HASH_H

#include <far/hash.h>

enum hash_variant {
	HASH_OURS,
	/*
	 * RACE (USENIX ATC 2021), as in smart-framework section 5.2: no cache and no
	 * combining; an insert claims nothing, and looks for duplicates afterwards, so
	 * that a get may see an insert that then fails; that a key is absent is not
	 * confirmed.
	 */
	HASH_RACE,
	/*
	 * Ours without reuse tags, cached slots believed for ever: an update may hit
	 * another key that has got the slot and the block.
	 */
	HASH_BLIND_CACHE,
	/*
	 * Ours with the window of smart-art section 4.2: operations join a batch as long
	 * as it lasts, and get an answer from before they began.
	 */
	HASH_LATE_WINDOW,
	/*
	 * Ours, but a CAS whose answer is lost is taken for one that has lost: a change that
	 * has happened is made once more.
	 */
	HASH_TWICE,
};

/* Before the first operation of this handle. */
void hash_set_variant(struct far_hash *hash, enum hash_variant variant);

#endif
