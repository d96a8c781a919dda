// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Forged packets: they model a faulty memory node, as fault.c models a faulty
 * wire.  A packet is changed before its ICRC is computed, so the receiving NIC
 * accepts it, and only the receiving software can detect the fault.  Decisions
 * come from the NIC's seeded generator and concern packets that this NIC sends;
 * WQEs are executed unchanged.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "transport-priv.h"

#define PAGE	4096
/* The part of the private data that has a meaning. */
#define HELLO_LEN	112
/* The time until a page's data changes: at most this, while the receiver reads
 * the page. */
#define LATE_NS		400000
/* The time until an answer is repeated: at most this, when its request slot is
 * reused. */
#define AGAIN_NS	4000000

static uint32_t below(struct snic *nic, uint32_t n)
{
	return (snic_random(nic) >> 32) % n;
}

/* Is this packet to be forged, with probability p?  Counts it. */
static bool draws(struct snic *nic, double p)
{
	struct snic_forger *f = &snic_rc_of(nic)->forger;

	if (p <= 0 || f->eligible++ < f->conf.after ||
	    (f->conf.most && f->forged >= f->conf.most) ||
	    (snic_random(nic) >> 11) * 0x1p-53 >= p)
		return false;
	f->forged++;
	snic_stats(nic)->fault_forged++;
	return true;
}

/* Returns a wrong value of one of several typical kinds. */
static uint64_t wild(struct snic *nic, uint64_t old)
{
	switch (below(nic, 6)) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return old + 1;
	case 3:
		return old - 1;
	case 4:
		return below(nic, 256);
	default:
		return snic_random(nic);
	}
}

/* Changes the big-endian field of len bytes at p. */
static void make_wild(struct snic *nic, uint8_t *p, unsigned int len)
{
	uint64_t v = 0;
	unsigned int i;

	for (i = 0; i < len; i++)
		v = v << 8 | p[i];
	v = wild(nic, v);
	for (i = len; i--; v >>= 8)
		p[i] = v;
}

/* ---- data packets ------------------------------------------------------------ */

/* A random number, one near the old one, or one bit changed. */
static void forge_imm(struct snic *nic, struct snic_pkt *pkt)
{
	uint32_t imm = ntohl(pkt->imm);

	switch (below(nic, 3)) {
	case 0:
		imm = snic_random(nic);
		break;
	case 1:
		imm ^= 1 + below(nic, 15);
		break;
	default:
		imm ^= 1u << below(nic, 32);
		break;
	}
	pkt->imm = htonl(imm);
}

static void forge_data(struct snic *nic, uint8_t *data, uint32_t len)
{
	if (len >= 8)
		make_wild(nic, data + 8 * below(nic, len / 8), 8);
	else if (len)
		data[below(nic, len)] ^= 1 + below(nic, 255);
}

/*
 * Sets another RETH length, with or without a payload of that length.  Never 0
 * with a payload: rdma_rxe looks up no key for length 0, and that of 6.1
 * crashes, because it copies into a region that it has not looked up.
 */
static void forge_length(struct snic *nic, struct snic_pkt *pkt, uint8_t *data,
		       uint32_t *len, uint32_t mtu)
{
	uint32_t other = below(nic, 2) ? 4 * below(nic, mtu / 4 + 1) :
					 below(nic, mtu + 1);

	pkt->dma_len = below(nic, 8) ? other : (uint32_t)wild(nic, other);
	if (below(nic, 3)) {
		if (other > *len)
			memset(data + *len, 0xdb, other - *len);
		*len = other;
	}
	if (!pkt->dma_len)
		pkt->dma_len = *len;
}

/* An address near by, where another registration may be, or one of the
 * kernel's. */
static void forge_target(struct snic *nic, struct snic_pkt *pkt)
{
	switch (below(nic, 5)) {
	case 0:
		pkt->va += (uint64_t)PAGE * (1 + below(nic, 16));
		break;
	case 1:
		pkt->va -= (uint64_t)PAGE * (1 + below(nic, 16));
		break;
	case 2:
		pkt->va = wild(nic, pkt->va);
		break;
	case 3:
		pkt->rkey = wild(nic, pkt->rkey);
		break;
	default:
		pkt->rkey = 0;
		pkt->va = 0xffff888000000000ull +
			  (uint64_t)PAGE * below(nic, 1 << 15);
		break;
	}
}

/* Another kind of message, also of one packet. */
static void forge_opcode(struct snic *nic, struct snic_pkt *pkt)
{
	static const uint8_t kinds[] = {
		SNIC_OP_SEND_ONLY, SNIC_OP_SEND_ONLY_IMM, SNIC_OP_SEND_ONLY_INV,
		SNIC_OP_WRITE_ONLY, SNIC_OP_WRITE_ONLY_IMM,
	};

	if (!(snic_op_flags(pkt->opcode) & SNIC_OPF_IMM))
		pkt->imm = snic_random(nic);
	pkt->inv_rkey = pkt->rkey;
	pkt->opcode = kinds[below(nic, sizeof(kinds))];
}

static bool is_write_only(const struct snic_pkt *pkt)
{
	return pkt->opcode == SNIC_OP_WRITE_ONLY ||
	       pkt->opcode == SNIC_OP_WRITE_ONLY_IMM;
}

