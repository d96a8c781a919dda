/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For the transport's tests: two NICs joined by a cable in memory that loses,
 * repeats, reorders and damages frames as asked, in simulated time.
 */
#ifndef TEST_SNIC_CABLE_H
#define TEST_SNIC_CABLE_H

#include "loop.h"
#include "snic/net/pkt.h"
#include "snic/vt.h"

#define MS		1000000ull
#define SECOND		(1000 * MS)
#define CABLE_LATENCY	5000	/* ns, one way */
#define CABLE_FRAMES	8192
#define CABLE_FRAME_LEN	4400

struct cable_faults {
	double loss, duplicate, reorder, corrupt;
};

struct cable_frame {
	uint64_t due;
	uint64_t nr;		/* breaks ties: in order */
	unsigned int to;	/* side */
	size_t len;
	uint8_t data[CABLE_FRAME_LEN];
};

struct cable;

struct cable_side {
	struct snic_port port;
	struct cable *cable;
	unsigned int nr;
	struct bed bed;
	struct snic_vt_nic actor;
};

/*
 * Looks at a RoCEv2 packet before the faults do: pkt is decoded, from is the
 * side that sent it.  false: lost.
 */
typedef bool (*cable_filter)(struct cable *c, unsigned int from,
			     const struct snic_pkt *pkt);

struct cable {
	struct snic_actor actor;	/* frames that come later */
	struct snic_vt vt;
	struct cable_side side[2];
	struct cable_faults faults;
	uint64_t rng, nr;
	struct cable_frame *frames[CABLE_FRAMES];	/* heap by due, nr */
	unsigned int nr_frames;
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
void run_until(struct pair *p, struct bed *b, uint32_t cqn, uint32_t n);
struct snic_stats stats(struct pair *p, unsigned int side);

#endif /* TEST_SNIC_CABLE_H */
