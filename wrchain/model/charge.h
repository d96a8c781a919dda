/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The model's parameters as a software NIC's cost function: a NIC that is charged
 * so takes as long, in virtual time, as wrc_model_cost() says.
 *
 * A queue stands still for its own READs, atomics and UMRs.  Its WRITEs, and all
 * that goes over a wire, take as long, but the queue goes on, and only a WAIT for
 * their CQE asks when they are done.  The software NIC executes them at once, with
 * their CQE: no time depends on what they move.  So what they take is charged to
 * that WAIT, as much of it as is left.  A packet costs nothing beside.
 *
 * Left out: what many queues do to each other (wrc_model_load()), and a request's
 * way to its receive queue and its handling there.
 */
#ifndef WRC_CHARGE_H
#define WRC_CHARGE_H

#include "../snic/snic.h"
#include "model.h"

#define WRC_CHARGE_CQS	64	/* of a NIC: one after another, none destroyed */
#define WRC_CHARGE_CQES	16	/* that may be under way in each */

/**
 * struct wrc_charge_cq - when completions are known
 * @at:		by CQE number, modulo
 * @last:	of the last one: none is known before those that it is behind
 */
struct wrc_charge_cq {
	uint64_t at[WRC_CHARGE_CQES], last;
};

/**
 * struct wrc_charge - one NIC's account
 * @far_key:	memory under this key counts as behind a wire, for a client whose
 *		memory is on the same NIC; 0: none does
 */
struct wrc_charge {
	struct wrc_params params;
	uint32_t far_key;
	struct wrc_charge_cq cq[WRC_CHARGE_CQS];
};

void wrc_charge_init(struct wrc_charge *c, const struct wrc_params *params);
/* A snic_cost_fn; arg: struct wrc_charge. */
uint64_t wrc_charge_cost(void *arg, const struct snic_work *work);

#endif /* WRC_CHARGE_H */
