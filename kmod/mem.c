// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory whose amount a user chooses, by the size of a device, its queues and their depth.
 * When there is not enough memory, adding the device fails: the OOM killer does not run,
 * and reclaim does not take long.
 *
 * First the whole amount is compared with the available memory.  Then each part is
 * allocated without retries.  vmalloc() passes __GFP_NORETRY and __GFP_NOWARN on to the
 * pages of the area, on all kernels from 5.10 on.  Only the page tables, one page for 512,
 * are always allocated with GFP_KERNEL.
 */
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "compat.h"
#include "odrp.h"

/* Bytes per work request in an RDMA driver: those of rdma_rxe, which takes most. */
#define WR_BYTES	512

/*
 * odrp_table_alloc() - allocate zeroed memory for @nr elements of @size bytes
 *
 * May sleep, but not for long.  The caller frees the memory with vfree().
 *
 * Return: NULL when there is not enough memory, or the current task has been killed.
 */
void *odrp_table_alloc(u64 nr, size_t size)
{
	size_t len;

	if (fatal_signal_pending(current) || check_mul_overflow(nr, size, &len))
		return NULL;
	return odrp_alloc(__vmalloc(len, ODRP_GFP_CHOSEN | __GFP_ZERO));
}

/* odrp_bitmap_alloc() - allocate @nr zeroed bits; as odrp_table_alloc() */
unsigned long *odrp_bitmap_alloc(u64 nr)
{
	return odrp_table_alloc(BITS_TO_LONGS(nr), sizeof(long));
}

static u64 slot_bytes(const struct odrp_options *opt)
{
	u64 nr = opt->size / ODRP_BLOCK;
	u64 bitmap = BITS_TO_LONGS(nr) * sizeof(long);
	u64 n = nr * (sizeof(u8) + sizeof(u32)) + bitmap;

	if (opt->direct)
		n += bitmap + odrp_wire_max_slabs(nr) * sizeof(struct odrp_slab);
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

/* Bytes of one queue; each connection has a spare queue pair. */
static u64 queue_bytes(unsigned int depth)
{
	u64 req = sizeof(struct odrp_req) + ODRP_HDR_LEN + PAGE_SIZE;
	u64 wrs = 2 * (ODRP_SIGNAL_EVERY + 1) * WR_BYTES;

	return sizeof(struct odrp_times) +
	       (u64)depth * ODRP_WIRE_NR_CHAINS * (req + wrs);
}

/*
 * odrp_mem_needed() - about how many bytes a device takes
 * @opt:	size of the device, and what it keeps for each slot
 * @queues:	as granted by the memory node; 0 while that is not known
 * @depth:	as granted by the memory node; 0 while that is not known
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
 * odrp_mem_check() - is enough memory available?
 * @id:		number of the device, for the log
 * @needed:	bytes
 *
 * Leaves a quarter of the available memory to others, so that adding a device does not
 * make the machine short of memory.
 *
 * Return: 0, or -ENOMEM, after a message in the log.
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
