/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Adopts what an earlier agent has left in its files (keep.h): first the pages, then
 * the sessions.
 */
#ifndef MNODE_ADOPT_H
#define MNODE_ADOPT_H

#include "page/keep.h"

struct manager;

/*
 * Drops each session whose record or translation table is damaged, and each space whose
 * record is, with an error in the log. Then frees each page that no translation table and no
 * space has. May be interrupted at any
 * point and run again. Returns 0, -ENOMEM or an error of keep_tables_clear().
 */
int adopt_pages(struct keep *k);
/*
 * Creates the sessions of the records; they are detached and wait to be resumed. Drops a
 * session that cannot be created, for example because this NIC has no keys, with an error
 * in the log. Returns 0, or -errno if the table of a dropped session cannot be cleared.
 */
int adopt_sessions(struct manager *m);
/* Runs one step of sess_restore() for one session. Returns false if no session needs
 * one. */
/* Kept sessions whose pages are found by chains. */
unsigned int adopt_nr_chained(const struct manager *m);
bool adopt_some(struct manager *m);

#endif /* MNODE_ADOPT_H */
