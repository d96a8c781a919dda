/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For the transport's tests: two hosts joined by a cable that loses, repeats,
 * reorders and damages packets as asked.
 */
#ifndef TEST_BED_CABLE_H
#define TEST_BED_CABLE_H

#include "end.h"
#include "snic/net/pkt.h"

#define CABLE_LATENCY	5000	/* ns, one way */
#define CABLE_FRAME_LEN	4400

struct cable_faults {
	double loss, duplicate, reorder, corrupt;
};

struct cable;

/*
 * Looks at a RoCEv2 packet before the faults do: pkt is decoded, from is the
 * side that sent it.  false: lost.
 */
typedef bool (*cable_filter)(struct cable *c, unsigned int from,
			     const struct snic_pkt *pkt);

/* A side's end, as its tap has it. */
struct cable_side {
	struct cable *cable;
	unsigned int nr;
};

struct cable {
	struct snic_vt vt;
	struct host host[2];
	struct cable_side side[2];
	struct cable_faults faults;
	uint64_t rng;
	cable_filter filter;
	uint64_t packets[2];	/* RoCEv2 packets sent by each side */
	uint64_t acks[2];	/* of them plain ACKs, NAKs */
};

void cable_open(struct cable *c, uint64_t seed);
void cable_close(struct cable *c);
/* Runs for ns of simulated time. */
void cable_run(struct cable *c, uint64_t ns);
uint64_t cable_random(struct cable *c);
/* Puts a RoCEv2 packet on the cable as if side `from` had sent it: bth with
 * everything behind it, without ICRC. */
void cable_inject(struct cable *c, unsigned int from, const void *bth,
		  size_t len);

void fill(void *p, size_t len, uint32_t seed);
void expect_filled(const void *p, size_t len, uint32_t seed);

/* ---- a pair of connected ends, and memory on both sides ---- */

#define PAIR_BUF (3u << 20)

struct pair {
	struct cable c;
	struct end a, b;
	uint8_t *src, *dst;	/* PAIR_BUF bytes at a, at b */
	uint64_t *word;		/* at b */
	uint64_t *old;		/* at a: results of atomics */
	bool unsignaled;	/* put() makes WQEs without a CQE */
};

extern const struct snic_qp_conn pair_conn;
/* psn: the first one of a.  conn NULL: pair_conn. */
void pair_open(struct pair *p, uint64_t seed, uint32_t psn,
	       const struct snic_qp_conn *conn);
void pair_close(struct pair *p);
void pair_join(struct end *a, struct end *b, uint32_t psn,
	       const struct snic_qp_conn *conn);
/* A WQE of a from or to src + off and, unless it is a SEND, dst + off. */
void put(struct pair *p, uint8_t opcode, uint32_t off, uint32_t len,
	 uint32_t imm);
void put_atomic(struct pair *p, uint8_t opcode, unsigned int i, uint64_t x,
		uint64_t y);
/* Runs until a CQ has n CQEs in all. */
void run_until(struct pair *p, struct host *b, uint32_t cqn, uint32_t n);
struct snic_stats stats(struct pair *p, unsigned int side);
struct snic_qp *qp_of(struct end *e);
/* a's next CQE is the error that has broken it. */
void expect_req_error(struct pair *p, uint8_t syndrome, uint16_t counter);
void expect_done(struct pair *p, uint16_t counter);
/* A filter. */
bool drop_all(struct cable *c, unsigned int from, const struct snic_pkt *pkt);

#endif /* TEST_BED_CABLE_H */
