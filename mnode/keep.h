/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What survives the agent: pages, the owner of each, translation tables, and a record
 * of each session, in files of memory that somebody else keeps while no agent runs
 * (systemd's file descriptor store; docs/architecture.md).
 *
 * The agent may be killed between any two writes, so each leaves something that the
 * next one can begin with:
 *
 *	a page	is its owner's in the file before his ring or his table can have it, and
 *		nobody's after they cannot any more
 *	a record	has its @valid written last, and cleared first: what it says of a
 *		session is there before anybody can have stored anything by it
 *
 * Nothing else is kept.  A page that is a session's and not in its table is free of it;
 * rings, registers and keys are made anew.  The NIC writes entries of tables in one.
 */
#ifndef MNODE_KEEP_H
#define MNODE_KEEP_H

#include <odrp/auth.h>
#include "mem.h"

enum keep_file {
	KEEP_STATE,
	KEEP_PAGES,
	KEEP_TABLES,
	KEEP_FILES,
};

/* The name of each file with whoever keeps it. */
extern const char *const keep_names[KEEP_FILES];

#define KEEP_MAGIC	0x504545504b52444full	/* "ODRKPEEP" in memory */
#define KEEP_VERSION	1
#define KEEP_RECORDS	1024u	/* as many sessions as there can be */

/**
 * struct keep_head - the beginning of the state
 * @nr_records:	KEEP_RECORDS
 * @nr_pages:	of the pool
 * @table_len:	bytes of the file of tables for each record, a multiple of 4096
 * @generation:	drawn when the files were made: who was there before that has lost all
 * @next_id:	of the next session
 * @huge:	the pages are huge pages
 * @draining:	all are asked to leave; an agent that did not know it has 0 there
 * @valid:	KEEP_VALID; written last
 */
struct keep_head {
	uint64_t magic;
	uint32_t version;
	uint32_t nr_records;
	uint64_t nr_pages;
	uint64_t table_len;
	uint64_t next_id;
	uint32_t generation;
	uint32_t huge;
	uint32_t draining;
	uint8_t resv[8];
	uint32_t valid;
};

#define KEEP_VALID	0x6b657074u

/**
 * struct keep_record - a session; which one it is tells whose pages are its: their
 *	owner is that number + 1
 * @token:	of one without a name
 * @features:	ODRP_WIRE_F_* that its accept had
 * @cap, @slack, @granted, @ceiling: of its lease
 * @claim:	pages that its stores may have in registers
 * @peer_ip:	of the compute node, big endian
 * @instances:	of each chain
 * @name:	of the identity whose it is, filled up with zeros; "": by token
 * @valid:	KEEP_VALID; written last, and cleared first
 */
struct keep_record {
	uint64_t id;
	uint64_t token;
	uint64_t nr_slots;
	uint64_t cap;
	uint64_t slack;
	uint64_t granted;
	uint64_t ceiling;
	uint64_t claim;
	uint32_t peer_ip;
	uint32_t features;
	uint16_t nr_queues;
	uint16_t depth;
	uint16_t instances;
	uint8_t resv0[2];
	char name[ODRP_AUTH_NAME];
	uint8_t resv1[12];
	uint32_t valid;
};

/* Head, then records, then the owner of each page, 16 bits. */
#define KEEP_RECORDS_OFF	4096u
#define KEEP_OWNERS_OFF		(KEEP_RECORDS_OFF + KEEP_RECORDS * 128u)

/**
 * struct keep - the files, mapped
 * @fd:		the file of each
 * @owner:	of each page
 * @adopted:	another agent has made them
 */
struct keep {
	int fd[KEEP_FILES];
	struct mem state, pages;
	volatile struct keep_head *head;
	volatile struct keep_record *record;
	uint16_t *owner;
	bool adopted;
};

/* Before any other: there are no files. */
void keep_init(struct keep *k);
/* Anew: all pages are nobody's, and there is no session.  Nobody keeps them yet. */
int keep_new(struct keep *k, uint64_t nr_pages, uint64_t max_slots, bool populate);
/*
 * As another agent has left them.  The files are this one's on success.  -EBUSY: one
 * uses them; -EPROTO: they are not what the above says, so there is nothing to be had
 * of them.
 */
int keep_adopt(struct keep *k, const int fd[KEEP_FILES]);
/* What others have of the files stays.  Also of none. */
void keep_close(struct keep *k);

/* Sessions that there are. */
unsigned int keep_sessions(const struct keep *k);
/* The record of those pages' owner; NULL: there is none. */
volatile struct keep_record *keep_record(const struct keep *k, uint16_t owner);
/* Writes the owner's record; rec->valid is not looked at. */
void keep_put(struct keep *k, uint16_t owner, const struct keep_record *rec);
/* What the compute node may believe of its lease; no effect without a record. */
void keep_lease(struct keep *k, uint16_t owner, uint64_t granted, uint64_t ceiling);
/* The owner has no session any more. */
void keep_drop(struct keep *k, uint16_t owner);
/* All are asked to leave, or not any more. */
void keep_draining(struct keep *k, bool on);
/* Of the next session. */
void keep_next_id(struct keep *k, uint64_t id);
/* The page is that owner's from now on. */
void keep_own(struct keep *k, uint64_t page, uint16_t owner);

/* Slots for which a table has room. */
uint64_t keep_max_slots(const struct keep *k);
/* The owner's table, len bytes of it; all zero, unless there is a record. */
int keep_table(struct keep *k, uint16_t owner, size_t len, struct mem *ret_mem);
/* Unmaps a piece of it, and gives it back, unless there is a record.  True: it is
 * gone. */
bool keep_table_shrink(struct keep *k, uint16_t owner, struct mem *table);
/* What tables without a record have left.  -errno: it may be there still. */
int keep_tables_clear(struct keep *k);

#endif /* MNODE_KEEP_H */
