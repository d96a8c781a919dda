// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Queue pairs; see dev.h. */
#include "cmd-priv.h"

/* Loopback to ourselves: nothing is lost, nobody is far. */
#define LOOP_RD_ATOMIC	16
#define LOOP_RETRY	7
#define LOOP_TIMEOUT	14	/* 67 ms */
#define LOOP_RNR_TIMER	1	/* 0.01 ms */
#define LOG_MSG_MAX	30	/* 1 GB; what Linux' driver says */
#define USER_INDEX	0xffffff /* what it says of those that have none */

/* Where the queues begin, and whether all lies as a queue pair can have it. */
static int check_memory(const struct wrc_mlx5_qp_attr *attr,
			const struct wrc_mlx5_qp_mem *mem, __u8 **ret_base)
{
	__u8 *base = mem->rq ? mem->rq : mem->sq;
	__u8 *sq_end = (__u8 *)mem->sq + ((size_t)WRC_WQE_BB << attr->log_sq);
	size_t rq_len = (size_t)1 << (attr->log_rq + attr->log_rq_stride);

	if (mem->rq && base + rq_len != (__u8 *)mem->sq)
		return -EINVAL;
	if ((__u8 *)mem->dbr < sq_end ||
	    (const __u8 *)(mem->dbr + 1) > (const __u8 *)mem->end)
		return -EINVAL;
	if ((uintptr_t)base % WRC_WQE_BB || (uintptr_t)mem->dbr % 8)
		return -EINVAL;
	*ret_base = base;
	return 0;
}

static bool fits_rq(const struct wrc_mlx5_caps *caps,
		    const struct wrc_mlx5_qp_attr *attr)
{
	return attr->log_rq <= caps->log_max_qp_sz &&
	       attr->log_rq_stride < 16 &&
	       1u << attr->log_rq_stride <= caps->max_wqe_rq;
}

static int qp_create(struct wrc_mlx5_qp *qp, const struct wrc_mlx5_qp_attr *attr)
{
	__u8 out[WRC_MLX5_IN_MAX];
	struct wrc_mlx5_cmd cmd;
	int err;

	wrc_mlx5_cmd_create_qp(attr, &cmd);
	err = wrc_mlx5_create(qp->dev, &cmd, out, &qp->obj);
	if (!err)
		qp->qpn = wrc_mlx5_parse_create_qp(out);
	return err;
}

/*
 * The memory is registered from where the queues begin, so that they have
 * offset 0 in it: with plain registration Linux promises no other.  DPDK has
 * its records behind its queues in the same way.
 */
int wrc_mlx5_qp_init(struct wrc_mlx5 *dev, const struct wrc_mlx5_qp_attr *attr,
		     const struct wrc_mlx5_qp_mem *mem,
		     struct wrc_mlx5_qp *ret_qp)
{
	struct wrc_mlx5_qp qp = { .dev = dev, .dbr = mem->dbr };
	struct wrc_mlx5_qp_attr a = *attr;
	__u8 *base;
	int err;

	if (attr->log_sq > dev->caps.log_max_qp_sz ||
	    (mem->rq && !fits_rq(&dev->caps, attr)))
		return -ERANGE;
	err = check_memory(attr, mem, &base);
	if (err)
		return err;
	err = dev->devx->umem_reg(dev->ctx, base,
				  (const __u8 *)mem->end - base, &a.umem,
				  &qp.umem);
	if (err)
		return err;
	a.has_rq = mem->rq;
	a.uar_page = dev->uar_page;
	a.user_index = USER_INDEX;
	a.wq_off = 0;
	a.dbr_off = (__u8 *)mem->dbr - base;
	a.ts_format = dev->caps.ts_format;
	err = qp_create(&qp, &a);
	if (err) {
		dev->devx->umem_dereg(qp.umem);
		return err;
	}
	dev->stats.qps++;
	*ret_qp = qp;
	return 0;
}

int wrc_mlx5_qp_fini(struct wrc_mlx5_qp *qp)
{
	const struct wrc_mlx5_devx *devx = qp->dev->devx;
	int err = devx->destroy(qp->obj);

	if (err)
		return err;
	if (!devx->umem_dereg(qp->umem))
		qp->dev->stats.qps--;
	memset(qp, 0, sizeof(*qp));
	return 0;
}

