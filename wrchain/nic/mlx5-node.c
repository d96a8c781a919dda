// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions of an mlx5 card that memory nodes need beside nic.h; see node.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5-priv.h"

/* ---- indirect keys ------------------------------------------------------------- */

void mlx5_drop_maker(struct mlx5_pd *p)
{
	if (p->has_maker && !wrc_mlx5_maker_fini(&p->maker))
		p->has_maker = false;
}

static int need_maker(struct nic_mlx5 *m, struct mlx5_pd *p)
{
	int r;

	if (p->has_maker)
		return 0;
	r = wrc_mlx5_maker_init(&m->dev, p->pdn, &p->maker);
	p->has_maker = !r;
	return r;
}

/* Drops a maker that has failed: it may be broken.  The next key makes a new one. */
static int make_ksm(struct nic_mlx5 *m, struct mlx5_pd *p,
		    const struct wrc_mlx5_ksm_attr *attr,
		    struct wrc_mlx5_ksm *ret_ksm)
{
	int r = need_maker(m, p);

	if (r)
		return r;
	r = wrc_mlx5_ksm_init(&p->maker, attr, ret_ksm);
	if (r)
		mlx5_drop_maker(p);
	return r;
}

static int ksm_create(struct nic *nic, uint32_t pdn, uint32_t entries,
		      unsigned int access, uint8_t variant, uint32_t *ret_key)
{
	const struct wrc_mlx5_ksm_attr attr = {
		.entries = entries, .variant = variant,
		.access = (access & NIC_REMOTE_READ ?
			   WRC_MLX5_REMOTE_READ : 0) |
			  (access & NIC_REMOTE_WRITE ?
			   WRC_MLX5_REMOTE_WRITE : 0),
	};
	struct nic_mlx5 *m = mlx5_of(nic);
	struct mlx5_pd *p = numbers_find(&m->card.pds, pdn);
	struct mlx5_mr *mr;
	int r;

	if (!p)
		return -ENOENT;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	r = make_ksm(m, p, &attr, &mr->ksm);
	if (r)
		goto free_mr;
	mr->key = mr->ksm.key;
	r = numbers_add(&m->card.mrs, mr, ret_key);
	if (!r)
		return 0;
	wrc_mlx5_ksm_fini(&mr->ksm);
free_mr:
	free(mr);
	return r;
}

/* ---- completion queues ------------------------------------------------------------ */

/* Entries beyond the device's producer counter are ignored. */
void mlx5_cq_info(const struct mlx5_cq *c, const struct wrc_mlx5_cq_info *hw,
		  struct nic_cq_info *ret_info)
{
	ret_info->written = hw->producer;
	ret_info->errors = nic_cq_errors(c->cq.buf, c->cq.log_size, hw->producer);
}

static int cq_info(struct nic *nic, uint32_t cqn, struct nic_cq_info *ret_info)
{
	struct mlx5_cq *c = numbers_find(&mlx5_of(nic)->card.cqs, cqn);
	struct wrc_mlx5_cq_info hw;
	int r = c ? wrc_mlx5_cq_query(&c->cq, &hw) : -ENOENT;

	if (!r)
		mlx5_cq_info(c, &hw, ret_info);
	return r;
}

/* ---- the table ---------------------------------------------------------------------- */

const struct nic_node_ops mlx5_node_ops = {
	.ksm_create = ksm_create,
	.mr_share = mlx5_mr_share,
	.mr_again = mlx5_mr_again,
	.cq_info = cq_info,
	.look = mlx5_look,
	.seen = mlx5_seen,
	.qp_loop = mlx5_qp_loop,
	.freeze = nic_card_freeze,
	.thaw = nic_card_thaw,
};

/* Reads the report of odrp-hwcheck on this card. */
int mlx5_learn(struct nic_mlx5 *m, const char *where, char *why)
{
	char guid[WRC_MLX5_GUID_MAX], path[VERDICT_PATH_MAX];
	const struct verdict_card card = {
		.device = m->dev.devx->name(m->dev.ctx), .guid = guid,
		.firmware = m->dev.devx->firmware(m->dev.ctx),
		.strict = m->card.node.strict_index,
	};
	int r;

	if (!*where)
		return 0;
	r = verdict_path(where, card.device, path);
	if (r) {
		snprintf(why, NIC_MLX5_WHY_MAX, "report=%.200s: %s", where,
			 strerror(-r));
		return r;
	}
	wrc_mlx5_guid(&m->dev, guid);
	verdict_read(path, &card, &m->verdict);
	m->card.node.keeps_fences = m->verdict.fences;
	m->card.node.keeps_keys = m->verdict.keys;
	m->card.node.unfit = m->verdict.unfit;
	m->card.node.known = m->verdict.text;
	if (m->verdict.relaxed) {
		snprintf(why, NIC_MLX5_WHY_MAX, "%.380s", m->verdict.text);
		return -EOPNOTSUPP;
	}
	return 0;
}
