// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Makes, watches and frees a session's objects. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "sess.h"

/* Work per turn of the event loop: some milliseconds at most. */
#define KEYS_STEP	8
#define SLABS_STEP	16
#define MAP_STEP	(16 * 1024)	/* slots */

/* How often a heartbeat that may have been read while it was written is read again before the
 * next tick. */
#define MAX_REREADS	2

/* With slabs, the memory has their records, and no NIC reaches it. */
static int make_tt(struct sess *s, bool direct)
{
	size_t len = s->tt.nr_slots * sizeof(__be64);
	struct nic *nic = s->pool->nic;
	int r;

	if (direct)
		len = slabs_record_len(s->tt.nr_slots);
	r = s->pool->keep ? keep_table(s->pool->keep, s->owner, len, &s->tt.mem) :
			    mem_map(len, 0, &s->tt.mem);
	if (r || direct)
		return r;
	s->tt.entries = s->tt.mem.va;
	r = nic->ops->mr_reg(nic, s->pool->pdn, s->tt.mem.va, len, 0, NIC_ALL,
			     &s->tt.key);
	if (r)
		mem_unmap(&s->tt.mem);
	return r;
}

/* Frees a piece of the table.  True: it is gone. */
static bool shrink_tt(struct sess *s)
{
	return s->pool->keep ?
	       keep_table_shrink(s->pool->keep, s->owner, &s->tt.mem) :
	       mem_shrink(&s->tt.mem);
}

static void free_tt(struct sess *s)
{
	if (s->tt.key)
		s->pool->nic->ops->mr_dereg(s->pool->nic, s->tt.key);
	mem_unmap(&s->tt.mem);
}

/*
 * The compute node's READs reach only the table and the published keys: the memory keys
 * of heartbeat and grants do not allow remote READs.
 */
int sess_make_ctl(const struct sess *s, struct ctlq *ret_ctl)
{
	return ctlq_init(ret_ctl, s->pool->nic, s->admin_pdn,
			 NIC_REMOTE_READ | NIC_REMOTE_WRITE,
			 sizeof(struct odrp_wire_signed_grant));
}

/* An older agent may have served the session meanwhile, and have ended what it did not know. */
void sess_resume_beats(struct sess *s, uint32_t features)
{
	if (!(features & ODRP_WIRE_F_LONG_BEAT) && !slabs_exist(&s->slabs))
		s->long_beats = false;
	s->tells_kept = s->long_beats && features & ODRP_WIRE_F_KEPT;
	s->lease.asks = s->long_beats && features & ODRP_WIRE_F_ASKS;
}

void sess_count_use(struct sess *s, uint32_t ms)
{
	use_count(&s->use, sess_is_live(s) ? s->kept : 0, s->lent, ms);
}

static uint32_t beat_len(const struct sess *s)
{
	return odrp_wire_beat_len(s->long_beats ? ODRP_WIRE_F_LONG_BEAT : 0);
}

/* The bitmap of held slabs is behind the heartbeat. */
static size_t beat_room(const struct sess *s, bool direct)
{
	return direct ? sizeof(*s->beat) + odrp_wire_held_len(s->tt.nr_slots) : beat_len(s);
}

static int make_admin(struct sess *s, bool direct)
{
	struct nic *nic = s->pool->nic;
	int r;

	r = nic->ops->pd_alloc(nic, &s->admin_pdn);
	if (r)
		return r;
	r = mem_map(beat_room(s, direct), MEM_POPULATE, &s->beat_mem);
	if (r)
		goto free_pd;
	s->beat = s->beat_mem.va;
	r = nic->ops->mr_reg(nic, s->admin_pdn, s->beat_mem.va,
			     beat_room(s, direct), SESS_BEAT_IOVA,
			     NIC_LOCAL_WRITE | NIC_REMOTE_WRITE, &s->beat_key);
	if (r)
		goto unmap;
	if (!direct)
		r = nic->ops->mr_reg(nic, s->admin_pdn, s->tt.mem.va,
				     s->tt.nr_slots * sizeof(__be64), 0,
				     NIC_REMOTE_READ, &s->tt_rkey);
	if (r)
		goto dereg_beat;
	r = sess_make_ctl(s, &s->ctl);
	if (r)
		goto dereg_tt;
	return 0;

dereg_tt:
	if (!direct)
		nic->ops->mr_dereg(nic, s->tt_rkey);
dereg_beat:
	nic->ops->mr_dereg(nic, s->beat_key);
unmap:
	mem_unmap(&s->beat_mem);
free_pd:
	nic->ops->pd_free(nic, s->admin_pdn);
	return r;
}

