/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Searching scenes, and what several tests of them have in common. */
#ifndef TEST_MODEL_SEARCH_H
#define TEST_MODEL_SEARCH_H

#include "../lib/nightly.h"
#include "scene.h"

#define LOAD ODRP_WIRE_LOAD
#define MAPPED ODRP_WIRE_MAPPED_STORE
#define UNMAPPED ODRP_WIRE_UNMAPPED_STORE
#define FREE ODRP_WIRE_INVALIDATE

/* Nothing is wrong, in whatever order. */
void holds(const struct scene_config *cfg, const char *name);
/* In both fetch modes. */
void holds_both(struct scene_config *cfg, const char *name);
/* The search finds what is wrong; break_it makes it so. */
void fails(const struct scene_config *cfg, const char *name,
	   void (*break_it)(struct scene *s), const char *why);

/* One slot, chain after chain. */
extern const struct scene_config one_slot_scene;
/* More than a lap of one chain, nothing beside it. */
struct scene_config alone_scene(enum odrp_wire_chain kind);
/* More than a lap of the instances, as many at once as there may be. */
extern const struct scene_config second_lap_scene;
/* A store and a free, and a connection that breaks; the same with one chain. */
extern const struct scene_config breaks_scene;
struct scene_config one_breaks(enum odrp_wire_chain kind);
/* The same with page exchange, whose instances have pages. */
struct scene_config exchanged(struct scene_config cfg);

/* The first instruction with that opcode. */
unsigned int find(const struct wrc_prog *prog, __u8 op);
/* The take reads the page and leaves it where it was. */
void plain_take(struct scene *s);
/* The receive entry keeps the page that has been mapped. */
void not_renewed(struct scene *s);

/* What of the program of chain 0 orders it: each fence, and each WAIT for what its own
 * queue READs, exchanges or maps. */
unsigned int nr_orders(const struct scene_config *cfg);
/* One of them is taken out, number taken_out. */
extern unsigned int taken_out;
void take_out(struct scene *s);

#endif /* TEST_MODEL_SEARCH_H */
