/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tree as others published it, for comparisons. For benchmarks; not installed.
 */
#ifndef FAR_ART_VARIANT_H
#define FAR_ART_VARIANT_H

#include <far/art.h>

enum art_variant {
	ART_OURS,
	/*
	 * The pure lock-free form of smart-art section 4.5: each update makes a new leaf,
	 * also one of 8 bytes, so that cached addresses of leaves become wrong.
	 */
	ART_LOCK_FREE,
};

/* Before the first operation of this handle. */
void art_set_variant(struct far_art *art, enum art_variant variant);

#endif