/* The keys are published in the admin connection's domain, so that must exist. */
static int begin_keys(struct sess *s, const struct sess_attr *attr)
{
	int r;

	if (attr->direct)
		return slabs_begin(&s->slabs, s->pool, s->admin_pdn, s->tt.nr_slots,
				   s->tt.mem.va, s->beat + 1);
	if (!attr->keyed)
		return 0;
	s->else_chains = attr->else_chains;
	r = keys_begin(&s->keys, s->pool, s->admin_pdn, s->tt.nr_slots);
	return s->else_chains ? 0 : r;
}

static void free_admin(struct sess *s)
{
	struct nic *nic = s->pool->nic;

	ctlq_fini(&s->ctl);
	if (s->tt_rkey)
		nic->ops->mr_dereg(nic, s->tt_rkey);
	nic->ops->mr_dereg(nic, s->beat_key);
	mem_unmap(&s->beat_mem);
	nic->ops->pd_free(nic, s->admin_pdn);
}

/* The agent's list has room for all pages of the registers, for one page of each other
 * chain, and for a batch from the ring. */
static int make_lists(struct sess *s)
{
	s->queues = calloc(s->nr_queues, sizeof(*s->queues));
	s->held.max = s->claim + s->nr_queues * ODRP_WIRE_NR_CHAINS +
		      SESS_TAKE_BATCH;
	s->held.at = calloc(s->held.max, sizeof(*s->held.at));
	return s->queues && s->held.at ? 0 : -ENOMEM;
}

static void free_lists(struct sess *s)
{
	free(s->queues);
	free(s->held.at);
}

/* Room for all pages that the session may be lent, and for pages that a broken store has
 * left in the table instead of its register. */
static uint64_t ring_room(const struct sess_attr *attr)
{
	return attr->direct ? 1 : attr->lease.cap + attr->lease.slack + attr->claim;
}

uint64_t sess_metadata(uint64_t nr_slots, const struct sess_attr *attr)
{
	uint64_t bytes = nr_slots * sizeof(__be64) + ring_len(ring_room(attr));
	uint64_t keys = (nr_slots + WRC_KEY_SLOTS - 1) / WRC_KEY_SLOTS;

	/* of each slab its record, the entry of the table, the key, and two bits */
	if (attr->direct)
		return odrp_wire_max_slabs(nr_slots) * 48;
	if (!attr->keyed)
		return bytes;
	/* the key map, the numbers of keys twice, and the NIC's entries, of 16 bytes */
	return bytes + nr_slots * sizeof(struct wrc_keymap) +
	       keys * (2 * sizeof(__be32) + WRC_KEY_ENTRIES * 16);
}

int sess_new(struct pool *pool, const struct hello *hello,
	     const struct sess_attr *attr, struct sess **ret_sess)
{
	struct sess *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->id = attr->id;
	s->wire_id = attr->wire_id;
	s->owner = attr->owner;
	s->claim = attr->claim;
	s->metadata = sess_metadata(hello->nr_slots, attr);
	s->lease = attr->lease;
	s->pool = pool;
	s->nr_queues = hello->queue;
	s->depth = hello->depth;
	s->instances = hello_instances(hello->depth);
	s->tt.nr_slots = hello->nr_slots;
	s->long_beats = hello->features & ODRP_WIRE_F_LONG_BEAT;
	s->tells_kept = s->long_beats && hello->features & ODRP_WIRE_F_KEPT;
	s->lease.asks = s->long_beats && hello->features & ODRP_WIRE_F_ASKS;
	r = make_lists(s);
	if (r)
		goto free_sess;
	s->token = attr->token;
	if (!s->token &&
	    getrandom(&s->token, sizeof(s->token), 0) != sizeof(s->token)) {
		r = -EIO;
		goto free_sess;
	}
	r = make_tt(s, attr->direct);
	if (r)
		goto free_sess;
	r = ring_init(&s->ring, pool->nic, pool->pdn, ring_room(attr));
	if (r)
		goto free_table;
	r = make_admin(s, attr->direct);
	if (r)
		goto free_ring;
	r = begin_keys(s, attr);
	if (r)
		goto free_admin;
	*ret_sess = s;
	return 0;

free_admin:
	free_admin(s);
free_ring:
	ring_fini(&s->ring);
free_table:
	free_tt(s);
free_sess:
	free_lists(s);
	free(s);
	return r;
}

