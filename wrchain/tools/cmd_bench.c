// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `wrc bench`: how fast the software NIC executes chains.  Ratios of things
 * measured in one run: they take turns, each turn gives one ratio, and the
 * middle one is printed, so that what else the machine does meanwhile hits all
 * of them alike.
 */
#include <stdlib.h>
#include "paper/paper.h"
#include "bench.h"
#include "wrc.h"

#define ROUNDS 301		/* short ones: most are not interrupted */
#define COUNT 200		/* operations of each in a round */
#define NR_PAGES 4096
#define NR_SLOTS 2048
#define NEAR 16			/* pages that stay in the cache */

/* The first ones, by number. */
enum { RAW_READ, RAW_WRITE, COPY_NEAR, MOVE_NEAR, COPY, MOVE, CHAINS };
#define NR_SUBJECTS (CHAINS + ODRP_WIRE_NR_CHAINS)

struct bench {
	struct bench_subject s[NR_SUBJECTS];
	unsigned int nr_open;
	uint32_t count;
	struct bench_time t[NR_SUBJECTS][ROUNDS];	/* of one operation */
};

static void bench_add(struct bench_subject *s, const char *name,
		      enum bench_kind kind, uint8_t op, uint32_t span)
{
	snprintf(s->name, sizeof(s->name), "%s", name);
	s->kind = kind;
	s->op = op;
	s->span = span;
}

static void bench_add_all(struct bench *b)
{
	bench_add(&b->s[RAW_READ], "one-sided READ", BENCH_RAW, WRC_WQE_READ,
		  0);
	bench_add(&b->s[RAW_WRITE], "one-sided WRITE", BENCH_RAW, WRC_WQE_WRITE,
		  0);
	bench_add(&b->s[COPY_NEAR], "memcpy, in the cache", BENCH_MEMCPY, 0,
		  NEAR);
	bench_add(&b->s[MOVE_NEAR], "WRITE in the node, in the cache",
		  BENCH_LOOP,
		  WRC_WQE_WRITE, NEAR);
	bench_add(&b->s[COPY], "memcpy", BENCH_MEMCPY, 0, NR_PAGES);
	bench_add(&b->s[MOVE], "WRITE in the node", BENCH_LOOP, WRC_WQE_WRITE,
		  NR_PAGES);
	for (int i = 0; i < ODRP_WIRE_NR_CHAINS; i++)
		bench_add(&b->s[CHAINS + i], "", BENCH_CHAIN, 0, 0);
}

/*
 * What a subject needs to be in.  Those that are no chain have any node; those that
 * are none with this variant have one with keys.
 */
static void bench_place(struct bench *b, unsigned int i,
			const struct wrc_cmd *cmd,
			struct wrc_rig_config *cfg)
{
	int chain = i - CHAINS;

	if (i < CHAINS) {
		cfg->chain = ODRP_WIRE_LOAD;
		cfg->variant = WRC_V_OURS;
		return;
	}
	cfg->chain = chain;
	cfg->variant = cmd->variant;
	if (wrc_variant_has(cmd->variant, chain))
		return;
	cfg->chain = ODRP_WIRE_INVALIDATE;
	if (chain == ODRP_WIRE_LOAD)
		bench_add(&b->s[i], "load by key", BENCH_KEYED, WRC_WQE_READ,
			  0);
	else
		bench_add(&b->s[i], "mapped_store by key", BENCH_KEYED,
			  WRC_WQE_WRITE, 0);
}

/* 0, or an exit status. */
static int open_all(struct bench *b, const struct wrc_cmd *cmd)
{
	struct wrc_rig_config cfg = {
		.strict = cmd->strict, .variant = cmd->variant,
		.recycle = cmd->recycle, .order = cmd->order,
		.fetch = SNIC_FETCH_LATE, .depth = cmd->depth,
		.nr_pages = NR_PAGES, .nr_slots = NR_SLOTS, .wire = true,
	};
	char why[WRC_WHY_MAX];

	for (; b->nr_open < NR_SUBJECTS; b->nr_open++) {
		struct bench_subject *s = &b->s[b->nr_open];
		int err;

		bench_place(b, b->nr_open, cmd, &cfg);
		err = bench_open(s, &cfg, why);
		if (err)
			return wrc_fail("%s: %s", s->name,
					err == -EPERM ? why : strerror(-err));
		if (s->kind == BENCH_CHAIN)
			snprintf(s->name, sizeof(s->name), "%s",
				 s->rig.prog.name);
	}
	return 0;
}

static int turns_run(struct bench *b)
{
	/* The first turn warms up. */
	for (int round = -1; round < ROUNDS; round++) {
		for (unsigned int i = 0; i < NR_SUBJECTS; i++) {
			struct bench_time t;
			int err = bench_run(&b->s[i], b->count, &t);

			if (err) {
				printf("%s: %s\n", b->s[i].name,
				       err == -EIO ? "went wrong" :
						     strerror(-err));
				return 1;
			}
			if (round < 0)
				continue;
			b->t[i][round] = (struct bench_time){
				t.wall / b->count, t.cpu / b->count,
				t.node / b->count, t.wqes / b->count,
			};
		}
	}
	return 0;
}

/* ---- numbers ------------------------------------------------------------------ */

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double v[ROUNDS])
{
	qsort(v, ROUNDS, sizeof(v[0]), compare_doubles);
	return v[ROUNDS / 2];
}

enum part { PART_NODE, PART_WALL, PART_CPU };

static double time_part(const struct bench_time *t, enum part part)
{
	return part == PART_NODE ? t->node : part == PART_WALL ? t->wall :
								 t->cpu;
}

