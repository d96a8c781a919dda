// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* UMRs and READs by indirect keys; see reach.h. */
#include <errno.h>
#include <string.h>
#include "reach.h"

bool reach_open(struct side *side, uint32_t pdn, struct reach *ret_reach)
{
	const struct raw in = { .pdn = pdn };

	*ret_reach = (struct reach){ .side = side };
	return raw_open(side, 0, &in, &ret_reach->writer);
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

static bool reach_connect(struct reach *reach)
{
	struct side *side = reach->side;

	if (reach->joined)
		return true;
	reach_disconnect(reach);
	raw_open(side, RAW_APART, &reach->writer, &reach->near);
	if (raw_open(side, RAW_APART, NULL, &reach->far))
		raw_join(&reach->near, &reach->far, NIC_REMOTE_READ | NIC_REMOTE_WRITE);
	if (side->err)
		reach_disconnect(reach);
	reach->joined = !side->err;
	return reach->joined;
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

bool reach_go(struct raw *raw, uint8_t *ret_syndrome)
{
	struct last last = { .raw = raw };
	struct side *side = raw->side;

	*ret_syndrome = 0;
	raw_ring(raw);
	if (!side->err && !side_until(side, is_over, &last))
		side_fail(side, -ETIMEDOUT);
	if (side->err || last.cqe.op_own >> 4 == WRC_CQE_REQ)
		return !side->err;
	*ret_syndrome = last.cqe.syndrome;
	return false;
}

void reach_map(struct reach *reach, uint32_t key, uint16_t offset, uint32_t page_key,
	       uint64_t page)
{
	uint8_t syndrome;

	raw_put(&reach->writer, (struct wrc_wr){
		.op = WRC_WQE_UMR, .imm = key, .offset = offset, .page_key = page_key,
		.page = page });
	if (!reach_go(&reach->writer, &syndrome))
		side_fail(reach->side, -EIO);
}

bool reach_read(struct reach *reach, uint32_t key, uint64_t addr, uint32_t len)
{
	struct raw *far = &reach->far;
	uint8_t syndrome;

	if (!reach_connect(reach))
		return false;
	raw_put_move(far, WRC_WQE_READ, far->data, far->key, len, addr, key);
	reach->joined = reach_go(far, &syndrome);
	return reach->joined;
}
