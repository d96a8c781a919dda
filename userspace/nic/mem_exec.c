/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Executes one operation of mem. The memory of a space is accessed by relaxed atomics of
 * aligned words of 8 bytes, and of single bytes at both ends of a WRITE. Only the caller
 * uses the local memory, so memcpy() accesses that.
 */
#include "mem_priv.h"

#include <errno.h>
#include <string.h>

static uint64_t word_load(const uint8_t *at)
{
	return __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
}

static void word_store(uint8_t *at, uint64_t word)
{
	__atomic_store_n((uint64_t *)at, word, __ATOMIC_RELAXED);
}

/* Copies the part of a word that begins at from, and is within the word, to local. */
static void copy_part_out(uint8_t *local, const uint8_t *from, uint32_t len)
{
	unsigned skip = (uintptr_t)from & 7;
	uint64_t word = word_load(from - skip);

	memcpy(local, (const uint8_t *)&word + skip, len);
}

static void copy_out(uint8_t *local, const uint8_t *from, uint32_t len)
{
	uint32_t head = -(uintptr_t)from & 7;
	size_t at, words;

	if (head) {
		head = head < len ? head : len;
		copy_part_out(local, from, head);
		local += head;
		from += head;
		len -= head;
	}
	words = len & ~(size_t)7;
	for (at = 0; at < words; at += 8) {
		uint64_t word = word_load(from + at);

		memcpy(local + at, &word, 8);
	}
	if (words < len)
		copy_part_out(local + words, from + words, len - words);
}

/* Writes less than a word, by bytes: others may write the other bytes of the word. */
static void copy_part_in(uint8_t *to, const uint8_t *local, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		__atomic_store_n(to + i, local[i], __ATOMIC_RELAXED);
}

static void copy_in(uint8_t *to, const uint8_t *local, uint32_t len)
{
	uint32_t head = -(uintptr_t)to & 7;

	if (head) {
		head = head < len ? head : len;
		copy_part_in(to, local, head);
		local += head;
		to += head;
		len -= head;
	}
	for (; len >= 8; len -= 8, local += 8, to += 8) {
		uint64_t word;

		memcpy(&word, local, 8);
		word_store(to, word);
	}
	copy_part_in(to, local, len);
}

static uint64_t word_cas(uint8_t *at, uint64_t compare, uint64_t swap)
{
	__atomic_compare_exchange_n((uint64_t *)at, &compare, swap, 0,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return compare;
}

/* Checks local memory, rights and bounds of the operation, and that the node is alive. */
static int exec_check(struct mem_runner *runner, const struct mem_target *target,
		      const struct far_wr *wr)
{
	if (__atomic_load_n(target->state, __ATOMIC_ACQUIRE) != MEM_RUNS)
		return -EHOSTDOWN;
	if (!(wr->flags & FAR_WR_INLINE) && wr->len &&
	    !mem_mr_holds(runner->mrs, wr->lkey, wr->local, wr->len, &runner->last))
		return -EFAULT;
	if (!(target->rights & (wr->op == FAR_NIC_READ ? FAR_ATTACH_READ :
			      FAR_ATTACH_WRITE)))
		return -EACCES;
	if (wr->remote > target->size || wr->len > target->size - wr->remote)
		return -EFAULT;
	return 0;
}

int mem_exec(struct mem_runner *runner, const struct mem_target *target,
	     const struct mem_wqe *wqe)
{
	const struct far_wr *wr = &wqe->wr;
	uint8_t *remote = target->base + wr->remote;
	uint64_t old;
	int err;

	err = exec_check(runner, target, wr);
	if (err)
		return err;
	switch (wr->op) {
	case FAR_NIC_READ:
		if (runner->dirty)
			mem_drain(&runner->dirty);
		copy_out(wr->local, remote, wr->len);
		break;
	case FAR_NIC_WRITE:
	case FAR_NIC_WRITE_IMM:
		copy_in(remote, wr->flags & FAR_WR_INLINE ? wqe->data : wr->local,
			wr->len);
		runner->dirty = 1;
		break;
	case FAR_NIC_CAS:
		old = word_cas(remote, wr->arg[0], wr->arg[1]);
		memcpy(wr->local, &old, 8);
		runner->dirty = 0;
		break;
	case FAR_NIC_FAA:
		old = __atomic_fetch_add((uint64_t *)remote, wr->arg[0],
					 __ATOMIC_SEQ_CST);
		memcpy(wr->local, &old, 8);
		runner->dirty = 0;
		break;
	}
	mem_order();
	return 0;
}
