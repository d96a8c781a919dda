// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* UMRs and READs by indirect keys; see reach.h. */
#include <errno.h>
#include <string.h>
#include "reach.h"

#define SIZE (1u << RAW_LOG_SQ)

int reach_open(struct side *side, uint32_t pdn, struct reach *ret_reach)
{
	const struct raw in = { .pdn = pdn };
	struct reach reach = { .side = side };
	int r = raw_open(side, 0, &in, &reach.writer);

	if (!r)
		*ret_reach = reach;
	return r;
}

static void reach_disconnect(struct reach *reach)
{
	raw_close(&reach->far);
	raw_close(&reach->near);
	reach->joined = false;
}

void reach_close(struct reach *reach)
{
	reach_disconnect(reach);
	raw_close(&reach->writer);
}

static int reach_connect(struct reach *reach)
{
	const unsigned int reads = NIC_REMOTE_READ | NIC_REMOTE_WRITE;
	struct side *side = reach->side;
	int r;

	if (reach->joined)
		return 0;
	reach_disconnect(reach);
	r = raw_open(side, RAW_APART, &reach->writer, &reach->near);
	if (!r)
		r = raw_open(side, RAW_APART, NULL, &reach->far);
	if (!r)
		r = side->join(side, reach->near.qpn, reach->far.qpn, reads);
	if (!r)
		r = side->join(side, reach->far.qpn, reach->near.qpn, reads);
	if (r)
		reach_disconnect(reach);
	reach->joined = !r;
	return r;
}

/* ---- work requests ------------------------------------------------------------- */

static int encode(struct raw *raw, const struct wrc_wr *wr)
{
	uint8_t wqe[SIZE / 2 * WRC_WQE_BB];
	struct wrc_wr w = *wr;
	unsigned int nr, at = raw->next % SIZE;
	int len;

	w.index = raw->next;
	w.qpn = raw->qpn;
	w.shape = w.op;
	len = wrc_encode(&w, wqe, sizeof(wqe));
	if (len < 0)
		return len;
	nr = (len + WRC_WQE_BB - 1) / WRC_WQE_BB;
	if (at + nr > SIZE)
		return -ENOSPC;
	memcpy(raw_wqe(raw, raw->next), wqe, len);
	raw->last = raw->next;
	raw->next += nr;
	return 0;
}

int reach_put(struct raw *raw, struct wrc_wr wr)
{
	const struct wrc_wr nop = { .op = WRC_WQE_NOP };
	int r;

	wr.flags |= WRC_WQE_CE_ALWAYS;
	/* A WQE must not cross the end of the ring: fill up with NOPs. */
	while ((r = encode(raw, &wr)) == -ENOSPC) {
		r = encode(raw, &nop);
		if (r)
			return r;
	}
	return r;
}

struct last {
	struct raw *raw;
	struct wrc_cqe_err cqe;
	bool there;
};

/* Takes the completion of the last WQE, or the first error. */
static bool is_over(void *arg)
{
	struct last *last = arg;
	struct raw *raw = last->raw;
	struct nic *nic = raw->side->nic;
	struct wrc_cqe *cqe = (struct wrc_cqe *)&last->cqe;

	while (!last->there && !nic->ops->cq_poll(nic, raw->scqn, cqe))
		last->there = cqe->op_own >> 4 != WRC_CQE_REQ ||
			      be16toh(cqe->wqe_counter) == raw->last;
	return last->there;
}

int reach_go(struct raw *raw, uint8_t *ret_syndrome)
{
	struct last last = { .raw = raw };
	int r = raw_ring(raw);

	*ret_syndrome = 0;
	if (r)
		return r;
	if (!side_until(raw->side, is_over, &last))
		return -ETIMEDOUT;
	if (last.cqe.op_own >> 4 == WRC_CQE_REQ)
		return 0;
	*ret_syndrome = last.cqe.syndrome;
	return -EIO;
}

int reach_map(struct reach *reach, uint32_t key, uint16_t offset,
	      uint32_t page_key, uint64_t page)
{
	const struct wrc_wr umr = {
		.op = WRC_WQE_UMR, .imm = key, .offset = offset,
		.page_key = page_key, .page = page,
	};
	uint8_t syndrome;
	int r = reach_put(&reach->writer, umr);

	return r ? r : reach_go(&reach->writer, &syndrome);
}

int reach_read(struct reach *reach, uint32_t key, uint64_t addr, uint32_t len)
{
	struct wrc_wr read = {
		.op = WRC_WQE_READ, .raddr = addr, .rkey = key, .nr_sge = 1,
	};
	uint8_t syndrome;
	int r = reach_connect(reach);

	if (r)
		return r;
	read.sge[0] = (struct wrc_sge){ len, reach->far.key,
					(uintptr_t)reach->far.data };
	r = reach_put(&reach->far, read);
	if (!r)
		r = reach_go(&reach->far, &syndrome);
	if (r)
		reach->joined = false;
	return r == -EIO ? -EACCES : r;
}
