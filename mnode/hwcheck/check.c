// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Compares a card with the software NIC and makes the report; see check.h. */
#include <errno.h>
#include <mlx5/caps.h>
#include <stdlib.h>
#include <string.h>
#include <nic/verdict.h>
#include "check.h"
#include "probes.h"
#include "runs.h"

/* ---- JSON ------------------------------------------------------------------- */

static void report_add(struct json_object *obj, const char *key,
		       struct json_object *value)
{
	json_object_object_add(obj, key, value);
}

static void add_text(struct json_object *obj, const char *key, const char *s)
{
	report_add(obj, key, json_object_new_string(s));
}

static void add_number(struct json_object *obj, const char *key, int64_t n)
{
	report_add(obj, key, json_object_new_int64(n));
}

static void add_bool(struct json_object *obj, const char *key, bool b)
{
	report_add(obj, key, json_object_new_boolean(b));
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
	BOOL(ksm)
	BOOL(umr_ksm)
	NUMBER(log_max_mkey)
	NUMBER(log_max_ksm)
	NUMBER(max_indirection)
	NUMBER(umr_fence)
	NUMBER(num_ports)
	NUMBER(cqe_version)
	NUMBER(ts_format)
#undef BOOL
#undef NUMBER
	return o;
}

/* Adds the card and the options of the check. */
static void describe_card(const struct wrc_mlx5 *dev,
			  const struct nic_mlx5_opts *opts,
			  const char *ordering, struct json_object *o)
{
	char guid[WRC_MLX5_GUID_MAX];

	wrc_mlx5_guid(dev, guid);
	add_text(o, "device", dev->devx->name(dev->ctx));
	add_text(o, "guid", guid);
	add_text(o, "firmware", dev->devx->firmware(dev->ctx));
	add_text(o, "version", verdict_version);
	add_number(o, "port", opts->port);
	add_bool(o, "strict", opts->strict);
	add_text(o, "pci_wr_ordering", ordering);
}

int check_describe(const struct wrc_mlx5 *dev,
		   const struct nic_mlx5_opts *opts, const char *ordering,
		   struct json_object **ret_obj)
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
	describe_card(dev, opts, ordering, o);
	report_add(o, "capabilities", caps);
	report_add(o, "lacks", lacks);
	add_bool(o, "order_fence", false);
	add_bool(o, "translate_nic", false);
	*ret_obj = o;
	return 0;
}

/* ---- programs ------------------------------------------------------------------ */

static const char *outcome_text(int err)
{
	return err == -EIO ? "the chain stopped" :
	       err == -ETIMEDOUT ? "no answer" :
	       err ? strerror(-err) : "all answered";
}

/**
 * struct pair - a program on both sides, and the results of its last run
 */
struct pair {
	const struct program *program;
	struct rig_node soft, card;
	struct rig_result *a, *b;
};

static void describe_run(const struct pair *p, const struct run *run,
			 struct json_object *obj)
{
	const struct program *prog = p->program;
	bool strict = p->card.what.strict;
	bool fenced = prog->order == WRC_ORDER_FENCE;
	char name[160];

	snprintf(name, sizeof(name), "%s%s%s%s%s: %s", prog->name,
		 prog->stores ? ", " : "", prog->stores ? prog->stores : "",
		 fenced ? ", order=fence" : "", strict ? "" : ", relaxed",
		 run->name);
	add_text(obj, "program", name);
	if (prog->stores)
		add_text(obj, "stores", prog->stores);
	add_text(obj, "order", fenced ? "fence" : "wait");
	add_bool(obj, "strict", strict);
	add_number(obj, "requests", run->cfg.count);
}

/* Runs a program once on both sides.  False: something differs, or a side could not run it. */
static bool compare_run(struct pair *p, const struct run *run, struct json_object *obj)
{
	const struct rig_config *cfg = &run->cfg;
	const char *lacks = rig_keyed(&p->card) ?
			    side_lacks_keys(p->card.side) : NULL;
	char why[WRC_WHY_MAX], what[RIG_DIFF_MAX];
	int r;

	if (!lacks)
		lacks = run_lacks(run);
	if (lacks) {
		add_text(obj, "skipped", lacks);
		return true;
	}
	r = rig_run(&p->soft, cfg, p->a, why);
	if (!r)
		r = rig_run(&p->card, cfg, p->b, why);
	if (r) {
		snprintf(what, sizeof(what), "cannot be run: %s%s%.120s",
			 strerror(-r), *why ? ": " : "", why);
		add_bool(obj, "same", false);
		add_text(obj, "difference", what);
		return false;
	}
	add_text(obj, "software", outcome_text(p->a->err));
	add_text(obj, "card", outcome_text(p->b->err));
	if (rig_differ(p->a, p->b, what)) {
		add_bool(obj, "same", false);
		add_text(obj, "difference", what);
		return false;
	}
	add_bool(obj, "same", true);
	return true;
}

static bool *counts_for(const struct program *program, struct check *check)
{
	bool fenced = program->order == WRC_ORDER_FENCE;

	if (program->variant == WRC_V_KEYED)
		return fenced ? &check->keyed_fenced : &check->keyed;
	return fenced ? &check->fenced : &check->programs;
}

static void compare_runs(struct pair *p, struct json_object *list,
			 struct check *check)
{
	bool *same = counts_for(p->program, check);
	struct json_object *obj;
	unsigned int i;

	for (i = 0; i < nr_runs; i++) {
		if (!run_applies(&runs[i], p->program))
			continue;
		obj = json_object_new_object();
		describe_run(p, &runs[i], obj);
		if (!compare_run(p, &runs[i], obj))
			*same = false;
		json_object_array_add(list, obj);
	}
}

