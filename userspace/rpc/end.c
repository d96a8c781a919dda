/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One end of a connection: its memory, and completions. */
#include "end.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/why.h"

/* Registers memory for operations on the other end's window. */
static int local_reg(struct rpc_end *end, void *addr, size_t len, uint32_t *ret_lkey)
{
	if (!end->nic->ops->call->window_reg)
		return end->nic->ops->mr_reg(end->nic, addr, len, ret_lkey);
	return end->nic->ops->call->window_reg(end->nic, &end->window, addr, len, ret_lkey);
}

int rpc_end_bounce(struct rpc_end *end, uint32_t size)
{
	int err;

	end->bounce = aligned_alloc(4096, size);
	if (!end->bounce)
		return -ENOMEM;
	memset(end->bounce, 0, size);
	err = local_reg(end, end->bounce, size, &end->bounce_lkey);
	if (err) {
		free(end->bounce);
		end->bounce = NULL;
	}
	return err;
}

static int end_register(struct rpc_end *end)
{
	end->copy = aligned_alloc(4096, RPC_WINDOW);
	end->in = aligned_alloc(64, RPC_MESSAGE_MAX);
	if (!end->copy || !end->in)
		return -ENOMEM;
	memset(end->copy, 0, RPC_WINDOW);
	return local_reg(end, end->copy, RPC_WINDOW, &end->lkey);
}

int rpc_end_init(struct rpc_end *end, struct far_nic *nic, const struct far_end *ends,
		 const struct far_common *common)
{
	int err;

	*end = (struct rpc_end) { .nic = nic, .end = *ends, .seq_out = 1, .seq_in = 1 };
	err = nic->ops->call->window_new(nic, RPC_WINDOW, common, &end->window);
	if (err)
		return err;
	err = end_register(end);
	if (err) {
		free(end->copy);
		free(end->in);
		nic->ops->call->window_free(nic, &end->window);
	}
	return err;
}

void rpc_end_fini(struct rpc_end *end)
{
	if (end->link)
		end->nic->ops->call->hangup(end->nic, end->link);
	end->nic->ops->mr_dereg(end->nic, end->lkey);
	if (end->bounce)
		end->nic->ops->mr_dereg(end->nic, end->bounce_lkey);
	end->nic->ops->call->window_free(end->nic, &end->window);
	free(end->copy);
	free(end->bounce);
	free(end->in);
}

void rpc_call_fill(struct far_hello *hello, uint64_t sender)
{
	struct rpc_call mine = { .version = RPC_VERSION, .sender = sender };

	_Static_assert(sizeof(mine) <= FAR_CALL_MAX, "it fits");
	*hello = (struct far_hello) { .len = sizeof(mine) };
	memcpy(hello->data, &mine, sizeof(mine));
}

int rpc_call_check(const struct far_hello *hello, uint64_t *ret_sender)
{
	struct rpc_call theirs;

	if (hello->len != sizeof(theirs))
		return -EPROTO;
	memcpy(&theirs, hello->data, sizeof(theirs));
	*ret_sender = theirs.sender;
	return theirs.version == RPC_VERSION ? 0 : -EPROTONOSUPPORT;
}

void rpc_hello_fill(struct far_hello *hello, uint64_t credit, uint64_t memory)
{
	struct rpc_hello mine = {
		.magic = RPC_MAGIC,
		.version = RPC_VERSION,
		.ring = RPC_RING,
		.message_max = RPC_MESSAGE_MAX,
		.credit = credit,
		.memory = memory,
	};

	_Static_assert(sizeof(mine) <= FAR_HELLO_MAX, "it fits");
	*hello = (struct far_hello) { .len = sizeof(mine) };
	memcpy(hello->data, &mine, sizeof(mine));
}

int rpc_hello_check(const struct far_hello *hello, uint64_t *ret_credit, uint64_t *ret_memory)
{
	struct rpc_hello theirs = { 0 };

	memcpy(&theirs, hello->data,
	       hello->len < sizeof(theirs) ? hello->len : sizeof(theirs));
	if (hello->len < offsetof(struct rpc_hello, ring) || theirs.magic != RPC_MAGIC)
		return -EPROTO;
	if (theirs.version != RPC_VERSION || hello->len < sizeof(theirs) ||
	    theirs.ring != RPC_RING || theirs.message_max != RPC_MESSAGE_MAX)
		return -EPROTONOSUPPORT;
	*ret_credit = theirs.credit;
	*ret_memory = theirs.memory;
	return 0;
}

static int recv_post(struct rpc_end *end, unsigned nr)
{
	struct far_wr wr[RPC_RECVS];
	unsigned i;

	for (i = 0; i < nr; i++)
		wr[i] = (struct far_wr) { .op = FAR_NIC_RECV, .flags = FAR_WR_SIGNALED };
	return end->nic->ops->post(end->end.recv, end->end.recv_idx, wr, nr);
}

int rpc_end_start(struct rpc_end *end)
{
	return recv_post(end, RPC_RECVS);
}

void rpc_end_wc(struct rpc_end *end, const struct far_wc *wc)
{
	if (wc->status) {
		if (!rpc_end_broken(end))
			rpc_end_break(end, wc->status);
		return;
	}
	if (wc->op == FAR_NIC_READ) {
		end->reading = false;
		end->read_done = true;
	}
	/* A message does as well as a probe. */
	if (wc->op == FAR_NIC_WRITE && !wc->len)
		end->probing = false;
	if (wc->op != FAR_NIC_RECV) {
		rpc_out_done(end);
		return;
	}
	if (wc->imm & RPC_IMM_WAKE)
		end->asleep = false;
	if (wc->imm & RPC_IMM_RENEW)
		end->renewals++;
	if (wc->imm & RPC_IMM_ASKS)
		end->asks = wc->imm;
	if (recv_post(end, 1) && !rpc_end_broken(end))
		rpc_end_break(end, -EHOSTDOWN);
}

int rpc_why(char *why, size_t len, int err, const char *service, const char *node)
{
	const char *at = node && *node ? node : NULL, *text = far_strerror(err);

	if (err == -EOPNOTSUPP)
		return far_why(why, len, err, "service \"%s\": this back end has no RPC: expected "
			       "mem, soft, verbs or sim, without qps=N", service);
	if (err == -ENOENT)
		text = at ? "no program serves it there" : "no program serves it here";
	else if (err == -ETIMEDOUT)
		text = "the server does not answer";
	else if (err == -EINVAL && at)
		text = "the address of a node expected";
	return far_why(why, len, err, "service \"%s\"%s%s%s: %s", service, at ? " at \"" : "",
		       at ? at : "", at ? "\"" : "", text);
}
