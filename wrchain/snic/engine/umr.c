// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * UMR WQEs: write groups of entries of an indirect key.  Only the form that
 * wqe.h describes is accepted.  Other forms fail, because a device would
 * execute them differently.
 */
#include "engine-priv.h"

#define FLAGS (WRC_UMR_INLINE | WRC_UMR_OFFSET)

static bool all_zero(const uint8_t *p, size_t len)
{
	while (len--)
		if (*p++)
			return false;
	return true;
}

static bool header_ok(const struct wrc_wqe_umr *u)
{
	return u->flags == FLAGS &&
	       !(be64_to_cpu(u->mkey_mask) & ~WRC_UMR_OPENS) &&
	       all_zero(u->resv0, sizeof(u->resv0)) &&
	       all_zero(u->resv1, sizeof(u->resv1));
}

/* Whole groups, as many entries as the header says. */
static bool entries_ok(const struct wrc_ksm *e, unsigned int nr,
		       const struct wrc_wqe_umr *u)
{
	unsigned int i;

	if (!nr || nr % WRC_KSM_GROUP || nr != be16_to_cpu(u->octowords))
		return false;
	for (i = 0; i < nr; i++)
		if (e[i].resv)
			return false;
	return true;
}

int snic_umr_decode(const uint8_t *seg, const uint8_t *end, struct snic_wqe *w)
{
	const size_t head = sizeof(struct wrc_wqe_umr) +
			    sizeof(struct wrc_wqe_mkc);
	struct wrc_ksm entries[WRC_WQE_MAX_DS];
	struct wrc_wqe_umr u;
	size_t len;

	if (w->opmod || end - seg < (long)head)
		return WRC_SYND_LOCAL_QP_OP;
	memcpy(&u, seg, sizeof(u));
	len = end - seg - head;
	memcpy(entries, seg + head, len);
	if (!header_ok(&u) ||
	    !all_zero(seg + sizeof(u), sizeof(struct wrc_wqe_mkc)) ||
	    !entries_ok(entries, len / sizeof(entries[0]), &u))
		return WRC_SYND_LOCAL_QP_OP;
	w->rkey = be32_to_cpu(w->imm);
	w->raddr = (uint64_t)be32_to_cpu(u.offset_high) << 16 |
		   be16_to_cpu(u.offset_low);
	w->swap_mask = be64_to_cpu(u.mkey_mask);
	w->is_inline = true;
	w->len = len;
	memcpy(w->inline_data, entries, len);
	return w->raddr % WRC_KSM_GROUP ? WRC_SYND_LOCAL_QP_OP : 0;
}

/* Entries are not checked here; ksm.c checks them when they are used. */
int snic_umr_exec(struct snic_qp *qp, const struct snic_wqe *w)
{
	struct snic_ksm *k = snic_ksm_find(qp->nic, qp->attr.pdn, w->rkey);
	uint64_t at;

	/* IBA's memory management operation error. */
	if (!k)
		return WRC_SYND_MW_BIND;
	if (!snic_in_range(0, k->nr, w->raddr, w->len / sizeof(k->entry[0]),
			   &at))
		return WRC_SYND_LOCAL_QP_OP;
	memcpy(&k->entry[at], w->inline_data, w->len);
	if (w->swap_mask)
		k->free = false;
	return 0;
}
