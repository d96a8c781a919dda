// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sets the agent up and frees it: what the settings mean on this NIC, its chain programs,
 * its memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <own/words.h>
#include "adopt.h"
#include "check.h"
#include "log.h"
#include "manager.h"
#include "space/early.h"
#include "space/kept.h"

/* A device has at most SLOTS_PER_PAGE slots for each page of the pool, or MIN_MAX_SLOTS. */
#define SLOTS_PER_PAGE	8
#define MIN_MAX_SLOTS	(1ull << 18)

static bool is_store(unsigned int chain)
{
	return chain == ODRP_WIRE_MAPPED_STORE ||
	       chain == ODRP_WIRE_UNMAPPED_STORE;
}

/* Decides the settings that are "auto" by what is known of this NIC. */
static void choose_modes(struct manager *m)
{
	const struct conf *conf = m->conf;

	m->waits = conf->order == CONF_ORDER_AUTO ?
		   !m->nic->node->keeps_fences :
		   conf->order == CONF_ORDER_WAIT;
	m->nic_translates = conf->translate == CONF_TRANSLATE_AUTO ?
			    m->nic->node->keeps_keys :
			    conf->translate == CONF_TRANSLATE_NIC;
	m->direct = m->nic->node->no_chains || conf->translate == CONF_TRANSLATE_DIRECT;
	m->nic->node->fence_orders = !m->waits;
}

static int build_prog(struct manager *m, unsigned int c)
{
	struct wrc_opts opts = {
		.strict_index = m->nic->node->strict_index,
		.recycle = WRC_RECYCLE_NODE,
		.variant = is_store(c) ? WRC_V_EXCHANGE : WRC_V_OURS,
		.order = m->waits ? WRC_ORDER_WAIT : WRC_ORDER_FENCE,
	};

	return wrc_prog_build(c, &opts, &m->progs[c]);
}

/* With translation in the NIC, loads and mapped stores need no chain. */
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
		if (!r)
			queue_bare_prog(&m->bare[c], c, m->progs[c].name);
		if (!r && m->nic_translates)
			r = build_keyed(m, c);
		if (r)
			return r;
	}
	return 0;
}

