/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One life of a memory node among honest and hostile compute nodes, in virtual
 * time and from a seed: what fuzz-client.c runs many of.
 */
#ifndef TEST_FUZZ_CLIENT_H
#define TEST_FUZZ_CLIENT_H

#include "bed/agent.h"

#define NR_HONEST	2
#define MAX_HOSTILE	2
#define HONEST_SLOTS	40
#define HOSTILE_SLOTS	48
#define LIFE_QUEUES	2
#define LIFE_DEPTH	7
#define NR_CONNS	(LIFE_QUEUES * ODRP_WIRE_NR_CHAINS)

/* What a hostile node does; a class is a set of them. */
enum act {
	ACT_REQUEST	= 1 << 0,	/* valid in form; any slot, mapped or not */
	ACT_RANGE	= 1 << 1,	/* aligned, outside of the table */
	ACT_TARGET	= 1 << 2,	/* a load to any address and key */
	ACT_SHORT	= 1 << 3,	/* a page cut short, or too long */
	ACT_ONE_SIDED	= 1 << 4,	/* READ, WRITE, atomics of its own; and all
					 * kinds of messages */
	ACT_CM		= 1 << 5,	/* hellos of any kind, half-open ones */
	ACT_BEAT	= 1 << 6,	/* any heartbeat */
	ACT_DIE		= 1 << 7,	/* the session ends in the middle */
	ACT_SAME_SLOT	= 1 << 8,	/* on all queues at once */
	ACT_DEAF	= 1 << 9,	/* no receive entries: answers wait */
	ACT_HANG_UP	= 1 << 10,	/* one connection ends in the middle */
	ACT_WORDS	= 1 << 11,	/* wrong bytes behind the head and the page */
	ACT_JUNK	= 1 << 12,	/* any bytes, any length */
	ACT_GREEDY	= 1 << 13,	/* more requests than credits */
	ACT_MISALIGNED	= 1 << 14,	/* table addresses between entries */
	ACT_STARVE	= 1 << 15,	/* takes every page there is */
	ACT_DROP	= 1 << 16,	/* one slot, stored to as if unmapped */
	ACT_WIRE	= 1 << 17,	/* a bad wire for everybody */
	ACT_NO_LOADS	= 1 << 18,
	ACT_RESUME	= 1 << 19,	/* loses its connections, and comes again */
	ACT_CUT_OFF	= 1 << 22,	/* a connection ends with its chain under way */
	/* Translation in the NIC: */
	ACT_KEYS	= 1 << 20,	/* READ, WRITE, atomics by any key */
	ACT_STALE	= 1 << 21,	/* by a key that led there a moment ago */
};

/* What may turn out to be wrong. */
enum wrong {
	RIGHT,
	WRONG_DOUBLED,		/* I1: a page in two places */
	WRONG_LOST,		/* I1: in none */
	WRONG_FOREIGN,		/* I1: an entry that is no page's address */
	WRONG_RING,		/* I1: the ring has holes, or was overtaken */
	WRONG_RETURN,		/* after the eviction not every page is back */
	WRONG_LEAK,		/* I3: an honest page arrived at a hostile node */
	WRONG_PAGE,		/* I3: an honest page is not as it was written */
	WRONG_UNASKED,		/* I6: an instance ran that nobody asked for */
	WRONG_SILENT,		/* an honest request is not answered */
	WRONG_BROKEN,		/* an honest connection broke */
	WRONG_KEY,		/* a key leads to what is not its CNode's */
	WRONG_ENTRY,		/* keys and table say different things */
	WRONG_STALE,		/* by a key that should lead nowhere */
	WRONG_POOL,		/* nobody's page is not as it was left */
	NR_WRONG,
};

struct life;

struct honest {
	struct life *life;
	unsigned int node, under_way;
	uint16_t version[HONEST_SLOTS];	/* 0: not mapped */
	bool busy[HONEST_SLOTS];
	uint64_t answers, refused;
};

#define MAX_OLD_KEYS	8

/**
 * struct hostile - a compute node that owns a session and keeps no rule
 * @mem, @key:	all its memory, open to everybody: requests, then what it
 *		receives
 * @next_send, @next_recv: places in there
 * @sent:	requests on each connection since the last quiet point
 * @asked:	requests on each connection, ever
 * @touched:	slots that had a request since then
 * @base:	of its slots, the first that it uses: with many, some are of its
 *		second key
 * @last_id, @answered: of the last request, and of the last answer on each connection
 * @old_key, @nr_old: of sessions that it had
 */
