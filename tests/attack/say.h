/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What an attacker says to a memory node: frames of any address, and the attacks that
 * need no more than that. They are the same in virtual time (attack.h) and beside a
 * real machine (wire.c); who says them puts the frames on a wire.
 */
#ifndef TEST_ATTACK_SAY_H
#define TEST_ATTACK_SAY_H

#include <stdbool.h>
#include "odrp/auth.h"
#include "snic/cm/msg.h"
#include "snic/net/pkt.h"

#define ATTACK_FRAME	2048

/**
 * struct attack_from - who somebody is, or says he is
 * @mac:	of his station
 * @ip:		address
 * @port:	UDP; 0: that of frame.h
 */
struct attack_from {
	uint8_t mac[6];
	__be32 ip;
	uint16_t port;
};

/**
 * struct speaker - the attacker, as far as he speaks
 * @send:	puts a frame on his wire
 * @nr:		attacks so far
 * @frames:	that he has sent
 * @random:	the state of attack_random()
 * @mnode:	whom he attacks
 * @node:	the honest compute node
 * @own:	himself
 * @heard:	what he was answered: see attack_hear()
 */
struct speaker {
	void (*send)(struct speaker *s, const void *frame, size_t len);
	uint64_t nr, frames, random;
	struct attack_from mnode, node, own;
	struct {
		uint32_t local_id, remote_id;
		uint8_t cookie[ODRP_AUTH_MAC];
		bool accepted, asked;
		unsigned int nr_accepted, nr_asked;
	} heard;
};

uint32_t attack_random(struct speaker *s);

void attack_frame(struct speaker *s, const void *frame, size_t len);
/* BTH and what is behind it, in headers of who he says he is. */
void attack_roce(struct speaker *s, const struct attack_from *from, const void *bth,
		 size_t len);
void attack_pkt(struct speaker *s, const struct attack_from *from, struct snic_pkt pkt,
		const void *payload, size_t len);
void attack_cm(struct speaker *s, const struct attack_from *from,
	       const struct snic_cm_msg *msg);
/* A hello of that queue pair, as a compute node says it that has no secret. */
void attack_hello(struct speaker *s, const struct attack_from *from, uint32_t qpn);
/* He listens: a frame that came to him. */
void attack_hear(struct speaker *s, const uint8_t *frame, size_t len);

/**
 * struct attack_kind - an attack that needs an address only
 * @name:	in messages
 * @say:	sends a frame of it, the s->nr-th
 */
struct attack_kind {
	const char *name;
	void (*say)(struct speaker *s);
};

/* Ends with a NULL name. */
extern const struct attack_kind attack_kinds[];
/* The one of that name, which there is. */
const struct attack_kind *attack_kind_find(const char *name);

#endif /* TEST_ATTACK_SAY_H */
