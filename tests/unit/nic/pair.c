// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* See pair.h. */
#include <mlx5/encode.h>
#include <stdlib.h>
#include <string.h>
#include "pair.h"

#define PAGE	4096

void side_open(struct side *s, struct nic *nic)
{
	struct nic_qp_attr attr;

	*s = (struct side){ .nic = nic };
	s->mem = aligned_alloc(PAGE, PAGE + SIDE_DATA);
	assert_non_null(s->mem);
	memset(s->mem, 0, PAGE + SIDE_DATA);
	s->dbr = (struct wrc_dbr *)(s->mem + (64 << SIDE_LOG_SQ));
	assert_int_equal(nic->ops->pd_alloc(nic, &s->pdn), 0);
	assert_int_equal(nic->ops->mr_reg(nic, s->pdn, side_data(s), SIDE_DATA,
					  (uintptr_t)side_data(s), NIC_ALL,
					  &s->key), 0);
	assert_int_equal(nic->ops->cq_create(nic, SIDE_LOG_CQ, &s->cqn), 0);
	attr = (struct nic_qp_attr){
		.pdn = s->pdn, .scqn = s->cqn, .rcqn = s->cqn,
		.mem = s->mem, .mem_len = PAGE, .sq = s->mem,
		.log_sq = SIDE_LOG_SQ, .dbr = s->dbr,
		.access = NIC_REMOTE_READ | NIC_REMOTE_WRITE,
	};
	assert_int_equal(nic->ops->qp_create(nic, &attr, &s->qpn), 0);
}

void side_close(struct side *s)
{
	const struct nic_ops *ops = s->nic->ops;

	assert_int_equal(ops->qp_destroy(s->nic, s->qpn), 0);
	ops->cq_destroy(s->nic, s->cqn);
	ops->mr_dereg(s->nic, s->key);
	ops->pd_free(s->nic, s->pdn);
	ops->close(s->nic);
	free(s->mem);
}

uint8_t *side_data(struct side *s)
{
	return s->mem + PAGE;
}

void side_post(struct side *s, uint8_t opcode, const struct side *peer,
	       uint32_t rkey, uint32_t len)
{
	const struct wrc_wr wr = {
		.op = opcode, .shape = opcode, .flags = WRC_WQE_CE_ALWAYS,
		.index = s->pi, .qpn = s->qpn, .rkey = rkey,
		.raddr = (uintptr_t)peer->mem + PAGE, .nr_sge = 1,
		.sge = { { len, s->key, (uintptr_t)side_data(s) } },
	};
	uint8_t *bb = s->mem + 64 * (s->pi & ((1 << SIDE_LOG_SQ) - 1));

	assert_int_equal(wrc_encode(&wr, bb, 64), 48);
	s->pi++;
	s->dbr->snd = htobe32(s->pi);
	assert_int_equal(s->nic->ops->qp_doorbell(s->nic, s->qpn, s->pi), 0);
}
