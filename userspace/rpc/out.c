/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages out. They are built in a copy of the other end's ring, at the same place: so a
 * message's bytes stay as they are until the other end has taken them and the NIC has
 * completed them: before that, the NIC may send a packet again. Posts are signaled so often
 * that their completions come before the room is needed.
 */
#include "end.h"

#include <errno.h>
#include <string.h>

#define HEAD_WORD	(RPC_RING + 64)		/* of the copy: where READs of the head go */

static struct rpc_control *control_of(const struct rpc_end *end)
{
	return end->window.addr;
}

/* Takes a head that the other end has told, which may be any. */
static void head_learn(struct rpc_end *end, uint64_t head)
{
	if (head - end->peer_head <= end->tail - end->peer_head && !(head % RPC_ALIGN))
		end->peer_head = head;
}

static uint64_t told_load(const struct rpc_end *end)
{
	return __atomic_load_n(&control_of(end)->told, __ATOMIC_ACQUIRE);
}

/* True if the other end sleeps, and nothing has been sent to wake it. */
static bool peer_sleeps(const struct rpc_end *end, uint64_t told)
{
	return told & RPC_TOLD_ASLEEP && told != end->told_seen;
}

/* Bytes up to the end of the ring. */
static uint32_t lap_left(uint64_t position)
{
	return RPC_RING - position % RPC_RING;
}

/* Bytes of the copy that the other end has not taken, or the NIC has not completed. */
static uint64_t copy_used(const struct rpc_end *end)
{
	uint64_t untaken = end->tail - end->peer_head, unreleased = end->tail - end->released;

	return untaken > unreleased ? untaken : unreleased;
}

uint32_t rpc_out_room(struct rpc_end *end)
{
	uint64_t free, head, told = told_load(end);
	uint32_t left = lap_left(end->tail);

	if (end->read_done) {
		memcpy(&head, end->copy + HEAD_WORD, sizeof(head));
		head_learn(end, head);
		end->read_done = false;
	}
	head_learn(end, told >> RPC_TOLD_HEAD_SHIFT << 5);
	head_learn(end, __atomic_load_n(&end->head_told, __ATOMIC_RELAXED));
	free = RPC_RING - copy_used(end);
	/* The rest of the lap, or, if that is too short for any message, what is behind. */
	if (left < RPC_MESSAGE_MAX)
		free = free > left ? free - left : 0;
	return free < RPC_MESSAGE_MAX ? free / RPC_ALIGN * RPC_ALIGN : RPC_MESSAGE_MAX;
}

/* Those of the operations that are signaled have been posted. tail: behind the last of them. */
static void due_note(struct rpc_end *end, const struct far_wr *wr, unsigned nr, uint64_t tail)
{
	unsigned i;

	end->unsignaled += nr;
	for (i = 0; i < nr; i++) {
		if (!(wr[i].flags & FAR_WR_SIGNALED))
			continue;
		end->signaled = i + 1 == nr ? tail : end->tail;
		end->release[end->nr_due++ % RPC_DEPTH] = end->signaled;
		end->unsignaled = nr - 1 - i;
	}
}

/*
 * Posts nr operations, behind which the tail is `tail`; the last is signaled now and then. No
 * more completions are due than the queue has entries.
 */
static int out_push(struct rpc_end *end, struct far_wr *wr, unsigned nr, uint64_t tail)
{
	int err;

	if (end->unsignaled + nr >= RPC_SIGNAL || tail - end->signaled >= RPC_SIGNAL_BYTES)
		wr[nr - 1].flags |= FAR_WR_SIGNALED;
	err = end->nic->ops->post(end->end.send, end->end.idx, wr, nr);
	if (!err)
		due_note(end, wr, nr, tail);
	return err;
}

void rpc_out_done(struct rpc_end *end)
{
	if (end->nr_done != end->nr_due)
		end->released = end->release[end->nr_done++ % RPC_DEPTH];
}

