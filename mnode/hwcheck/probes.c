// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The list of experiments, and the experiments on send queues: checks of WQEs, SEND_EN,
 * WAIT.  The others are in probes-*.c.
 */
#include <endian.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "probes.h"
#include "raw.h"

void probe_describe(struct side *side, const char *fmt, ...)
{
	va_list ap;

	if (side->err)
		return;
	va_start(ap, fmt);
	vsnprintf(side->answer, PROBE_ANSWER_MAX, fmt, ap);
	va_end(ap);
}

void probe_describe_use(struct raw *user, struct raw *used)
{
	struct nic_qp_info info = raw_info(user);

	if (!info.error)
		info = raw_info(used);
	if (info.error)
		probe_describe(user->side, "no: the queue stops with syndrome 0x%02x",
			       info.syndrome);
	else
		probe_describe(user->side, info.sq_executed ? "yes" :
			       "no: nothing happens");
}

int probe_ask(const struct probe *probe, struct side *side, char answer[PROBE_ANSWER_MAX])
{
	side->answer = answer;
	if (probe->ask)
		probe->ask(side);
	else
		probe_describe(side, "%s", probe->why_not);
	return side_take_err(side);
}

/* ---- checks of WQEs ----------------------------------------------------------- */

/* Finds the first error entry of a send queue.  False: there is none. */
static bool first_error(struct raw *raw, struct wrc_cqe_err *ret_err)
{
	struct nic *nic = raw->side->nic;
	struct wrc_cqe cqe;

	while (!nic->ops->cq_poll(nic, raw->scqn, &cqe)) {
		if (cqe.op_own >> 4 != WRC_CQE_REQ_ERR)
			continue;
		memcpy(ret_err, &cqe, sizeof(*ret_err));
		return true;
	}
	return false;
}

/* Puts three NOPs and changes a byte of the second one. */
static void put_spoilt(struct raw *raw, unsigned int byte, uint8_t value)
{
	int i;

	for (i = 0; i < 3; i++)
		raw_put_nop(raw);
	raw_wqe(raw, 1)[byte] ^= value;
}

static void spoilt_describe(struct raw *raw)
{
	struct nic_qp_info info = raw_info(raw);
	struct wrc_cqe_err err;

	if (!info.error)
		probe_describe(raw->side, "runs; %u of 3 work requests executed",
			       info.sq_executed);
	else if (first_error(raw, &err))
		probe_describe(raw->side, "stops the queue after %u of 3 work "
			       "requests, syndrome 0x%02x, vendor's 0x%02x",
			       info.sq_executed, err.syndrome, err.vendor_synd);
	else
		probe_describe(raw->side, "stops the queue after %u of 3 work "
			       "requests, without an error entry", info.sq_executed);
}

static void spoilt_nop(struct side *side, unsigned int byte, uint8_t value)
{
	struct raw raw;

	if (!raw_open(side, 0, NULL, &raw))
		return;
	put_spoilt(&raw, byte, value);
	raw_go(&raw);
	spoilt_describe(&raw);
	raw_close(&raw);
}

static void wrong_index(struct side *side)
{
	spoilt_nop(side, 2, 0x55);
}

static void wrong_qpn(struct side *side)
{
	spoilt_nop(side, 6, 0x55);
}

/* ---- two queues ------------------------------------------------------------------ */

/* struct duo - a master, and the queue that it waits for or enables */
struct duo {
	struct raw other, master;
};

static void close_duo(struct duo *d)
{
	raw_close(&d->master);
	raw_close(&d->other);
}

/* The other queue has NOPs; they have run, unless it is a slave.  together: both are in one
 * protection domain.  False: side->err. */
static bool open_duo(struct side *side, unsigned int flags, unsigned int nops,
		     bool together, struct duo *d)
{
	*d = (struct duo){ .other.side = NULL };
	if (!raw_open(side, flags, NULL, &d->other))
		return false;
	while (nops--)
		raw_put_nop(&d->other);
	if (!(flags & RAW_SLAVE))
		raw_go(&d->other);
	if (raw_open(side, RAW_MASTER, together ? &d->other : NULL, &d->master))
		return true;
	close_duo(d);
	return false;
}

/* SEND_EN enables the queue, as in chains. */
static void wrong_index_enabled(struct side *side)
{
	struct duo d;

	if (!open_duo(side, RAW_SLAVE, 0, true, &d))
		return;
	put_spoilt(&d.other, 2, 0x55);
	raw_put_enable(&d.master, d.other.qpn, 3);
	raw_go(&d.master);
	spoilt_describe(&d.other);
	close_duo(&d);
}

/* ---- SEND_EN -------------------------------------------------------------------- */

/* The number of BBs that have run.  A queue that has stopped is a failure. */
static uint16_t executed(struct raw *raw)
{
	struct nic_qp_info info = raw_info(raw);

	if (info.error)
		side_fail(raw->side, -EIO);
	return info.sq_executed;
}

