// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * nic.h on an mlx5 card: opening, closing, domains, keys and completion queues.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5-priv.h"

/* ---- domains and keys --------------------------------------------------------- */

static int pd_alloc(struct nic *nic, uint32_t *ret_pdn)
{
	struct nic_mlx5 *m = mlx5_of(nic);
	const struct wrc_mlx5_devx *devx = m->dev.devx;
	struct mlx5_pd *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	r = devx->pd_alloc(m->dev.ctx, &p->pdn, &p->pd);
	if (r)
		goto free_pd;
	r = numbers_add(&m->card.pds, p, ret_pdn);
	if (!r)
		return 0;
	devx->pd_free(p->pd);
free_pd:
	free(p);
	return r;
}

static void pd_free(struct nic *nic, uint32_t pdn)
{
	struct nic_mlx5 *m = mlx5_of(nic);
	struct mlx5_pd *p = numbers_find(&m->card.pds, pdn);

	if (!p)
		return;
	mlx5_drop_maker(p);
	if (p->has_maker || m->dev.devx->pd_free(p->pd))
		return;
	numbers_drop(&m->card.pds, p);
	free(p);
}

static unsigned int mr_access(unsigned int access)
{
	return (access & NIC_LOCAL_WRITE ? WRC_MLX5_MR_LOCAL_WRITE : 0) |
	       (access & NIC_REMOTE_READ ? WRC_MLX5_MR_REMOTE_READ : 0) |
	       (access & NIC_REMOTE_WRITE ? WRC_MLX5_MR_REMOTE_WRITE : 0) |
	       (access & NIC_REMOTE_ATOMIC ? WRC_MLX5_MR_REMOTE_ATOMIC : 0);
}

static int mr_reg(struct nic *nic, uint32_t pdn, void *va, uint64_t len,
		  uint64_t iova, unsigned int access, uint32_t *ret_key)
{
	struct nic_mlx5 *m = mlx5_of(nic);
	const struct wrc_mlx5_devx *devx = m->dev.devx;
	struct mlx5_pd *p = numbers_find(&m->card.pds, pdn);
	struct mlx5_mr *mr;
	int r;

	if (!p)
		return -ENOENT;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	r = devx->mr_reg(p->pd, va, len, iova, mr_access(access), &mr->key,
			 &mr->mr);
	if (r)
		goto free_mr;
	r = numbers_add(&m->card.mrs, mr, ret_key);
	if (r)
		goto dereg;
	mr->va = va;
	mr->len = len;
	mr->iova = iova;
	m->dev.stats.keys++;
	return 0;

dereg:
	devx->mr_dereg(mr->mr);
free_mr:
	free(mr);
	return r;
}

/* On an error (-errno) the key still exists. */
static int destroy_key(struct nic_mlx5 *m, struct mlx5_mr *mr)
{
	int r;

	if (mr->ksm.obj)
		return wrc_mlx5_ksm_fini(&mr->ksm);
	r = mlx5_unshare(mr);
	if (!r)
		r = mr->again ? m->dev.devx->destroy(mr->again) :
				m->dev.devx->mr_dereg(mr->mr);
	if (!r)
		m->dev.stats.keys--;
	return r;
}

static int mr_dereg(struct nic *nic, uint32_t key)
{
	struct nic_mlx5 *m = mlx5_of(nic);
	struct mlx5_mr *mr = numbers_find(&m->card.mrs, key);
	int r = mr ? destroy_key(m, mr) : -ENOENT;

	if (r)
		return r;
	numbers_drop(&m->card.mrs, mr);
	free(mr);
	return 0;
}

/* ---- completion queues ----------------------------------------------------------- */

static int cq_create(struct nic *nic, uint8_t log_size, uint32_t *ret_cqn)
{
	struct nic_mlx5 *m = mlx5_of(nic);
	struct mlx5_cq *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	r = wrc_mlx5_cq_init(&m->dev, log_size, &c->cq);
	if (r)
		goto free_cq;
	c->cqn = c->cq.cqn;
	r = numbers_add(&m->card.cqs, c, ret_cqn);
	if (!r)
		return 0;
	wrc_mlx5_cq_fini(&c->cq);
free_cq:
	free(c);
	return r;
}

static void cq_destroy(struct nic *nic, uint32_t cqn)
{
	struct nic_mlx5 *m = mlx5_of(nic);
	struct mlx5_cq *c = numbers_find(&m->card.cqs, cqn);

	if (!c)
		return;
	numbers_drop(&m->card.cqs, c);
	/* A completion queue that the card is asked about stays, with its memory. */
	if (mlx5_look_leaves(m, c->cq.obj))
		wrc_mlx5_cq_fini(&c->cq);
	free(c);
}

static int cq_poll(struct nic *nic, uint32_t cqn, struct wrc_cqe *ret_cqe)
{
	struct mlx5_cq *c = numbers_find(&mlx5_of(nic)->card.cqs, cqn);

	return c ? wrc_mlx5_cq_poll(&c->cq, ret_cqe) : -ENOENT;
}

/* ---- opening and closing ------------------------------------------------------------ */