int sess_make(struct sess *s)
{
	int r;

	if (!s->keys_failed && keys_exist(&s->keys)) {
		r = keys_make(&s->keys, KEYS_STEP);
		if (!r || r == -EAGAIN)
			return r;
		s->keys_failed = r;
	}
	if (!s->keys_failed)
		return 0;
	if (!sess_drop_keys(s))
		return -EAGAIN;
	return s->else_chains ? 0 : s->keys_failed;
}

int sess_make_map(struct sess *s)
{
	return keys_exist(&s->keys) ? keys_map(&s->keys, MAP_STEP) : 0;
}

/* A session that has not ended goes on with another agent: its pages stay as recorded. */
bool sess_drop_keys(struct sess *s)
{
	bool ends = s->state == SESS_ENDING;
	uint64_t before = s->pool->nr_withheld;
	bool gone = keys_drop(&s->keys, KEYS_STEP) &&
		    slabs_drop(&s->slabs, SLABS_STEP, ends);

	s->lent -= s->pool->nr_withheld - before;
	return gone;
}

/* ---- adopted sessions ------------------------------------------------------------ */

static struct hello hello_of_record(const volatile struct keep_record *rec)
{
	return (struct hello){
		.role = ODRP_WIRE_ADMIN, .queue = rec->nr_queues, .depth = rec->depth,
		.nr_slots = rec->nr_slots, .features = rec->features,
	};
}

static uint64_t count_mapped(const struct sess *s)
{
	uint64_t slot, nr = 0;

	for (slot = 0; slot < s->tt.nr_slots; slot++)
		nr += !!s->tt.entries[slot];
	return nr;
}

int sess_adopt(struct pool *pool, const volatile struct keep_record *rec,
	       const struct sess_attr *attr, struct sess **ret_sess)
{
	struct hello hello = hello_of_record(rec);
	uint32_t epoch;
	struct sess *s;
	int r;

	if (getrandom(&epoch, sizeof(epoch), 0) != sizeof(epoch))
		return -EIO;
	r = sess_new(pool, &hello, attr, &s);
	if (r)
		return r;
	/* Start grant numbers anew: nobody knows which one the compute node has seen last. */
	s->epoch = epoch;
	s->instances = rec->instances;
	memcpy(s->name, (const char *)rec->name, sizeof(s->name));
	s->peer_ip = rec->peer_ip;
	s->asked_dead_ms = rec->dead_ms;
	s->lent = attr->direct ? (uint64_t)s->slabs.nr * ODRP_WIRE_SLAB_PAGES :
				 count_mapped(s);
	lease_adopt(&s->lease, s->lent);
	s->kept = s->lent;
	s->had_queue = true;
	sess_setup(s, SETUP_EV_SEEN);
	sess_event(s, SESS_EV_ADOPTED);
	*ret_sess = s;
	return 0;
}

static int open_refill(struct sess *s)
{
	struct nic *nic = s->pool->nic;
	int r = ctlq_init(&s->refill, nic, s->keys.pdn, 0, sizeof(uint64_t));

	if (r)
		return r;
	r = nic->node->ops->qp_loop(nic, s->refill.qpn, s->refill.qpn);
	if (r)
		ctlq_fini(&s->refill);
	return r;
}

