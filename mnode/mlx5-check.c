// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The comparison and what is written down of it; see mlx5-check.h. */
#include <errno.h>
#include <mlx5/caps.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5-check.h"
#include "mlx5-probes.h"
#include "mlx5-rig.h"

/* ---- JSON ------------------------------------------------------------------- */

static void add(struct json_object *obj, const char *key,
		struct json_object *value)
{
	json_object_object_add(obj, key, value);
}

static void add_text(struct json_object *obj, const char *key, const char *s)
{
	add(obj, key, json_object_new_string(s));
}

static void add_number(struct json_object *obj, const char *key, int64_t n)
{
	add(obj, key, json_object_new_int64(n));
}

static void add_bool(struct json_object *obj, const char *key, bool b)
{
	add(obj, key, json_object_new_boolean(b));
}

/* ---- the device --------------------------------------------------------------- */

static struct json_object *describe_caps(const struct wrc_mlx5_caps *c)
{
	struct json_object *o = json_object_new_object();

	if (!o)
		return NULL;
#define BOOL(name) add_bool(o, #name, c->name);
#define NUMBER(name) add_number(o, #name, c->name);
	BOOL(rc)
	BOOL(cd)
	BOOL(cq_oi)
	BOOL(wqe_index_ignore)
	BOOL(roce)
	BOOL(fl_enabled)
	BOOL(fl_disabled)
	BOOL(atomic)
	NUMBER(atomic_ops)
	NUMBER(atomic_sizes)
	NUMBER(atomic_mode)
	BOOL(atomic_mode_1)
	NUMBER(log_max_qp_sz)
	NUMBER(log_max_qp)
	NUMBER(log_max_cq_sz)
	NUMBER(log_max_cq)
	NUMBER(log_max_ra_req)
	NUMBER(log_max_ra_res)
	NUMBER(log_max_msg)
	NUMBER(max_wqe_sq)
	NUMBER(max_wqe_rq)
	NUMBER(max_qp_cnt)
	NUMBER(num_ports)
	NUMBER(cqe_version)
	NUMBER(ts_format)
#undef BOOL
#undef NUMBER
	return o;
}

int check_describe(const struct wrc_mlx5 *dev, struct json_object **ret_obj)
{
	struct json_object *o = json_object_new_object();
	struct json_object *lacks = json_object_new_array();
	struct json_object *caps = describe_caps(&dev->caps);
	unsigned int pos = 0;
	const char *s;

	if (!o || !lacks || !caps) {
		json_object_put(o);
		json_object_put(lacks);
		json_object_put(caps);
		return -ENOMEM;
	}
	while ((s = wrc_mlx5_lacks(&dev->caps, &pos)))
		json_object_array_add(lacks, json_object_new_string(s));
	add_text(o, "device", dev->devx->name(dev->ctx));
	add_text(o, "firmware", dev->devx->firmware(dev->ctx));
	add(o, "capabilities", caps);
	add(o, "lacks", lacks);
	*ret_obj = o;
	return 0;
}

/* ---- programs ------------------------------------------------------------------ */

struct run {
	const char *name;
	struct rig_config cfg;
};

#define LOAD	ODRP_WIRE_LOAD
#define MAPPED	ODRP_WIRE_MAPPED_STORE
#define FRESH	ODRP_WIRE_UNMAPPED_STORE
#define INVAL	ODRP_WIRE_INVALIDATE

