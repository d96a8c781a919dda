/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Spaces that outlive the agent: records in the kept files (page/keep.h), which the next
 * agent adopts. The arbiter's part of a set has one when all members have joined, with what
 * the arbiter knows of them; another part, when it has begun.
 */
#ifndef MNODE_SPACE_KEPT_H
#define MNODE_SPACE_KEPT_H

#include "spaces.h"

/* Is record i what an agent has written, about pages that belong to spaces and that are in
 * no space of a lower record? */
bool kept_is_whole(const struct keep *k, unsigned int i);
/* Writes the record of a space that is complete. -errno. */
int kept_write(struct space *space, struct keep *k);
/* Writes the members of a set again, which has a record. */
void kept_write_members(const struct space *space, struct keep *k);
/*
 * Opens the kept spaces, with their contents; their clients of before are fenced. -EINVAL:
 * why names a space and the setting that it does not fit. -errno: none is open, and all
 * stay for the next agent.
 */
int spaces_adopt(struct spaces *sp, struct pool *pool, const struct conf *conf,
		 char why[CONF_WHY_MAX]);

#endif /* MNODE_SPACE_KEPT_H */
