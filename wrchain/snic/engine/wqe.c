// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Decodes WQEs that move data to struct snic_wqe; snic_wqe_decode() in engine-priv.h
 * does the rest.  A ring can hold anything: each segment is checked against the
 * WQE's own length, and nothing outside of the fetched WQE's buffer is read.
 */
#include <errno.h>
#include "engine-priv.h"

#define MAX_MESSAGE (1u << 31)

/* ---- payload lists ----------------------------------------------------- */

static int decode_list(const uint8_t *seg, const uint8_t *end,
		       struct snic_wqe *w)
{
	uint64_t total = 0;

	for (; seg < end; seg += WRC_WQE_DS) {
		uint32_t len = snic_be32_at(seg);
		uint32_t lkey = snic_be32_at(seg + 4);

		if (!len && lkey == WRC_WQE_END_LKEY)
			break;
		if (len & WRC_WQE_INLINE)
			return WRC_SYND_LOCAL_QP_OP;
		if (!len)
			len = 1u << 31;
		w->sge[w->nr_sge].len = len;
		w->sge[w->nr_sge].lkey = lkey;
		w->sge[w->nr_sge].addr = snic_be64_at(seg + 8);
		w->nr_sge++;
		total += len;
	}
	if (total > MAX_MESSAGE)
		return WRC_SYND_LOCAL_LENGTH;
	w->len = total;
	return 0;
}

static int decode_inline(const uint8_t *seg, const uint8_t *end,
			 struct snic_wqe *w)
{
	w->is_inline = true;
	while (seg < end) {
		uint32_t len = snic_be32_at(seg);
		size_t room = end - seg - sizeof(len);

		if (!(len & WRC_WQE_INLINE))
			return WRC_SYND_LOCAL_QP_OP;
		len &= ~WRC_WQE_INLINE;
		if (len > room)
			return WRC_SYND_LOCAL_QP_OP;
		memcpy(w->inline_data + w->len, seg + sizeof(len), len);
		w->len += len;
		seg += (sizeof(len) + len + WRC_WQE_DS - 1) & -WRC_WQE_DS;
	}
	return 0;
}

static int decode_payload(const uint8_t *seg, const uint8_t *end,
			  struct snic_wqe *w)
{
	if (seg < end && (snic_be32_at(seg) & WRC_WQE_INLINE))
		return decode_inline(seg, end, w);
	return decode_list(seg, end, w);
}

/* ---- segments ---------------------------------------------------------- */

/* Moves seg past a remote address segment. */
static int decode_raddr(const uint8_t **seg, const uint8_t *end,
			struct snic_wqe *w)
{
	if (end - *seg < (long)sizeof(struct wrc_wqe_raddr))
		return WRC_SYND_LOCAL_QP_OP;
	w->raddr = snic_be64_at(*seg);
	w->rkey = snic_be32_at(*seg + 8);
	*seg += sizeof(struct wrc_wqe_raddr);
	return 0;
}

static int decode_rdma(const uint8_t *seg, const uint8_t *end,
		       struct snic_wqe *w)
{
	int r = decode_raddr(&seg, end, w);

	if (r)
		return r;
	if (w->opcode == WRC_WQE_READ)
		return decode_list(seg, end, w);
	return decode_payload(seg, end, w);
}

/*
 * Decodes 8-byte operands; returns their size in the WQE, or 0: unknown opcode.
 */
static size_t operands8(const uint8_t *seg, struct snic_wqe *w)
{
	w->add_swap = snic_be64_at(seg);
	switch (w->opcode) {
	case WRC_WQE_CS:
		w->compare = snic_be64_at(seg + 8);
		w->swap_mask = UINT64_MAX;
		w->compare_mask = UINT64_MAX;
		return 16;
	case WRC_WQE_FA:
		w->compare_mask = 0;
		return 16;
	case WRC_WQE_MASKED_FA:
		w->compare_mask = snic_be64_at(seg + 8);
		return 16;
	case WRC_WQE_MASKED_CS:
		w->compare = snic_be64_at(seg + 8);
		w->swap_mask = snic_be64_at(seg + 16);
		w->compare_mask = snic_be64_at(seg + 24);
		return 32;
	}
	return 0;
}

