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

static uint64_t word(const uint64_t *p)
{
	return be64_to_cpu(__atomic_load_n(p, __ATOMIC_RELAXED));
}

/* Data segments, each as two words: byte count and key, address. */
static int list(struct snic_qp *qp, const uint64_t *seg,
		struct snic_recv *ret_recv)
{
	unsigned int max = (1u << qp->attr.log_rq_stride) / WRC_WQE_DS;
	const struct snic_mkey *mk = NULL;
	uint64_t total = 0, last = UINT64_MAX;	/* no key yet */
	unsigned int i;

	for (i = 0; i < max; i++, seg += 2) {
		uint64_t head = word(seg);
		uint32_t len = head >> 32, key = head;
		void *ptr;

		if (!len) {
			if (key == WRC_WQE_END_LKEY)
				break;
			len = 1u << 31;
		}
		if (key != last)
			mk = snic_mkey_find(qp->nic, qp->attr.pdn, key);
		last = key;
		if (snic_mkey_range(mk, word(seg + 1), len, SNIC_LOCAL_WRITE,
				    &ptr))
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
	return list(qp, (uint64_t *)qp->attr.rq +
			((size_t)slot << (qp->attr.log_rq_stride - 3)),
		    ret_recv);
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
