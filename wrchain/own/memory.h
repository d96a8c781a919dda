/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How much more memory this process can allocate without an out-of-memory kill: what the
 * machine has, and what each memory group leaves, the process's own and all above it
 * (memory.max of cgroup v2, memory.limit_in_bytes of v1; systemd's MemoryMax= and
 * containers set them).
 */
#ifndef OWN_MEMORY_H
#define OWN_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define OWN_LIMIT_MAX	256u

/*
 * Returns bytes; UINT64_MAX: unknown. ret_limit, of OWN_LIMIT_MAX bytes or NULL, gets the
 * path of the file that has the limit, for people.
 */
uint64_t own_memory_available(char *ret_limit);
/* The same with the machine's files below the directory root; for tests. */
uint64_t own_memory_available_at(const char *root, char *ret_limit);

#endif
