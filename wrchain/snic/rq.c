// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Receive queues: an array of entries, each a list of data segments; software
 * posts by writing the doorbell record alone, so it is read for each message.
 */
#include <errno.h>
#include "engine.h"

/* Entries posted; 0 also when the record makes no sense. */
static unsigned int available(const struct snic_qp *qp)
{
	uint32_t posted = be32_to_cpu(__atomic_load_n(&qp->attr.dbr->rcv,
						      __ATOMIC_ACQUIRE));
	uint16_t n = posted - qp->rq_ci;

	return n <= 1u << qp->attr.log_rq ? n : 0;
}

static int list(struct snic_qp *qp, const uint8_t *entry,
		struct snic_recv *ret_recv)
{
	unsigned int max = (1u << qp->attr.log_rq_stride) / WRC_WQE_DS;
	const struct snic_mkey *mk = NULL;
	uint64_t total = 0;
	uint32_t last = 0;
	unsigned int i;

	for (i = 0; i < max; i++) {
		struct wrc_wqe_data d;
		uint32_t len, key;
		void *ptr;

		snic_copy(&d, entry + i * sizeof(d), sizeof(d));
		len = be32_to_cpu(d.byte_count);
		key = be32_to_cpu(d.lkey);
		if (!len && key == WRC_WQE_END_LKEY)
			break;
		if (!len)
			len = 1u << 31;
		if (!mk || key != last)
			mk = snic_mkey_find(qp->nic, qp->attr.pdn, key);
		last = key;
		if (snic_mkey_range(mk, be64_to_cpu(d.addr), len,
				    SNIC_LOCAL_WRITE, &ptr))
			return -EACCES;
		ret_recv->sges[i] = (struct snic_sge){ .ptr = ptr, .len = len };
		total += len;
	}
	ret_recv->nr_sge = i;
	ret_recv->len = total > UINT32_MAX ? UINT32_MAX : total;
	return 0;
}

int snic_rq_take(struct snic_qp *qp, bool want_sges, struct snic_recv *ret_recv)
{
	uint32_t slot = qp->rq_ci & ((1u << qp->attr.log_rq) - 1);

	if (!qp->attr.rq || !available(qp))
		return -EAGAIN;
	ret_recv->wqe_counter = qp->rq_ci++;
	ret_recv->nr_sge = 0;
	ret_recv->len = 0;
	qp->nic->stats.recvs++;
	if (!want_sges)
		return 0;
	return list(qp, (uint8_t *)qp->attr.rq +
			((size_t)slot << qp->attr.log_rq_stride), ret_recv);
}

void snic_rq_flush(struct snic_qp *qp)
{
	unsigned int n = qp->attr.rq ? available(qp) : 0;

	while (n--) {
		struct snic_cqe_info info = {
			.opcode = WRC_CQE_RESP_ERR,
			.syndrome = WRC_SYND_WR_FLUSH,
			.wqe_counter = qp->rq_ci++,
		};

		snic_cq_push(qp->rcq, qp, &info);
	}
}