/* Lets the master enable the other queue up to `limit`; returns how much of that has run. */
static uint16_t enabled(struct duo *d, uint16_t limit)
{
	raw_put_enable(&d->master, d->other.qpn, limit);
	raw_go(&d->master);
	return executed(&d->other);
}

static void enable_backwards(struct side *side)
{
	uint16_t first, then;
	struct duo d;

	if (!open_duo(side, RAW_SLAVE, 6, true, &d))
		return;
	raw_put_enable(&d.master, d.other.qpn, 4);
	first = enabled(&d, 2);
	then = enabled(&d, 6);
	probe_describe(side, "after SEND_EN 4 and 2, %u work requests have run; after "
		       "SEND_EN 6, %u", first, then);
	close_duo(&d);
}

static void two_masters(struct side *side)
{
	struct raw second;
	struct duo d;

	if (!open_duo(side, RAW_SLAVE, 8, true, &d))
		return;
	if (raw_open(side, RAW_MASTER, &d.other, &second)) {
		raw_put_enable(&d.master, d.other.qpn, 7);
		raw_put_enable(&second, d.other.qpn, 3);
		raw_ring(&d.master);
		raw_go(&second);
		probe_describe(side, "SEND_EN 7 and 3 from two queues: %u work requests "
			       "have run", executed(&d.other));
		raw_close(&second);
	}
	close_duo(&d);
}

/* Chains begin with a doorbell and go on by SEND_EN, as DPDK's crypto queues do; their
 * doorbell records are not written again. */
static void enable_after_doorbell(struct side *side)
{
	uint16_t rung;
	struct duo d;

	if (!open_duo(side, RAW_SLAVE, 2, true, &d))
		return;
	raw_go(&d.other);
	rung = executed(&d.other);
	raw_put_nop(&d.other);
	raw_put_nop(&d.other);
	probe_describe(side, "after the doorbell for 2, %u work requests have run; after "
		       "SEND_EN 4, %u", rung, enabled(&d, 4));
	close_duo(&d);
}

/* The answer decides what a chain could do to queues of others. */
static void enable_stranger(struct side *side)
{
	struct duo d;

	if (!open_duo(side, RAW_SLAVE, 2, false, &d))
		return;
	raw_put_enable(&d.master, d.other.qpn, 2);
	raw_go(&d.master);
	probe_describe_use(&d.master, &d.other);
	close_duo(&d);
}

/* ---- WAIT ------------------------------------------------------------------------ */

static void wait_width(struct side *side)
{
	struct duo d;

	if (!open_duo(side, 0, 1, true, &d))
		return;
	raw_put_wait(&d.master, d.other.scqn, 1u << 24);
	raw_put_nop(&d.master);
	raw_go(&d.master);
	probe_describe(side, executed(&d.master) ?
		       "WAIT for entry 2^24 passes when there is entry 0: 24 bits or "
		       "less are compared" :
		       "WAIT for entry 2^24 does not pass when there is entry 0: more "
		       "than 24 bits are compared");
	close_duo(&d);
}

static void rewrite_wait(struct raw *raw, uint32_t index)
{
	struct wrc_wqe_wait_en seg;
	uint8_t *at = raw_wqe(raw, 0) + sizeof(struct wrc_wqe_ctrl);

	memcpy(&seg, at, sizeof(seg));
	seg.index = htobe32(index);
	memcpy(at, &seg, sizeof(seg));
}

static void wait_reread(struct side *side)
{
	uint16_t blocked, alone, moved;
	struct duo d;

	if (!open_duo(side, 0, 1, true, &d))
		return;
	raw_put_wait(&d.master, d.other.scqn, 9);
	raw_put_nop(&d.master);
	raw_go(&d.master);
	blocked = executed(&d.master);
	rewrite_wait(&d.master, 0);
	side_settle(side);
	alone = executed(&d.master);
	raw_put_nop(&d.other);
	raw_go(&d.other);
	moved = executed(&d.master);
	probe_describe(side, blocked ? "it did not wait at all" :
		       alone ? "its new index is seen at once" :
		       moved ? "its new index is seen when the CQ moves, not before" :
		       "its new index is not seen");
	close_duo(&d);
}

/* Does a WAIT for a long past entry pass?  The comparison is presumably cyclic. */
static void wait_past(struct side *side)
{
	uint16_t past, future;
	struct duo d;

	if (!open_duo(side, 0, 3, true, &d))
		return;
	raw_put_wait(&d.master, d.other.scqn, 0xff0000);
	raw_go(&d.master);
	past = executed(&d.master);
	raw_put_wait(&d.master, d.other.scqn, 3);
	raw_go(&d.master);
	future = executed(&d.master);
	if (!past)
		probe_describe(side, "no: with 3 entries, WAIT for entry 0xff0000 blocks");
	else
		probe_describe(side, "with 3 entries, WAIT for entry 0xff0000 passes and "
			       "for entry 3 %s", future > past ? "passes" : "blocks");
	close_duo(&d);
}