struct hostile {
	struct life *life;
	unsigned int node;
	struct cnode *c;
	uint8_t *mem;
	uint32_t key;
	unsigned int next_send, next_recv;
	unsigned int sent[NR_CONNS], asked[NR_CONNS];
	bool deaf[NR_CONNS];
	bool touched[HOSTILE_SLOTS];
	uint64_t base;
	uint32_t last_id, answered[NR_CONNS];
	uint32_t old_key[MAX_OLD_KEYS];
	unsigned int nr_old;
};

struct life_count {
	uint64_t lives, requests, others, answers, reconnects, sessions, quiet;
	uint64_t honest, resumed;
};

struct life {
	struct bed bed;
	unsigned int acts;
	uint64_t rnd;
	unsigned int nr_hostile;
	struct honest honest[NR_HONEST];
	struct hostile hostile[MAX_HOSTILE];
	struct life_count *count;
	uint64_t lent_then;		/* when free pages were marked */
	enum wrong wrong;
	char why[CHECK_PROBLEM_LEN + 80];
};

/* Runs one; about that many requests.  What was wrong stays in l->wrong. */
void life_run(struct life *l, unsigned int acts, uint64_t seed,
	      unsigned int requests, struct life_count *count);

/* ---- for the pieces ----------------------------------------------------- */

uint64_t life_random(struct life *l);
unsigned int life_below(struct life *l, unsigned int n);
/* True once in n. */
bool life_chance(struct life *l, unsigned int n);
/* The first wrong is kept. */
__attribute__((format(printf, 3, 4)))
void life_wrong(struct life *l, enum wrong wrong, const char *fmt, ...);
/* Lets the world run for that long, honest nodes taking in their answers. */
void life_pass(struct life *l, unsigned int ms);

/* Honest requests, so that pages change hands. */
void life_churn(struct life *l, unsigned int rounds);

/*
 * Translation in the NIC (client-look.c).  At any moment: keys lead to pages of
 * their CNode's that nobody else is to get, or nowhere; and with nothing under
 * way, to what the table says.
 */
void look_at_keys(struct life *l);
void look_at_all_keys(struct life *l);
/* Nobody's pages are as they were left, and are marked as nobody's. */
void look_at_pool(struct life *l);

void honest_open(struct honest *h, struct life *l, unsigned int node);
void honest_submit(struct honest *h, unsigned int max);
void honest_poll(struct honest *h);
/* Until everything is answered. */
void honest_wait(struct honest *h);
/* Connections are up. */
void honest_check(struct honest *h);
/* Every page is as it was written. */
void honest_verify(struct honest *h);
unsigned int honest_mapped(const struct honest *h);
/* What is in no hostile page: the page of an honest slot, and of nobody. */
#define HONEST_MAGIC	0xa5c396f1u
#define NOBODYS_MAGIC	0xd78be40cu
/* A piece of an honest page is in there, or of one that is nobody's. */
bool honest_seen(const void *mem, size_t len);

void hostile_init(struct hostile *h, struct life *l, unsigned int node);
void hostile_fini(struct hostile *h);
/* Connects what is not connected. */
void hostile_connect(struct hostile *h);
void hostile_act(struct hostile *h);
/* One request that goes well on each connection, all at once. */
void hostile_strike(struct hostile *h);
/* Takes in completions. */
void hostile_reap(struct hostile *h);
/* Requests that no receive entry waits for would be repeated for ever. */
void hostile_stop_stuck(struct hostile *h);
/* What was asked is over: the rules of a class begin anew. */
void hostile_quiet(struct hostile *h);
/* Looks for what it should never have received. */
void hostile_scan(struct hostile *h);
/* The session, as the agent knows it; NULL: none. */
struct sess *hostile_sess(const struct hostile *h);
/* Loses all its connections, and takes its session up again. */
void hostile_resume(struct hostile *h);
/* The end, as an act of its own. */
void hostile_end(struct hostile *h, bool say);

/* One request; chain and queue of its connection. */
void hostile_request(struct hostile *h, unsigned int conn, uint64_t tt_addr);
/* A READ, WRITE or atomic of its own, or a message that is no request, on a
 * connection or (-1) on admin. */
void hostile_one_sided(struct hostile *h, int conn);
void hostile_hello(struct hostile *h);
void hostile_beat(struct hostile *h);
/* Translation in the NIC: a READ or a WRITE of a slot (client-keys.c). */
void hostile_by_key(struct hostile *h, unsigned int conn, uint64_t slot);
/* One by any key, to any address, of any length. */
void hostile_any_key(struct hostile *h, int conn);
/* By the way that led to a page before its invalidate was answered. */
void hostile_stale(struct hostile *h);

#endif /* TEST_FUZZ_CLIENT_H */
