/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between client-hostile.c (its life) and client-attack.c (what it sends). */
#ifndef TEST_FUZZ_CLIENT_HOSTILE_H
#define TEST_FUZZ_CLIENT_HOSTILE_H

#include "bed/cnode-priv.h"
#include "client.h"

#define SEND_ROOM	(MAX_RAW + 256)
#define NR_SENDS	256u
#define NR_RECVS	64u
#define HOSTILE_MEM	((NR_SENDS * SEND_ROOM + NR_RECVS * PAGE + 4095) & ~4095u)

/* Not of our own NIC's requester: a SEND_IMM whose packets are changed. */
#define HOSTILE_SEND_INV	0x01

/* In its place in the send queue: it must not go well. */
#define HOSTILE_FORBIDDEN	(MAX_TAGS + 1)

/**
 * struct hostile_wr - what is to be posted
 * @opcode:	enum wrc_wqe_opcode, or HOSTILE_SEND_INV
 * @local, @len: data; len 0: none
 * @imm:	immediate, or the key that is to be invalidated
 * @forbidden:	nothing must come of it
 */
struct hostile_wr {
	uint8_t opcode;
	void *local;
	uint32_t len;
	uint64_t raddr;
	uint32_t rkey;
	uint64_t swap_add, compare;
	uint32_t imm;
	bool forbidden;
};

/* HOSTILE_SEND_INV leaves by this port.  (client-port.c) */
void hostile_take_port(struct snic_port *port);
/* The immediate from which that is known. */
uint32_t hostile_imm(uint8_t opcode, uint32_t imm);

uint8_t *hostile_send_room(struct hostile *h);
uint8_t *hostile_recv_room(struct hostile *h);
/* A page of its own, that tells whose. */
void hostile_fill(struct hostile *h, void *page);
bool hostile_up(const struct hostile *h, unsigned int conn);
/* It takes no requests: READs and WRITEs by key. */
bool hostile_bare(const struct hostile *h, unsigned int conn);
/* As somebody who has seen all of some session would know it. */
uint32_t hostile_guess_key(struct hostile *h);
uint64_t hostile_guess_address(struct hostile *h);
/* -1: the admin connection. */
struct conn *hostile_conn(const struct hostile *h, int conn);
bool hostile_room(const struct hostile *h, int conn);
void hostile_post(struct hostile *h, int conn, const struct hostile_wr *wr);
bool hostile_may(struct hostile *h, unsigned int conn);
/* A slot that is untouched, mapped or not; -1: none was found. */
int hostile_slot(struct hostile *h, bool mapped);
/* A valid request; NULL: not now. */
uint8_t *hostile_make(struct hostile *h, unsigned int conn, size_t *ret_len);
void hostile_set_deaf(struct hostile *h, unsigned int conn, bool deaf);

#endif /* TEST_FUZZ_CLIENT_HOSTILE_H */
