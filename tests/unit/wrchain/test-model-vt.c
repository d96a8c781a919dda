// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The model against the software NIC in virtual time: the same bytes, executed
 * by an engine that knows nothing of programs and is charged the model's times
 * for each fetch and each execution (model/charge.h), take as long as the model
 * says.  That is, all chains of all variants, strict and not, with each order,
 * recycled by the client and by the node: from the request to the answer, and
 * from one answer to the next where requests are waiting.
 *
 * Left out: the way of request and answer and the request's handling, which
 * wrc_cost.latency_ns has besides, since both ends are one NIC here and the
 * client's part of it is free; and whatever many queues do to each other.
 */
#include "bench.h"
#include "paper/paper.h"
#include <math.h>
#include "model/charge.h"
#include "tools/rig.h"

#define DEPTH 8
#define SLOTS 8

struct trial {
	struct wrc_rig rig;
	struct wrc_cost cost;
	struct wrc_charge account;
};

/* But what the client's own NIC would do. */
static uint64_t charge(void *arg, const struct snic_work *work)
{
	struct trial *t = arg;

	return work->qpn == t->rig.peer_qpn ? 0 :
	       wrc_charge_cost(&t->account, work);
}

/* ---- a chain, and its requests -------------------------------------------------- */

static bool exists(enum odrp_wire_chain chain, const struct wrc_opts *opts)
{
	if (!wrc_variant_has(opts->variant, chain))
		return false;
	if (opts->strict_index && wrc_variant_is_rung(opts->variant))
		return false;
	if (opts->order && wrc_variant_is_rung(opts->variant))
		return false;
	return opts->recycle ? !wrc_variant_is_rung(opts->variant) :
			       !wrc_variant_must_recycle(opts->variant);
}

static void start(struct trial *t, enum odrp_wire_chain chain,
		  const struct wrc_opts *opts)
{
	struct wrc_rig_config cfg = {
		.chain = chain, .variant = opts->variant,
		.strict = opts->strict_index, .recycle = opts->recycle,
		.order = opts->order, .depth = DEPTH,
		.fetch = SNIC_FETCH_LATE, .nr_pages = 4 * SLOTS,
		.nr_slots = SLOTS,
	};
	struct wrc_params params;
	char why[WRC_WHY_MAX];

	memset(t, 0, sizeof(*t));
	wrc_params_init(&params);
	wrc_charge_init(&t->account, &params);
	assert_int_equal(wrc_rig_open(&cfg, &t->rig, why), 0);
	if (chain != ODRP_WIRE_UNMAPPED_STORE)
		for (int i = 0; i < SLOTS; i++)
			wrc_rig_set_entry(&t->rig, i, wrc_rig_pop(&t->rig));
	t->account.far_key = t->rig.peer_key;
	snic_set_cost(t->rig.nic, charge, t);
	wrc_model_cost(&t->rig.prog, &params, &t->cost);
	wrc_rig_settle(&t->rig);	/* the head's WAIT is in the NIC */
}

/* What other chains would have done since: the slot is mapped again, or is not. */
static void turn_back(struct trial *t, uint64_t slot)
{
	uint64_t page = wrc_rig_entry(&t->rig, slot);

	if (t->rig.cfg.chain == ODRP_WIRE_UNMAPPED_STORE && page) {
		wrc_rig_set_entry(&t->rig, slot, 0);
		wrc_rig_push(&t->rig, page);
	}
	if (t->rig.cfg.chain == ODRP_WIRE_INVALIDATE && !page)
		wrc_rig_set_entry(&t->rig, slot, wrc_rig_pop(&t->rig));
}

static void send(struct trial *t)
{
	static const uint8_t page[4096];
	uint64_t slot = t->rig.sent % SLOTS;

	turn_back(t, slot);
	assert_int_equal(wrc_rig_send(&t->rig, slot * 8,
				      wrc_rig_has_page(&t->rig) ? page :
								  NULL), 0);
}

static void answered(struct trial *t)
{
	uint32_t r;

	assert_int_equal(wrc_rig_answer(&t->rig, &r), 0);
}

static uint64_t now(const struct trial *t)
{
	return t->rig.vt.now;
}

