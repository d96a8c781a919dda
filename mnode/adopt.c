// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Adopts pages and sessions of an earlier agent; see adopt.h. */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "adopt.h"
#include "log.h"
#include "manager.h"
#include "space/kept.h"

#define MAX_INSTANCES	1024

/* ---- pages ----------------------------------------------------------------------- */

/* No record of a lower owner has this id, and no new session will get it. */
static bool id_ok(const struct keep *k, uint16_t owner)
{
	uint64_t id = k->record[owner - 1].id;
	const volatile struct keep_record *other;

	while (--owner) {
		other = keep_record(k, owner);
		if (other && other->id == id)
			return false;
	}
	return id && id < k->head->next_id;
}

/* The claim has one page for each page register of the session's stores. */
static bool chains_ok(const volatile struct keep_record *rec)
{
	if (rec->features & ODRP_WIRE_F_DIRECT)
		return rec->nr_queues && rec->depth && rec->instances > rec->depth &&
		       rec->instances <= MAX_INSTANCES && !rec->claim;
	return rec->nr_queues && rec->depth && rec->instances > rec->depth &&
	       rec->instances <= MAX_INSTANCES &&
	       rec->claim == (uint64_t)rec->nr_queues * STOCK_CHAINS * rec->instances;
}

/* The free ring is created for the cap: the lease must not exceed it. */
static bool lease_ok(const struct keep *k, const volatile struct keep_record *rec)
{
	return rec->cap <= k->head->nr_pages && rec->slack <= k->head->nr_pages &&
	       rec->claim <= k->head->nr_pages && rec->granted <= rec->cap &&
	       rec->ceiling <= rec->cap;
}

/* Accepts only what the agent itself would have written. */
static bool record_ok(const struct keep *k, uint16_t owner)
{
	const volatile struct keep_record *rec = &k->record[owner - 1];

	return rec->nr_slots && rec->nr_slots <= keep_max_slots(k) &&
	       id_ok(k, owner) && chains_ok(rec) && lease_ok(k, rec) &&
	       !rec->name[ODRP_AUTH_NAME - 1];
}

/* Each entry names a page of @owner, and no two entries name the same page. Marks the
 * pages in @seen. */
static bool entries_ok(const struct keep *k, uint16_t owner, const __be64 *entries,
		       uint64_t nr, uint8_t *seen)
{
	uint64_t slot, page;

	for (slot = 0; slot < nr; slot++) {
		if (!entries[slot])
			continue;
		if (!page_index(be64toh(entries[slot]), k->head->nr_pages, &page) ||
		    k->owner[page] != owner || seen[page]) {
			log_error("session %" PRIu64 ": slot %" PRIu64 " has %#" PRIx64
				  ", which is not a page of this session, or of two "
				  "slots", k->record[owner - 1].id, slot,
				  (uint64_t)be64toh(entries[slot]));
			return false;
		}
		seen[page] = 1;
	}
	return true;
}

static bool is_direct(const volatile struct keep_record *rec)
{
	return rec->features & ODRP_WIRE_F_DIRECT;
}

static bool table_ok(struct keep *k, uint16_t owner, uint8_t *seen)
{
	const volatile struct keep_record *rec = keep_record(k, owner);
	bool direct = is_direct(rec), ok;
	uint64_t nr = rec->nr_slots;
	struct mem table;

	if (keep_table(k, owner, direct ? slabs_record_len(nr) : nr * sizeof(__be64), &table))
		return false;
	ok = direct ? slabs_records_ok(table.va, nr, owner, k->owner, k->head->nr_pages, seen) :
		      entries_ok(k, owner, table.va, nr, seen);
	mem_unmap(&table);
	return ok;
}

static void session_check(struct keep *k, uint16_t owner, uint8_t *seen)
{
	const volatile struct keep_record *rec = keep_record(k, owner);

	if (rec && record_ok(k, owner) && table_ok(k, owner, seen))
		return;
	if (!rec)
		return;
	log_error("session %" PRIu64 " of the agent before this one is damaged; its pages "
		  "are lost", rec->id);
	keep_drop(k, owner);
}

/* Marks the pages of a kept space in @seen. */
static void space_check(struct keep *k, unsigned int i, uint8_t *seen)
{
	const volatile struct keep_space *rec = keep_space(k, i);

	if (!rec)
		return;
	if (kept_is_whole(k, i)) {
		memset(seen + rec->page, 1, rec->nr_pages);
		return;
	}
	log_error("a space of the agent before this one is damaged; its contents are lost");
	keep_space_drop(k, i);
}

/* Has the page an owner of before that has a record? */
static bool page_stays(const struct keep *k, uint64_t page, const uint8_t *seen)
{
	return seen[page] && (k->owner[page] == POOL_SPACES ||
			      keep_record(k, k->owner[page]));
}

