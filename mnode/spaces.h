/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Far memory for programs: spaces in pages of the pool, and the agent's part in them.
 * Clients connect by include/uapi/odrp/far.h (userspace/host/host.h).  The agent is the
 * arbiter of each space (userspace/space/arbiter.h), or of a set if it is node 0.  The
 * agent does nothing per operation.
 *
 * Clients may write anything into a space.  The agent uses its own copy of the
 * superblock, so that no contents of the space make it access other memory.
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
 * struct space - one space
 * @page, @nr_pages: its run of pages in the pool
 * @set:	on the arbiter of a set: the other memory nodes; else without members
 * @living:	clients that were alive at the last step
 * @fenced:	clients that have been fenced since the agent began
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
 * struct spaces - all spaces
 * @who:	secrets, for arbiters of sets
 * @share:	returns enum odrp_far_status: may that name send a request, or have one
 *		more connection?  NULL: everybody may
 * @share_arg:	first argument of @share
 * @open:	the settings have spaces, so @host is initialised
 * @list:	in the order of the settings
 * @generation:	random number of this agent, by which arbiters notice a restart
 * @nr_pages:	of all spaces
 * @step_at, @probe_at: when the next step and the next probe are due
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

/* Listens for clients, if the settings have spaces.  The caller keeps conf.  -errno, with
 * a sentence in why. */
int spaces_open(struct spaces *sp, struct nic *nic, const struct conf *conf,
		char why[CONF_WHY_MAX]);
void spaces_close(struct spaces *sp);
/* Makes all spaces, or none.  -errno, with a sentence in why. */
int spaces_make(struct spaces *sp, struct pool *pool, const struct conf *conf,
		char why[CONF_WHY_MAX]);
/* Frees all spaces and disconnects their clients. */
void spaces_unmake(struct spaces *sp);

/* Handles a connection request.  False: it is not for a space.  The request may delete a
 * space.  required: only peers that have proved a name get anything. */
bool spaces_request(struct spaces *sp, struct who *who, bool required,
		    const struct nic_event *ev);
/* spaces_go_by(): does an attachment use that pass?  spaces_cut_pass(): cuts these
 * attachments off.  spaces_gone(): handles the end of a connection; false: it is not a
 * space's. */
bool spaces_go_by(const struct spaces *sp, uint64_t pass);
void spaces_cut_pass(struct spaces *sp, uint64_t pass);
bool spaces_gone(struct spaces *sp, const struct nic_event *ev);
/* Does what is due at time now (ns, any origin): epochs, fences, probes of clients.
 * Returns when to call again; UINT64_MAX: after the next event. */
uint64_t spaces_step(struct spaces *sp, uint64_t now);

struct space *spaces_find(const struct spaces *sp, const char *name);
/* Gives the space's pages back to the pool.  Clients see a dead peer. */
void spaces_delete(struct spaces *sp, struct space *space);
/* Attachments to the space. */
unsigned int spaces_attached(const struct spaces *sp, const struct space *space);

/* Connections of peers that have proved that name, and, if name is an address, those from
 * there of peers that have proved none. */
uint64_t spaces_connections_of(const struct spaces *sp, const struct who *who,
			       const char *name);

/* Memory nodes that take part in the space, as far as this node knows. */
unsigned int spaces_joined(const struct space *space);

#endif /* MNODE_SPACES_H */
