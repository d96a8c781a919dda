// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The software NIC's connections.
 */
#include <string.h>
#include "soft-priv.h"

/* Connection parameters of this side. */
#define RETRY_CNT	7
#define RNR_RETRY	7	/* for ever; RETRY_CNT detects a dead peer */
#define MIN_RNR_TIMER	6	/* 0.08 ms */

int soft_listen(struct nic *nic, uint16_t port)
{
	uint32_t listener;

	return soft_leave(nic, snic_cm_listen(soft_enter(nic), port, &listener));
}

int soft_connect(struct nic *nic, __be32 ip, uint16_t port, uint32_t qpn,
		 const void *priv, uint8_t priv_len, uint32_t *ret_id)
{
	const struct snic_cm_param param = {
		.qpn = qpn, .priv = priv, .priv_len = priv_len,
		.retry_cnt = RETRY_CNT, .rnr_retry = RNR_RETRY,
		.min_rnr_timer = MIN_RNR_TIMER,
	};

	return soft_leave(nic, snic_cm_connect(soft_enter(nic), ip, port,
					       &param, ret_id));
}

/* Sets type and reason of the event. */
static void conn_translate(enum snic_cm_event_type type, struct nic_event *ev)
{
	ev->type = NIC_GONE;
	ev->reason = NIC_DISCONNECTED;
	switch (type) {
	case SNIC_CM_REQUEST:
		ev->type = NIC_REQUEST;
		break;
	case SNIC_CM_ESTABLISHED:
		ev->type = NIC_ESTABLISHED;
		break;
	case SNIC_CM_REJECTED:
		ev->reason = NIC_REJECTED;
		break;
	case SNIC_CM_UNREACHABLE:
		ev->reason = NIC_UNREACHABLE;
		break;
	case SNIC_CM_DISCONNECTED:
		break;
	}
}

int soft_event(struct nic *nic, struct nic_event *ret_event)
{
	struct snic_cm_event ev;
	int r = soft_leave(nic, snic_cm_poll(soft_enter(nic), &ev));

	if (r)
		return r;
	conn_translate(ev.type, ret_event);
	ret_event->id = ev.id;
	ret_event->peer_ip = ev.peer_ip;
	ret_event->local_ip = ev.local_ip;
	ret_event->peer_qpn = ev.peer_qpn;
	ret_event->priv_len = ev.priv_len;
	memcpy(ret_event->priv, ev.priv, sizeof(ret_event->priv));
	return 0;
}

int soft_accept(struct nic *nic, uint32_t id, uint32_t qpn,
		const void *priv, uint8_t priv_len)
{
	const struct snic_cm_param param = {
		.qpn = qpn, .priv = priv, .priv_len = priv_len,
		.retry_cnt = RETRY_CNT, .rnr_retry = RNR_RETRY,
		.min_rnr_timer = MIN_RNR_TIMER,
	};

	return soft_leave(nic, snic_cm_accept(soft_enter(nic), id, &param));
}

int soft_reject(struct nic *nic, uint32_t id, const void *priv,
		uint8_t priv_len)
{
	return soft_leave(nic, snic_cm_reject(soft_enter(nic), id, priv,
					      priv_len));
}

int soft_disconnect(struct nic *nic, uint32_t id)
{
	return soft_leave(nic, snic_cm_disconnect(soft_enter(nic), id));
}

void soft_release(struct nic *nic, uint32_t id)
{
	soft_leave(nic, snic_cm_release(soft_enter(nic), id));
}
