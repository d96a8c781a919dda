// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Functions of the software NIC that memory nodes need beside nic.h; see node.h.
 */
#include <errno.h>
#include "soft-priv.h"

static int soft_ksm_create(struct nic *nic, uint32_t pdn, uint32_t entries,
			   unsigned int access, uint8_t variant,
			   uint32_t *ret_key)
{
	return soft_leave(nic, snic_mkey_indirect(soft_enter(nic), pdn, entries,
						  soft_access(access), variant,
					     ret_key));
}

static int soft_cq_info(struct nic *nic, uint32_t cqn,
			struct nic_cq_info *ret_info)
{
	struct snic *snic = soft_enter(nic);
	const struct soft_cq *c = *soft_cq_find(nic, cqn);
	uint32_t written;
	int r = c ? snic_cq_count(snic, cqn, &written) : -ENOENT;

	if (!r) {
		ret_info->written = written;
		ret_info->errors = nic_cq_errors(c->buf, c->log_size, written);
	}
	return soft_leave(nic, r);
}

/* The software NIC answers at once. */
static int soft_look(struct nic *nic, const struct nic_look *look)
{
	struct nic_seen *seen = &soft_of(nic)->seen;
	unsigned int i;

	*seen = (struct nic_seen){ .err = 0 };
	for (i = 0; !seen->err && i < 2; i++)
		if (look->qpn[i])
			seen->err = soft_qp_query(nic, look->qpn[i], &seen->qp[i]);
	if (!seen->err && look->cqn)
		seen->err = soft_cq_info(nic, look->cqn, &seen->cq);
	soft_of(nic)->looked = true;
	return 0;
}

static int soft_seen(struct nic *nic, struct nic_seen *ret_seen)
{
	struct nic_soft *s = soft_of(nic);

	if (!s->looked)
		return -ENODATA;
	*ret_seen = s->seen;
	s->looked = false;
	return 0;
}

static int soft_qp_loop(struct nic *nic, uint32_t qpn, uint32_t to)
{
	const struct snic_qp_conn conn = {
		.loopback = true, .dest_qpn = to, .mtu = 4096,
		.max_rd_atomic = 16, .max_dest_rd_atomic = 16,
	};

	return soft_leave(nic, snic_qp_connect(soft_enter(nic), qpn, &conn));
}

static int soft_freeze(struct nic *nic)
{
	soft_enter(nic);
	soft_of(nic)->frozen = true;
	return 0;
}

static void soft_thaw(struct nic *nic)
{
	soft_of(nic)->frozen = false;
	soft_leave(nic, 0);
}

static int soft_rate_set(struct nic *nic, uint64_t bytes_per_s, uint32_t *rate)
{
	struct snic *snic = soft_enter(nic);

	return soft_leave(nic, *rate ? snic_rate_set(snic, *rate, bytes_per_s) :
				       snic_rate_new(snic, bytes_per_s, rate));
}

static void soft_rate_free(struct nic *nic, uint32_t rate)
{
	soft_leave(nic, snic_rate_free(soft_enter(nic), rate));
}

static int soft_qp_limit(struct nic *nic, uint32_t qpn, uint32_t rate)
{
	return soft_leave(nic, snic_qp_limit(soft_enter(nic), qpn, rate));
}

static bool soft_refusal(struct nic *nic, struct nic_refusal *ret_refusal)
{
	struct snic_refused r;

	if (!soft_leave(nic, snic_take_refused(soft_enter(nic), &r)))
		return false;
	ret_refusal->ip = r.peer.ip;
	ret_refusal->heard = r.heard;
	ret_refusal->why = r.why == SNIC_NO_PLACE ?
		"udp: no place for one more peer, or one more of this address" :
		"udp: no address for a peer that has none";
	return true;
}

const struct nic_node_ops soft_node_ops = {
	.ksm_create = soft_ksm_create,
	.cq_info = soft_cq_info,
	.look = soft_look,
	.seen = soft_seen,
	.qp_loop = soft_qp_loop,
	.freeze = soft_freeze,
	.thaw = soft_thaw,
	.rate_set = soft_rate_set,
	.rate_free = soft_rate_free,
	.qp_limit = soft_qp_limit,
	.refusal = soft_refusal,
};
