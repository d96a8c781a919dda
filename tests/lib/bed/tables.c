// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tables of recycle=node, each made and checked once in a program:
 *
 *	-Wl,--wrap=wrc_table_fill_part -Wl,--wrap=wrc_table_check_part
 *
 * A test that opens an agent for each of its steps would do nothing else.  What
 * has been filled for the same program, shape and place before is copied, and
 * what is, to the last byte, a part that was found right is right.
 */
#include <stdlib.h>
#include <string.h>
#include "core/prog.h"

void __real_wrc_table_fill_part(const struct wrc_prog *prog,
				const struct wrc_geom *geom, __u64 iova,
				const struct wrc_table_part *part, void *table);
int __real_wrc_table_check_part(const struct wrc_prog *prog,
				const struct wrc_geom *geom, __u64 iova,
				const struct wrc_table_part *part,
				const void *table, char why[WRC_WHY_MAX]);
void __wrap_wrc_table_fill_part(const struct wrc_prog *prog,
				const struct wrc_geom *geom, __u64 iova,
				const struct wrc_table_part *part, void *table);
int __wrap_wrc_table_check_part(const struct wrc_prog *prog,
				const struct wrc_geom *geom, __u64 iova,
				const struct wrc_table_part *part,
				const void *table, char why[WRC_WHY_MAX]);

#define MAX_KNOWN 24	/* the programs of some depths */
#define MAX_PARTS 64

static struct known {
	struct wrc_prog prog;
	struct wrc_geom geom;
	__u64 iova;
	__u8 *table;
	bool filled[MAX_PARTS], right[MAX_PARTS];
} known[MAX_KNOWN];

/* NULL: there is no room for one more. */
static struct known *known_of(const struct wrc_prog *prog,
			      const struct wrc_geom *geom, __u64 iova)
{
	struct known *k = known;

	while (k < known + MAX_KNOWN && k->table &&
	       (k->iova != iova || memcmp(&k->prog, prog, sizeof(*prog)) ||
		memcmp(&k->geom, geom, sizeof(*geom))))
		k++;
	if (k == known + MAX_KNOWN)
		return NULL;
	if (k->table)
		return k;
	k->table = malloc(geom->table_len);
	if (!k->table)
		return NULL;
	k->prog = *prog;
	k->geom = *geom;
	k->iova = iova;
	return k;
}

static unsigned int number_of(const struct wrc_prog *prog,
			      const struct wrc_geom *geom,
			      const struct wrc_table_part *part)
{
	struct wrc_table_part other;
	unsigned int n;

	for (n = 0; wrc_table_part(prog, geom, n, &other); n++)
		if (other.off == part->off)
			return n;
	abort();
}

void __wrap_wrc_table_fill_part(const struct wrc_prog *prog,
				const struct wrc_geom *geom, __u64 iova,
				const struct wrc_table_part *part, void *table)
{
	unsigned int n = number_of(prog, geom, part);
	struct known *k = known_of(prog, geom, iova);
	__u8 *at = (__u8 *)table + part->off;

	if (k && k->filled[n]) {
		memcpy(at, k->table + part->off, part->len);
		return;
	}
	__real_wrc_table_fill_part(prog, geom, iova, part, table);
	if (!k)
		return;
	memcpy(k->table + part->off, at, part->len);
	k->filled[n] = true;
}

int __wrap_wrc_table_check_part(const struct wrc_prog *prog,
				const struct wrc_geom *geom, __u64 iova,
				const struct wrc_table_part *part,
				const void *table, char why[WRC_WHY_MAX])
{
	unsigned int n = number_of(prog, geom, part);
	struct known *k = known_of(prog, geom, iova);
	bool same = k && k->filled[n] &&
		    !memcmp((const __u8 *)table + part->off,
			    k->table + part->off, part->len);
	int r;

	if (same && k->right[n])
		return 0;
	r = __real_wrc_table_check_part(prog, geom, iova, part, table, why);
	if (same && !r)
		k->right[n] = true;
	return r;
}

/* Still reachable at the end of the program, but nobody's. */
__attribute__((destructor)) static void forget(void)
{
	for (struct known *k = known; k < known + MAX_KNOWN; k++)
		free(k->table);
}