/* ---- the list ---------------------------------------------------------------------- */

#define ANY		false, false, false
#define CARD_ONLY	true, false, false
#define RELIED		false, true, false
#define KEYS		false, false, true

const struct probe probes[] = {
	{ "wqe-index", "what does a wrong index in a work request do?",
	  ANY, wrong_index },
	{ "wqe-index-enabled", "and in one that SEND_EN has enabled?",
	  ANY, wrong_index_enabled },
	{ "wqe-qpn", "what does a wrong queue pair number do?",
	  ANY, wrong_qpn },
	{ "wqe-check-off", "can these checks be switched off by the card's "
	  "registers (mcra), also with secured firmware?",
	  CARD_ONLY, NULL, "not asked: it changes the whole card, for everybody "
	  "on it; chains renew what is checked" },
	{ "enable-backwards", "what does SEND_EN behind the limit do?",
	  ANY, enable_backwards },
	{ "enable-two-masters", "which of two SEND_ENs counts?",
	  ANY, two_masters },
	{ "enable-after-doorbell", "does SEND_EN go on where the doorbell "
	  "began?", RELIED, enable_after_doorbell },
	{ "enable-stranger", "may SEND_EN name a queue of another protection "
	  "domain?", ANY, enable_stranger },
	{ "fence-order", "behind a fence, is what a READ has brought there for "
	  "another queue? (order=fence)", ANY, probe_fence },
	{ "wait-reread", "is a WAIT that blocks read again?",
	  ANY, wait_reread },
	{ "wait-width", "how many bits does WAIT compare?", ANY, wait_width },
	{ "wait-cyclic", "is what WAIT compares cyclic?", ANY, wait_past },
	{ "record-lowered", "is the receive record read for each message?",
	  ANY, probe_dbr_lowered },
	{ "record-raised", "is it read again when a message is retried?",
	  ANY, probe_dbr_raised },
	{ "entry-renewed", "does a message go where a queue of ours has let "
	  "its entry lead, before it posted it again?",
	  RELIED, probe_entry_renewed },
	{ "entry-rewritten", "and if the entry was posted before?",
	  ANY, probe_entry_rewritten },
	{ "page-received", "is a page there when another queue has waited for "
	  "its message?", RELIED, probe_page_received },
	{ "page-sent", "is it at its peer when another queue has waited for "
	  "its WRITE?", ANY, probe_page_sent },
	{ "uar-target", "may SEND_EN name a queue of another doorbell page?",
	  CARD_ONLY, probe_uar_target },
	{ "uar-cq", "may WAIT name a CQ of another doorbell page?",
	  CARD_ONLY, probe_uar_cq },
	{ "masked-fetch-add", "where do carries of masked fetch-and-add stop, "
	  "and in which order are the bytes?", RELIED, probe_masked_fa },
	{ "masked-compare-swap", "does masked compare-and-swap exchange?",
	  RELIED, probe_masked_cs },
	{ "masked-two-queues", "do masked atomics of two queues on one word "
	  "come one after another?", RELIED, probe_two_queues },
	{ "masked-misaligned", "is an atomic between two words refused?",
	  RELIED, probe_misaligned },
	{ "masked-wire", "how do masked atomics look on the wire?",
	  CARD_ONLY, NULL, "not asked: loopback packets cannot be seen; capture "
	  "them between two ports" },
	{ "counter-sets", "how many sets of counters are there for us?",
	  CARD_ONLY, probe_counter_sets },
	{ "counter-twice", "does one of them count twice what is sent twice?",
	  CARD_ONLY, NULL, "not asked: loopback loses nothing, so nothing is "
	  "sent twice; lose packets between two ports" },
	{ "sq-counter", "does the send queue's counter stand before a WAIT "
	  "that blocks?", ANY, probe_sq_counter },
	{ "sq-counter-error", "and before a work request that failed?",
	  ANY, probe_sq_counter_error },
	{ "cq-counter", "is the CQ's producer counter of this moment?",
	  ANY, probe_cq_counter },
	{ "cq-acknowledged", "is an answer counted before it is acknowledged?",
	  RELIED, probe_cq_acknowledged },
	{ "cq-received", "is a message counted when what waits for it runs?",
	  RELIED, probe_cq_received },
	{ "keys-entries", "what does a peer reach by an indirect key?",
	  KEYS, probe_keys_entries },
	{ "keys-chain", "does a UMR work that a chain has written a key and an "
	  "offset into, and enabled?", KEYS, probe_keys_chain },
	{ "keys-taken", "is a page still reached when the UMR that took it away "
	  "is complete?", KEYS, probe_keys_taken },
	{ "keys-stranger", "may a UMR name a key of another protection domain?",
	  ANY, probe_keys_stranger },
	{ "keys-behind", "does a READ right behind a UMR in its queue use its "
	  "entry?", ANY, probe_keys_behind },
};

const unsigned int nr_probes = sizeof(probes) / sizeof(probes[0]);
