// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The device: engine, network, transport and CM put together, and one step of them.
 */
#include "../cm/cm.h"
#include "../engine/engine.h"
#include "../net/net.h"
#include "../transport/transport.h"
#include "device.h"

#define RX_BUDGET	128	/* frames in one step, so that no part starves the others */

static const struct snic_upper upper = {
	.rc_attach = snic_rc_attach,
	.rc_detach = snic_rc_detach,
	.rc_post = snic_rc_post,
	.rc_pending = snic_rc_pending,
	.rc_hurry = snic_rc_hurry,
	.rc_flush = snic_rc_flush,
	.rc_receive = snic_rc_receive,
	.cm_qp_gone = snic_cm_qp_gone,
	.cm_receive = snic_cm_receive,
	.cm_data = snic_cm_data,
};

int snic_new(const struct snic_config *cfg, struct snic **ret_nic)
{
	struct snic_parts *parts;
	struct snic *nic;
	int r = snic_engine_new(cfg, &upper, &nic);

	if (r)
		return r;
	parts = snic_parts(nic);
	r = snic_rc_init(&parts->rc);
	if (r)
		goto free_engine;
	r = snic_net_init(nic, &parts->net);
	if (r)
		goto fini_rc;
	r = snic_cm_init(nic, &parts->cm);
	if (r)
		goto fini_net;
	*ret_nic = nic;
	return 0;

fini_net:
	snic_net_fini(nic, parts->net);
fini_rc:
	snic_rc_fini(nic, parts->rc);
free_engine:
	snic_engine_free(nic);
	return r;
}

void snic_free(struct snic *nic)
{
	struct snic_parts *parts;

	if (!nic)
		return;
	parts = snic_parts(nic);
	snic_engine_drop_queues(nic);
	snic_cm_fini(nic, parts->cm);
	snic_rc_fini(nic, parts->rc);
	snic_net_fini(nic, parts->net);
	snic_engine_free(nic);
}

bool snic_is_busy(struct snic *nic)
{
	return snic_engine_is_busy(nic) || snic_rc_of(nic)->tx_head;
}

int snic_step(struct snic *nic, uint64_t now, uint64_t *ret_next)
{
	struct snic_net *net = snic_net_of(nic);
	bool more;

	snic_engine_begin(nic, now);
	more = snic_net_poll(nic, net, RX_BUDGET) == RX_BUDGET;
	more |= snic_engine_run(nic);
	snic_rc_step_end(nic);
	snic_net_flush(nic, net);
	/* snic_rc_step_end() may have kicked send queues. */
	more |= snic_engine_is_busy(nic);
	*ret_next = more ? now : snic_timers_next(nic);
	return 0;
}

uint64_t snic_next(struct snic *nic)
{
	const struct snic_rc *rc = snic_rc_of(nic);

	if (snic_engine_is_busy(nic) || snic_net_doze(snic_net_of(nic)))
		return snic_now(nic);
	/* A call between steps has queued packets, and no timer is set for
	 * them. */
	if (rc->tx_head && rc->pace.when == SNIC_NEVER)
		return snic_now(nic);
	return snic_timers_next(nic);
}
