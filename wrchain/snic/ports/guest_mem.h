/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of a virtual machine, mapped here: what its monitor shares in a
 * vhost-user memory table.
 */
#ifndef SNIC_GUEST_MEM_H
#define SNIC_GUEST_MEM_H

#include <stddef.h>
#include <stdint.h>

#define SNIC_GUEST_REGIONS	8	/* of a vhost-user memory table */

/* As in the message, host byte order. */
struct snic_guest_map {
	uint64_t gpa;		/* guest physical address */
	uint64_t size;
	uint64_t user;		/* the same in the monitor's address space */
	uint64_t offset;	/* in the file */
};

struct snic_guest_region {
	struct snic_guest_map map;
	uint8_t *va;		/* of gpa */
	void *base;		/* what is mapped, from the file's start */
	size_t base_len;
};

struct snic_guest_mem {
	struct snic_guest_region regions[SNIC_GUEST_REGIONS];
	unsigned int nr;
};

/*
 * Maps a region of the file fd, which may be closed then.  -EINVAL: empty,
 * wraps, or one too many; else mmap's error.
 */
int snic_guest_mem_add(struct snic_guest_mem *mem,
		       const struct snic_guest_map *map, int fd);
void snic_guest_mem_clear(struct snic_guest_mem *mem);
/* Where [gpa, gpa + len) is here.  NULL: not, or not all in one region. */
void *snic_guest_mem_at(const struct snic_guest_mem *mem, uint64_t gpa,
			uint64_t len);
/* The same for an address of the monitor's. */
void *snic_guest_mem_at_user(const struct snic_guest_mem *mem, uint64_t user,
			     uint64_t len);

#endif /* SNIC_GUEST_MEM_H */