/* Can this NIC do what translate=nic needs? */
static int try_keys(struct manager *m)
{
	uint32_t pdn, key;
	int r;

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

static int complain(char *why, int r, const char *what)
{
	snprintf(why, CONF_WHY_MAX, "%s: %s", what, strerror(-r));
	return r;
}

static void complain_of_pool(char *why, int r, uint64_t len)
{
	char words[CONF_WHY_MAX - 16];

	if (r == -ENOMEM) {
		own_words(words, sizeof(words), OWN_TRIED_MEMORY, len, r);
		snprintf(why, CONF_WHY_MAX, "the pool: %s", words);
	} else {
		complain(why, r, "cannot make the pool");
	}
}

/* The chain must fit a send queue, and its requests the receive entries of this NIC. */
static int check_size(const struct manager *m, const struct wrc_prog *prog,
		      char *why)
{
	unsigned int max = m->nic->node->max_recv_len, len;
	struct wrc_geom geom;
	int r;

	if (!prog->nr_insn)
		return 0;
	r = wrc_geom_init(prog, m->conf->depth, &geom);
	if (r)
		return complain(why, r, "depth: the chains do not fit a send queue");
	len = 1u << geom.log_rq_stride;
	if (!max || len <= max)
		return 0;
	snprintf(why, CONF_WHY_MAX, "chain %s: expected receive entries of at "
		 "least %u bytes, and this NIC has %u", prog->name, len, max);
	return -EMSGSIZE;
}

static int check_sizes(const struct manager *m, char *why)
{
	unsigned int c;
	int r = 0;

	for (c = 0; !r && c < ODRP_WIRE_NR_CHAINS; c++) {
		r = check_size(m, &m->progs[c], why);
		if (!r)
			r = check_size(m, &m->keyed[c], why);
	}
	return r;
}

/* Prefers the NIC's own error text, if it has one. */
static int keys_error(const struct manager *m, char *why, int r)
{
	const char *error = m->nic->ops->last_error(m->nic);

	if (!*error)
		return complain(why, r, "translate=nic: no keys of this NIC");
	snprintf(why, CONF_WHY_MAX, "translate=nic: %.300s", error);
	return r;
}

/* Checks translation in the NIC before anybody connects.  With translate=auto, falls back
 * to chains. */
static int settle_keys(struct manager *m, char *why)
{
	int r = m->nic_translates ? try_keys(m) : 0;

	if (!r)
		return 0;
	keys_error(m, why, r);
	if (m->conf->translate != CONF_TRANSLATE_AUTO)
		return r;
	log_warning("%s; chains translate", why);
	m->nic_translates = false;
	memset(m->keyed, 0, sizeof(m->keyed));
	return 0;
}

static uint64_t swap_pages(const struct manager *m)
{
	return m->pool.pages - m->spaces.nr_pages;
}

/* Store pages of an agent whose compute nodes have slabs, but for old ones. */
#define DIRECT_STOCK	(4 * STOCK_LEAST)

/* Each instance of a store holds a page that nobody else can have. */
static uint64_t stock_target(const struct manager *m)
{
	const struct conf *conf = m->conf;
	uint64_t most = (uint64_t)conf->max_sessions * conf->queues *
			STOCK_CHAINS * conf->depth;
	uint64_t pages = swap_pages(m), half = (pages - m->slack) / 2;

	/* Few compute nodes know no slabs. */
	if (m->direct)
		most = DIRECT_STOCK;
	if (m->nic->node->no_chains)
		return 0;
	if (conf->store_pages < pages)
		return conf->store_pages;
	return stock_default_target(pages, most < half ? most : half);
}

/* The setting was checked against conf->pool; the pool may be smaller. */
static uint64_t settle_slack(const struct manager *m)
{
	uint64_t pages = swap_pages(m);

	return m->conf->reserve < pages ? m->conf->reserve :
					  lease_default_slack(pages);
}

/* The operator's setting counts, whatever is known of the NIC. */
static void warn_of_fences(const struct manager *m)
{
	if (m->conf->order == CONF_ORDER_FENCE && !m->nic->node->keeps_fences)
		log_warning("order=fence: documented for no card; a card that "
			    "does not keep it serves wrong pages. Set it only "
			    "where odrp-hwcheck says that it may be set");
}

/* Compute nodes with slabs get whole ones: less than one is nothing, for ever. */
static int check_slabs(const struct manager *m, char *why)
{
	const struct conf *conf = m->conf;

	if (m->direct && conf->max_pages && conf->max_pages < ODRP_WIRE_SLAB_PAGES) {
		snprintf(why, CONF_WHY_MAX, "max-pages=%" PRIu64 ": expected 0, or at least %u, "
			 "the pages of a direct slab", conf->max_pages, ODRP_WIRE_SLAB_PAGES);
		return -EINVAL;
	}
	if (m->direct && conf->pool < 1ull << ODRP_WIRE_LOG_SLAB) {
		snprintf(why, CONF_WHY_MAX, "pool=%" PRIu64 "K: expected at least %uK, a direct "
			 "slab", conf->pool / 1024, 1u << (ODRP_WIRE_LOG_SLAB - 10));
		return -EINVAL;
	}
	return 0;
}

/* Limits the size of devices: a session's tables grow with its device, and every peer may
 * ask for one. */
static uint64_t max_slots(const struct conf *conf)
{
	uint64_t slots = conf->pool / ODRP_WIRE_PAGE_SIZE * SLOTS_PER_PAGE;

	if (slots < MIN_MAX_SLOTS)
		slots = MIN_MAX_SLOTS;
	return slots < conf->max_slots ? slots : conf->max_slots;
}

/* Only the identity that owns a session may resume it. */
static bool has_session(void *arg, const char *name, uint64_t id)
{
	const struct sess *s = manager_find_wire(arg, id);

	return s && s->name[0] && !strcmp(s->name, name);
}

static bool has_session_at(void *arg, __be32 ip)
{
	const struct manager *m = arg;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++)
		if (m->sess[i]->peer_ip == ip && sess_is_live(m->sess[i]))
			return true;
	return false;
}

static void shake_refused(void *arg, __be32 ip, const char *name, const char *why)
{
	const struct audit_peer peer = { .name = name, .ip = ip };
	struct manager *m = arg;

	audit_refused(&m->audit, &peer, why);
}

