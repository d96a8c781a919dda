/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * State that survives the agent: the pages, the owner of each page, the translation
 * tables, and a record of each session and of each space. The state is in memory files,
 * which systemd's file descriptor store keeps while no agent runs (docs/architecture.md).
 *
 * The agent may be killed between any two writes. The order of writes leaves a state that
 * the next agent can adopt:
 *
 *	page	the file names the owner before the page enters the owner's ring or
 *		table, and names nobody only after the page has left both
 *	record	@valid is cleared first and written last; the record is complete before
 *		the session can store anything, or a client can attach to the space
 *
 * Nothing else is kept. A page of a session that is not in the session's table becomes
 * free, and so does a page of spaces that no record names; rings, page registers and keys
 * are created anew. The NIC writes each entry of a table atomically.
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

/* The name of each file in the file descriptor store. */
extern const char *const keep_names[KEEP_FILES];

#define KEEP_MAGIC	0x504545504b52444full	/* "ODRKPEEP" in memory */
#define KEEP_VERSION	3
#define KEEP_VERSION_2	2	/* the same without members, and files that cannot grow */
#define KEEP_VERSION_1	1	/* and without agent and spaces, which are zeros there */
#define KEEP_RECORDS	1024u	/* most sessions at a time */
#define KEEP_SPACES	16u	/* most spaces at a time */
#define KEEP_SB		192u	/* bytes of a superblock */
#define KEEP_MEMBERS	256u	/* most memory nodes of a set */

/**
 * struct keep_head - the beginning of the state file
 * @nr_records:	KEEP_RECORDS
 * @nr_pages:	pages of the pool
 * @table_len:	bytes of the tables file for each record, a multiple of 4096
 * @generation:	random, drawn when the files were created; part of each session's wire id,
 *		so that no session of earlier files is found again
 * @next_id:	id of the next session
 * @huge:	the pages are huge pages
 * @draining:	all compute nodes are asked to leave; 0 in files of an agent that did not
 *		know this field
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
 * struct keep_record - a session. Record n is of the session whose pages have owner n + 1.
 * @token:	resumes the session if it has no name
 * @features:	of ODRP_WIRE_F_KEYED, ODRP_WIRE_F_DIRECT and ODRP_WIRE_F_LONG_BEAT. With
 *		ODRP_WIRE_F_DIRECT the table has records of slabs (session/slabs.h)
 * @cap, @slack, @granted, @ceiling: of the session's lease
 * @claim:	pages that the session's stores may have in page registers
 * @peer_ip:	address of the compute node, big endian
 * @instances:	of each chain
 * @name:	of the identity that may resume the session, padded with zeros; "": whoever
 *		has the token
 * @dead_ms:	what the last heartbeat of the session asked for
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
	uint32_t dead_ms;
	uint8_t resv1[8];
	uint32_t valid;
};

/**
 * struct keep_agent - the process that has used the files last, behind the head
 * @pid:	0: not known
 * @start:	when it began, in ticks since the machine booted
 */
struct keep_agent {
	uint32_t pid;
	uint8_t resv[4];
	uint64_t start;
};

/**
 * struct keep_space - a space, or this node's part of one that lies on several memory nodes.
 * Its clients, their incarnations and the epoch are in its memory.
 * @page, @nr_pages: its run of pages
 * @sb:		the superblock (userspace/space/layout.h): clients may have written anything
 *		over the one in the space's memory. It names the life of a set
 * @generation:	of a part that an arbiter has had begun (far.h); else 0
 * @valid:	KEEP_VALID; written last, and cleared first
 */
struct keep_space {
	uint64_t page;
	uint64_t nr_pages;
	uint8_t sb[KEEP_SB];
	uint32_t generation;
	uint8_t resv[8];
	uint32_t valid;
};

/**
 * struct keep_member - another memory node of a set, as its arbiter knows it. Each record of a
 * space has KEEP_MEMBERS of them; they mean something while it is valid.
 * @generation:	of its part; 0: it has not joined
 * @state:	enum space_member_state (mnode/space/space-set.h)
 * @losses:	as in struct far_losses (userspace/space/layout.h)
 */
struct keep_member {
	uint32_t generation;
	uint16_t state;
	uint8_t losses;
	uint8_t resv;
};

