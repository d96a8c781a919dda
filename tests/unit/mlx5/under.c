// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Puts the mlx5 NIC under the agent in tests of the agent: linked with
 * --wrap=nic_soft_adopt, so that where a test takes a software NIC as it is,
 * the agent gets the same one behind mailboxes and a connection manager.  The
 * agent's tests then say whether it works with a NIC that cannot be stopped,
 * and which knows its queue pairs by firmware commands only.
 */
#include <stdlib.h>
#include <nic/mlx5.h>
#include <nic/soft.h>
#include "fake.h"

int __wrap_nic_soft_adopt(struct snic *snic, const struct snic_config *cfg,
			  struct nic **ret_nic);
int __real_nic_soft_adopt(struct snic *snic, const struct snic_config *cfg,
			  struct nic **ret_nic);

/* ---- the connection manager: the software NIC's ------------------------------ */

static void *conn_of(uint32_t id)
{
	return (void *)(uintptr_t)id;
}

static uint32_t id_of(void *conn)
{
	return (uintptr_t)conn;
}

static int cm_open(const char *device, uint8_t port, void **ret_cm,
		   int *ret_fd)
{
	*ret_cm = &fake;
	*ret_fd = -1;
	return 0;
}

static void cm_close(void *cm)
{
}

static int cm_listen(void *cm, uint16_t port)
{
	uint32_t listener;

	return snic_cm_listen(fake.snic, port, &listener);
}

static int cm_event(void *cm, struct nic_cm_event *ret_event)
{
	struct snic_cm_event ev;
	int r = snic_cm_poll(fake.snic, &ev);

	if (r)
		return r;
	ret_event->type = ev.type == SNIC_CM_REQUEST ? NIC_REQUEST :
			  ev.type == SNIC_CM_ESTABLISHED ? NIC_ESTABLISHED :
			  NIC_GONE;
	ret_event->answer = false;
	ret_event->conn = conn_of(ev.id);
	ret_event->peer_ip = ev.peer_ip;
	ret_event->local_ip = ev.local_ip;
	ret_event->peer_qpn = ev.peer_qpn;
	ret_event->priv_len = ev.priv_len;
	memcpy(ret_event->priv, ev.priv, sizeof(ret_event->priv));
	return 0;
}

static int cm_attr(void *conn, struct wrc_mlx5_conn *ret_conn)
{
	*ret_conn = (struct wrc_mlx5_conn){
		.path = { .port = 1, .grh = true, .hop_limit = 64,
			  .dgid = { [10] = 0xff, [11] = 0xff, 10, 77, 0, 2 } },
		.dest_qpn = FAKE_BY_CM, .mtu = 5, .max_rd_atomic = 16,
		.max_dest_rd_atomic = 16, .retry_cnt = 7, .rnr_retry = 7,
		.timeout = 16,
	};
	return 0;
}

/* The software NIC's manager changes the states itself, at this time. */
static int cm_accept(void *conn, const struct nic_cm_accept *accept)
{
	const struct snic_cm_param param = {
		.qpn = accept->qpn, .priv = accept->priv,
		.priv_len = accept->priv_len,
		.retry_cnt = 7, .rnr_retry = accept->rnr_retry,
		.min_rnr_timer = 6,
	};

	assert_int_equal(fake_qp(accept->qpn)->state, WRC_MLX5_QP_RTS);
	return snic_cm_accept(fake.snic, id_of(conn), &param);
}

static int cm_reject(void *conn, const void *priv, uint8_t priv_len)
{
	return snic_cm_reject(fake.snic, id_of(conn), priv, priv_len);
}

/* A card's manager stops no queue pair, and its peer need not heed it. */
static int cm_disconnect(void *conn)
{
	if (fake.no_stop)
		return 0;
	return snic_cm_disconnect(fake.snic, id_of(conn));
}

static void cm_release(void *conn)
{
	if (fake.no_stop)
		return;
	snic_cm_release(fake.snic, id_of(conn));
}

static const struct nic_cm under_cm = {
	.open = cm_open, .close = cm_close, .listen = cm_listen,
	.event = cm_event, .attr = cm_attr, .accept = cm_accept,
	.reject = cm_reject, .disconnect = cm_disconnect,
	.release = cm_release,
};

/* ---- the NIC ---------------------------------------------------------------------- */

bool under_threads;
static struct wrc_mlx5_devx under_devx;
static bool is_open;
static struct nic_ops ops;
static void (*real_close)(struct nic *nic);

/* What the agent did not give back was given back by close(). */
static void close_all(struct nic *nic)
{
	real_close(nic);
	/* An object that is asked about stays until its query ends. */
	if (!fake.held)
		fake_fini();
	is_open = false;
}

int __wrap_nic_soft_adopt(struct snic *snic, const struct snic_config *cfg,
			  struct nic **ret_nic)
{
	const struct nic_mlx5_opts opts = {
		.port = 1, .strict = !cfg->relaxed_index,
	};
	char why[NIC_MLX5_WHY_MAX];
	int r;

	/* There is one card, the agent's: a client's NIC remains what it is. */
	if (is_open)
		return __real_nic_soft_adopt(snic, cfg, ret_nic);
	is_open = true;
	under_devx = fake_devx;
	under_devx.one_thread = !under_threads;
	fake_adopt(snic);
	fake_cap(0, 0x99, 1, cfg->relaxed_index);
	r = nic_mlx5_open(&opts, &under_devx, &under_cm, ret_nic, why);
	if (r)
		fail_msg("%s", why);
	ops = *(*ret_nic)->ops;
	real_close = ops.close;
	ops.close = close_all;
	(*ret_nic)->ops = &ops;
	return 0;
}
