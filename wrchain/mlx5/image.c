// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The image of one queue: all instances linked and encoded into its arena.
 */
#include "../core/link.h"
#include "encode.h"

static int write_instance(const struct wrc_prog *prog,
			  const struct wrc_geom *geom,
			  const struct wrc_bind *bind, __u32 instance,
			  __u8 *arena)
{
	struct wrc_sge sge[WRC_MAX_RECV_SGE];
	struct wrc_wr wr;
	unsigned int i, n;
	int len;

	for (i = 0; i < prog->nr_insn; i++) {
		wrc_link_wr(prog, geom, bind, i, instance, &wr);
		len = wrc_encode(&wr,
				 arena + wrc_insn_off(prog, geom, i, instance),
				 prog->insn[i].nr_bb * WRC_WQE_BB);
		if (len < 0)
			return len;
	}
	n = wrc_link_recv(prog, geom, bind, instance, sge);
	return wrc_encode_recv(sge, n,
			       arena + geom->client_rq +
				       (instance << geom->log_rq_stride),
			       (size_t)1 << geom->log_rq_stride);
}

/* Before any request: so that request 0 arms the second lap. */
static void write_cells(const struct wrc_prog *prog,
			const struct wrc_geom *geom, __u8 *arena)
{
	unsigned int i;

	for (i = 0; i < prog->nr_cells; i++) {
		struct wrc_ref at = { .space = WRC_SP_CELL, .at = i };
		__u64 value = wrc_cell_value(prog, geom, i, -1u);

		memcpy(arena + wrc_arena_off(prog, geom, at, 0), &value,
		       sizeof(value));
	}
}

/* At least two slots, and an address for each. */
static bool ring_fits(const struct wrc_bind *bind)
{
	return bind->log_free_ring >= 4 && bind->log_free_ring <= 63;
}

int wrc_image_write(const struct wrc_prog *prog, const struct wrc_geom *geom,
		    const struct wrc_bind *bind, void *arena)
{
	struct wrc_dbr dbr = { .rcv = cpu_to_be32(geom->rq_posted) };
	__u32 i;
	int err;

	if (wrc_has_register(prog) && !bind->pages)
		return -EINVAL;
	if (!ring_fits(bind))
		return -EINVAL;
	memset(arena, 0, geom->arena_len);
	for (i = 0; i < geom->depth; i++) {
		err = write_instance(prog, geom, bind, i, arena);
		if (err)
			return err;
	}
	memcpy((__u8 *)arena + geom->client_dbr, &dbr, sizeof(dbr));
	write_cells(prog, geom, arena);
	return 0;
}
