// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The agent's set-up: what its settings mean on this NIC, its chain programs, its
 * pages, and the end of it all.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "log.h"
#include "manager.h"

static bool is_store(unsigned int chain)
{
	return chain == ODRP_WIRE_MAPPED_STORE ||
	       chain == ODRP_WIRE_UNMAPPED_STORE;
}

/* With fences, or with keys, odrp-hwcheck has compared no other programs. */
static bool compared(const struct conf *conf)
{
	return conf->exchange && conf->node_recycles;
}

/* What is left to us, by what is known of this NIC. */
static void settle(struct manager *m)
{
	const struct conf *conf = m->conf;

	m->waits = conf->order == CONF_ORDER_AUTO ?
		   !(compared(conf) && m->nic->node->keeps_fences) :
		   conf->order == CONF_ORDER_WAIT;
	m->nic_translates = conf->translate == CONF_TRANSLATE_AUTO ?
			    compared(conf) && m->nic->node->keeps_keys :
			    conf->translate == CONF_TRANSLATE_NIC;
	m->nic->node->fence_orders = !m->waits;
}

/* Does the NIC take receive entries of so many segments? */
static bool fits_nic(const struct manager *m, const struct wrc_prog *prog,
		     unsigned int *ret_len)
{
	struct wrc_geom geom;

	if (!m->nic->node->max_recv_len ||
	    wrc_geom_init(prog, HELLO_MIN_DEPTH, &geom))
		return true;
	*ret_len = 1u << geom.log_rq_stride;
	return *ret_len <= m->nic->node->max_recv_len;
}

static int build_prog(struct manager *m, unsigned int c)
{
	struct wrc_opts opts = {
		.strict_index = m->nic->node->strict_index,
		.recycle = m->conf->node_recycles ? WRC_RECYCLE_NODE :
						    WRC_RECYCLE_CLIENT,
		.variant = m->conf->exchange && is_store(c) ?
			   WRC_V_EXCHANGE : WRC_V_OURS,
		.order = m->waits ? WRC_ORDER_WAIT : WRC_ORDER_FENCE,
	};
	unsigned int len;
	int r;

	r = wrc_prog_build(c, &opts, &m->progs[c]);
	if (r || opts.variant == WRC_V_OURS ||
	    fits_nic(m, &m->progs[c], &len))
		return r;
	log_warning("chain %s copies: to exchange pages it needs receive "
		    "entries of %u bytes, and this NIC has %u",
		    m->progs[c].name, len, m->nic->node->max_recv_len);
	opts.variant = WRC_V_OURS;
	return wrc_prog_build(c, &opts, &m->progs[c]);
}

/* Loads and mapped stores need none. */
static int build_keyed(struct manager *m, unsigned int c)
{
	struct wrc_opts opts = {
		.strict_index = m->nic->node->strict_index,
		.recycle = WRC_RECYCLE_NODE,
		.variant = WRC_V_KEYED,
		.order = m->waits ? WRC_ORDER_WAIT : WRC_ORDER_FENCE,
	};

	if (c == ODRP_WIRE_LOAD || c == ODRP_WIRE_MAPPED_STORE) {
		queue_bare_prog(&m->keyed[c], c, m->progs[c].name);
		return 0;
	}
	return wrc_prog_build(c, &opts, &m->keyed[c]);
}

static int build_progs(struct manager *m)
{
	unsigned int c;
	int r;

	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
		r = build_prog(m, c);
		if (!r && m->nic_translates)
			r = build_keyed(m, c);
		if (r)
			return r;
	}
	return 0;
}

static int check_depth(struct manager *m)
{
	struct wrc_geom geom;
	unsigned int c;
	int r;

	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
		r = wrc_geom_init(&m->progs[c], m->conf->depth, &geom);
		if (!r && m->keyed[c].nr_insn)
			r = wrc_geom_init(&m->keyed[c], m->conf->depth, &geom);
		if (r)
			return r;
	}
	return 0;
}

/* Has this NIC what translate=nic needs? */
static int try_keys(struct manager *m)
{
	unsigned int len;
	uint32_t pdn, key;
	int r;

	if (!fits_nic(m, &m->keyed[ODRP_WIRE_UNMAPPED_STORE], &len))
		return -EOPNOTSUPP;
	r = m->nic->ops->pd_alloc(m->nic, &pdn);
	if (r)
		return r;
	r = m->nic->node->ops->ksm_create(m->nic, pdn, WRC_KEY_ENTRIES,
					  NIC_REMOTE_READ | NIC_REMOTE_WRITE,
					  WRC_KEY_VARIANT, &key);
	if (!r)
		m->nic->ops->mr_dereg(m->nic, key);
	m->nic->ops->pd_free(m->nic, pdn);
	return r;
}