static int responder_open(struct manager *m, char *why)
{
	int r = manager_read_keys(m, why);

	if (r)
		return r;
	m->responder.nic = m->nic;
	m->responder.idents = &m->idents;
	m->responder.refused = shake_refused;
	m->responder.session = has_session;
	m->responder.known = has_session_at;
	m->responder.arg = m;
	r = responder_init(&m->responder);
	if (!r)
		return 0;
	idents_fini(&m->idents);
	return complain(why, r, "cannot make queue pairs for handshakes");
}

/* All that takes as long as the pool is large, before the loop begins.  If the NIC does
 * not share, keys of sessions take so long, too. */
static int open_pool(struct manager *m)
{
	int r = pool_init_kept(&m->pool, m->nic, &m->keep);

	if (r || !m->nic_translates)
		return r;
	r = pool_share(&m->pool);
	if (r)
		log_warning("pool: the NIC shares no registration (%s): each session "
			    "registers the pool, which takes time and locked memory",
			    strerror(-r));
	return 0;
}

/* Makes the pages and the records of sessions, in files that the next agent can adopt. */
static int make_memory(struct manager *m)
{
	const struct conf *conf = m->conf;
	int r;

	if (!conf->pool || conf->pool % ODRP_WIRE_PAGE_SIZE || conf->pool > WRC_POOL_MAX)
		return -ERANGE;
	r = keep_new(&m->keep, conf->pool / ODRP_WIRE_PAGE_SIZE, m->limits.max_slots,
		     conf->populate);
	if (r)
		return r;
	keep_draining(&m->keep, m->draining);
	r = open_pool(m);
	if (r)
		keep_close(&m->keep);
	return r;
}

/* From this size on, a NIC that has to look up each 4 KB is slower. */
#define POOL_LARGE	(1ull << 30)

static void warn_of_pages(const struct pool *pool)
{
	uint64_t len = pool->pages * ODRP_WIRE_PAGE_SIZE;

	if (pool->page_mem.huge || len < POOL_LARGE)
		return;
	log_notice("pool: no huge pages for %" PRIu64 " MB: a card takes longer to "
		   "register them, and to find each; sysctl vm.nr_hugepages=%" PRIu64
		   " before the start makes enough", len >> 20,
		   (len + MEM_HUGE_PAGE - 1) / MEM_HUGE_PAGE);
}

/* Meanwhile, clients of spaces that connect are told to try again. */
static int take_memory(struct manager *m, char why[CONF_WHY_MAX])
{
	struct early early = { .host = NULL };
	int r = m->spaces.open ? early_start(&early, &m->spaces.host) : 0;

	if (r)
		return complain(why, r, "cannot start a thread");
	r = m->keep.adopted ? open_pool(m) : make_memory(m);
	early_stop(&early);
	if (r)
		complain_of_pool(why, r, m->conf->pool);
	else
		warn_of_pages(&m->pool);
	return r;
}

/* The pool keeps its old size as long as adopted sessions or spaces have pages in it. */
static void warn_of_size(struct manager *m)
{
	uint64_t kept = m->keep.head->nr_pages * ODRP_WIRE_PAGE_SIZE;
	uint64_t slots = keep_max_slots(&m->keep);

	if (m->conf->pool != kept)
		log_warning("pool: %" PRIu64 " MB, as before this start, and not %" PRIu64
			    ": sessions or spaces have pages in it", kept >> 20,
			    m->conf->pool >> 20);
	if (m->limits.max_slots > slots)
		m->limits.max_slots = slots;
}

/* Takes over the files of the previous agent.  0: they belong to this agent now, or were
 * useless and have been dropped.  -errno: they stay for the next agent; -EBUSY: the
 * previous agent still runs. */
static int take_over(struct manager *m, const int fd[KEEP_FILES], char *why)
{
	int r = keep_adopt(&m->keep, fd);
	unsigned int i;

	if (r && r != -EPROTO)
		return complain(why, r, "cannot take over the pages of an agent");
	if (r) {
		log_error("what another agent has left is of no use: %s", strerror(-r));
		for (i = 0; i < KEEP_FILES; i++)
			close(fd[i]);
		return 0;
	}
	r = adopt_pages(&m->keep);
	if (r) {
		complain(why, r, "cannot look at the pages of an agent");
		keep_close(&m->keep);
		return r;
	}
	m->draining = m->keep.head->draining;
	if (m->draining)
		log_notice("draining, as before this start: nobody new is let in until "
			   "odrpctl mnode undrain");
	if (!keep_sessions(&m->keep) && !keep_spaces(&m->keep)) {
		keep_close(&m->keep);
		return 0;
	}
	m->next_id = m->keep.head->next_id;
	warn_of_size(m);
	return 0;
}

