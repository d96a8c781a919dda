/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts blocks that structures lose track of; linked with -Wl,--wrap=far_alloc_lost. */
#ifndef TEST_FAR_HASH_LOST_H
#define TEST_FAR_HASH_LOST_H

/* Times that something was left to a sweep. One thread at a time, as in sim. */
extern unsigned lost_blocks;

#endif
