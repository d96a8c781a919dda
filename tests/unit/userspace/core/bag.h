/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The least structure that has all that matters to memory: a root with slots, each of
 * which holds the address of a block or nothing. A change allocates a block, writes it,
 * switches the slot by one CAS, and retires the old one.
 *
 * A slot's upper 16 bits are the size of its block in units of 8 bytes; larger ones
 * have 0xffff there, and their size in their second word.
 */
#ifndef TEST_FAR_CORE_BAG_H
#define TEST_FAR_CORE_BAG_H

#include <far/far.h>

#include "../../../../userspace/core/type.h"

extern const struct far_type bag_type;

struct bag {
	uint64_t root;
	unsigned nr_slots;
};

int bag_create(struct far_task *task, const char *name, unsigned nr_slots,
	       struct bag *ret_bag);
int bag_open(struct far_task *task, const char *name, struct bag *ret_bag);
/* Removes the name and retires all blocks. */
int bag_destroy(struct far_task *task, const char *name);
/* A new block of size bytes for a slot, marked with id; size 0 empties the slot. */
int bag_put(struct far_task *task, const struct bag *bag, unsigned slot, uint64_t size,
	    uint64_t id);
/*
 * Reads the slot's block twice with ns between: -EBADMSG when it was not the same, so
 * that it was used again too early. -ENOENT: the slot is empty.
 */
int bag_get(struct far_task *task, const struct bag *bag, unsigned slot, uint64_t ns);

#endif