/* Pages that adopted sessions have or may come to have. */
static uint64_t kept_pages(const struct manager *m)
{
	const volatile struct keep_record *rec;
	unsigned int owner;
	uint64_t sum = 0;

	for (owner = 1; owner <= KEEP_RECORDS; owner++) {
		rec = keep_record(&m->keep, owner);
		if (rec)
			sum += (rec->granted > rec->ceiling ? rec->granted :
							      rec->ceiling) +
			       rec->slack + rec->claim;
	}
	return sum;
}

static int check_room(const struct manager *m, char *why)
{
	uint64_t kept = kept_pages(m), pages = 0;
	unsigned int i;

	for (i = 0; i < m->conf->nr_spaces; i++)
		pages += m->conf->spaces[i].size / ODRP_WIRE_PAGE_SIZE;
	if (!pages || kept + pages <= m->pool.pages)
		return 0;
	snprintf(why, CONF_WHY_MAX, "sessions have %" PRIu64 " pages or may have them, "
		 "spaces need %" PRIu64 ", and there are %" PRIu64, kept, pages,
		 m->pool.pages);
	return -ENOSPC;
}

/* Beside what is kept, the remaining pages may be too few or too fragmented; then the agent
 * runs without new spaces. */
static int make_spaces(struct manager *m, char *why)
{
	int r = m->keep.adopted ? spaces_adopt(&m->spaces, &m->pool, m->conf, why) : 0;

	if (r)
		return r;
	r = m->keep.adopted ? check_room(m, why) : 0;
	if (!r)
		r = spaces_make(&m->spaces, &m->pool, m->conf, why);
	if (!r || !m->keep.adopted)
		return r;
	log_error("no new spaces beside what the agent before this one has left: %s", why);
	return 0;
}

/* If the pool is smaller than configured, guarantees may exceed it.  Adopted sessions
 * must be able to resume, so no client has guaranteed pages then. */
static int set_clients(struct manager *m, char *why)
{
	struct conf *conf;
	unsigned int i;
	int r = manager_set_clients(m, m->conf, why);

	if (r != -EINVAL || !m->keep.adopted)
		return r;
	log_error("%s; no client has any guaranteed as long as the pool has %" PRIu64
		  " pages", why, m->pool.pages);
	conf = malloc(sizeof(*conf));
	if (!conf)
		return complain(why, -ENOMEM, "clients");
	*conf = *m->conf;
	for (i = 0; i < conf->nr_clients; i++)
		conf->clients[i].guaranteed_pages = 0;
	r = manager_set_clients(m, conf, why);
	free(conf);
	return r;
}

/* Lowers the stock to what the leases of adopted sessions leave, but not below what is
 * claimed. */
static void limit_stock(struct manager *m)
{
	uint64_t most = swap_pages(m), goal;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		goal = lend_goal(m->sess[i]);
		most = goal < most ? most - goal : 0;
	}
	if (most < m->stock.claimed)
		most = m->stock.claimed;
	if (m->stock.target <= most)
		return;
	log_warning("store-pages: %" PRIu64 ", and not %" PRIu64 ": sessions have the "
		    "others, or may have them", most, m->stock.target);
	m->stock.target = most;
}

/* Keeps leases and claims of adopted sessions from new sessions, until they are resumed. */
static int adopt_all(struct manager *m, char *why)
{
	uint64_t target = m->stock.target;
	int r;

	if (m->nic->node->no_chains && adopt_nr_chained(m)) {
		snprintf(why, CONF_WHY_MAX, "%u sessions of swap by chains are kept, and this "
			 "NIC arms none: start with the NIC of before, or drop the kept state",
			 adopt_nr_chained(m));
		return -EOPNOTSUPP;
	}
	r = adopt_sessions(m);
	if (r)
		return complain(why, r, "cannot clear tables of an agent");
	limit_stock(m);
	m->lender.kept += m->stock.target - target;
	manager_budget(m);
	return 0;
}

