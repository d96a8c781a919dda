/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations that are late, at any round trip: they have happened, or answer -ETIME and
 * have left nothing behind, no lock and no block.
 */
#ifndef TEST_FAR_ORDERED_DEADLINE_H
#define TEST_FAR_ORDERED_DEADLINE_H

#include "program.h"

/* Nodes grow, split, merge and go. */
void late_while_changing(const struct ordered_kind *kind);
/* Leaders of batches are late, and hand the lead on. */
void late_while_combining(const struct ordered_kind *kind);
/* Connections break besides: an unknown fate is no late one. */
void late_while_breaking(const struct ordered_kind *kind);

#endif
