/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This node's part of a space that lies on several memory nodes: how it begins, and what the
 * arbiter does with all of them (space-set.h).  And what a space on one node needs of that.
 */
#ifndef MNODE_SPACE_PART_H
#define MNODE_SPACE_PART_H

#include "spaces.h"

bool space_is_set(const struct space *space);
bool space_is_set_arbiter(const struct space *space);

/* Draws a random number that is not 0. -EIO. */
int space_number_draw(void *ret_number, size_t len);
/* Formats a space which no client reaches. -errno, with a sentence in why. */
int space_format(struct space *space, uint64_t life, char why[CONF_WHY_MAX]);

/* Clients may attach to this node's part. */
void part_open(struct space *space);
/* The arbiter begins a life of the set; it opens when all members have joined. */
int part_begin(struct space *space);
/* The arbiter of the space's set asks this node to join its life; see struct far_host. */
unsigned int part_join(void *arg, struct far_host_space *host,
		       const struct odrp_far_hello *hello, struct odrp_far_member *ret_member);

/* Does a declaration wait until it counts? */
bool part_waits(const struct space *space);
/* Tells clients which parts are lost. */
void part_losses_write(struct space *space);
/* published() of struct far_arbiter; arg: the space. */
bool part_published(void *arg, uint64_t epoch, uint64_t least);
/* Steps the sets whose arbiter this node is.  Returns when to call again. */
uint64_t parts_step(struct spaces *sp, uint64_t now);

#endif /* MNODE_SPACE_PART_H */