static unsigned int max_sessions(const struct manager *m)
{
	unsigned int kept = m->keep.adopted ? keep_sessions(&m->keep) : 0;

	return kept > m->conf->max_sessions ? kept : m->conf->max_sessions;
}

int manager_init(struct manager *m, const struct conf *conf, struct nic *nic,
		 char why[CONF_WHY_MAX])
{
	return manager_adopt(m, conf, nic, NULL, why);
}

int manager_adopt(struct manager *m, const struct conf *conf, struct nic *nic,
		  const int fd[KEEP_FILES], char why[CONF_WHY_MAX])
{
	int r;

	*m = (struct manager){
		.conf = conf, .nic = nic, .next_id = 1, .shares.nic = nic,
	};
	keep_init(&m->keep);
	m->limits = (struct hello_limits){
		.max_slots = max_slots(conf),
		.max_queues = conf->queues,
		.max_depth = conf->depth,
	};
	if (nic->node->known && *nic->node->known)
		log_notice("%s", nic->node->known);
	choose_modes(m);
	warn_of_fences(m);
	r = check_slabs(m, why);
	if (r)
		return r;
	r = build_progs(m);
	if (r)
		return complain(why, r, "cannot build the chain programs");
	r = check_sizes(m, why);
	if (r)
		return r;
	r = settle_keys(m, why);
	if (r)
		return r;
	r = fd ? take_over(m, fd, why) : 0;
	if (r)
		return r;
	m->sess = calloc(max_sessions(m), sizeof(*m->sess));
	m->leases = calloc(max_sessions(m), sizeof(*m->leases));
	m->handles = calloc(max_sessions(m), 2 * sizeof(*m->handles));
	if (!m->sess || !m->leases || !m->handles) {
		r = complain(why, -ENOMEM, "sessions");
		goto free_sess;
	}
	r = spaces_open(&m->spaces, nic, conf, why);
	if (r)
		goto free_sess;
	m->spaces.idents = &m->idents;
	m->spaces.audit = &m->audit;
	m->spaces.share = manager_share_far;
	m->spaces.share_arg = m;
	r = take_memory(m, why);
	if (r)
		goto close_spaces;
	r = make_spaces(m, why);
	if (r)
		goto fini_pool;
	m->slack = settle_slack(m);
	m->stock.target = stock_target(m);
	manager_budget(m);
	r = set_clients(m, why);
	if (r)
		goto unmake_spaces;
	r = lend_init(&m->lender, &m->pool, m->stock.target,
		      (enum lend_scrub)conf->scrub);
	if (r) {
		complain(why, r, "cannot make the lender's queue");
		goto unmake_spaces;
	}
	r = responder_open(m, why);
	if (r)
		goto fini_lender;
	r = m->keep.adopted ? adopt_all(m, why) : 0;
	if (r)
		goto close_responder;
	r = nic->ops->listen(nic, conf->port);
	if (r) {
		complain(why, r, "cannot listen");
		goto close_responder;
	}
	return 0;

close_responder:
	while (m->nr_sess)
		sess_free(m->sess[--m->nr_sess]);
	responder_fini(&m->responder);
	idents_fini(&m->idents);
fini_lender:
	lend_fini(&m->lender);
unmake_spaces:
	shares_fini(&m->shares);
	spaces_unmake(&m->spaces);
fini_pool:
	pool_fini(&m->pool);
close_spaces:
	spaces_close(&m->spaces);
free_sess:
	keep_close(&m->keep);
	free(m->handles);
	free(m->leases);
	free(m->sess);
	return r;
}

void manager_fini(struct manager *m)
{
	struct sess *s;
	unsigned int i;

	check_end(m);
	for (i = 0; i < m->nr_sess; i++)
		sess_free(m->sess[i]);
	while ((s = m->old)) {
		m->old = s->next_old;
		sess_free(s);
	}
	responder_fini(&m->responder);
	idents_fini(&m->idents);
	lend_fini(&m->lender);
	shares_fini(&m->shares);
	spaces_unmake(&m->spaces);
	pool_fini(&m->pool);
	keep_close(&m->keep);
	spaces_close(&m->spaces);
	free(m->handles);
	free(m->leases);
	free(m->sess);
}