static void near(const struct trial *t, double got, double want)
{
	const struct wrc_rig_config *cfg = &t->rig.cfg;

	/* Each charge is a whole ns. */
	if (fabs(got - want) > t->rig.prog.nr_insn)
		fail_msg("%s %s%s%s%s: %.0f ns instead of %.0f",
			 wrc_variant_name(cfg->variant), t->rig.prog.name,
			 cfg->strict ? ", strict" : "",
			 cfg->recycle ? ", recycle=node" : "",
			 cfg->order ? ", order=fence" : "", got, want);
}

/* Each chain of each variant, with each choice of the options; returns how many. */
static unsigned int each(void (*measure)(struct trial *t))
{
	unsigned int n = 0;

	for (int i = 0; i < WRC_NR_VARIANTS * ODRP_WIRE_NR_CHAINS * 8; i++) {
		const struct wrc_opts opts = {
			.strict_index = i & 1,
			.recycle = i & 2 ? WRC_RECYCLE_NODE :
					   WRC_RECYCLE_CLIENT,
			.order = i & 4 ? WRC_ORDER_FENCE : WRC_ORDER_WAIT,
			.variant = i / 8 / ODRP_WIRE_NR_CHAINS,
		};
		enum odrp_wire_chain chain = i / 8 % ODRP_WIRE_NR_CHAINS;
		struct trial t;

		if (!exists(chain, &opts))
			continue;
		start(&t, chain, &opts);
		measure(&t);
		wrc_rig_close(&t.rig);
		n++;
	}
	return n;
}

/*
 * Ours and exchange: chains, strict or not, either order, recycled by either; the
 * rungs; and of translation in the NIC two chains, recycled by the node only.
 */
#define ALL (2 * 4 * 2 * 2 * 2 + 5 * 4 + 2 * 2 * 2)

/* From the request to the answer, when nobody else is there. */
static void until_answered(struct trial *t)
{
	const struct wrc_cost *c = &t->cost;
	uint64_t from = now(t);

	send(t);
	answered(t);
	/*
	 * What comes between a page and its answer is in the slot's time alone.
	 * The engine fetches the head's SEND_EN only now; and then the answer.
	 */
	near(t, now(t) - from, c->chain_ns + c->slot_ns - c->latency_ns +
			       2 * t->account.params.v[WRC_P_FETCH]);
}

static void chain_time(void **state)
{
	assert_int_equal(each(until_answered), ALL);
}

/* One request after the other, as fast as the loop queue goes. */
static void until_next(struct trial *t)
{
	const int laps = 4 * DEPTH;
	uint64_t from;

	while (t->rig.sent < DEPTH - 1)
		send(t);
	answered(t);
	from = now(t);
	for (int i = 0; i < laps; i++) {
		send(t);
		answered(t);
	}
	near(t, (double)(now(t) - from) / laps, t->cost.busy_ns);
}

static void queue_time(void **state)
{
	assert_int_equal(each(until_next), ALL);
}

/* A short WRITE behind a long one is not known before it. */
static void known_in_order(void **state)
{
	struct snic_work write = {
		.kind = SNIC_COST_EXECUTE, .opcode = WRC_WQE_WRITE,
		.wire = true, .signal = true, .scqn = 5, .bytes = 1 << 20,
		.now = 1000,
	};
	struct snic_work wait = {
		.kind = SNIC_COST_EXECUTE, .opcode = WRC_WQE_WAIT,
		.now = 1000, .wait_cqn = 5,
	};
	struct wrc_params params;
	struct wrc_charge c;
	uint64_t first;

	wrc_params_init(&params);
	wrc_charge_init(&c, &params);
	assert_int_equal(wrc_charge_cost(&c, &write), 0);
	first = wrc_charge_cost(&c, &wait);
	assert_true(first > params.v[WRC_P_RTT] + 80000);
	write.bytes = 8;
	write.cqe = wait.wait_index = 1;
	assert_int_equal(wrc_charge_cost(&c, &write), 0);
	assert_int_equal(wrc_charge_cost(&c, &wait), first);
	wait.now += first;
	assert_int_equal(wrc_charge_cost(&c, &wait), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chain_time),
		cmocka_unit_test(queue_time),
		cmocka_unit_test(known_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
