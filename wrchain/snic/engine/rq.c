// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Receive queues: an array of entries, each a list of data segments.  Software
 * posts receive WQEs by writing the doorbell record alone, so the record is
 * read for each message.
 */
#include <errno.h>
#include "engine-priv.h"

/* Number of posted entries; 0 if the record exceeds the ring. */
static unsigned int rq_available(const struct snic_qp *qp)
{
	uint32_t posted = be32_to_cpu(__atomic_load_n(&qp->attr.dbr->rcv,
						      __ATOMIC_ACQUIRE));
	uint16_t n = posted - qp->rq_ci;

	return n <= 1u << qp->attr.log_rq ? n : 0;
}

static uint64_t ring_word(const uint64_t *p)
{
	return be64_to_cpu(__atomic_load_n(p, __ATOMIC_RELAXED));
}

/* The memory of one key, for the entry under decoding. */
struct window {
	uint64_t key;		/* UINT64_MAX: none */
	uint64_t iova, len;
	uint8_t *va;
};

static bool open_window(const struct snic_qp *qp, uint32_t key,
			struct window *win)
{
	const struct snic_mkey *mk = snic_mkey_find(qp->nic, qp->attr.pdn, key);

	if (!mk || !(mk->access & SNIC_LOCAL_WRITE))
		return false;
	*win = (struct window){ key, mk->iova, mk->len, mk->va };
	return true;
}

/* Decodes data segments; each is two words: byte count and key, then address.
 * Lists are long, mostly with one key: the key's lookup is cached. */
static int list_decode(struct snic_qp *qp, const uint64_t *seg,
		       struct snic_recv *ret_recv)
{
	unsigned int max = (1u << qp->attr.log_rq_stride) / WRC_WQE_DS;
	struct window win = { .key = UINT64_MAX };
	uint64_t total = 0;
	unsigned int i;

	for (i = 0; i < max; i++, seg += 2) {
		uint64_t head = ring_word(seg), off;
		uint32_t len = head >> 32, key = head;

		if (!len) {
			if (key == WRC_WQE_END_LKEY)
				break;
			len = 1u << 31;
		}
		if (key != win.key && !open_window(qp, key, &win))
			return -EACCES;
		if (!snic_in_range(win.iova, win.len, ring_word(seg + 1), len, &off))
			return -EACCES;
		ret_recv->sges[i].ptr = win.va + off;
		ret_recv->sges[i].len = len;
		total += len;
	}
	ret_recv->nr_sge = i;
	ret_recv->len = total > UINT32_MAX ? UINT32_MAX : total;
	return 0;
}

int snic_rq_take(struct snic_qp *qp, bool want_sges, struct snic_recv *ret_recv)
{
	uint32_t slot = qp->rq_ci & ((1u << qp->attr.log_rq) - 1);

	if (!qp->attr.rq || !rq_available(qp))
		return -EAGAIN;
	ret_recv->wqe_counter = qp->rq_ci++;
	ret_recv->nr_sge = 0;
	ret_recv->len = 0;
	qp->nic->stats.recvs++;
	if (!want_sges)
		return 0;
	return list_decode(qp, (uint64_t *)qp->attr.rq +
			((size_t)slot << (qp->attr.log_rq_stride - 3)),
			   ret_recv);
}

void snic_rq_flush(struct snic_qp *qp)
{
	unsigned int n = qp->attr.rq ? rq_available(qp) : 0;

	while (n--) {
		struct snic_cqe_info info = {
			.opcode = WRC_CQE_RESP_ERR,
			.syndrome = WRC_SYND_WR_FLUSH,
			.wqe_counter = qp->rq_ci++,
		};

		snic_cq_push(qp->rcq, qp, &info);
	}
}