int wrc_mlx5_qp_connect(struct wrc_mlx5_qp *qp,
			const struct wrc_mlx5_conn *conn)
{
	struct wrc_mlx5_cmd cmd;
	int err;

	wrc_mlx5_cmd_init(qp->qpn, conn, &cmd);
	err = wrc_mlx5_modify(qp->dev, qp->obj, &cmd);
	if (err)
		return err;
	wrc_mlx5_cmd_rtr(qp->qpn, conn, &cmd);
	err = wrc_mlx5_modify(qp->dev, qp->obj, &cmd);
	if (err)
		return err;
	wrc_mlx5_cmd_rts(qp->qpn, conn, &cmd);
	return wrc_mlx5_modify(qp->dev, qp->obj, &cmd);
}

/* Forced where the device can do that, else by its own address. */
static void own_path(const struct wrc_mlx5 *dev, __u32 from, __u32 to,
		     struct wrc_mlx5_path *ret_path)
{
	struct wrc_mlx5_path p = { .port = dev->port };

	p.roce = dev->link.ethernet;
	p.loopback = dev->caps.roce ? dev->caps.fl_enabled :
				      dev->caps.fl_disabled;
	p.dlid = dev->link.lid;
	p.sgid_index = dev->gid_index;
	p.hop_limit = 1;
	memcpy(p.dgid, dev->link.gid, sizeof(p.dgid));
	memcpy(p.mac, dev->roce.mac, sizeof(p.mac));
	p.udp_sport = wrc_mlx5_udp_sport(dev, &dev->roce, from, to);
	*ret_path = p;
}

static __u8 at_most(__u8 log_limit, __u8 n)
{
	return log_limit < 8 && n > 1 << log_limit ? 1 << log_limit : n;
}

int wrc_mlx5_qp_loop(struct wrc_mlx5_qp *qp, __u32 dest_qpn, __u8 access)
{
	const struct wrc_mlx5_caps *caps = &qp->dev->caps;
	struct wrc_mlx5_conn conn = {
		.dest_qpn = dest_qpn, .access = access,
		.mtu = qp->dev->link.mtu,
		.log_msg_max = LOG_MSG_MAX,
		.max_rd_atomic = at_most(caps->log_max_ra_req,
					 LOOP_RD_ATOMIC),
		.max_dest_rd_atomic = at_most(caps->log_max_ra_res,
					      LOOP_RD_ATOMIC),
		.min_rnr_timer = LOOP_RNR_TIMER, .retry_cnt = LOOP_RETRY,
		.rnr_retry = LOOP_RETRY, .timeout = LOOP_TIMEOUT,
	};

	if (caps->log_max_msg < conn.log_msg_max)
		conn.log_msg_max = caps->log_max_msg;
	own_path(qp->dev, qp->qpn, dest_qpn, &conn.path);
	return wrc_mlx5_qp_connect(qp, &conn);
}

int wrc_mlx5_qp_error(struct wrc_mlx5_qp *qp)
{
	struct wrc_mlx5_cmd cmd;

	wrc_mlx5_cmd_stop(qp->qpn, WRC_MLX5_2ERR_QP, &cmd);
	return wrc_mlx5_modify(qp->dev, qp->obj, &cmd);
}

int wrc_mlx5_qp_query(struct wrc_mlx5_qp *qp,
		      struct wrc_mlx5_qp_info *ret_info)
{
	struct wrc_mlx5_question q;

	wrc_mlx5_qp_ask(qp, &q);
	wrc_mlx5_question_run(&q);
	return wrc_mlx5_qp_answer(qp->dev, &q, ret_info);
}

void wrc_mlx5_qp_ask(const struct wrc_mlx5_qp *qp, struct wrc_mlx5_question *ret_q)
{
	wrc_mlx5_cmd_query_qp(qp->qpn, &ret_q->cmd);
	wrc_mlx5_question_init(qp->dev, qp->obj, ret_q);
}

int wrc_mlx5_qp_answer(struct wrc_mlx5 *dev, const struct wrc_mlx5_question *q,
		       struct wrc_mlx5_qp_info *ret_info)
{
	int err = wrc_mlx5_question_end(dev, q);

	if (!err)
		wrc_mlx5_parse_qp(q->out, ret_info);
	return err;
}

/*
 * The register takes what looks like the beginning of a WQE: its index, which
 * NVSHMEM and DOCA GPUNetIO make the producer index, and its queue.
 */
void wrc_mlx5_qp_ring(struct wrc_mlx5_qp *qp, __u16 pi)
{
	const __u8 ctrl[8] = {
		0, pi >> 8, pi & 0xff, 0,
		qp->qpn >> 16, qp->qpn >> 8 & 0xff, qp->qpn & 0xff, 0,
	};

	__atomic_store_n(&qp->dbr->snd, cpu_to_be32(pi), __ATOMIC_RELEASE);
	qp->dev->devx->ring(qp->dev->uar, ctrl);
	qp->dev->stats.doorbells++;
}
