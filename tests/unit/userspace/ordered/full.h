/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Full spaces: what is stored is found and can be deleted, what does not fit is refused whole,
 * and a space that was emptied takes as much again.
 */
#ifndef TEST_FAR_ORDERED_FULL_H
#define TEST_FAR_ORDERED_FULL_H

#include "program.h"

/*
 * Fill, empty, fill, on mem by one client, in sim by several at a time. Values of that
 * length; keys of 8 bytes, or of some lengths if the structure takes such.
 */
void full_in_turn(const struct ordered_kind *kind, unsigned clients, size_t value_len);

/*
 * Keys are found and deleted, each of them, while the space has no block of any size left:
 * what a delete needs beside what it deletes, it had before. Then there is room again.
 */
void full_deletes(const struct ordered_kind *kind);

#endif