int adopt_pages(struct keep *k)
{
	uint8_t *seen = calloc(k->head->nr_pages, 1);
	unsigned int owner, i;
	uint64_t page;
	int r;

	if (!seen)
		return -ENOMEM;
	for (owner = 1; owner <= KEEP_RECORDS; owner++)
		session_check(k, owner, seen);
	for (i = 0; i < KEEP_SPACES; i++)
		space_check(k, i, seen);
	r = keep_tables_clear(k);
	for (page = 0; !r && page < k->head->nr_pages; page++)
		if (k->owner[page] != POOL_NOBODY && !page_stays(k, page, seen))
			keep_own(k, page, POOL_NOBODY);
	free(seen);
	return r;
}

/* ---- sessions -------------------------------------------------------------------- */

static const char *counts_as(const volatile struct keep_record *rec,
			     char ip[INET_ADDRSTRLEN])
{
	const struct in_addr in = { .s_addr = rec->peer_ip };

	return rec->name[0] ? (const char *)rec->name :
			      inet_ntop(AF_INET, &in, ip, INET_ADDRSTRLEN);
}

/* A resume repeats what the session was granted, maybe under larger settings than the
 * present ones: hello_check() must accept these sizes. */
static void raise_limits(struct hello_limits *l, const struct sess *s)
{
	if (l->max_slots < s->tt.nr_slots)
		l->max_slots = s->tt.nr_slots;
	if (l->max_queues < s->nr_queues)
		l->max_queues = s->nr_queues;
	if (l->max_depth < s->instances)
		l->max_depth = s->instances;
}

static int adopt_session(struct manager *m, uint16_t owner)
{
	const volatile struct keep_record *rec = keep_record(&m->keep, owner);
	struct sess_attr attr = {
		.id = rec->id, .wire_id = manager_wire_id(m, rec->id),
		.token = rec->token, .owner = owner, .claim = rec->claim,
		.lease = {
			.cap = rec->cap, .slack = rec->slack,
			.granted = rec->granted, .ceiling = rec->ceiling,
		},
		.keyed = rec->features & ODRP_WIRE_F_KEYED,
		.direct = is_direct(rec),
	};
	char ip[INET_ADDRSTRLEN];
	struct share *share;
	struct sess *s;
	int r;

	if (attr.keyed && !m->nic_translates)
		return -EOPNOTSUPP;
	r = shares_get(&m->shares, counts_as(rec, ip), &share);
	if (r)
		return r;
	attr.lease.share = &share->lease;
	r = sess_adopt(&m->pool, rec, &attr, &s);
	if (r)
		return r;
	s->share = share;
	s->drain = m->draining;
	m->stock.claimed += s->claim;
	m->sess[m->nr_sess++] = s;
	sess_join(s, &m->tally);
	share->places++;
	m->sess_adopted++;
	raise_limits(&m->limits, s);
	log_info("session %" PRIu64 " of the agent before this one: %" PRIu64 " pages, "
		 "waits to be resumed", s->id, s->lent);
	return 0;
}

int adopt_sessions(struct manager *m)
{
	unsigned int owner;
	int r;

	for (owner = 1; owner <= KEEP_RECORDS; owner++) {
		if (!keep_record(&m->keep, owner))
			continue;
		r = adopt_session(m, owner);
		if (!r)
			continue;
		log_error("session %" PRIu64 " of the agent before this one cannot go on: "
			  "%s; its pages are lost", m->keep.record[owner - 1].id,
			  strerror(-r));
		keep_drop(&m->keep, owner);
		r = keep_tables_clear(&m->keep);
		if (r)
			return r;
		pool_give_all(&m->pool, owner, m->pool.pages, &(uint64_t){ 0 });
	}
	if (m->stock.target < m->stock.claimed)
		m->stock.target = m->stock.claimed;
	return 0;
}

unsigned int adopt_nr_chained(const struct manager *m)
{
	const volatile struct keep_record *rec;
	unsigned int owner, nr = 0;

	for (owner = 1; owner <= KEEP_RECORDS; owner++) {
		rec = keep_record(&m->keep, owner);
		nr += rec && !is_direct(rec);
	}
	return nr;
}

bool adopt_some(struct manager *m)
{
	unsigned int i;
	int r;

	for (i = 0; m->tally.state[SESS_RESTORING] && i < m->nr_sess; i++) {
		struct sess *s = m->sess[i];

		if (s->state != SESS_RESTORING)
			continue;
		r = sess_restore(s);
		if (!r || r == -EAGAIN)
			return true;
		log_error("session %" PRIu64 ": the agent cannot create keys in the NIC: "
			  "%s", s->id, strerror(-r));
		manager_kill(m, s, WHY_EVICTED);
		return true;
	}
	return false;
}
