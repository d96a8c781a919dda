// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * `wrc run`: a chain at work.  A client fills the queue with requests again and
 * again; after each answer its effect, and that of the quiet requests before
 * it, is looked at in the node's memory, and undone by hand where the next
 * request needs it undone.  The NIC reads each
 * WQE when it is enabled, so that a missing SEND_EN shows.
 */
#include <stdlib.h>
#include "paper/paper.h"
#include "rig.h"
#include "wrc.h"

#define PAGE ODRP_WIRE_PAGE_SIZE

struct trial {
	struct wrc_rig rig;
	uint32_t answer_every;
	char what[160];		/* the first thing that was wrong */
};

__attribute__((format(printf, 2, 3)))
static int trial_wrong(struct trial *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(t->what, sizeof(t->what), fmt, ap);
	va_end(ap);
	return -EIO;
}

/* A page whose every word tells its request. */
static void page_fill(uint8_t *page, uint32_t request)
{
	uint32_t *w = (uint32_t *)page;

	for (uint32_t i = 0; i < PAGE / sizeof(*w); i++)
		w[i] = request * 2654435761u + i;
}

static bool page_is_filled(const uint8_t *page, uint32_t request)
{
	uint8_t want[PAGE];

	page_fill(want, request);
	return !memcmp(page, want, PAGE);
}

static uint64_t trial_slot(const struct trial *t, uint32_t request)
{
	return request % t->rig.cfg.nr_slots;
}

static int trial_send(struct trial *t)
{
	struct wrc_rig *rig = &t->rig;
	uint64_t slot = trial_slot(t, rig->sent), page = wrc_rig_entry(rig,
								       slot);
	uint8_t data[PAGE];

	if (rig->cfg.chain == ODRP_WIRE_LOAD)
		page_fill(wrc_rig_memory(rig, page), rig->sent);
	page_fill(data, rig->sent);
	return wrc_rig_send(rig, slot * sizeof(uint64_t),
			    wrc_rig_has_page(rig) ? data : NULL);
}

/* The effect of a request, and its undoing. */
static int trial_inspect(struct trial *t, uint32_t r)
{
	struct wrc_rig *rig = &t->rig;
	uint64_t slot = trial_slot(t, r), page = wrc_rig_entry(rig, slot);

	if (rig->cfg.chain == ODRP_WIRE_INVALIDATE) {
		if (page)
			return trial_wrong(t,
					   "slot %llu is still mapped to 0x%llx",
					   (unsigned long long)slot,
					   (unsigned long long)page);
		page = wrc_rig_pop(rig);
		if (!page)
			return trial_wrong(t,
					   "the page did not come back to the ring");
		wrc_rig_set_entry(rig, slot, page);
		return 0;
	}
	if (page < WRC_POOL_IOVA ||
	    page - WRC_POOL_IOVA >= rig->bind.pool_len)
		return trial_wrong(t, "slot %llu is mapped to 0x%llx",
				   (unsigned long long)slot,
				   (unsigned long long)page);
	if (!page_is_filled(rig->cfg.chain == ODRP_WIRE_LOAD ?
			       wrc_rig_page(rig, r) : wrc_rig_memory(rig, page),
			    r))
		return trial_wrong(t,
				   "the page of request %u is not what it was", r);
	if (rig->cfg.chain == ODRP_WIRE_UNMAPPED_STORE) {
		wrc_rig_set_entry(rig, slot, 0);
		wrc_rig_push(rig, page);
	}
	return 0;
}

/* True if request r, below end, wants no answer; the last is always answered. */
static bool trial_is_quiet(const struct trial *t, uint32_t r, uint32_t end)
{
	return r + 1 < end && (r + 1) % t->answer_every;
}

/*
 * Fills the queue.  Where a request speaks for the one behind it, the first is
 * answered, too: nobody has spoken for it.
 */
static int trial_send_all(struct trial *t, uint32_t count)
{
	struct wrc_rig *rig = &t->rig;
	uint32_t end = rig->answered + rig->cfg.depth - 1;
	int err = 0;

	if (end > count)
		end = count;
	while (!err && rig->sent < end) {
		rig->quiet = trial_is_quiet(t, rig->sent, end);
		rig->next_quiet = trial_is_quiet(t, rig->sent + 1, end);
		err = trial_send(t);
	}
	return err;
}

/* The next request from `from` on that was to be answered. */
static bool trial_expected(const struct trial *t, uint32_t from, uint32_t r)
{
	uint32_t every = t->answer_every;

	return r >= from && r < t->rig.sent && r < from + every &&
	       (every > 1 || r == from);
}

static int trial_run(struct trial *t, uint32_t count)
{
	struct wrc_rig *rig = &t->rig;
	uint32_t r, next = 0;
	int err = 0;

	while (!err && next < count) {
		err = trial_send_all(t, count);
		if (!err)
			err = wrc_rig_answer(rig, &r);
		if (err)
			return trial_wrong(t, "request %u: %s", next,
					   strerror(-err));
		if (!trial_expected(t, next, r))
			return trial_wrong(t,
					   "request %u was answered instead of %u",
					   r, next);
		while (!err && next <= r)
			err = trial_inspect(t, next++);
	}
	return err;
}