int rpc_out_refresh(struct rpc_end *end)
{
	struct far_wr wr = {
		.remote = offsetof(struct rpc_control, head),
		.local = end->copy + HEAD_WORD,
		.len = 8,
		.lkey = end->lkey,
		.op = FAR_NIC_READ,
		.flags = FAR_WR_SIGNALED,
	};
	int err;

	if (end->reading)
		return 0;
	err = out_push(end, &wr, 1, end->tail);
	if (!err) {
		end->reading = true;
		end->head_reads++;
	}
	return err;
}

void rpc_out_head(struct rpc_end *end, uint64_t head)
{
	__atomic_store_n(&end->head_told, head, __ATOMIC_RELAXED);
}

static uint8_t *place_of(const struct rpc_end *end)
{
	return end->copy + (end->tail + end->skip) % RPC_RING;
}

void rpc_out_begin(struct rpc_end *end, uint32_t bytes)
{
	end->skip = lap_left(end->tail) < bytes ? lap_left(end->tail) : 0;
	end->out_len = sizeof(struct rpc_head);
	end->out_nr = 0;
}

void *rpc_out_add(struct rpc_end *end, const struct rpc_meta *meta)
{
	uint8_t *at = place_of(end) + end->out_len;

	memcpy(at, meta, sizeof(*meta));
	end->out_len += rpc_item(meta->len);
	end->out_nr++;
	return at + sizeof(*meta);
}

void rpc_out_trim(struct rpc_end *end, void *data, uint32_t len)
{
	struct rpc_meta *meta = (struct rpc_meta *)((uint8_t *)data - sizeof(*meta));

	end->out_len -= rpc_item(meta->len) - rpc_item(len);
	meta->len = len;
}

static void head_fill(struct rpc_end *end, uint64_t position, uint32_t len, unsigned nr,
		      unsigned flags)
{
	struct rpc_head *head = (struct rpc_head *)(end->copy + position % RPC_RING);

	*head = (struct rpc_head) {
		.len = len,
		.seq = end->seq_out,
		.head = __atomic_load_n(&end->head, __ATOMIC_RELAXED),
		.nr = nr,
		.flags = flags,
	};
	head->sum = rpc_sum(head, position);
	if (!++end->seq_out)
		end->seq_out = 1;
}

static struct far_wr write_of(const struct rpc_end *end, uint64_t position, uint32_t len)
{
	return (struct far_wr) {
		.remote = RPC_CONTROL + position % RPC_RING,
		.local = end->copy + position % RPC_RING,
		.len = len,
		.lkey = end->lkey,
		.op = FAR_NIC_WRITE,
	};
}

/* Makes the last operation one that wakes the other end, if that sleeps. */
static void wr_wake(struct rpc_end *end, struct far_wr *wr, uint64_t told)
{
	uint32_t imm = end->imm | (peer_sleeps(end, told) ? RPC_IMM_WAKE : 0);

	if (!imm)
		return;
	wr->op = FAR_NIC_WRITE_IMM;
	wr->arg[0] = imm;
}

/* The other end's word of credits, which goes before the message that it comes with. */
static struct far_wr write_credit(const struct rpc_end *end)
{
	return (struct far_wr) {
		.remote = offsetof(struct rpc_control, credit),
		.local = (void *)&end->credit,
		.len = sizeof(end->credit),
		.op = FAR_NIC_WRITE,
		.flags = FAR_WR_INLINE,
	};
}

/* What was told is on its way. */
static void told_note(struct rpc_end *end, const struct far_wr *last, uint64_t told)
{
	if (last->op == FAR_NIC_WRITE_IMM && last->arg[0] & RPC_IMM_WAKE)
		end->told_seen = told;
	end->imm = 0;
	end->credit_due = false;
}

int rpc_out_more(struct rpc_end *end, const struct far_wr *more, unsigned nr)
{
	struct far_wr wr[RPC_MORE];

	memcpy(wr, more, nr * sizeof(*more));
	return out_push(end, wr, nr, end->tail);
}