#define KEEP_AGENT_OFF		64u
#define KEEP_SPACES_OFF		512u
/* The state file has the head, the agent, the spaces, the records of sessions, for each
 * page its owner in 16 bits, and the members of sets, at a multiple of 8. */
#define KEEP_RECORDS_OFF	4096u
#define KEEP_OWNERS_OFF		(KEEP_RECORDS_OFF + KEEP_RECORDS * 128u)

/**
 * struct keep - the files, mapped
 * @fd:		by enum keep_file; -1: none
 * @owner:	the owner of each page
 * @member:	KEEP_MEMBERS for each space; NULL: the files have no room for them
 * @adopted:	an earlier agent has created the files
 */
struct keep {
	int fd[KEEP_FILES];
	struct mem state, pages;
	volatile struct keep_head *head;
	volatile struct keep_agent *agent;
	volatile struct keep_space *space;
	volatile struct keep_record *record;
	uint16_t *owner;
	volatile struct keep_member *member;
	bool adopted;
};

/* Sets up a keep without files; every other function needs this first. */
void keep_init(struct keep *k);
/* Creates files in which all pages are free and there is no session. The caller has to
 * put them into the file descriptor store. Returns 0 or -errno. */
int keep_new(struct keep *k, uint64_t nr_pages, uint64_t max_slots, bool populate);
/*
 * Maps the files that an earlier agent has left. The descriptors belong to k on success,
 * else still to the caller. Waits until that agent's process has ended, since its queue
 * pairs end with it. -EBUSY: another process uses the files, or does not end; -EPROTO: they
 * do not have the format above, and cannot be adopted.
 */
int keep_adopt(struct keep *k, const int fd[KEEP_FILES]);
/* Unmaps and closes the files. They live on if another process has them open. A keep
 * without files is allowed. */
void keep_close(struct keep *k);

/* How many records are valid. */
unsigned int keep_sessions(const struct keep *k);
/* The record of the owner of pages; NULL: there is no valid one. */
volatile struct keep_record *keep_record(const struct keep *k, uint16_t owner);
/* Writes the owner's record; rec->valid is ignored. */
void keep_put(struct keep *k, uint16_t owner, const struct keep_record *rec);
/* Updates the lease in the owner's record; no effect if there is none. */
void keep_lease(struct keep *k, uint16_t owner, uint64_t granted, uint64_t ceiling);
/* The same of what the session's last heartbeat asked for. */
void keep_dead_ms(struct keep *k, uint16_t owner, uint32_t dead_ms);
/* Invalidates the owner's record. */
void keep_drop(struct keep *k, uint16_t owner);
/* How many records of spaces are valid. */
unsigned int keep_spaces(const struct keep *k);
/* Record i, below KEEP_SPACES; NULL: it is not valid. */
volatile struct keep_space *keep_space(const struct keep *k, unsigned int i);
/* The record that keep_space_put() will take. -ENOSPC. */
int keep_space_next(const struct keep *k);
/* Writes a record whose space is complete; rec->valid is ignored. Returns its number;
 * -ENOSPC. */
int keep_space_put(struct keep *k, const struct keep_space *rec);
/* Member `node` of record i; NULL: the files have no room for members. */
volatile struct keep_member *keep_member(const struct keep *k, unsigned int i,
					 unsigned int node);
/* Invalidates record i. */
void keep_space_drop(struct keep *k, unsigned int i);
/* Stores whether all compute nodes are asked to leave. */
void keep_draining(struct keep *k, bool on);
/* Stores the id of the next session. */
void keep_next_id(struct keep *k, uint64_t id);
/* Stores the owner of a page. */
void keep_own(struct keep *k, uint64_t page, uint16_t owner);

/* How many slots a table has room for. */
uint64_t keep_max_slots(const struct keep *k);
/* Maps the first len bytes of the owner's table. Without a record they are all zero. */
int keep_table(struct keep *k, uint16_t owner, size_t len, struct mem *ret_mem);
/* Unmaps a piece of the table, and frees the piece in the file unless there is a record.
 * True: nothing is mapped any more. */
bool keep_table_shrink(struct keep *k, uint16_t owner, struct mem *table);
/* Frees the tables without a record. -errno: some may not be free. */
int keep_tables_clear(struct keep *k);

#endif /* MNODE_KEEP_H */
