// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Executes requests on memory. A torn request is executed in pieces: a hash assigns each
 * aligned word of 8 bytes to a piece, so that words are written or read in random order.
 */
#include "cluster.h"

#include <string.h>

static uint8_t *req_remote(const struct sim_req *req)
{
	const struct sim_qp *qp = req->qp;

	return qp->mn->base + sim_space_at(qp->attach->space, req->wr.remote);
}

static void bytes_move(const struct sim_req *req, uint8_t *remote, uint32_t off,
		       uint32_t len)
{
	uint8_t *local = req->wr.local;

	if (!len)
		return;
	if (req->wr.op == FAR_NIC_READ)
		memcpy(local + off, remote + off, len);
	else
		memcpy(remote + off, (req->copy ? req->copy : local) + off, len);
}

/*
 * Moves the words of the current piece. The hash uses offsets in the node's memory, not
 * addresses, which differ from run to run.
 */
static void move_piece(const struct sim_req *req, uint8_t *remote)
{
	uint64_t at = remote - req->qp->mn->base;
	uint32_t off, len = req->wr.len, end;

	for (off = 0; off < len; off = end) {
		uint64_t word = (at + off) / 8;

		end = off + 8 - (at + off) % 8;
		if (end > len)
			end = len;
		if (far_rng_mix(word ^ req->served_ps) % req->pieces == req->piece)
			bytes_move(req, remote, off, end - off);
	}
}

static void execute_atomic(const struct sim_req *req, uint64_t *word)
{
	uint64_t old = *word;

	if (req->wr.op == FAR_NIC_FAA)
		*word = old + req->wr.arg[0];
	else if (old == req->wr.arg[0])
		*word = req->wr.arg[1];
	if (!req->qp->cn->dead)
		memcpy(req->wr.local, &old, 8);
}

int sim_req_execute(struct sim_req *req)
{
	uint8_t *remote = req_remote(req);

	if (sim_req_is_atomic(req))
		execute_atomic(req, (uint64_t *)remote);
	else if (req->wr.op == FAR_NIC_READ && req->qp->cn->dead)
		req->piece = req->pieces;
	else if (req->piece < req->pieces)
		move_piece(req, remote);
	else
		bytes_move(req, remote, 0, req->wr.len);
	if (req->piece < req->pieces)
		req->piece++;
	if (req->piece < req->pieces)
		return 0;
	req->executed = 1;
	if (req->qp->link && req->wr.op != FAR_NIC_READ)
		sim_req_landed(req);
	sim_trace(req->qp->sim, 1, (uint64_t)req->wr.op << 48 ^ req->wr.remote);
	return 1;
}
