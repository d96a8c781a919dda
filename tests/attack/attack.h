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

#include <stddef.h>
#include "bed/agent.h"
#include "bed/load.h"
#include "say.h"

/**
 * struct attacker - one of them
 * @speaker:	what he says
 * @wire:	his port
 * @say:	sends something; at each period
 */
struct attacker {
	struct snic_actor actor;
	struct speaker speaker;
	struct link_port wire;
	struct bed *bed;
	bool behind_node;		/* not by his own port */
	uint64_t period, at;
	void (*say)(struct speaker *s);
	uint32_t qpn;			/* that he knows */
};

static inline struct attacker *attacker_of(struct speaker *s)
{
	return (struct attacker *)((char *)s - offsetof(struct attacker, speaker));
}

extern struct bed attack_bed;
extern struct load attack_load;
extern struct attacker attack_one;

/* The bed with an honest node that works, and an attacker who is silent; and with further
 * nodes that have not come yet. */
void attack_open(enum conf_auth auth);
void attack_open_more(enum conf_auth auth, unsigned int more);
void attack_close(void);
/* From now on he says that each so many nanoseconds. */
void attack_begin(void (*say)(struct speaker *s), uint64_t period);
void attack_end(void);

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
	void (*say)(struct speaker *s);
	uint64_t (*noticed)(void);
	uint64_t period;
};

/*
 * The same work without and with what he says: at least 0.9 of the rate, all that is
 * stored is there and right, the connections are those of before, nobody else has a
 * session, and each page is in one place. Opens and closes the bed.
 */
void attack_beside_work(const struct attack *attack);

#endif /* TEST_ATTACK_H */
