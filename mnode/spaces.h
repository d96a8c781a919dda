/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Far memory for programs: spaces in pages of the pool, and the agent's part in them.
 * Clients come and go by include/uapi/odrp/far.h (userspace/host/host.h); the agent is
 * each space's arbiter (userspace/space/arbiter.h). It does nothing per operation.
 *
 * What is in a space's memory is its clients': the agent goes by its own copy of the
 * superblock, and nothing that they write there leads it anywhere else.
 */
#ifndef MNODE_SPACES_H
#define MNODE_SPACES_H

#include "../userspace/host/host.h"
#include "../userspace/space/arbiter.h"
#include "../userspace/space/summary.h"
#include "conf.h"
#include "pool.h"
#include "space-set.h"
#include "who.h"

struct spaces;

/**
 * struct space - one of them
 * @page, @nr_pages: in the pool
 * @set:	of the arbiter of a set: the other memory nodes; else it has no members
 * @living:	clients that were alive at the last step
 */
struct space {
	struct far_host_space host;
	const struct conf_space *conf;
	struct spaces *all;
	struct space *next;
	uint64_t page, nr_pages;
	struct far_sb sb;
	struct space_set set;
	unsigned int living;
	uint64_t fenced;
};

/**
 * struct spaces - all of them
 * @who:	secrets, of arbiters of sets
 * @share:	whether that name may ask, or have one more connection: enum
 *		odrp_far_status; NULL: each may
 * @share_arg:	its first
 * @open:	there were some, at the start: host exists
 * @list:	in the order of the settings
 * @generation:	of this agent, by which arbiters of sets know it
 * @nr_pages:	of all
 * @step_at, @probe_at: when there is something to do again
 */
struct spaces {
	struct pool *pool;
	const struct who *who;
	unsigned int (*share)(void *arg, const char *name, bool proved, bool connects);
	void *share_arg;
	bool open;
	struct far_host host;
	struct space *list;
	uint64_t nr_pages;
	uint32_t generation;
	uint64_t step_at, probe_at;
};

/* Listens, if the settings have spaces, which stay the caller's.  -errno, with a
 * sentence in why. */
int spaces_open(struct spaces *sp, struct nic *nic, const struct conf *conf,
		char why[CONF_WHY_MAX]);
void spaces_close(struct spaces *sp);
/* Makes them, all or none. */
int spaces_make(struct spaces *sp, struct pool *pool, const struct conf *conf,
		char why[CONF_WHY_MAX]);
/* Cuts all clients off. */
void spaces_unmake(struct spaces *sp);

/* A new connection, or what has become of one.  False: it is none of a space's.  A
 * request may delete a space. required: only who has proved who he is gets anything. */
bool spaces_request(struct spaces *sp, struct who *who, bool required,
		    const struct nic_event *ev);
/* Has an attachment come by that pass?  And cuts off those that have. */
bool spaces_go_by(const struct spaces *sp, uint64_t pass);
void spaces_cut_pass(struct spaces *sp, uint64_t pass);
bool spaces_gone(struct spaces *sp, const struct nic_event *ev);
/* What is due at time now (ns, any origin): epochs, fences, whether clients live.
 * Returns when it is to be called again; UINT64_MAX: after the next event. */
uint64_t spaces_step(struct spaces *sp, uint64_t now);

struct space *spaces_find(const struct spaces *sp, const char *name);
/* Its pages are nobody's behind this.  Clients see a dead peer. */
void spaces_delete(struct spaces *sp, struct space *space);
/* Connections that are attached to it. */
unsigned int spaces_attached(const struct spaces *sp, const struct space *space);

/* Connections of those who have proved that name. */
uint64_t spaces_connections_of(const struct spaces *sp, const struct who *who,
			       const char *name);

/* Memory nodes that take part in it, as far as this one knows. */
unsigned int spaces_joined(const struct space *space);

#endif /* MNODE_SPACES_H */
