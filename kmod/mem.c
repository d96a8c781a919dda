// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory whose size somebody chooses: by the size of the device, its queues and
 * their depth.  What is not to be had is refused: nobody is killed for it, and
 * nobody reclaims for long.
 *
 * First the whole is compared with what is available.  Then each part is asked for
 * without retries: vmalloc() hands __GFP_NORETRY and __GFP_NOWARN on to the pages
 * of the area on all kernels from 5.10 on; only its page tables, one page for 512,
 * are always asked for with GFP_KERNEL.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "compat.h"
#include "odrp.h"

/* A work request in the queues of an RDMA driver: of rdma_rxe, more than others. */
#define WR_BYTES	512

/*
 * odrp_table_alloc() - zeroed memory for so many elements
 *
 * May sleep, but not for long.  To be freed by vfree().
 *
 * Return: NULL when there is not enough, or whoever asks has been killed.
 */
void *odrp_table_alloc(u64 nr, size_t size)
{
	size_t len;

	if (fatal_signal_pending(current) || check_mul_overflow(nr, size, &len))
		return NULL;
	return odrp_alloc(__vmalloc(len, ODRP_GFP_CHOSEN | __GFP_ZERO));
}

/* odrp_bitmap_alloc() - the same, a bit for each of so many */
unsigned long *odrp_bitmap_alloc(u64 nr)
{
	return odrp_table_alloc(BITS_TO_LONGS(nr), sizeof(long));
}

static u64 slot_bytes(const struct odrp_options *opt)
{
	u64 nr = opt->size / ODRP_BLOCK;
	u64 bitmap = BITS_TO_LONGS(nr) * sizeof(long);
	u64 n = nr * (sizeof(u8) + sizeof(u32)) + bitmap;

	if (opt->checksum)
		n += nr * sizeof(u32);
	if (opt->protect)
		n += nr * ODRP_SEAL_BYTES;
	if (opt->backing)
		n += bitmap;
	if (opt->frontswap)
		n += bitmap;
	if (!ODRP_SWAPOFF_SAFE)
		n += bitmap;
	return n;
}

/* With a spare queue pair for each connection. */
static u64 queue_bytes(unsigned int depth)
{
	u64 req = sizeof(struct odrp_req) + ODRP_HDR_MAX + PAGE_SIZE;
	u64 wrs = 2 * (ODRP_SIGNAL_EVERY + 1) * WR_BYTES;

	return sizeof(struct odrp_times) +
	       (u64)depth * ODRP_WIRE_NR_CHAINS * (req + wrs);
}

/*
 * odrp_mem_needed() - what a device takes, about, in bytes
 * @queues, @depth: as granted; 0 while that is not known
 */
u64 odrp_mem_needed(const struct odrp_options *opt, unsigned int queues,
		    unsigned int depth)
{
	return slot_bytes(opt) + queues * queue_bytes(depth);
}

static u64 mib(u64 bytes)
{
	return DIV_ROUND_UP_ULL(bytes, 1 << 20);
}

/*
 * odrp_mem_check() - is so much to be had?
 *
 * A quarter of what is available is left to others, so that adding a device is not
 * what makes the machine short of memory.
 *
 * Return: 0, or -ENOMEM, told in the log.
 */
int odrp_mem_check(int id, const struct odrp_options *opt, u64 needed)
{
	u64 available = (u64)max(si_mem_available(), 0L) << PAGE_SHIFT;
	u64 most = available - available / 4;

	if (needed <= most)
		return 0;
	pr_err("odrp%d: not added: size=%lluM takes %llu MiB of memory: expected at most %llu\n",
	       id, opt->size >> 20, mib(needed), most >> 20);
	return -ENOMEM;
}
