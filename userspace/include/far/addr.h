/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The far address: where something lies in a space set.
 *
 *	bit 63        48 47     40 39                                0
 *	   | free: tags |  node  |  offset in that node's space       |
 *
 * node is the index of the memory node in the space set, 0 to 254. Offset 0 of each
 * node is its superblock, so that 0 is nobody's address and means "none". The upper
 * 16 bits are free for tags or lengths; the functions here ignore and clear them.
 */
#ifndef FAR_ADDR_H
#define FAR_ADDR_H

#include <stdint.h>

#define FAR_NIL			UINT64_C(0)
#define FAR_OFF_BITS		40
#define FAR_ADDR_BITS		48
#define FAR_MAX_NODES		255

static inline uint64_t far_addr(unsigned node, uint64_t off)
{
	return (uint64_t)node << FAR_OFF_BITS | off;
}

static inline unsigned far_addr_node(uint64_t addr)
{
	return addr >> FAR_OFF_BITS & 0xff;
}

static inline uint64_t far_addr_off(uint64_t addr)
{
	return addr & ((UINT64_C(1) << FAR_OFF_BITS) - 1);
}

/* addr without its tag bits. */
static inline uint64_t far_addr_bare(uint64_t addr)
{
	return addr & ((UINT64_C(1) << FAR_ADDR_BITS) - 1);
}

#endif
