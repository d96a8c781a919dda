// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tables of recycle=node, each made and checked once in a program:
 *
 *	-Wl,--wrap=wrc_table_fill -Wl,--wrap=wrc_table_check
 *
 * A test that opens an agent for each of its steps would do nothing else.  What
 * has been filled for the same program, shape and place before is copied, and
 * what is, to the last byte, a table that was found right is right.
 */
#include <stdlib.h>
#include <string.h>
#include "core/prog.h"

void __real_wrc_table_fill(const struct wrc_prog *prog,
			   const struct wrc_geom *geom, __u64 iova,
			   void *table);
int __real_wrc_table_check(const struct wrc_prog *prog,
			   const struct wrc_geom *geom, __u64 iova,
			   const void *table, char why[WRC_WHY_MAX]);
void __wrap_wrc_table_fill(const struct wrc_prog *prog,
			   const struct wrc_geom *geom, __u64 iova,
			   void *table);
int __wrap_wrc_table_check(const struct wrc_prog *prog,
			   const struct wrc_geom *geom, __u64 iova,
			   const void *table, char why[WRC_WHY_MAX]);

#define MAX_KNOWN 24	/* the programs of some depths */

static struct known {
	struct wrc_prog prog;
	struct wrc_geom geom;
	__u64 iova;
	void *table;
	bool right;
} known[MAX_KNOWN];

static struct known *known_of(const struct wrc_prog *prog,
			      const struct wrc_geom *geom, __u64 iova)
{
	struct known *k = known;

	while (k < known + MAX_KNOWN && k->table &&
	       (k->iova != iova || memcmp(&k->prog, prog, sizeof(*prog)) ||
		memcmp(&k->geom, geom, sizeof(*geom))))
		k++;
	return k < known + MAX_KNOWN ? k : NULL;
}

void __wrap_wrc_table_fill(const struct wrc_prog *prog,
			   const struct wrc_geom *geom, __u64 iova,
			   void *table)
{
	struct known *k = known_of(prog, geom, iova);

	if (k && k->table) {
		memcpy(table, k->table, geom->table_len);
		return;
	}
	__real_wrc_table_fill(prog, geom, iova, table);
	if (!k)
		return;
	k->table = malloc(geom->table_len);
	if (!k->table)
		return;
	k->prog = *prog;
	k->geom = *geom;
	k->iova = iova;
	memcpy(k->table, table, geom->table_len);
}

int __wrap_wrc_table_check(const struct wrc_prog *prog,
			   const struct wrc_geom *geom, __u64 iova,
			   const void *table, char why[WRC_WHY_MAX])
{
	struct known *k = known_of(prog, geom, iova);
	bool same = k && k->table && !memcmp(table, k->table, geom->table_len);
	int r;

	if (same && k->right)
		return 0;
	r = __real_wrc_table_check(prog, geom, iova, table, why);
	if (same && !r)
		k->right = true;
	return r;
}

/* Still reachable at the end of the program, but nobody's. */
__attribute__((destructor)) static void forget(void)
{
	for (struct known *k = known; k < known + MAX_KNOWN; k++)
		free(k->table);
}
