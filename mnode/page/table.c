// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* recycle=node: tables, made once and kept; see table.h. */
#include <errno.h>
#include <sys/mman.h>
#include "table.h"

static int table_map(struct table *t, const struct wrc_prog *prog,
		     const struct wrc_geom *geom)
{
	t->iova = WRC_TABLE_ALIGN * (1 + prog->chain);
	t->part = 0;
	return mem_map(geom->table_len, 0, &t->mem);
}

/* Fills a part, has it verified, and makes it read-only. */
static int table_make_part(struct table *t, const struct wrc_prog *prog,
			   const struct wrc_geom *geom,
			   const struct wrc_table_part *part,
			   char why[WRC_WHY_MAX])
{
	int r = mem_populate(&t->mem, part->off, part->len);

	if (r)
		return r;
	wrc_table_fill_part(prog, geom, t->iova, part, t->mem.va);
	r = wrc_table_check_part(prog, geom, t->iova, part, t->mem.va, why);
	if (!r && mprotect((char *)t->mem.va + part->off, part->len, PROT_READ))
		r = -errno;
	t->part++;
	return r;
}

static int table_make_some(struct table *t, struct nic *nic, uint32_t pdn,
			   const struct wrc_prog *prog, const struct wrc_geom *geom,
			   char why[WRC_WHY_MAX])
{
	struct wrc_table_part part;
	int r = t->mem.va ? 0 : table_map(t, prog, geom);

	if (r)
		return r;
	if (wrc_table_part(prog, geom, t->part, &part)) {
		r = table_make_part(t, prog, geom, &part, why);
	} else {
		r = nic->ops->mr_reg(nic, pdn, t->mem.va, geom->table_len,
				     t->iova, NIC_REMOTE_READ, &t->key);
		t->ready = !r;
	}
	if (r)
		mem_unmap(&t->mem);
	/* The kernel may return -EAGAIN when memory is short; to callers, it means more work. */
	return r == -EAGAIN ? -ENOMEM : r;
}

/* NULL: there is no table for so many instances. */
static struct table *table_of(struct tables *ts, const struct wrc_prog *prog,
			      const struct wrc_geom *geom)
{
	return geom->log_rq >= TABLE_DEPTHS ? NULL :
	       &ts->of[wrc_is_keyed(prog)][prog->chain][geom->log_rq];
}

int tables_make_some(struct tables *ts, struct nic *nic, uint32_t pdn,
		     const struct wrc_prog *prog, const struct wrc_geom *geom,
		     char why[WRC_WHY_MAX])
{
	struct table *t = table_of(ts, prog, geom);
	int r;

	if (!t)
		return -ERANGE;
	if (t->ready)
		return 0;
	r = table_make_some(t, nic, pdn, prog, geom, why);
	if (r)
		return r;
	if (t->ready)
		ts->bytes += t->mem.len;
	return -EAGAIN;
}

int tables_bind(struct tables *ts, struct nic *nic, uint32_t pdn,
		const struct wrc_prog *prog, const struct wrc_geom *geom,
		struct wrc_bind *bind, char why[WRC_WHY_MAX])
{
	const struct table *t = table_of(ts, prog, geom);
	int r;

	do {
		r = tables_make_some(ts, nic, pdn, prog, geom, why);
	} while (r == -EAGAIN);
	if (r)
		return r;
	bind->table = t->mem.va;
	bind->table_iova = t->iova;
	bind->table_key = t->key;
	return 0;
}

void tables_free(struct tables *ts, struct nic *nic)
{
	struct table *t = &ts->of[0][0][0];
	size_t i;

	for (i = 0; i < sizeof(ts->of) / sizeof(*t); i++, t++) {
		if (!t->mem.va)
			continue;
		if (t->ready)
			nic->ops->mr_dereg(nic, t->key);
		mem_unmap(&t->mem);
	}
	*ts = (struct tables){ 0 };
}