static size_t operands4(const uint8_t *seg, struct snic_wqe *w)
{
	w->add_swap = snic_be32_at(seg);
	switch (w->opcode) {
	case WRC_WQE_MASKED_FA:
		w->compare_mask = snic_be32_at(seg + 4);
		return 16;
	case WRC_WQE_MASKED_CS:
		w->compare = snic_be32_at(seg + 4);
		w->swap_mask = snic_be32_at(seg + 8);
		w->compare_mask = snic_be32_at(seg + 12);
		return 16;
	}
	return 0;
}

static int decode_atomic(const uint8_t *seg, const uint8_t *end,
			 struct snic_wqe *w)
{
	bool masked = w->opcode == WRC_WQE_MASKED_CS ||
		      w->opcode == WRC_WQE_MASKED_FA;
	uint32_t size = 8;
	size_t n;
	int r = decode_raddr(&seg, end, w);

	if (r)
		return r;
	if (masked && w->opmod == WRC_WQE_OPMOD_MASKED_4)
		size = 4;
	else if (w->opmod != (masked ? WRC_WQE_OPMOD_MASKED_8 : 0))
		return WRC_SYND_LOCAL_QP_OP;
	/* The operands start at byte 32 of the buffer, which is longer than any
	 * WQE of them. */
	n = size == 4 ? operands4(seg, w) : operands8(seg, w);
	if (end - seg < (long)n)
		return WRC_SYND_LOCAL_QP_OP;
	r = decode_list(seg + n, end, w);
	if (r)
		return r;
	return w->len == size ? 0 : WRC_SYND_LOCAL_LENGTH;
}

/* ---- whole WQEs -------------------------------------------------------- */

/* All opcodes with data segments, and UMR, whose segments differ. */
int snic_wqe_decode_data(const uint8_t *seg, const uint8_t *end,
			 struct snic_wqe *w)
{
	switch (w->opcode) {
	case WRC_WQE_SEND:
	case WRC_WQE_SEND_IMM:
		return decode_payload(seg, end, w);
	case WRC_WQE_WRITE:
	case WRC_WQE_WRITE_IMM:
	case WRC_WQE_READ:
		return decode_rdma(seg, end, w);
	case WRC_WQE_CS:
	case WRC_WQE_FA:
	case WRC_WQE_MASKED_CS:
	case WRC_WQE_MASKED_FA:
		return decode_atomic(seg, end, w);
	case WRC_WQE_UMR:
		return snic_umr_decode(seg, end, w);
	}
	return WRC_SYND_LOCAL_QP_OP;
}

static bool translate(const struct snic_mkey *mk, uint64_t addr, uint32_t len,
		      unsigned int need, struct snic_sge *ret_sge)
{
	void *ptr;

	if (snic_mkey_range(mk, addr, len, need, &ptr))
		return false;
	ret_sge->ptr = ptr;
	ret_sge->len = len;
	return true;
}

static __attribute__((noinline)) int
translate_list(struct snic *nic, uint32_t pdn, const struct snic_wqe *w,
	       unsigned int need, struct snic_sge *ret_sges)
{
	const struct snic_mkey *mk = NULL;
	uint64_t last = UINT64_MAX;	/* UINT64_MAX: no key yet */
	unsigned int i;

	for (i = 0; i < w->nr_sge; i++) {
		uint32_t key = w->sge[i].lkey;

		if (key != last)
			mk = snic_mkey_find(nic, pdn, key);
		last = key;
		if (!translate(mk, w->sge[i].addr, w->sge[i].len, need,
			       &ret_sges[i]))
			return -EACCES;
	}
	return 0;
}

int snic_wqe_sges(struct snic *nic, uint32_t pdn, const struct snic_wqe *w,
		  unsigned int need, struct snic_sge *ret_sges)
{
	/*
	 * Most lists have one entry: 25 instructions less than with the loop.
	 */
	if (w->nr_sge != 1)
		return translate_list(nic, pdn, w, need, ret_sges);
	return translate(snic_mkey_find(nic, pdn, w->sge[0].lkey),
			 w->sge[0].addr, w->sge[0].len, need, ret_sges) ?
	       0 : -EACCES;
}
