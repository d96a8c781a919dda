// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * SENDs with invalidate, which the software NIC receives and does not post: the
 * hostile node's NIC sends one with an immediate, and on its way out another
 * opcode is written over it.  The headers have the same length; a packet that is
 * sent again is changed again.
 */
#include <endian.h>
#include <string.h>
#include "bed/frame.h"
#include "client-hostile.h"
#include "snic/net/pkt.h"
#include "snic/net/net-priv.h"

/* This bit of the immediate says that it is to become a key. */
#define IS_KEY		1u

#define BTH_OFF		SNIC_NET_HLEN
#define IMM_OFF		(BTH_OFF + 12)

static const struct snic_port_ops *real;
static struct snic_port_ops changed;

uint32_t hostile_imm(uint8_t opcode, uint32_t imm)
{
	return opcode == HOSTILE_SEND_INV ? imm | IS_KEY : imm & ~IS_KEY;
}

static bool is_message(const uint8_t *frame, size_t len)
{
	return len >= IMM_OFF + 4 && frame[12] == 8 && frame[13] == 0 &&
	       frame[23] == 17 && (frame[BTH_OFF] == SNIC_OP_SEND_LAST_IMM ||
				   frame[BTH_OFF] == SNIC_OP_SEND_ONLY_IMM);
}

static int send_changed(struct snic_port *port, const struct iovec *iov, int n)
{
	static uint8_t frame[SNIC_FRAME_MAX];
	struct iovec one = { .iov_base = frame };
	int i;

	for (i = 0; i < n; one.iov_len += iov[i++].iov_len)
		memcpy(frame + one.iov_len, iov[i].iov_base, iov[i].iov_len);
	if (!is_message(frame, one.iov_len) || !(frame[IMM_OFF + 3] & IS_KEY))
		return real->send(port, iov, n);
	frame[BTH_OFF] = frame[BTH_OFF] == SNIC_OP_SEND_LAST_IMM ?
			 SNIC_OP_SEND_LAST_INV : SNIC_OP_SEND_ONLY_INV;
	frame[IMM_OFF + 3] &= ~IS_KEY;
	frame_fix(frame, one.iov_len);
	return real->send(port, &one, 1);
}

void hostile_take_port(struct snic_port *port)
{
	real = port->ops;
	changed = *real;
	changed.send = send_changed;
	port->ops = &changed;
}