/* All slots mapped, except for the chain that maps them. */
static void trial_prepare(struct trial *t)
{
	struct wrc_rig *rig = &t->rig;

	if (rig->cfg.chain == ODRP_WIRE_UNMAPPED_STORE)
		return;
	for (uint32_t i = 0; i < rig->cfg.nr_slots; i++)
		wrc_rig_set_entry(rig, i, wrc_rig_pop(rig));
}

/* Every page is in the ring or in the table, once. */
static int trial_count_pages(struct trial *t)
{
	struct wrc_rig *rig = &t->rig;
	uint32_t mapped = 0, held = 0, nr_free = wrc_rig_free_pages(rig);

	for (uint32_t i = 0; i < rig->cfg.nr_slots; i++)
		mapped += wrc_rig_entry(rig, i) != 0;
	for (uint32_t i = 0; i < rig->cfg.depth; i++)
		held += wrc_rig_held(rig, i).page != 0;
	if (nr_free + mapped + held != rig->cfg.nr_pages)
		return trial_wrong(t,
				   "%u pages are free, %u mapped and %u held, of %u",
				   nr_free, mapped, held, rig->cfg.nr_pages);
	return 0;
}

static void trial_report(const struct wrc_cmd *cmd, struct trial *t,
			 uint32_t count,
			 int err)
{
	struct snic_stats s;
	struct json_object *o;

	snic_get_stats(t->rig.nic, &s);
	if (!cmd->json) {
		printf("%s%s%s%s, %s, %u instances, read when enabled: %u requests, %s\n",
		       t->rig.prog.name, cmd->variant ? ", " : "",
		       cmd->variant ? wrc_variant_name(cmd->variant) : "",
		       cmd->order ? ", order=fence" : "",
		       cmd->strict ? "strict" : "relaxed",
		       cmd->depth, count, err ? t->what : "all well");
		printf("%llu WQEs: %llu WAIT, %llu SEND_EN, %llu READ, ",
		       (unsigned long long)(s.wqes - s.sends),
		       (unsigned long long)s.waits,
		       (unsigned long long)s.enables,
		       (unsigned long long)s.reads);
		printf("%llu WRITE, %llu atomic, %llu NOP\n",
		       (unsigned long long)s.writes,
		       (unsigned long long)s.atomics,
		       (unsigned long long)s.nops);
		return;
	}
	o = json_object_new_object();
#define ADD(name, value) \
	json_object_object_add(o, name, json_object_new_int64(value))
	json_object_object_add(o, "program",
			       json_object_new_string(t->rig.prog.name));
	json_object_object_add(o, "variant", json_object_new_string(
				       wrc_variant_name(cmd->variant)));
	json_object_object_add(o, "order", json_object_new_string(
				       wrc_order_name(cmd->order)));
	json_object_object_add(o, "strict",
			       json_object_new_boolean(cmd->strict));
	ADD("depth", cmd->depth);
	ADD("requests", count);
	ADD("answers", t->rig.received);
	json_object_object_add(o, "ok", json_object_new_boolean(!err));
	if (err)
		json_object_object_add(o, "why",
				       json_object_new_string(t->what));
	ADD("wqes", s.wqes - s.sends);
	ADD("waits", s.waits);
	ADD("send_ens", s.enables);
	ADD("reads", s.reads);
	ADD("writes", s.writes);
	ADD("atomics", s.atomics);
	ADD("nops", s.nops);
#undef ADD
	wrc_print_json(o);
}

int wrc_cmd_run(const struct wrc_cmd *cmd)
{
	struct wrc_rig_config cfg = {
		.strict = cmd->strict,
		.variant = cmd->variant,
		.recycle = cmd->recycle,
		.order = cmd->order,
		.fetch = SNIC_FETCH_EARLY,
		.land = SNIC_LAND_LATE,
		.depth = cmd->depth,
		/* Page exchange: as many again are the instances'. */
		.nr_pages = 4 * cmd->depth,
		.nr_slots = cmd->depth,
	};
	uint32_t count = cmd->count ? cmd->count : 3 * cmd->depth;
	char why[WRC_WHY_MAX];
	struct trial t;
	int chain, err;

	memset(&t, 0, sizeof(t));
	chain = wrc_chain_of(cmd->prog);
	if (chain < 0)
		return 2;
	cfg.chain = chain;
	err = wrc_rig_open(&cfg, &t.rig, why);
	if (err == -EPERM) {
		printf("%s: refused: %s\n", cmd->prog, why);
		return 1;
	}
	if (err)
		return wrc_fail("%s: %s", cmd->prog, strerror(-err));
	t.answer_every = cmd->answer_every ? cmd->answer_every : 1;
	trial_prepare(&t);
	err = trial_run(&t, count);
	wrc_rig_settle(&t.rig);
	if (!err)
		err = trial_count_pages(&t);
	trial_report(cmd, &t, count, err);
	wrc_rig_close(&t.rig);
	return err ? 1 : 0;
}
