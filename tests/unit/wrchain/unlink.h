/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The way back from a linked program, so that it can be changed and linked again. */
#ifndef TEST_WRCHAIN_UNLINK_H
#define TEST_WRCHAIN_UNLINK_H

#include "core/prog.h"

/* What wrc_link() has added goes: padding, rows, patches, words, all numbers. */
void unlink_prog(struct wrc_prog *prog);
/* Whoever names instruction n of the first nr now names to[n]. */
void unlink_renumber(struct wrc_prog *prog, const __u8 *to, unsigned int nr);

#endif /* TEST_WRCHAIN_UNLINK_H */
