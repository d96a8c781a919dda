/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Somebody who sends frames to a memory node beside an honest compute node, in virtual
 * time. He has a port of the memory node's software NIC for himself (a neighbour), or is
 * behind the port of the honest one, too (a stranger on the same network). A program
 * says what he sends, and how often; what the honest one has got is compared with what
 * it would have without him.
 *
 * Frames that the NIC receives take it no virtual time: what is measured is what an
 * attack has others wait for, not what it takes a processor to throw its frames away.
 */
#ifndef TEST_ATTACK_H
#define TEST_ATTACK_H

#include "bed/agent.h"
#include "bed/load.h"
#include "snic/cm/msg.h"
#include "snic/net/pkt.h"

#define ATTACK_FRAME	2048

/* Who he says he is. */
struct attack_from {
	uint8_t mac;			/* last byte */
	__be32 ip;
	uint16_t port;			/* UDP */
};

/**
 * struct attacker - one of them
 * @wire:	his port
 * @say:	sends something; at each period
 * @nr:		calls of it
 * @frames:	that he has sent
 */
struct attacker {
	struct snic_actor actor;
	struct link_port wire;
	struct bed *bed;
	bool behind_node;		/* not by his own port */
	uint64_t period, at;
	void (*say)(struct attacker *a);
	uint64_t nr, frames, random;
	uint32_t qpn;			/* that he knows */
};

#define ATTACK_MNODE_IP	htonl(0x0a4d0001)
#define ATTACK_MNODE_MAC 0
#define ATTACK_NODE_IP	htonl(0x0a4d0002)	/* of the honest one */
#define ATTACK_NODE_MAC	1
#define ATTACK_OWN_IP	htonl(0x0a4d0063)
#define ATTACK_OWN_MAC	99

/* Himself, and the honest node. */
extern struct attack_from attack_own, attack_node;

extern struct bed attack_bed;
extern struct load attack_load;
extern struct attacker attack_one;

uint32_t attack_random(struct attacker *a);

/* The bed with an honest node that works, and an attacker who is silent. */
void attack_open(enum conf_auth auth);
void attack_close(void);
/* From now on he says that each so many nanoseconds. */
void attack_begin(void (*say)(struct attacker *a), uint64_t period);
void attack_end(void);

void attack_frame(struct attacker *a, const void *frame, size_t len);
/* BTH and what is behind it, in headers of who he says he is. */
void attack_roce(struct attacker *a, const struct attack_from *from, const void *bth,
		 size_t len);
void attack_pkt(struct attacker *a, const struct attack_from *from, struct snic_pkt pkt,
		const void *payload, size_t len);
void attack_cm(struct attacker *a, const struct attack_from *from,
	       const struct snic_cm_msg *msg);
/* A REQ to the agent's port; priv: SNIC_CM_REQ_PRIV bytes, which belong to it; said: len
 * bytes for the agent. */
struct snic_cm_msg attack_req(struct attacker *a, const struct attack_from *from,
			      uint32_t qpn, const void *said, size_t len, uint8_t *priv);

/* Virtual time of that many requests of the honest one. */
uint64_t attack_work(unsigned int requests);
/* How often the memory node has noticed something of him: requests that were refused,
 * or for nobody who is known; frames of another's MAC or address; packets that were out
 * of turn, or of a strange origin; any frame. */
uint64_t attack_refused(void);
uint64_t attack_unknown(void);
uint64_t attack_spoofed(void);
uint64_t attack_dropped(void);
uint64_t attack_received(void);

/**
 * struct attack - what he does, and how often, in ns
 * @prepare:	or NULL
 * @noticed:	one of those above: a quarter of his frames at least
 */
struct attack {
	const char *name;
	enum conf_auth auth;
	void (*prepare)(struct attacker *a);
	void (*say)(struct attacker *a);
	uint64_t (*noticed)(void);
	uint64_t period;
};

/*
 * The same work without and with what he says: at most twice the time, all that is
 * stored is there and right, the connections are those of before, nobody else has a
 * session, and each page is in one place. Opens and closes the bed.
 */
void attack_beside_work(const struct attack *attack);

#endif /* TEST_ATTACK_H */
