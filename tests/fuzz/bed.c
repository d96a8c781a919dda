// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One host for the fuzz targets: see bed.h. */
#include "bed.h"

void fuzz_open(struct fuzz_bed *b)
{
	host_open_plugged(&b->host, 2, 1);
	b->qpn = host_qp(&b->host);
}

void fuzz_close(struct fuzz_bed *b)
{
	host_close(&b->host);
}

void fuzz_receive(struct fuzz_bed *b, const uint8_t *frame, size_t len,
		  uint64_t ns)
{
	link_inject(&b->host.port, frame, len, 0);
	host_wait(&b->host, ns);
}

void fuzz_check_cm(struct fuzz_bed *b)
{
	struct snic_cm *cm = snic_cm_of(b->host.nic);
	unsigned int conns = 0, pending = 0, chained = 0, i;
	struct snic_cm_conn *c;

	for (i = 0; i < SNIC_CM_MAX_CONNS && conns < cm->nr_conns; i++) {
		c = cm->slots[i];
		if (!c)
			continue;
		conns++;
		pending += c->state == SNIC_CM_ST_REQ_RCVD;
		FUZZ_ASSERT(c->state != SNIC_CM_ST_DEAD || c->held);
		FUZZ_ASSERT(c->queued == !!c->events);
		FUZZ_ASSERT(!c->queued || c->held);
		FUZZ_ASSERT(!c->qp || c->qp->cm == c);
		FUZZ_ASSERT(c->state != SNIC_CM_ST_REP_SENT || c->qp);
		/* Every wait ends. */
		FUZZ_ASSERT(c->timer.when != SNIC_NEVER ||
			    c->state == SNIC_CM_ST_REQ_RCVD ||
			    c->state == SNIC_CM_ST_ESTABLISHED ||
			    c->state == SNIC_CM_ST_DEAD);
	}
	for (i = 0; i < SNIC_CM_BUCKETS; i++)
		for (c = cm->buckets[i]; c; c = c->peer_next)
			chained++;
	FUZZ_ASSERT(conns == cm->nr_conns);
	FUZZ_ASSERT(chained == cm->nr_conns);
	FUZZ_ASSERT(pending == cm->nr_pending);
}
