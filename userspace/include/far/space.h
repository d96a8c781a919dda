/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Spaces: named memory of memory nodes, and the sets they form.
 *
 * These functions are for operators and tests. They are slow, and call the back end
 * named by `nic` (as far_conf.nic). why, of why_len bytes, gets one sentence when
 * they fail.
 */
#ifndef FAR_SPACE_H
#define FAR_SPACE_H

#include <stddef.h>
#include <stdint.h>

#include <far/far.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define FAR_SPACE_NAME_MAX	36u	/* bytes of a name, without the NUL */

struct far_space_attr {
	uint64_t size;			/* bytes on each node; at least 4 MiB */
	const char *const *nodes;	/* as far_conf.nodes; the first is the arbiter */
	unsigned nr_nodes;
	unsigned max_clients;		/* 0: 256 */
	uint64_t chunk_size;		/* a power of two, 64 KiB to 32 MiB; 0: by size */
	unsigned mode;			/* permissions, as of a file; 0: 0600 */
};

/*
 * -EEXIST, -ENOSPC, -EINVAL (why says which value and what was expected). -EOPNOTSUPP:
 * a back end whose spaces would end with this call; today all but mem. Programs reach a
 * space of "far space serve" by soft; in sim only far bench and tests run.
 */
int far_space_create(const char *nic, const char *name,
		     const struct far_space_attr *attr, char *why, size_t why_len);
int far_space_delete(const char *nic, const char *name, char *why, size_t why_len);

struct far_space_info {
	char name[FAR_SPACE_NAME_MAX + 1];
	uint64_t size;			/* bytes, all nodes */
	uint64_t used;			/* bytes of claimed chunks */
	unsigned nr_nodes;		/* 0: it is damaged, and only its name is known */
	unsigned clients;		/* that live */
	unsigned structures;		/* names in the directory */
};

/* Calls each() per space; what it returns but 0 ends the list and is returned. */
int far_space_list(const char *nic,
		   int (*each)(void *arg, const struct far_space_info *info),
		   void *arg, char *why, size_t why_len);

/* What a check found; each problem goes to report() as one sentence. */
struct far_space_check {
	uint64_t chunks, blocks;	/* looked at */
	uint64_t used, free, retired;	/* blocks in each place */
	uint64_t leaked;		/* blocks in no place */
	uint64_t problems;
};

/*
 * Proves that each block is in exactly one place, that names, clients and chunks are
 * consistent, and walks each structure, while others reclaim memory. Exact when no client is
 * at work.
 * 0 also when problems were found: see ret_check.
 */
int far_space_check(struct far *far,
		    void (*report)(void *arg, const char *problem), void *arg,
		    struct far_space_check *ret_check);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