static int say(char *why, int r, const char *what)
{
	snprintf(why, CONF_WHY_MAX, "%s: %s", what, strerror(-r));
	return r;
}

/* In the NIC's own words, if it has some. */
static int say_keys(const struct manager *m, char *why, int r)
{
	const char *said = m->nic->ops->said(m->nic);

	if (!*said)
		return say(why, r, "translate=nic: no keys of this NIC");
	snprintf(why, CONF_WHY_MAX, "translate=nic: %.300s", said);
	return r;
}

/* Found out before anybody comes.  Where it was left to us, chains will do. */
static int settle_keys(struct manager *m, char *why)
{
	int r = m->nic_translates ? try_keys(m) : 0;

	if (!r)
		return 0;
	say_keys(m, why, r);
	if (m->conf->translate != CONF_TRANSLATE_AUTO)
		return r;
	log_warning("%s; chains translate", why);
	m->nic_translates = false;
	memset(m->keyed, 0, sizeof(m->keyed));
	return 0;
}

/* Each instance of a store has a page that nobody else can have. */
static uint64_t stock_target(const struct manager *m)
{
	const struct conf *conf = m->conf;
	uint64_t most = (uint64_t)conf->max_sessions * conf->queues *
			STOCK_CHAINS * conf->depth;
	uint64_t half = (m->pool.pages - m->slack) / 2;

	if (!conf->exchange)
		return 0;
	if (conf->store_pages != UINT64_MAX)
		return conf->store_pages;
	return stock_default_target(m->pool.pages, most < half ? most : half);
}

/* The operator's word counts, whatever is known. */
static void warn_of_fences(const struct manager *m)
{
	if (m->conf->order != CONF_ORDER_FENCE)
		return;
	if (!m->nic->node->keeps_fences)
		log_warning("order=fence: documented for no card; a card that "
			    "does not keep it serves wrong pages. Set it only "
			    "where odrp-hwcheck says that it may be set");
	if (!compared(m->conf))
		log_warning("order=fence: odrp-hwcheck says nothing about "
			    "chains with fences except those of store=exchange "
			    "and recycle=node");
}

int manager_init(struct manager *m, const struct conf *conf, struct nic *nic,
		 char why[CONF_WHY_MAX])
{
	int r;

	*m = (struct manager){ .conf = conf, .nic = nic, .next_id = 1 };
	m->limits = (struct hello_limits){
		.max_slots = conf->max_slots,
		.max_queues = conf->queues,
		.max_depth = conf->depth,
	};
	if (!conf->node_recycles)
		log_warning("recycle=client: INSECURE, a compute node that "
			    "sends wrong words reaches the pages of others");
	if (!conf->exchange)
		log_warning("store=copy: INSECURE, a compute node that stores "
			    "between two entries of its table reaches the "
			    "pages of others");
	if (nic->node->known && *nic->node->known)
		log_notice("%s", nic->node->known);
	settle(m);
	warn_of_fences(m);
	r = build_progs(m);
	if (r)
		return say(why, r, "cannot build the chain programs");
	r = check_depth(m);
	if (r)
		return say(why, r, "depth: the chains do not fit a send queue");
	r = settle_keys(m, why);
	if (r)
		return r;
	m->sess = calloc(conf->max_sessions, sizeof(*m->sess));
	m->leases = calloc(conf->max_sessions, sizeof(*m->leases));
	if (!m->sess || !m->leases) {
		r = say(why, -ENOMEM, "sessions");
		goto free_sess;
	}
	r = pool_init(&m->pool, nic, conf->pool, conf->populate);
	if (r) {
		say(why, r, "cannot make the pool");
		goto free_sess;
	}
	m->pool.scrub = !conf->node_recycles ||
			!wrc_has_register(&m->progs[ODRP_WIRE_UNMAPPED_STORE]);
	m->slack = conf->reserve == UINT64_MAX ?
		   lease_default_slack(m->pool.pages) : conf->reserve;
	m->stock.target = stock_target(m);
	m->budget = m->pool.pages - m->stock.target;
	r = lend_init(&m->lender, &m->pool, m->stock.target);
	if (r) {
		say(why, r, "cannot make the lender's queue");
		goto fini_pool;
	}
	r = nic->ops->listen(nic, conf->port);
	if (r) {
		say(why, r, "cannot listen");
		goto fini_lender;
	}
	return 0;

fini_lender:
	lend_fini(&m->lender);
fini_pool:
	pool_fini(&m->pool);
free_sess:
	free(m->leases);
	free(m->sess);
	return r;
}

void manager_fini(struct manager *m)
{
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		sess_free(m->sess[i]);
	lend_fini(&m->lender);
	pool_fini(&m->pool);
	free(m->leases);
	free(m->sess);
}