static int report(struct nic *nic, const struct nic_reporter *to)
{
	const struct wrc_mlx5 *dev = &mlx5_of(nic)->dev;
	int r;

	r = to->text(to->arg, "device", dev->devx->name(dev->ctx));
	if (!r)
		r = to->text(to->arg, "firmware",
			     dev->devx->firmware(dev->ctx));
	if (!r && *wrc_mlx5_last_error(dev))
		r = to->text(to->arg, "refusal", wrc_mlx5_last_error(dev));
#define REPORT(name)							\
	if (!r)								\
		r = to->number(to->arg, #name, dev->stats.name);
	WRC_MLX5_COUNTERS(REPORT)
#undef REPORT
	return r;
}

static void close_nic(struct nic *nic)
{
	struct nic_mlx5 *m = mlx5_of(nic);

	mlx5_look_stop(m);
	nic_card_empty(&m->card);
	mlx5_look_free(m);
	wrc_mlx5_close(&m->dev);
	free(m);
}

static const char *nic_last_error(struct nic *nic)
{
	return wrc_mlx5_last_error(&mlx5_of(nic)->dev);
}

static const struct nic_ops mlx5_ops = {
	.name = "mlx5",
	.close = close_nic,
	.pd_alloc = pd_alloc,
	.pd_free = pd_free,
	.mr_reg = mr_reg,
	.mr_dereg = mr_dereg,
	.cq_create = cq_create,
	.cq_destroy = cq_destroy,
	.cq_poll = cq_poll,
	.qp_create = mlx5_qp_create,
	.qp_destroy = mlx5_qp_destroy,
	.qp_error = mlx5_qp_error,
	.qp_query = mlx5_qp_query,
	.qp_doorbell = mlx5_qp_doorbell,
	.listen = nic_card_listen,
	.connect = mlx5_connect,
	.event = nic_card_event,
	.accept = nic_card_accept,
	.reject = nic_card_reject,
	.disconnect = nic_card_disconnect,
	.release = nic_card_release,
	.cpu_ns = nic_card_cpu_ns,
	.last_error = nic_last_error,
	.report = report,
};

static int check_strict(const struct nic_mlx5 *m, char *why)
{
	if (m->card.node.strict_index || m->dev.caps.wqe_index_ignore)
		return 0;
	snprintf(why, NIC_MLX5_WHY_MAX,
		 "strict=no: %.60s does not say that it ignores the index of "
		 "work requests (capability wqe_index_ignore)",
		 m->dev.devx->name(m->dev.ctx));
	return -EOPNOTSUPP;
}

static int open_cm(struct nic_mlx5 *m, const struct nic_cm *cm, char *why)
{
	const char *name = m->dev.devx->name(m->dev.ctx);
	int r;

	r = nic_card_open_cm(&m->card, cm, name, m->dev.port);
	if (r)
		snprintf(why, NIC_MLX5_WHY_MAX,
			 "the RDMA connection manager does not answer; is the "
			 "module rdma_ucm loaded? (%s)",
			 strerror(-r));
	return r;
}

int nic_mlx5_open(const struct nic_mlx5_opts *opts,
		  const struct wrc_mlx5_devx *devx, const struct nic_cm *cm,
		  struct nic **ret_nic, char why[NIC_MLX5_WHY_MAX])
{
	struct nic_mlx5 *m = calloc(1, sizeof(*m));
	int r;

	if (!m) {
		snprintf(why, NIC_MLX5_WHY_MAX, "out of memory");
		return -ENOMEM;
	}
	m->card.nic.ops = &mlx5_ops;
	m->card.nic.node = &m->card.node;
	m->card.node.ops = &mlx5_node_ops;
	m->card.qp_connect = mlx5_qp_connect;
	m->card.nic.event_fd = m->card.node.look_fd = -1;
	m->card.node.strict_index = opts->strict;
	r = wrc_mlx5_probe(devx, opts->device, &m->dev, why);
	if (r) {
		free(m);
		return r;
	}
	m->card.node.max_recv_len = m->dev.caps.max_wqe_rq;
	r = wrc_mlx5_start(&m->dev, opts->port, opts->gid_index, why);
	if (!r)
		r = check_strict(m, why);
	if (!r)
		r = mlx5_learn(m, opts->report, why);
	if (!r && cm)
		r = open_cm(m, cm, why);
	if (!r) {
		r = mlx5_look_new(m, cm && !devx->one_thread);
		if (r)
			snprintf(why, NIC_MLX5_WHY_MAX, "no thread that asks the card: %s",
				 strerror(-r));
	}
	if (r) {
		close_nic(&m->card.nic);
		return r;
	}
	*ret_nic = &m->card.nic;
	return 0;
}

struct wrc_mlx5 *nic_mlx5_device(struct nic *nic)
{
	return &mlx5_of(nic)->dev;
}

struct wrc_mlx5_cq *nic_mlx5_cq(struct nic *nic, uint32_t cqn)
{
	struct mlx5_cq *c = numbers_find(&mlx5_of(nic)->card.cqs, cqn);

	return c ? &c->cq : NULL;
}
