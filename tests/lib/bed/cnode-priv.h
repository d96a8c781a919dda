/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between cnode.c (requests) and cnode-conn.c (connections). */
#ifndef CNODE_PRIV_H
#define CNODE_PRIV_H

#include "cnode.h"

#define PAGE		ODRP_WIRE_PAGE_SIZE
#define REQ_ROOM	256	/* of a request without its page */
#define MAX_RAW		(PAGE + REQ_ROOM)
#define MAX_TAGS	1024
#define ADMIN_LOG_SQ	3
#define ADMIN_LOG_CQ	5

/* One outstanding request. */
struct tag {
	bool busy, sent, answered;
	uint64_t slot, cookie;
};

/**
 * struct conn - a queue pair to the memory node
 * @requests:	ever started
 * @posted, @completed: WQEs of the send queue
 * @tag_of:	by place in the send queue
 * @order:	tags as requests were numbered: handed out before @handed, answered
 *		before @told, started before @numbered
 * @held, @nr_held: tags of requests that are not posted yet, in order, so that
 *		later ones may speak for them
 * @promised:	the last request has said that the next is quiet
 * @nr_quiet:	quiet requests since the last that is to be answered
 * @bufs:	a request and a page for each tag
 * @bare:	takes no requests: READs and WRITEs by key
 */
struct conn {
	uint32_t cm_id, qpn;
	bool up, broken;
	uint16_t depth;
	unsigned int nr_busy, log_sq, log_rq;
	uint64_t requests;
	uint32_t posted, completed, received;
	uint32_t handed, told, numbered;
	uint16_t *order;
	unsigned int held[3], nr_held;
	bool promised, bare;
	unsigned int nr_quiet;
	struct tag *tags;
	uint16_t *tag_of;
	uint8_t *bufs;
	uint32_t key;
	uint8_t *sq, *rq;
	struct wrc_dbr *dbr;
};

/**
 * struct proof - what a handshake has brought
 * @handle:	0: there was none
 * @counter:	of the last request
 * @ends:	of the connection that is being made
 */
struct proof {
	uint64_t handle, counter;
	struct auth_key key;
	struct auth_ends ends;
};

struct admin_mem {
	struct odrp_wire_beat beat;
	struct odrp_wire_signed_grant signed_grant;
	uint8_t held[CNODE_SLABS / 8];
};

struct cnode {
	struct cnode_config cfg;
	uint32_t pdn, cqn, admin_cqn;
	struct wrc_cqe *cq, *admin_cq;
	struct conn admin;
	struct conn *conns;		/* [queue * 4 + chain] */
	unsigned int nr_conns;
	struct admin_mem *mem;
	uint32_t mem_key;
	struct cnode_info info;
	struct proof proof;
	uint64_t beat_raddr, epoch;
	uint32_t beat_rkey, tt_rkey, keys_rkey;
	uint32_t *keys;			/* rkeys, host order */
	struct odrp_wire_slab slab[CNODE_SLABS];
	unsigned int nr_idle;		/* slabs that no slot is in */
	uint64_t freed;			/* pages in use that are not kept */
	bool leaving;
};

static inline struct snic *enter(const struct cnode_config *cfg)
{
	if (cfg->rt)
		snic_rt_lock(cfg->rt);
	return cfg->nic;
}

static inline int leave(const struct cnode_config *cfg, int r)
{
	if (cfg->rt)
		snic_rt_unlock(cfg->rt);
	return r;
}

static inline struct conn *conn_of(const struct cnode *c, unsigned int queue,
				   enum odrp_wire_chain chain)
{
	return &c->conns[queue * ODRP_WIRE_NR_CHAINS + chain];
}

/* Bytes of a request, with the page if there is one. */
static inline size_t conn_req_bytes(unsigned int chain)
{
	bool store = chain == ODRP_WIRE_MAPPED_STORE ||
		     chain == ODRP_WIRE_UNMAPPED_STORE;

	return ODRP_WIRE_REQ_LEN + (store ? PAGE + ODRP_WIRE_END_LEN : 0);
}

/* Sends the REQ and waits for what comes back: *ev. */
int cnode_connect_to(const struct cnode_config *cfg, struct cnode *c, uint32_t qpn,
		     const void *priv, size_t len, struct snic_cm_event *ev,
		     uint32_t *ret_id, struct cnode_refusal *no);

/* cnode-auth.c: a handshake, if there is a secret; c->info.session is taken up. */
int cnode_prove(struct cnode *c, struct cnode_refusal *no);
/* The hello as a request of that queue pair, with the next counter. */
void cnode_sign(struct cnode *c, const struct odrp_wire_hello *h, uint32_t qpn,
		struct odrp_auth_req *ret_req);

static inline uint32_t cnode_beat_len(const struct cnode *c)
{
	return odrp_wire_beat_len(c->info.long_beats ? ODRP_WIRE_F_LONG_BEAT : 0);
}

/* Fills in the MAC of a heartbeat, if they have one. */
void cnode_sign_beat(const struct cnode *c, struct odrp_wire_beat *beat);
/* Does a grant count that has come behind that one? */
bool cnode_grant_counts(const struct cnode *c, const struct odrp_wire_signed_grant *g,
			uint64_t epoch);

/* The address of a slot's page; the fields of a heartbeat (cnode-slabs.c). */
void cnode_slab_page(const struct cnode *c, uint64_t slot, uint64_t *ret_raddr,
		     uint32_t *ret_rkey);
void cnode_slabs_beat(struct cnode *c, struct odrp_wire_beat *b);

/* READs len bytes (at most a page) of what the admin connection opens; they are in
 * *ret_bytes until the next call. */
int cnode_read_admin(struct cnode *c, uint64_t raddr, uint32_t rkey,
		     uint32_t len, const uint8_t **ret_bytes);
/* Tells the memory node that this is the end, if it still listens. */
void cnode_say_bye(struct cnode *c);
/* Takes in what the CM has to say. */
void cnode_events(struct cnode *c);

#endif /* CNODE_PRIV_H */
