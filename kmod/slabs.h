/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Direct slabs: reading the memory node's table of them, and telling which the device holds.
 */
#ifndef _ODRP_SLABS_H
#define _ODRP_SLABS_H

#include <linux/mutex.h>
#include <linux/types.h>
#include <odrp/wire.h>

struct odrp_sess;

/*
 * struct odrp_slabs - memory by which a session with ODRP_WIRE_F_DIRECT knows its slabs
 * @lock:	one task reads the table, or takes slabs and gives them back, at a time
 * @table:	a page that entries of the table are read to; NULL: the session has no slabs
 * @held:	bitmap of the slabs that the device holds; written with each heartbeat
 * @held_len:	bytes of @held
 */
struct odrp_slabs {
	struct mutex		lock;
	struct odrp_wire_slab	*table;
	u64			dma;
	u8			*held;
	u64			held_dma;
	u32			held_len;
};

int odrp_slabs_init(struct odrp_sess *s);
int odrp_slabs_read(struct odrp_sess *s);
void odrp_slabs_accepted(struct odrp_sess *s, u64 lease);
void odrp_slabs_granted(struct odrp_sess *s, const struct odrp_wire_grant *g);
void odrp_slabs_beat(struct odrp_sess *s, struct odrp_wire_beat *w);
void odrp_slabs_exit(struct odrp_sess *s);
void odrp_slabs_free(struct odrp_sess *s);

#endif /* _ODRP_SLABS_H */