void snic_forge_packet(struct snic *nic, struct snic_pkt *pkt, uint8_t *data,
		     uint32_t *len, uint32_t mtu)
{
	const struct snic_forge *l = &snic_rc_of(nic)->forger.conf;

	if (snic_op_flags(pkt->opcode) & SNIC_OPF_IMM && draws(nic, l->imm))
		forge_imm(nic, pkt);
	if (*len && draws(nic, l->data))
		forge_data(nic, data, *len);
	if (!is_write_only(pkt))
		return;
	if (draws(nic, l->length))
		forge_length(nic, pkt, data, len, mtu);
	if (draws(nic, l->target))
		forge_target(nic, pkt);
	if (draws(nic, l->opcode))
		forge_opcode(nic, pkt);
}

/* ---- packets sent again -------------------------------------------------------- */

static void late_fire(struct snic *nic, struct snic_timer *t)
{
	struct snic_late *late = snic_rc_of(nic)->forger.late;
	struct snic_qp *qp = snic_qp_lookup(nic, late->qpn);

	(void)t;
	late->waiting = false;
	if (qp && qp->state == SNIC_QP_RTS && qp->req &&
	    qp->conn.dest_qpn == late->dest_qpn)
		rc_send_more(qp, &late->pkt, late->data, late->len);
}

/* Sends a copy some time later.  False: another packet is waiting for that
 * already. */
static bool send_later(struct snic_qp *qp, const struct snic_pkt *pkt,
		 const uint8_t *data, uint32_t len, uint32_t ns)
{
	struct snic *nic = qp->nic;
	struct snic_late *late = snic_rc_of(nic)->forger.late;

	if (!late || late->waiting)
		return false;
	late->waiting = true;
	late->qpn = qp->qpn;
	late->dest_qpn = qp->conn.dest_qpn;
	late->pkt = *pkt;
	late->pkt.ack_req = true;
	late->len = len;
	memcpy(late->data, data, len);
	snic_timer_set(nic, &late->timer, snic_now(nic) + below(nic, ns));
	return true;
}

void snic_forge_late(struct snic_qp *qp, const struct snic_pkt *pkt,
		   const uint8_t *data, uint32_t len)
{
	struct snic *nic = qp->nic;
	struct snic_forger *f = &snic_rc_of(nic)->forger;
	struct snic_late *late = f->late;
	uint32_t from = len / 8;

	if (!late || late->waiting || !len || !is_write_only(pkt) ||
	    !draws(nic, f->conf.late))
		return;
	send_later(qp, pkt, data, len, LATE_NS);
	late->pkt.opcode = SNIC_OP_WRITE_ONLY;
	late->pkt.dma_len = len;
	memset(late->data + from, below(nic, 256), len - from);
}

bool snic_forge_replay(struct snic_qp *qp, const struct snic_pkt *pkt,
		    const uint8_t *data, uint32_t len)
{
	struct snic *nic = qp->nic;

	return is_write_only(pkt) && draws(nic, snic_rc_of(nic)->forger.conf.replay) &&
	       (below(nic, 2) || !send_later(qp, pkt, data, len, AGAIN_NS));
}

static int late_new(struct snic *nic, struct snic_forger *f)
{
	int ret;

	f->late = calloc(1, sizeof(*f->late));
	if (!f->late)
		return -ENOMEM;
	ret = snic_timer_reserve(nic, 1);
	if (ret) {
		free(f->late);
		f->late = NULL;
		return ret;
	}
	snic_timer_init(&f->late->timer, late_fire);
	return 0;
}

void rc_forge_fini(struct snic *nic)
{
	struct snic_forger *f = &snic_rc_of(nic)->forger;

	if (!f->late)
		return;
	snic_timer_cancel(nic, &f->late->timer);
	snic_timer_unreserve(nic, 1);
	free(f->late);
	f->late = NULL;
}

/* ---- the connection's private data ------------------------------------------- */

void snic_forge_hello(struct snic *nic, uint8_t *priv)
{
	static const uint8_t lens[] = { 1, 2, 4, 8 };
	struct snic_forger *f = &snic_rc_of(nic)->forger;
	unsigned int len;

	if (!f->active || !draws(nic, f->conf.hello))
		return;
	do {
		len = lens[below(nic, 4)];
		make_wild(nic, priv + len * below(nic, HELLO_LEN / len), len);
	} while (below(nic, 2));
}

/* ---- set-up -------------------------------------------------------------------- */

int snic_set_forge(struct snic *nic, const struct snic_forge *conf)
{
	struct snic_forger *f = &snic_rc_of(nic)->forger;
	const double p[] = {
		conf->imm, conf->data, conf->length, conf->target, conf->replay,
		conf->late, conf->opcode, conf->hello,
	};
	unsigned int i;
	bool any = false;

	for (i = 0; i < sizeof(p) / sizeof(p[0]); i++) {
		if (!isfinite(p[i]) || p[i] < 0 || p[i] > 1)
			return -EINVAL;
		any |= p[i] > 0;
	}
	if (conf->late + conf->replay > 0 && !f->late && late_new(nic, f))
		return -ENOMEM;
	f->conf = *conf;
	f->eligible = f->forged = 0;
	f->active = any;
	return 0;
}