int rpc_out_post(struct rpc_end *end, const struct far_wr *more, unsigned nr)
{
	uint32_t len = rpc_round(end->out_len, RPC_ALIGN), seq = end->seq_out;
	uint64_t told = told_load(end), position = end->tail + end->skip;
	struct far_wr wr[RPC_MORE + 3];
	int err;

	if (nr)
		memcpy(wr, more, nr * sizeof(*more));
	if (end->credit_due)
		wr[nr++] = write_credit(end);

	if (end->skip) {
		head_fill(end, end->tail, end->skip, 0, RPC_SKIP);
		wr[nr++] = write_of(end, end->tail, sizeof(struct rpc_head));
	}
	memset(place_of(end) + end->out_len, 0, len - end->out_len);
	head_fill(end, position, len, end->out_nr, 0);
	wr[nr++] = write_of(end, position, len);
	wr_wake(end, &wr[nr - 1], told);
	err = out_push(end, wr, nr, position + len);
	if (err) {
		end->seq_out = seq;
		return err;
	}
	told_note(end, &wr[nr - 1], told);
	end->tail = position + len;
	end->messages++;
	return 0;
}

int rpc_out_wake(struct rpc_end *end)
{
	uint64_t told = told_load(end);
	struct far_wr wr = { .remote = RPC_CONTROL, .local = end->copy, .lkey = end->lkey };
	int err;

	if (!peer_sleeps(end, told))
		return 0;
	head_learn(end, told >> RPC_TOLD_HEAD_SHIFT << 5);
	if (end->peer_head == end->tail)
		return 0;
	wr_wake(end, &wr, told);
	err = out_push(end, &wr, 1, end->tail);
	if (!err) {
		end->told_seen = told;
		end->imm = 0;
	}
	return err;
}

int rpc_out_notify(struct rpc_end *end)
{
	uint64_t told = told_load(end);
	struct far_wr wr[2];
	unsigned nr = 0;
	int err;

	if (end->credit_due)
		wr[nr++] = write_credit(end);
	if (end->imm) {
		wr[nr] = (struct far_wr) {
			.remote = RPC_CONTROL, .local = end->copy, .lkey = end->lkey,
		};
		wr_wake(end, &wr[nr++], told);
	}
	err = nr ? out_push(end, wr, nr, end->tail) : 0;
	if (nr && !err)
		told_note(end, &wr[nr - 1], told);
	return err;
}

int rpc_out_probe(struct rpc_end *end, uint64_t now)
{
	struct far_wr wr = { .op = FAR_NIC_WRITE, .flags = FAR_WR_SIGNALED };
	bool heard = end->probe_seq != __atomic_load_n(&end->seq_in, __ATOMIC_RELAXED);
	int err = 0;

	if (end->nic->ops->caps & FAR_NIC_CAP_HEARS || now < end->probe_at)
		return 0;
	if (!heard && !end->probing)
		err = out_push(end, &wr, 1, end->tail);
	if (err)
		return err;
	end->probing |= !heard;
	end->probe_seq = __atomic_load_n(&end->seq_in, __ATOMIC_RELAXED);
	end->probe_at = now + RPC_PROBE_NS;
	return 0;
}

int rpc_out_sleep(struct rpc_end *end)
{
	uint64_t told = end->head / RPC_ALIGN << RPC_TOLD_HEAD_SHIFT |
			(uint64_t)(uint16_t)(end->sleep_nr + 1) << RPC_TOLD_SLEEP_SHIFT |
			RPC_TOLD_ASLEEP;
	struct far_wr wr = {
		.remote = offsetof(struct rpc_control, told),
		.local = &told,
		.len = sizeof(told),
		.arg = { RPC_IMM_LOOK },
		.op = FAR_NIC_WRITE_IMM,
		.flags = FAR_WR_INLINE,
	};
	int err = out_push(end, &wr, 1, end->tail);

	if (err)
		return err;
	end->sleep_nr++;
	end->asleep = true;
	return 0;
}
