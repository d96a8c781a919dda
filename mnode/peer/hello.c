// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Validates the hello. Anybody who can send a packet can send one: trust no byte of it.
 */
#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include "hello.h"

#define KNOWN_FEATURES	(ODRP_WIRE_F_KEYED | ODRP_WIRE_F_SIGNED | \
			 ODRP_WIRE_F_LONG_BEAT | ODRP_WIRE_F_DIRECT | \
			 ODRP_WIRE_F_KEPT | ODRP_WIRE_F_ASKS)

int hello_refuse(struct hello_no *no, enum odrp_wire_status status, uint64_t detail)
{
	no->status = status;
	no->detail = detail;
	return -EPERM;
}

static bool bytes_are_zero(const uint8_t *p, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++) {
		if (p[i])
			return false;
	}
	return true;
}

uint16_t hello_instances(uint16_t outstanding)
{
	uint32_t k = HELLO_MIN_DEPTH;

	while (k < (uint32_t)outstanding + 1 && k < 1u << 15)
		k *= 2;
	return k;
}

/* A resume must repeat what the session was granted, so its values are not clamped. */
static bool hello_is_resume(const struct hello *h)
{
	return h->role == ODRP_WIRE_ADMIN && h->session;
}

static int hello_check_admin(const struct odrp_wire_hello *w,
			     const struct hello_limits *limits, struct hello *h,
			     struct hello_no *no)
{
	if (w->chain || !w->session != !w->token)
		return hello_refuse(no, ODRP_WIRE_E_MALFORMED, 0);
	if (!h->queue)
		return hello_refuse(no, ODRP_WIRE_E_RANGE, limits->max_queues);
	if (!h->nr_slots || h->nr_slots > limits->max_slots)
		return hello_refuse(no, ODRP_WIRE_E_RANGE, limits->max_slots);
	if (h->queue > limits->max_queues && !hello_is_resume(h))
		h->queue = limits->max_queues;
	return 0;
}

static int hello_check_io(const struct odrp_wire_hello *w,
			  const struct hello_limits *limits, struct hello *h,
			  struct hello_no *no)
{
	if (w->nr_slots)
		return hello_refuse(no, ODRP_WIRE_E_MALFORMED, 0);
	if (w->chain >= ODRP_WIRE_NR_CHAINS)
		return hello_refuse(no, ODRP_WIRE_E_RANGE, ODRP_WIRE_NR_CHAINS - 1);
	if (h->queue >= limits->max_queues)
		return hello_refuse(no, ODRP_WIRE_E_RANGE, limits->max_queues - 1);
	return 0;
}

/* The pass replaces the token: the session's id in its place passes hello_check_admin(). */
struct odrp_wire_hello hello_of_signed(const struct odrp_auth_req *req,
				       uint64_t session)
{
	bool admin = req->role == ODRP_WIRE_ADMIN;

	return (struct odrp_wire_hello){
		.magic = htobe32(ODRP_WIRE_MAGIC),
		.version = htobe16(ODRP_WIRE_VERSION),
		.role = req->role,
		.chain = admin ? 0 : req->chain,
		.queue = req->queue,
		.depth = req->depth,
		.features = req->features,
		.session = htobe64(session),
		.token = htobe64(session),
		.nr_slots = req->nr_slots,
		.page_shift = admin ? req->chain : ODRP_WIRE_PAGE_SHIFT,
	};
}

int hello_check(const void *priv, size_t len, const struct hello_limits *limits,
		struct hello *ret_hello, struct hello_no *ret_no)
{
	struct odrp_wire_hello w;
	struct hello h;
	int r;

	if (len < sizeof(w))
		return hello_refuse(ret_no, ODRP_WIRE_E_MALFORMED, 0);
	memcpy(&w, priv, sizeof(w));
	if (be32toh(w.magic) != ODRP_WIRE_MAGIC)
		return hello_refuse(ret_no, ODRP_WIRE_E_MALFORMED, 0);
	if (be16toh(w.version) != ODRP_WIRE_VERSION)
		return hello_refuse(ret_no, ODRP_WIRE_E_VERSION, ODRP_WIRE_VERSION);
	if (!bytes_are_zero((const uint8_t *)priv + sizeof(w), len - sizeof(w)) ||
	    !bytes_are_zero(w.resv, sizeof(w.resv)))
		return hello_refuse(ret_no, ODRP_WIRE_E_MALFORMED, 0);
	h = (struct hello){
		.role = w.role,
		.chain = w.chain,
		.queue = be16toh(w.queue),
		.depth = be16toh(w.depth),
		.session = be64toh(w.session),
		.token = be64toh(w.token),
		.nr_slots = be64toh(w.nr_slots),
		.features = be32toh(w.features) & KNOWN_FEATURES,
	};
	if (w.role == ODRP_WIRE_ADMIN)
		r = hello_check_admin(&w, limits, &h, ret_no);
	else if (w.role == ODRP_WIRE_IO)
		r = hello_check_io(&w, limits, &h, ret_no);
	else
		r = hello_refuse(ret_no, ODRP_WIRE_E_MALFORMED, 0);
	if (r)
		return r;
	if (w.page_shift != ODRP_WIRE_PAGE_SHIFT)
		return hello_refuse(ret_no, ODRP_WIRE_E_RANGE, ODRP_WIRE_PAGE_SHIFT);
	if (!h.depth)
		return hello_refuse(ret_no, ODRP_WIRE_E_RANGE, limits->max_depth - 1);
	if (h.depth > limits->max_depth - 1 && !hello_is_resume(&h))
		h.depth = limits->max_depth - 1;
	*ret_hello = h;
	return 0;
}

void hello_reject(const struct hello_no *no, struct odrp_wire_reject *ret_rej)
{
	*ret_rej = (struct odrp_wire_reject){
		.magic = htobe32(ODRP_WIRE_MAGIC),
		.version = htobe16(ODRP_WIRE_VERSION),
		.status = htobe16(no->status),
		.detail = htobe64(no->detail),
	};
}

const char *hello_status_name(enum odrp_wire_status status)
{
	switch (status) {
	case ODRP_WIRE_OK:
		return "ok";
	case ODRP_WIRE_E_MALFORMED:
		return "malformed hello";
	case ODRP_WIRE_E_VERSION:
		return "other protocol version";
	case ODRP_WIRE_E_SESSION:
		return "no such session, or wrong token";
	case ODRP_WIRE_E_RANGE:
		return "a size is out of range";
	case ODRP_WIRE_E_BUSY:
		return "queue is connected already, or too many requests";
	case ODRP_WIRE_E_NOMEM:
		return "no memory or no pages to lease";
	case ODRP_WIRE_E_LIMIT:
		return "a limit is reached";
	case ODRP_WIRE_E_INTERNAL:
		return "internal error";
	case ODRP_WIRE_E_AUTH:
		return "not authenticated";
	case ODRP_WIRE_E_NO_SWAP:
		return "the NIC arms no chains, and the compute node knows no direct slabs";
	}
	return "unknown";
}