static int refill_slot(struct sess *s, uint64_t slot)
{
	uint64_t addr = be64toh(s->tt.entries[slot]);

	return !addr ? 0 : ctlq_umr(&s->refill, s->keys.key[slot / WRC_KEY_SLOTS],
				    slot % WRC_KEY_SLOTS * WRC_KSM_GROUP,
				    s->keys.page_key, addr);
}

/* Posts more only when the NIC has done what was posted before. */
static int refill_some(struct sess *s)
{
	unsigned int n;
	int r = ctlq_poll(&s->refill);

	for (n = 0; !r && n < MAP_STEP && s->refilled < s->tt.nr_slots; n++) {
		r = refill_slot(s, s->refilled);
		s->refilled += !r;
	}
	if (r || s->refilled < s->tt.nr_slots)
		return r ? r : -EAGAIN;
	return ctlq_poll(&s->refill);
}

int sess_restore(struct sess *s)
{
	int r = slabs_exist(&s->slabs) ? slabs_restore(&s->slabs, SLABS_STEP) : 0;

	if (r)
		return r;
	if (keys_exist(&s->keys)) {
		r = keys_make(&s->keys, KEYS_STEP);
		if (!r)
			r = keys_map(&s->keys, MAP_STEP);
		if (!r && !s->refill.nic)
			r = open_refill(s);
		if (!r)
			r = refill_some(s);
		if (r)
			return r;
		ctlq_fini(&s->refill);
	}
	sess_event(s, SESS_EV_RESTORED);
	return 0;
}

/* How pages are found. */
static uint32_t sess_features(const struct sess *s)
{
	return slabs_exist(&s->slabs) ? ODRP_WIRE_F_DIRECT :
	       keys_exist(&s->keys) ? ODRP_WIRE_F_KEYED : 0;
}

void sess_keep(const struct sess *s)
{
	struct keep_record rec = {
		.id = s->id, .token = s->token, .nr_slots = s->tt.nr_slots,
		.cap = s->lease.cap, .slack = s->lease.slack,
		.granted = s->lease.granted, .ceiling = s->lease.ceiling,
		.claim = s->claim, .peer_ip = s->peer_ip,
		.features = sess_features(s) |
			    (s->long_beats ? ODRP_WIRE_F_LONG_BEAT : 0),
		.dead_ms = s->asked_dead_ms,
		.nr_queues = s->nr_queues, .depth = s->depth,
		.instances = s->instances,
	};

	if (!s->pool->keep)
		return;
	memcpy(rec.name, s->name, sizeof(rec.name));
	keep_put(s->pool->keep, s->owner, &rec);
}

void sess_keep_changes(const struct sess *s)
{
	if (!s->pool->keep)
		return;
	keep_lease(s->pool->keep, s->owner, s->lease.granted, s->lease.ceiling);
	keep_dead_ms(s->pool->keep, s->owner, s->asked_dead_ms);
}

void asked_drop(struct asked **asked)
{
	if (!*asked)
		return;
	explicit_bzero(*asked, sizeof(**asked));
	free(*asked);
	*asked = NULL;
}

static void free_queues(struct sess *s)
{
	struct queue *q;
	unsigned int n, c;

	sess_for_each_queue(s, n, c, q) {
		asked_drop(&q->asked);
		queue_free(sess_take_queue(s, n, c));
	}
}

static void dereg(const struct sess *s, uint32_t *key)
{
	if (*key)
		s->pool->nic->ops->mr_dereg(s->pool->nic, *key);
	*key = 0;
}

bool sess_free_some(struct sess *s)
{
	free_queues(s);
	ctlq_fini(&s->refill);
	if (!sess_drop_keys(s))
		return false;
	dereg(s, &s->tt_rkey);
	dereg(s, &s->tt.key);
	dereg(s, &s->ring.key);
	if (!shrink_tt(s) || !mem_shrink(&s->ring.mem))
		return false;
	free_admin(s);
	free_lists(s);
	asked_drop(&s->waiting);
	explicit_bzero(s, sizeof(*s));
	free(s);
	return true;
}

void sess_free(struct sess *s)
{
	while (!sess_free_some(s))
		;
}

