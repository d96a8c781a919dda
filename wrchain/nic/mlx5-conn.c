// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Connections of the mlx5 NIC: a queue pair gets the attributes of a connection. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5-priv.h"

#define MIN_RNR_TIMER	6	/* 0.08 ms; the CM's 0 means 0.66 s */
#define LOG_MSG_MAX	30

/* Not supported: clients use the provider's verbs instead of this back end. */
int mlx5_connect(struct nic *nic, __be32 ip, uint16_t port, uint32_t qpn,
		 const void *priv, uint8_t priv_len, uint32_t *ret_id)
{
	return -EOPNOTSUPP;
}

static uint8_t at_most(uint8_t n, uint8_t log_limit)
{
	return log_limit < 8 && n > 1 << log_limit ? 1 << log_limit : n;
}

/* Fills in what an Ethernet path needs beside GIDs: UDP source port and MAC address. */
static int complete_ethernet(struct nic_mlx5 *m, const struct mlx5_qp *q,
			     struct wrc_mlx5_conn *conn)
{
	const struct mlx5_pd *pd = numbers_find(&m->card.pds, q->pdn);
	struct wrc_mlx5_path *path = &conn->path;
	struct wrc_mlx5_roce roce;
	int r;

	if (!pd)
		return -ENOENT;
	r = wrc_mlx5_roce_query(&m->dev, path->sgid_index, &roce);
	if (r)
		return r;
	path->roce = true;
	path->udp_sport = wrc_mlx5_udp_sport(&m->dev, &roce, q->qpn,
					     conn->dest_qpn);
	return m->dev.devx->resolve(pd->pd, path, path->mac);
}

/* Fills in what the connection manager does not set, and applies the device's limits. */
static int conn_complete(struct nic_mlx5 *m, const struct mlx5_qp *q,
			 struct wrc_mlx5_conn *conn)
{
	const struct wrc_mlx5_caps *caps = &m->dev.caps;

	conn->access = q->access;
	conn->log_msg_max = caps->log_max_msg < LOG_MSG_MAX ?
			    caps->log_max_msg : LOG_MSG_MAX;
	conn->min_rnr_timer = MIN_RNR_TIMER;
	conn->max_rd_atomic = at_most(conn->max_rd_atomic,
				      caps->log_max_ra_req);
	conn->max_dest_rd_atomic = at_most(conn->max_dest_rd_atomic,
					   caps->log_max_ra_res);
	return m->dev.link.ethernet ? complete_ethernet(m, q, conn) : 0;
}

int mlx5_qp_connect(struct nic_card *card, uint32_t qpn, void *cm_conn,
		    struct nic_cm_accept *accept)
{
	struct nic_mlx5 *m = mlx5_of(&card->nic);
	struct mlx5_qp *q = numbers_find(&card->qps, qpn);
	struct wrc_mlx5_conn conn;
	int r;

	if (!q)
		return -ENOENT;
	r = card->cm->attr(cm_conn, &conn);
	if (!r)
		r = conn_complete(m, q, &conn);
	if (!r)
		r = wrc_mlx5_qp_connect(&q->qp, &conn);
	if (r)
		return r;
	accept->responder_resources = conn.max_dest_rd_atomic;
	accept->initiator_depth = conn.max_rd_atomic;
	return 0;
}
