// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Making indirect keys; see dev.h.
 *
 * A new key's entries are whatever lay in the device's memory, maybe another
 * key's, and its addresses lead where they say.  So it comes free; UMRs write all
 * entries, and the last one opens it.  Linux' driver fills its own in this way,
 * and user space that does it by RC queue pairs is SPDK.
 */
#include <stdlib.h>
#include "caps.h"
#include "cmd-priv.h"

#define PAGE		4096
#define LOG_SQ		9
#define LOG_CQ		7
#define WQE_BBS		8
#define NR_WQES		((1u << LOG_SQ) / WQE_BBS)
#define SQ_LEN		((size_t)WRC_WQE_BB << LOG_SQ)
#define PATIENCE	100000	/* pauses, where a few should do */

#define NR_ENTRIES	24

/* Half a kilobyte: none of them goes around the end of the ring. */
struct wqe {
	struct wrc_wqe_ctrl ctrl;
	struct wrc_wqe_umr umr;
	struct wrc_wqe_mkc mkc;
	struct wrc_ksm entry[NR_ENTRIES];
};

WRC_ASSERT(sizeof(struct wqe) == WQE_BBS * WRC_WQE_BB);
WRC_ASSERT(NR_ENTRIES % WRC_KSM_GROUP == 0);
WRC_AT(wqe, umr, 16);
WRC_AT(wqe, mkc, 64);
WRC_AT(wqe, entry, 128);

/* ---- a queue pair for it ------------------------------------------------------ */

static int make_qp(struct wrc_mlx5_maker *m)
{
	const struct wrc_mlx5_qp_attr attr = {
		.pdn = m->pdn, .scqn = m->cq.cqn, .rcqn = m->cq.cqn,
		.log_sq = LOG_SQ,
	};
	const struct wrc_mlx5_qp_mem mem = {
		.sq = m->mem,
		.dbr = (struct wrc_dbr *)((__u8 *)m->mem + SQ_LEN),
		.end = (__u8 *)m->mem + SQ_LEN + PAGE,
	};
	int err;

	err = wrc_mlx5_qp_init(m->dev, &attr, &mem, &m->qp);
	if (err)
		return err;
	err = wrc_mlx5_qp_loop(&m->qp, m->qp.qpn, 0);
	if (err)
		wrc_mlx5_qp_fini(&m->qp);
	return err;
}

/* The first thing that is missing. */
static int check_caps(struct wrc_mlx5 *dev)
{
	unsigned int pos = 0;
	const char *lacks = wrc_mlx5_lacks_keys(&dev->caps, &pos);

	if (!lacks)
		return 0;
	snprintf(dev->last_error, sizeof(dev->last_error), "%.60s cannot translate: %.200s",
		 dev->devx->name(dev->ctx), lacks);
	return -EOPNOTSUPP;
}

int wrc_mlx5_maker_init(struct wrc_mlx5 *dev, __u32 pdn,
			struct wrc_mlx5_maker *ret_maker)
{
	struct wrc_mlx5_maker m = { .dev = dev, .pdn = pdn };
	int err;

	err = check_caps(dev);
	if (err)
		return err;
	m.mem = aligned_alloc(PAGE, SQ_LEN + PAGE);
	if (!m.mem)
		return -ENOMEM;
	memset(m.mem, 0, SQ_LEN + PAGE);
	err = wrc_mlx5_cq_init(dev, LOG_CQ, &m.cq);
	if (err)
		goto free_mem;
	err = make_qp(&m);
	if (err)
		goto fini_cq;
	*ret_maker = m;
	return 0;

fini_cq:
	wrc_mlx5_cq_fini(&m.cq);
free_mem:
	free(m.mem);
	return err;
}

int wrc_mlx5_maker_fini(struct wrc_mlx5_maker *maker)
{
	int err = wrc_mlx5_qp_fini(&maker->qp);

	if (err)
		return err;
	wrc_mlx5_cq_fini(&maker->cq);
	free(maker->mem);
	memset(maker, 0, sizeof(*maker));
	return 0;
}

/* ---- clearing ------------------------------------------------------------------ */