static double bench_time_of(const struct bench *b, unsigned int i,
			    enum part part)
{
	double v[ROUNDS];

	for (int r = 0; r < ROUNDS; r++)
		v[r] = time_part(&b->t[i][r], part);
	return median(v);
}

/* How fast i is, with base as 1. */
static double bench_speed(const struct bench *b, unsigned int i,
			  unsigned int base,
			  enum part part)
{
	double v[ROUNDS];

	for (int r = 0; r < ROUNDS; r++)
		v[r] = time_part(&b->t[base][r], part) /
		       time_part(&b->t[i][r], part);
	return median(v);
}

/* What a WQE costs that a one-sided operation does not have. */
static double bench_wqe_cost(const struct bench *b, unsigned int i,
			     unsigned int base)
{
	double v[ROUNDS];

	for (int r = 0; r < ROUNDS; r++)
		v[r] = (b->t[i][r].node - b->t[base][r].node) /
		       (b->t[i][r].wqes ? b->t[i][r].wqes : 1);
	return median(v);
}

/* With what it is compared. */
static unsigned int bench_base(const struct bench *b, unsigned int i)
{
	if (i < CHAINS)
		return i == RAW_READ ? RAW_READ : i == RAW_WRITE ? RAW_WRITE :
			i <= MOVE_NEAR ? COPY_NEAR : COPY;
	if (b->s[i].kind == BENCH_KEYED)
		return b->s[i].op == WRC_WQE_READ ? RAW_READ : RAW_WRITE;
	return wrc_rig_has_page(&b->s[i].rig) ? RAW_WRITE : RAW_READ;
}

/* ---- output -------------------------------------------------------------------- */

static void bench_print(const struct bench *b, const struct wrc_cmd *cmd)
{
	printf("measured: one core, %s, %u instances, medians of %d rounds of %u\n",
	       cmd->strict ? "strict" : "relaxed", cmd->depth, ROUNDS,
	       b->count);
	printf("%-32s%10s%8s%8s%7s%8s  %s\n", "", "node's/s", "node ns",
	       "all ns", "WQEs", "ns/WQE", "speed, node's and all");
	for (unsigned int i = 0; i < NR_SUBJECTS; i++) {
		unsigned int base = bench_base(b, i);
		double node = bench_time_of(b, i,
					    PART_NODE), wqes = b->t[i][0].wqes;

		printf("%-32s%10.0f%8.0f%8.0f", b->s[i].name, 1e9 / node, node,
		       bench_time_of(b, i, PART_WALL));
		if (wqes)
			printf("%7.1f%8.0f", wqes, node / wqes);
		else
			printf("%15s", "");
		if (base != i)
			printf("  %.2f, %.2f of %s", bench_speed(b, i, base,
								 PART_NODE),
			       bench_speed(b, i, base,
					   PART_WALL), b->s[base].name);
		printf("\n");
	}
}

static void bench_print_json(const struct bench *b, const struct wrc_cmd *cmd)
{
	struct json_object *o = json_object_new_object(), *list, *e;

#define ADD(name, value) \
	json_object_object_add(e, name, json_object_new_double(value))
	json_object_object_add(o, "strict",
			       json_object_new_boolean(cmd->strict));
	json_object_object_add(o, "variant", json_object_new_string(
				       wrc_variant_name(cmd->variant)));
	json_object_object_add(o, "order", json_object_new_string(
				       wrc_order_name(cmd->order)));
	json_object_object_add(o, "depth", json_object_new_int(cmd->depth));
	json_object_object_add(o, "rounds", json_object_new_int(ROUNDS));
	json_object_object_add(o, "count", json_object_new_int(b->count));
	list = json_object_new_array();
	for (unsigned int i = 0; i < NR_SUBJECTS; i++) {
		unsigned int base = bench_base(b, i);

		e = json_object_new_object();
		json_object_object_add(e, "name",
				       json_object_new_string(b->s[i].name));
		ADD("node_ns", bench_time_of(b, i, PART_NODE));
		ADD("all_ns", bench_time_of(b, i, PART_WALL));
		ADD("all_cpu_ns", bench_time_of(b, i, PART_CPU));
		ADD("wqes", b->t[i][0].wqes);
		json_object_object_add(e, "base", json_object_new_string(
					       b->s[base].name));
		ADD("node_speed", bench_speed(b, i, base, PART_NODE));
		ADD("all_speed", bench_speed(b, i, base, PART_WALL));
		ADD("all_cpu_speed", bench_speed(b, i, base, PART_CPU));
		if (i >= CHAINS)
			ADD("more_ns_per_wqe", bench_wqe_cost(b, i, base));
		json_object_array_add(list, e);
	}
	json_object_object_add(o, "measured", list);
#undef ADD
	wrc_print_json(o);
}

int wrc_cmd_bench(const struct wrc_cmd *cmd)
{
	struct bench *b;
	int status;

	if (cmd->nr_files)
		return wrc_fail("bench takes no argument, and there is '%s'",
				cmd->files[0]);
	b = calloc(1, sizeof(*b));
	if (!b)
		return wrc_fail("out of memory");
	b->count = cmd->count ? cmd->count : COUNT;
	bench_add_all(b);
	status = open_all(b, cmd);
	if (!status)
		status = turns_run(b);
	if (!status && cmd->json)
		bench_print_json(b, cmd);
	else if (!status)
		bench_print(b, cmd);
	while (b->nr_open)
		bench_close(&b->s[--b->nr_open]);
	free(b);
	return status;
}