uint32_t sess_dead_ms(const struct sess *s, const struct conf *conf)
{
	uint32_t ms = s->asked_dead_ms;

	if (ms > conf->dead_ms_max)
		ms = conf->dead_ms_max;
	return ms > conf->dead_ms ? ms : conf->dead_ms;
}

/* Settings that allow less than dead-ms allow dead-ms. */
static uint32_t dead_ms_max(const struct conf *conf)
{
	return conf->dead_ms_max > conf->dead_ms ? conf->dead_ms_max : conf->dead_ms;
}

void sess_accept_priv(const struct sess *s, const struct conf *conf,
		      struct odrp_wire_admin_accept *ret_accept)
{
	*ret_accept = (struct odrp_wire_admin_accept){
		.magic = htobe32(ODRP_WIRE_MAGIC),
		.version = htobe16(ODRP_WIRE_VERSION),
		.max_queues = htobe16(s->nr_queues),
		.depth = htobe16(s->depth),
		.session = htobe64(s->wire_id),
		.token = s->handle ? 0 : htobe64(s->token),
		.nr_slots = htobe64(s->tt.nr_slots),
		.beat_raddr = htobe64(SESS_BEAT_IOVA),
		.beat_rkey = htobe32(s->beat_key),
		.beat_ms = htobe32(conf->beat_ms),
		.dead_ms = htobe32(sess_dead_ms(s, conf)),
		.dead_ms_max = htobe32(s->long_beats ? dead_ms_max(conf) : 0),
		.tt_rkey = htobe32(s->tt_rkey),
		.lease = htobe64(s->lease.granted),
		.features = htobe32(sess_features(s) |
				    (s->signs ? ODRP_WIRE_F_SIGNED : 0) |
				    (s->long_beats ? ODRP_WIRE_F_LONG_BEAT : 0) |
				    (s->tells_kept ? ODRP_WIRE_F_KEPT : 0) |
				    (s->lease.asks ? ODRP_WIRE_F_ASKS : 0)),
		.keys_rkey = htobe32(slabs_exist(&s->slabs) ? s->slabs.published_key :
							     s->keys.published_key),
		.log_slab = slabs_exist(&s->slabs) ? ODRP_WIRE_LOG_SLAB : 0,
	};
}

bool sess_token_ok(const struct sess *s, uint64_t token)
{
	const volatile uint8_t *a = (const uint8_t *)&s->token;
	const volatile uint8_t *b = (const uint8_t *)&token;
	uint8_t diff = 0;
	size_t i;

	for (i = 0; i < sizeof(token); i++)
		diff |= a[i] ^ b[i];
	return !diff;
}

/* Drops the last heartbeat.  The queue pair is in error, so nothing writes there now. */
static void forget_beat(struct sess *s)
{
	s->last_beat = s->signs ? 0 : be64toh(s->beat->beat);
	if (s->signs)
		s->beat->beat = 0;
	s->beat->flags = 0;
	s->accepted.flags = 0;
	explicit_bzero(&s->key, sizeof(s->key));
	s->has_key = false;
	s->wrong_macs = 0;
}

void sess_sign(struct sess *s, const struct auth_key *key)
{
	s->signs = s->has_key = key;
	if (key)
		s->key = *key;
}

void sess_detach(struct sess *s)
{
	struct nic *nic = s->pool->nic;

	nic->ops->qp_error(nic, s->ctl.qpn);
	forget_beat(s);
	s->drain_sent = false;
	lease_detach(&s->lease);
	slabs_forget(&s->slabs);
}

void sess_attach(struct sess *s, const struct ctlq *ctl, uint32_t cm_id)
{
	ctlq_fini(&s->ctl);
	s->ctl = *ctl;
	s->cm_id = cm_id;
	s->silent_ms = 0;
	sess_event(s, SESS_EV_RESUMED);
}

/* The compute node may write meanwhile: check and use the same copy.  It cannot write
 * behind the length of its heartbeat, where all is 0. */
static void copy_beat(const struct sess *s, struct odrp_wire_beat *ret_beat)
{
	const volatile uint64_t *from = (const volatile uint64_t *)s->beat;
	uint64_t words[sizeof(*ret_beat) / sizeof(uint64_t)];
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		words[i] = from[i];
	memcpy(ret_beat, words, sizeof(words));
}