static int open_pair(struct pair *p, struct side *card, struct side *soft,
		     bool strict)
{
	const struct rig_prog what = {
		p->program->chain, p->program->variant, strict,
		p->program->order,
	};
	int r;

	r = rig_open(soft, &what, &p->soft);
	if (r)
		return r;
	r = rig_open(card, &what, &p->card);
	if (r)
		rig_close(&p->soft);
	return r;
}

static int compare_programs(struct side *card, struct side *soft, bool strict,
			    struct json_object *list, struct check *check)
{
	struct rig_result *two = calloc(2, sizeof(*two));
	struct pair p = { .a = two, .b = two + 1 };
	unsigned int i;
	int r = 0;

	if (!two)
		return -ENOMEM;
	for (i = 0; !r && i < nr_programs; i++) {
		p.program = &programs[i];
		r = open_pair(&p, card, soft, strict);
		if (r)
			break;
		compare_runs(&p, list, check);
		rig_close(&p.card);
		rig_close(&p.soft);
	}
	free(two);
	return r;
}

/* Runs programs that renew no index, with a software NIC that does not check indices. */
static int compare_relaxed(struct side *card, struct json_object *list,
			   struct check *check)
{
	struct side soft;
	int r;

	r = side_soft_open(false, &soft);
	if (r)
		return r;
	r = compare_programs(card, &soft, false, list, check);
	side_close(&soft);
	return r;
}

int check_programs(struct side *card, struct side *soft,
		   struct json_object *report, struct check *check)
{
	struct json_object *list = json_object_new_array();
	int r = 0;

	if (!list)
		return -ENOMEM;
	report_add(report, "programs", list);
	check->programs = check->fenced = true;
	check->keyed = check->keyed_fenced = true;
	check->lacks = side_lacks_keys(card);
	if (card->nic->node->strict_index)
		r = compare_programs(card, soft, true, list, check);
	if (!r && nic_mlx5_device(card->nic)->caps.wqe_index_ignore)
		r = compare_relaxed(card, list, check);
	return r;
}

/* ---- probes ---------------------------------------------------------------------- */

static void ask(struct side *side, const struct probe *probe,
		char answer[PROBE_ANSWER_MAX])
{
	int r = probe_ask(probe, side, answer);

	if (r)
		snprintf(answer, PROBE_ANSWER_MAX, "cannot be asked: %s", strerror(-r));
}

static void ask_both(struct side *card, struct side *soft,
		     const struct probe *probe, struct json_object *obj,
		     struct check *check)
{
	char a[PROBE_ANSWER_MAX] = "", b[PROBE_ANSWER_MAX] = "";
	bool same;

	add_text(obj, "id", probe->id);
	add_text(obj, "question", probe->question);
	if (!probe->card_only) {
		ask(soft, probe, a);
		add_text(obj, "software", a);
	}
	ask(card, probe, b);
	add_text(obj, "card", b);
	same = !strcmp(a, b);
	if (probe->relied) {
		add_bool(obj, "same", same);
		check->answers &= same;
	}
	if (probe->keys)
		check->keys &= same;
	if (probe->ask == probe_fence)
		check->fences = !strncmp(b, "holds", 5);
}

int check_questions(struct side *card, struct side *soft,
		    struct json_object *report, struct check *check)
{
	struct json_object *list = json_object_new_array(), *obj;
	unsigned int i;

	if (!list)
		return -ENOMEM;
	report_add(report, "probes", list);
	check->answers = check->keys = true;
	for (i = 0; i < nr_probes; i++) {
		obj = json_object_new_object();
		ask_both(card, soft, &probes[i], obj, check);
		json_object_array_add(list, obj);
	}
	return 0;
}

/* ---- the verdict -------------------------------------------------------------------- */

#define NOT_TOLD "nobody has said what PCI_WR_ORDERING is (--wr-ordering)"

static const char *against_fences(const struct check *check, bool whole)
{
	return !check->fences ? "fence-order does not hold" :
	       !check->fenced ?
	       "programs differ with it, though fence-order holds" :
	       !whole ? "this card is not as it should be" :
	       !check->ordered ? NOT_TOLD : NULL;
}

static const char *against_keys(const struct check *check, bool whole,
				bool fences)
{
	return check->lacks ? check->lacks :
	       !check->keyed ? "programs differ with it" :
	       !check->keys ? "an answer that it rests on differs" :
	       fences && !check->keyed_fenced ?
	       "programs differ with it and order=fence" :
	       !whole ? "this card is not as it should be" :
	       !check->ordered ? NOT_TOLD : NULL;
}

/* Adds a verdict as a boolean and as a sentence.  against: the reason why not; NULL: it
 * may be set. */
static void verdict_add(struct json_object *report, const char *key, const char *words,
			const char *setting, const char *against)
{
	char text[320];

	snprintf(text, sizeof(text), "%s may %sbe set%s%s.", setting,
		 against ? "not " : "", against ? ": " : "",
		 against ? against : "");
	add_bool(report, key, !against);
	add_text(report, words, text);
}

bool check_judge(const struct check *check, struct json_object *report)
{
	bool whole = check->programs && check->answers &&
		     (check->fenced || !check->fences);
	const char *no_fences = against_fences(check, whole);

	add_bool(report, "fences", check->fences);
	verdict_add(report, "order_fence", "fence_verdict", "order=fence", no_fences);
	verdict_add(report, "translate_nic", "translate_verdict", "translate=nic",
		    against_keys(check, whole, !no_fences));
	return whole;
}
