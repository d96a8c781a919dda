/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of a virtual machine, mapped into this process: its monitor shares it
 * by a vhost-user memory table.
 */
#ifndef SNIC_GUEST_MEM_H
#define SNIC_GUEST_MEM_H

#include <stddef.h>
#include <stdint.h>

#define SNIC_GUEST_REGIONS	8	/* maximum of a vhost-user memory table */

/* Part of a vhost-user message; host byte order. */
struct snic_guest_map {
	uint64_t gpa;		/* guest physical address */
	uint64_t size;
	uint64_t user;		/* the region's address in the monitor */
	uint64_t offset;	/* of the region in the file */
};

struct snic_guest_region {
	struct snic_guest_map map;
	uint8_t *va;		/* where gpa is mapped here */
	void *base;		/* the mapping, from the file's start */
	size_t base_len;
};

struct snic_guest_mem {
	struct snic_guest_region regions[SNIC_GUEST_REGIONS];
	unsigned int nr;
};

/*
 * Maps a region of the file fd; the caller may close fd then.  -EPERM: the file
 * could be truncated later, as it is no memory file with F_SEAL_SHRINK;
 * -EINVAL: empty, wraps, beyond the end of the file, or too many regions; else
 * an error of fstat() or mmap().
 */
int snic_guest_mem_add(struct snic_guest_mem *mem,
		       const struct snic_guest_map *map, int fd);
void snic_guest_mem_clear(struct snic_guest_mem *mem);
/*
 * Translates [gpa, gpa + len) to an address here.  NULL: not within one region.
 */
void *snic_guest_mem_at(const struct snic_guest_mem *mem, uint64_t gpa,
			uint64_t len);
/* The same for an address of the monitor. */
void *snic_guest_mem_at_user(const struct snic_guest_mem *mem, uint64_t user,
			     uint64_t len);

#endif /* SNIC_GUEST_MEM_H */