static void put_wqe(struct wrc_mlx5_maker *m, __u32 key, __u32 first,
		    bool opens, bool signals)
{
	struct wqe *wqe = (struct wqe *)m->mem + m->next / WQE_BBS % NR_WQES;
	__u32 qpn = m->qp.qpn;

	*wqe = (struct wqe){
		.ctrl = {
			.index = { m->next >> 8, m->next & 0xff },
			.qpn = { qpn >> 16, qpn >> 8 & 0xff, qpn & 0xff },
			.opcode = WRC_WQE_UMR,
			.ds = sizeof(*wqe) / WRC_WQE_DS,
			.fm_ce_se = signals ? WRC_WQE_CE_ALWAYS : 0,
			.imm = cpu_to_be32(key),
		},
		.umr = {
			.flags = WRC_UMR_INLINE | WRC_UMR_OFFSET,
			.octowords = cpu_to_be16(NR_ENTRIES),
			.offset_low = cpu_to_be16(first),
			.mkey_mask = cpu_to_be64(opens ? WRC_UMR_OPENS : 0),
		},
	};
	m->next += WQE_BBS;
}

/* For the completion of the last one. */
static int wait_for_it(struct wrc_mlx5_maker *m)
{
	struct wrc_mlx5 *dev = m->dev;
	struct wrc_cqe_err cqe;
	unsigned int i;

	for (i = 0; i < PATIENCE; i++) {
		if (!wrc_mlx5_cq_poll(&m->cq, (struct wrc_cqe *)&cqe))
			break;
		dev->devx->pause(dev->ctx);
	}
	if (i == PATIENCE) {
		snprintf(dev->last_error, sizeof(dev->last_error),
			 "a UMR that clears a new key does not complete");
		return -ETIMEDOUT;
	}
	if (cqe.op_own >> 4 == WRC_CQE_REQ)
		return 0;
	snprintf(dev->last_error, sizeof(dev->last_error),
		 "a UMR that clears a new key failed (syndrome 0x%02x, vendor's "
		 "0x%02x)", cqe.syndrome, cqe.vendor_synd);
	return -EIO;
}

/* What is left over at the end is written twice. */
static int ksm_clear(struct wrc_mlx5_maker *m, __u32 key, __u32 entries)
{
	const __u32 last = entries - NR_ENTRIES;
	__u32 first = 0;
	int err = 0;

	for (; !err && first < entries; first += NR_ENTRIES) {
		bool opens = first >= last;
		bool rings = opens || (m->next / WQE_BBS + 1) % NR_WQES == 0;

		put_wqe(m, key, opens ? last : first, opens, rings);
		if (!rings)
			continue;
		wrc_mlx5_qp_ring(&m->qp, m->next);
		err = wait_for_it(m);
	}
	return err;
}

int wrc_mlx5_ksm_init(struct wrc_mlx5_maker *maker,
		      const struct wrc_mlx5_ksm_attr *attr,
		      struct wrc_mlx5_ksm *ret_ksm)
{
	struct wrc_mlx5_ksm ksm = { .dev = maker->dev };
	struct wrc_mlx5_ksm_attr a = *attr;
	__u8 out[WRC_MLX5_IN_MAX];
	struct wrc_mlx5_cmd cmd;
	int err;

	if (a.entries < NR_ENTRIES || a.entries % WRC_KSM_GROUP ||
	    a.entries > 1 << 16)
		return -EINVAL;
	if (a.entries > 1ull << maker->dev->caps.log_max_ksm)
		return -ERANGE;
	a.pdn = maker->pdn;
	wrc_mlx5_cmd_create_ksm(&a, &cmd);
	err = wrc_mlx5_create(maker->dev, &cmd, out, &ksm.obj);
	if (err)
		return err;
	ksm.key = wrc_mlx5_parse_create_mkey(out, a.variant);
	err = ksm_clear(maker, ksm.key, a.entries);
	if (err) {
		maker->dev->devx->destroy(ksm.obj);
		return err;
	}
	maker->dev->stats.indirect++;
	*ret_ksm = ksm;
	return 0;
}

int wrc_mlx5_ksm_fini(struct wrc_mlx5_ksm *ksm)
{
	int err = ksm->dev->devx->destroy(ksm->obj);

	if (!err)
		ksm->dev->stats.indirect--;
	return err;
}