/* -EALREADY: no new heartbeat.  -EKEYREJECTED: wrong MAC; a torn read has one, too, so
 * the heartbeat is read again. */
static int check_beat(const struct sess *s, const struct odrp_wire_beat *beat)
{
	uint64_t nr = be64toh(beat->beat);

	if (!s->signs)
		return nr == s->last_beat ? -EALREADY : 0;
	if (!s->has_key || nr <= s->last_beat)
		return -EALREADY;
	return auth_check_beat(&s->key, s->handle, beat, beat_len(s));
}

bool sess_look(struct sess *s, uint32_t elapsed_ms)
{
	struct odrp_wire_beat beat;
	int r;

	if (elapsed_ms) {
		s->rereads = 0;
		slabs_tick(&s->slabs);
	}
	copy_beat(s, &beat);
	r = check_beat(s, &beat);
	if (r != -EKEYREJECTED || s->rereads++ >= MAX_REREADS)
		s->seen = beat.beat;
	if (!r || !s->signs)
		s->accepted = beat;
	if (r) {
		s->silent_ms += s->heard ? 0 : elapsed_ms;
		s->heard = s->heard && !elapsed_ms;
		s->wrong_macs += r == -EKEYREJECTED && elapsed_ms;
		return false;
	}
	s->last_beat = be64toh(beat.beat);
	s->silent_ms = 0;
	s->heard = !elapsed_ms;
	s->wrong_macs = 0;
	s->beats++;
	s->asked_dead_ms = be32toh(beat.dead_ms);
	s->kept = be64toh(s->tells_kept ? beat.kept : beat.used);
	if (slabs_exist(&s->slabs))
		slabs_heard(&s->slabs, beat.slabs);
	lease_beat(&s->lease, be64toh(beat.used), be64toh(beat.want),
		   be64toh(beat.lease_held), beat.ctl_rkey != 0);
	s->unanswered = s->lease.asks && s->lease.want > s->lease.granted;
	return true;
}

bool sess_has_left(struct sess *s)
{
	sess_look(s, 0);
	return be32toh(s->accepted.flags) & ODRP_WIRE_BEAT_BYE;
}

int sess_grant(struct sess *s)
{
	struct odrp_wire_signed_grant *g = s->ctl.data;
	int r;

	g->grant = (struct odrp_wire_grant){
		.epoch = htobe64(s->epoch + 1),
		.lease = htobe64(s->lease.target),
		.flags = htobe32(s->drain ? ODRP_WIRE_GRANT_DRAIN : 0),
		.slabs = htobe32(s->slabs.top),
		.back = htobe32(slabs_over(&s->slabs, s->lease.target)),
		.heard = htobe32(s->lease.asks ? s->last_beat : 0),
	};
	if (s->signs)
		auth_sign_grant(&s->key, s->handle, g);
	/* Record the new lease before the compute node can hear of it. */
	if (s->pool->keep)
		keep_lease(s->pool->keep, s->owner, s->lease.target,
			   s->lease.target > s->lease.ceiling ? s->lease.target :
								s->lease.ceiling);
	r = ctlq_write(&s->ctl, 0, s->signs ? sizeof(*g) : sizeof(g->grant),
		       be64toh(s->accepted.ctl_raddr), be32toh(s->accepted.ctl_rkey));
	if (r)
		return r;
	lease_grant(&s->lease);
	s->epoch++;
	s->grants++;
	s->drain_sent = s->drain;
	s->slabs.untold = false;
	s->unanswered = false;
	return 0;
}

int sess_poll_ctl(struct sess *s)
{
	int r = ctlq_poll(&s->ctl);

	if (r == -EAGAIN)
		return 0;
	if (r)
		return r;
	if (s->lease.writing)
		lease_granted(&s->lease);
	return 0;
}

uint64_t sess_executed(const struct sess *s, unsigned int chain)
{
	uint64_t sum = s->executed[chain];
	unsigned int n;

	for (n = 0; n < s->nr_queues; n++) {
		if (s->queues[n][chain])
			sum += s->queues[n][chain]->executed;
	}
	return sum;
}
