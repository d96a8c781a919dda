// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The model against the software NIC in virtual time: the same bytes, executed
 * by an engine that knows nothing of programs and is charged the model's times
 * for each fetch and each execution, take as long as the model says.
 *
 * The engine executes a WRITE at once; so only chains that do not WAIT for one
 * are compared.
 */
#include "bench.h"
#include "prog/ladder.h"
#include <math.h>
#include "model/model.h"
#include "snic/engine.h"
#include "tools/rig.h"

#define DEPTH 8
#define SLOTS 8

struct trial {
	struct wrc_rig rig;
	struct wrc_params params;
	struct wrc_cost cost;
};

static uint64_t charge(void *arg, enum snic_cost_kind kind, uint8_t opcode,
		       uint32_t bytes)
{
	const double *v = ((struct trial *)arg)->params.v;

	if (opcode == WRC_WQE_SEND)	/* the client's own NIC */
		return 0;
	if (kind == SNIC_COST_FETCH)
		return lround(v[WRC_P_FETCH]);
	if (kind != SNIC_COST_EXECUTE)
		return 0;
	/* One rig has no wire: so much longer is a page of the client's. */
	if (opcode == WRC_WQE_READ && bytes == ODRP_WIRE_PAGE_SIZE)
		return lround(v[WRC_P_RTT] + bytes * 8 / v[WRC_P_LINK] +
			      bytes / (v[WRC_P_PCIE] * v[WRC_P_DLL]));
	if (opcode == WRC_WQE_READ)
		return lround(v[WRC_P_READ] +
			      bytes / (v[WRC_P_PCIE] * v[WRC_P_DLL]));
	if (opcode == WRC_WQE_UMR)
		return lround(v[WRC_P_UMR]);
	return opcode >= WRC_WQE_CS && opcode <= WRC_WQE_MASKED_FA ?
		       lround(v[WRC_P_ATOMIC]) : 0;
}

static void start(struct trial *t, enum odrp_wire_chain chain,
		  enum wrc_variant variant)
{
	struct wrc_rig_config cfg = {
		.chain = chain, .variant = variant, .depth = DEPTH,
		.fetch = SNIC_FETCH_LATE, .nr_pages = 4 * SLOTS,
		.nr_slots = SLOTS,
		.recycle = wrc_variant_must_recycle(variant) ?
				   WRC_RECYCLE_NODE : WRC_RECYCLE_CLIENT,
	};
	char why[WRC_WHY_MAX];

	wrc_params_init(&t->params);
	assert_int_equal(wrc_rig_open(&cfg, &t->rig, why), 0);
	if (chain != ODRP_WIRE_UNMAPPED_STORE)
		for (int i = 0; i < SLOTS; i++)
			wrc_rig_set_entry(&t->rig, i, wrc_rig_pop(&t->rig));
	snic_set_cost(t->rig.nic, charge, t);
	wrc_model_cost(&t->rig.prog, &t->params, &t->cost);
	wrc_rig_settle(&t->rig);	/* the head's WAIT is in the NIC */
}

static void send(struct trial *t)
{
	static const uint8_t page[4096];

	assert_int_equal(wrc_rig_send(&t->rig, t->rig.sent % SLOTS * 8,
				      wrc_rig_has_page(&t->rig) ? page :
								  NULL), 0);
}

static void answered(struct trial *t)
{
	uint32_t r;

	assert_int_equal(wrc_rig_answer(&t->rig, &r), 0);
}

/* The rig's clock is at the next event already, the NIC's where it happened. */
static uint64_t now(const struct trial *t)
{
	return t->rig.nic->now;
}

static void near(const struct trial *t, double got, double want)
{
	/* Each charge is a whole ns. */
	if (fabs(got - want) > t->rig.prog.nr_insn)
		fail_msg("%s: %.0f ns instead of %.0f", t->rig.prog.name, got,
			 want);
}

/* Does it wait for a WRITE? */
static bool comparable(const struct wrc_prog *prog)
{
	for (int i = 0; i < prog->nr_insn; i++)
		if (prog->insn[i].op == WRC_WQE_WAIT &&
		    prog->insn[i].target < prog->nr_insn &&
		    prog->insn[prog->insn[i].target].op == WRC_WQE_WRITE)
			return false;
	return true;
}

/* From the request to the answer, when nobody else is there. */
static void chain_time(void **state)
{
	int compared = 0;

	for (int v = 0; v < WRC_NR_VARIANTS; v++)
		for (int chain = 0; chain < ODRP_WIRE_NR_CHAINS; chain++) {
			struct trial t;
			uint64_t from;

			if (!wrc_variant_has(v, chain))
				continue;
			start(&t, chain, v);
			from = now(&t);
			send(&t);
			answered(&t);
			/* The engine fetches the head's SEND_EN only now. */
			if (comparable(&t.rig.prog)) {
				near(&t, now(&t) - from,
				     t.cost.chain_ns +
				     2 * t.params.v[WRC_P_FETCH]);
				compared++;
			}
			wrc_rig_close(&t.rig);
		}
	/*
	 * All rungs; our load (three times: others have it); exchange's stores,
	 * one that pulls, and one of a NIC that translates.
	 */
	assert_int_equal(compared, 5 * 4 + 3 + 2 + 1 + 1);
}

/* One request after the other, as fast as the loop queue goes. */
static void queue_time(void **state)
{
	static const uint8_t chains[] = { ODRP_WIRE_LOAD,
					  ODRP_WIRE_MAPPED_STORE };
	const int laps = 4 * DEPTH;

	for (int v = 0; v < WRC_NR_VARIANTS; v++)
		for (int c = 0; c < 2; c++) {
			struct trial t;
			uint64_t from;

			if (!wrc_variant_has(v, chains[c]))
				continue;
			start(&t, chains[c], v);
			while (t.rig.sent < DEPTH - 1)
				send(&t);
			answered(&t);
			from = now(&t);
			for (int i = 0; i < laps; i++) {
				send(&t);
				answered(&t);
			}
			if (comparable(&t.rig.prog))
				near(&t, (double)(now(&t) - from) / laps,
				     t.cost.busy_ns);
			wrc_rig_close(&t.rig);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chain_time),
		cmocka_unit_test(queue_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
