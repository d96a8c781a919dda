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

void probe_describe(char answer[PROBE_ANSWER_MAX], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(answer, PROBE_ANSWER_MAX, fmt, ap);
	va_end(ap);
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
static int put_spoilt(struct raw *raw, unsigned int byte, uint8_t value)
{
	int r, i;

	for (i = 0, r = 0; !r && i < 3; i++)
		r = raw_put_nop(raw);
	if (!r)
		raw_wqe(raw, 1)[byte] ^= value;
	return r;
}

static int spoilt_describe(struct raw *raw, char *answer)
{
	struct wrc_cqe_err err;
	uint8_t syndrome;
	uint16_t bbs;
	bool error;
	int r;

	r = raw_executed(raw, &bbs, &error, &syndrome);
	if (r)
		return r;
	if (!error)
		probe_describe(answer, "runs; %u of 3 work requests executed", bbs);
	else if (first_error(raw, &err))
		probe_describe(answer, "stops the queue after %u of 3 work "
			       "requests, syndrome 0x%02x, vendor's 0x%02x", bbs,
			       err.syndrome, err.vendor_synd);
	else
		probe_describe(answer, "stops the queue after %u of 3 work "
			       "requests, without an error entry", bbs);
	return 0;
}

static int spoilt_nop(struct side *side, unsigned int byte, uint8_t value,
		      char *answer)
{
	struct raw raw;
	int r;

	r = raw_open(side, 0, NULL, &raw);
	if (r)
		return r;
	r = put_spoilt(&raw, byte, value);
	if (!r)
		r = raw_go(&raw);
	if (!r)
		r = spoilt_describe(&raw, answer);
	raw_close(&raw);
	return r;
}

static int wrong_index(struct side *side, char *answer)
{
	return spoilt_nop(side, 2, 0x55, answer);
}

static int wrong_qpn(struct side *side, char *answer)
{
	return spoilt_nop(side, 6, 0x55, answer);
}

/* ---- two queues ------------------------------------------------------------------ */

/* Opens a queue with NOPs; they have run, unless the queue is a slave. */
static int open_nops(struct side *side, unsigned int flags, unsigned int nops,
		     struct raw *ret)
{
	int r;

	r = raw_open(side, flags, NULL, ret);
	if (r)
		return r;
	while (!r && nops--)
		r = raw_put_nop(ret);
	if (!r && !(flags & RAW_SLAVE))
		r = raw_go(ret);
	if (r)
		raw_close(ret);
	return r;
}

/* struct duo - a master, and the queue that it waits for or enables */
struct duo {
	struct side *side;
	struct raw other, master;
};

/* together: both queues are in one protection domain. */
static int with_duo(struct side *side, unsigned int flags, unsigned int nops,
		    bool together, int (*work)(struct duo *d, char *answer),
		    char *answer)
{
	struct duo d = { .side = side };
	int r;

	r = open_nops(side, flags, nops, &d.other);
	if (r)
		return r;
	r = raw_open(side, RAW_MASTER, together ? &d.other : NULL, &d.master);
	if (r)
		goto close_other;
	r = work(&d, answer);
	raw_close(&d.master);
close_other:
	raw_close(&d.other);
	return r;
}

/* SEND_EN enables the queue, as in chains. */
static int do_wrong_index_enabled(struct duo *d, char *answer)
{
	int r;

	r = put_spoilt(&d->other, 2, 0x55);
	if (!r)
		r = raw_put_enable(&d->master, d->other.qpn, 3);
	if (!r)
		r = raw_go(&d->master);
	if (!r)
		r = spoilt_describe(&d->other, answer);
	return r;
}

static int wrong_index_enabled(struct side *side, char *answer)
{
	return with_duo(side, RAW_SLAVE, 0, true, do_wrong_index_enabled, answer);
}

/* ---- SEND_EN -------------------------------------------------------------------- */

/* The number of BBs that have run.  -EIO: the queue has stopped. */
static int executed(struct raw *raw, uint16_t *ret_bbs)
{
	uint8_t syndrome;
	bool error;
	int r = raw_executed(raw, ret_bbs, &error, &syndrome);

	return r ? r : error ? -EIO : 0;
}

static int do_enable_backwards(struct duo *d, char *answer)
{
	uint16_t first, then;
	int r;

	r = raw_put_enable(&d->master, d->other.qpn, 4);
	if (!r)
		r = raw_put_enable(&d->master, d->other.qpn, 2);
	if (!r)
		r = raw_go(&d->master);
	if (!r)
		r = executed(&d->other, &first);
	if (!r)
		r = raw_put_enable(&d->master, d->other.qpn, 6);
	if (!r)
		r = raw_go(&d->master);
	if (!r)
		r = executed(&d->other, &then);
	if (!r)
		probe_describe(answer, "after SEND_EN 4 and 2, %u work requests "
			       "have run; after SEND_EN 6, %u", first, then);
	return r;
}

static int enable_backwards(struct side *side, char *answer)
{
	return with_duo(side, RAW_SLAVE, 6, true, do_enable_backwards, answer);
}

static int two_masters(struct side *side, char *answer)
{
	struct raw a, b, slave;
	uint16_t bbs;
	int r;

	r = open_nops(side, RAW_SLAVE, 8, &slave);
	if (r)
		return r;
	r = raw_open(side, RAW_MASTER, &slave, &a);
	if (r)
		goto close_slave;
	r = raw_open(side, RAW_MASTER, &slave, &b);
	if (r)
		goto close_a;
	r = raw_put_enable(&a, slave.qpn, 7);
	if (!r)
		r = raw_put_enable(&b, slave.qpn, 3);
	if (!r)
		r = raw_ring(&a);
	if (!r)
		r = raw_go(&b);
	if (!r)
		r = executed(&slave, &bbs);
	if (!r)
		probe_describe(answer, "SEND_EN 7 and 3 from two queues: %u work "
			       "requests have run", bbs);
	raw_close(&b);
close_a:
	raw_close(&a);
close_slave:
	raw_close(&slave);
	return r;
}

/* Chains begin with a doorbell and go on by SEND_EN, as DPDK's crypto queues do; their
 * doorbell records are not written again. */
static int do_enable_after_doorbell(struct duo *d, char *answer)
{
	uint16_t rung, enabled;
	int r;

	r = raw_go(&d->other);
	if (!r)
		r = executed(&d->other, &rung);
	if (!r)
		r = raw_put_nop(&d->other);
	if (!r)
		r = raw_put_nop(&d->other);
	if (!r)
		r = raw_put_enable(&d->master, d->other.qpn, 4);
	if (!r)
		r = raw_go(&d->master);
	if (!r)
		r = executed(&d->other, &enabled);
	if (!r)
		probe_describe(answer, "after the doorbell for 2, %u work requests "
			       "have run; after SEND_EN 4, %u", rung, enabled);
	return r;
}

static int enable_after_doorbell(struct side *side, char *answer)
{
	return with_duo(side, RAW_SLAVE, 2, true, do_enable_after_doorbell, answer);
}

/* The answer decides what a chain could do to queues of others. */
static int do_enable_stranger(struct duo *d, char *answer)
{
	uint8_t syndrome;
	uint16_t bbs;
	bool error;
	int r;

	r = raw_put_enable(&d->master, d->other.qpn, 2);
	if (!r)
		r = raw_go(&d->master);
	if (!r)
		r = raw_executed(&d->master, &bbs, &error, &syndrome);
	if (!r && error)
		probe_describe(answer, "no: the queue stops with syndrome 0x%02x",
			       syndrome);
	else if (!r)
		r = executed(&d->other, &bbs);
	if (!r && !error)
		probe_describe(answer, bbs ? "yes" : "no: nothing happens");
	return r;
}

static int enable_stranger(struct side *side, char *answer)
{
	return with_duo(side, RAW_SLAVE, 2, false, do_enable_stranger, answer);
}

/* ---- WAIT ------------------------------------------------------------------------ */

static int do_wait_width(struct duo *d, char *answer)
{
	uint16_t bbs;
	int r;

	r = raw_put_wait(&d->master, d->other.scqn, 1u << 24);
	if (!r)
		r = raw_put_nop(&d->master);
	if (!r)
		r = raw_go(&d->master);
	if (!r)
		r = executed(&d->master, &bbs);
	if (!r)
		probe_describe(answer, bbs ?
			       "WAIT for entry 2^24 passes when there is entry 0: "
			       "24 bits or less are compared" :
			       "WAIT for entry 2^24 does not pass when there is "
			       "entry 0: more than 24 bits are compared");
	return r;
}

static int wait_width(struct side *side, char *answer)
{
	return with_duo(side, 0, 1, true, do_wait_width, answer);
}

static void rewrite_wait(struct raw *raw, uint32_t index)
{
	struct wrc_wqe_wait_en seg;
	uint8_t *at = raw_wqe(raw, 0) + sizeof(struct wrc_wqe_ctrl);

	memcpy(&seg, at, sizeof(seg));
	seg.index = htobe32(index);
	memcpy(at, &seg, sizeof(seg));
}

static int do_wait_reread(struct duo *d, char *answer)
{
	uint16_t blocked, alone, moved;
	int r;

	r = raw_put_wait(&d->master, d->other.scqn, 9);
	if (!r)
		r = raw_put_nop(&d->master);
	if (!r)
		r = raw_go(&d->master);
	if (!r)
		r = executed(&d->master, &blocked);
	rewrite_wait(&d->master, 0);
	side_settle(d->side);
	if (!r)
		r = executed(&d->master, &alone);
	if (!r)
		r = raw_put_nop(&d->other);
	if (!r)
		r = raw_go(&d->other);
	if (!r)
		r = executed(&d->master, &moved);
	if (!r)
		probe_describe(answer, "%s",
			       blocked ? "it did not wait at all" :
			       alone ? "its new index is seen at once" :
			       moved ? "its new index is seen when the CQ moves, not "
				  "before" :
				  "its new index is not seen");
	return r;
}

static int wait_reread(struct side *side, char *answer)
{
	return with_duo(side, 0, 1, true, do_wait_reread, answer);
}

/* Does a WAIT for a long past entry pass?  The comparison is presumably cyclic. */
static int do_wait_past(struct duo *d, char *answer)
{
	uint16_t past, future;
	int r;

	r = raw_put_wait(&d->master, d->other.scqn, 0xff0000);
	if (!r)
		r = raw_go(&d->master);
	if (!r)
		r = executed(&d->master, &past);
	if (!r)
		r = raw_put_wait(&d->master, d->other.scqn, 3);
	if (!r)
		r = raw_go(&d->master);
	if (!r)
		r = executed(&d->master, &future);
	if (!r && !past)
		probe_describe(answer, "no: with 3 entries, WAIT for entry "
			       "0xff0000 blocks");
	else if (!r)
		probe_describe(answer, "with 3 entries, WAIT for entry 0xff0000 "
			       "passes and for entry 3 %s",
			       future > past ? "passes" : "blocks");
	return r;
}

static int wait_past(struct side *side, char *answer)
{
	return with_duo(side, 0, 3, true, do_wait_past, answer);
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
	  CARD_ONLY, probe_check_off },
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
	  CARD_ONLY, probe_masked_wire },
	{ "counter-sets", "how many sets of counters are there for us?",
	  CARD_ONLY, probe_counter_sets },
	{ "counter-twice", "does one of them count twice what is sent twice?",
	  CARD_ONLY, probe_counter_twice },
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