/* chain, depth, window, requests, empty table, misplaced by */
static const struct run runs[] = {
	{ "load, one by one",		{ LOAD, 8, 1, 40 } },
	{ "load, seven at a time",	{ LOAD, 8, 7, 60 } },
	{ "load, shortest queue",	{ LOAD, 4, 3, 60 } },
	{ "mapped store, one by one",	{ MAPPED, 8, 1, 40 } },
	{ "mapped store, seven at a time", { MAPPED, 8, 7, 60 } },
	{ "mapped store, shortest queue", { MAPPED, 4, 3, 60 } },
	{ "unmapped store, one by one",	{ FRESH, 8, 1, 40 } },
	{ "unmapped store, seven at a time", { FRESH, 8, 7, 60 } },
	{ "unmapped store, shortest queue", { FRESH, 4, 3, 60 } },
	{ "invalidate, one by one",	{ INVAL, 8, 1, 40 } },
	{ "invalidate, seven at a time", { INVAL, 8, 7, 60 } },
	{ "invalidate, shortest queue",	{ INVAL, 4, 3, 60 } },
	{ "invalidate of what is not mapped", { INVAL, 8, 1, 20, true } },
	{ "load of what is not mapped",	{ LOAD, 8, 1, 1, true } },
	{ "store to what is not mapped", { MAPPED, 8, 1, 1, true } },
	{ "load behind the table",	{ LOAD, 8, 1, 1, false,
					  RIG_SLOTS * sizeof(__be64) } },
};

static const char *outcome(int err)
{
	return err == -EIO ? "the chain stopped" :
	       err == -ETIMEDOUT ? "no answer" :
	       err ? strerror(-err) : "all answered";
}

/* One run on both.  False: something differs, or could not be done. */
static bool compare_run(struct side *card, struct side *soft,
			const struct run *run, struct rig_result *a,
			struct rig_result *b, struct json_object *obj)
{
	char why[WRC_WHY_MAX], what[RIG_DIFF_MAX];
	int r;

	add_text(obj, "program", run->name);
	add_number(obj, "requests", run->cfg.count);
	r = rig_run(soft, &run->cfg, a, why);
	if (!r)
		r = rig_run(card, &run->cfg, b, why);
	if (r) {
		snprintf(what, sizeof(what), "cannot be run: %s%s%.120s",
			 strerror(-r), *why ? ": " : "", why);
		add_bool(obj, "same", false);
		add_text(obj, "difference", what);
		return false;
	}
	add_text(obj, "software", outcome(a->err));
	add_text(obj, "card", outcome(b->err));
	if (rig_differ(a, b, what)) {
		add_bool(obj, "same", false);
		add_text(obj, "difference", what);
		return false;
	}
	add_bool(obj, "same", true);
	return true;
}

static int compare_runs(struct side *card, struct side *soft,
			struct json_object *list, bool *ret_same)
{
	struct rig_result *two = calloc(2, sizeof(*two));
	struct json_object *obj;
	unsigned int i;

	if (!two)
		return -ENOMEM;
	*ret_same = true;
	for (i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		obj = json_object_new_object();
		if (!compare_run(card, soft, &runs[i], &two[0], &two[1], obj))
			*ret_same = false;
		json_object_array_add(list, obj);
	}
	free(two);
	return 0;
}

/* ---- probes ---------------------------------------------------------------------- */

static void ask(struct side *side, const struct probe *probe, const char *key,
		struct json_object *obj)
{
	char answer[PROBE_ANSWER_MAX] = "";
	int r = probe->ask(side, answer);

	if (r)
		probe_say(answer, "cannot be asked: %s", strerror(-r));
	add_text(obj, key, answer);
}

static void ask_all(struct side *card, struct side *soft,
		    struct json_object *list)
{
	struct json_object *obj;
	unsigned int i;

	for (i = 0; i < nr_probes; i++) {
		obj = json_object_new_object();
		add_text(obj, "id", probes[i].id);
		add_text(obj, "question", probes[i].question);
		if (!probes[i].card_only)
			ask(soft, &probes[i], "software", obj);
		ask(card, &probes[i], "card", obj);
		json_object_array_add(list, obj);
	}
}

int check_compare(struct side *card, struct side *soft,
		  struct json_object *report, bool *ret_same)
{
	struct json_object *programs = json_object_new_array();
	struct json_object *answers = json_object_new_array();
	int r;

	if (!programs || !answers) {
		json_object_put(programs);
		json_object_put(answers);
		return -ENOMEM;
	}
	add(report, "programs", programs);
	add(report, "probes", answers);
	r = compare_runs(card, soft, programs, ret_same);
	if (r)
		return r;
	ask_all(card, soft, answers);
	return 0;
}
