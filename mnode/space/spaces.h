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

#include "../../userspace/host/host.h"
#include "../../userspace/host/signed.h"
#include "../../userspace/space/arbiter.h"
#include "../../userspace/space/summary.h"
#include "../conf.h"
#include "../page/pool.h"
#include "../peer/audit.h"
#include "space-set.h"

struct spaces;

/* An addition to what the sender of a request has. */
enum spaces_adds {
	SPACES_NOTHING, SPACES_ATTACH, SPACES_QUEUE,
};

/**
 * struct space - one space
 * @page, @nr_pages: its run of pages in the pool; of a space that was deleted, what has
 *		not been given back
 * @kept:	number of its record in the kept files; -1: it has none
 * @removed:	it was deleted, and nothing can reach its pages
 * @set:	on the arbiter of a set: the other memory nodes; else without members
 * @generation:	of a part that an arbiter has had begun (far.h); 0: there is none
 * @turn:	of a member's last answer (far.h); 0: none counts
 * @turn_at:	when that answer was made, or before
 * @until:	when the member stops serving; 0: it serves nobody
 * @used:	the part has been open: clients may have something in it
 * @living:	clients that were alive at the last step
 * @fenced:	clients that have been fenced since the agent began
 * @epoch, @epoch_at: the epoch at the last step, and the first step that saw it (ns)
 * @stepped_at:	the last step (ns)
 */
struct space {
	struct far_host_space host;
	const struct conf_space *conf;
	struct spaces *all;
	struct space *next;
	uint64_t page, nr_pages;
	int kept;
	struct far_sb sb;
	struct space_set set;
	uint32_t generation;
	uint8_t turn;
	uint64_t turn_at, until;
	bool used;
	unsigned int living;
	uint64_t fenced;
	uint64_t epoch, epoch_at, stepped_at;
	bool removed;
};

/**
 * struct spaces - all spaces
 * @idents:	secrets, for arbiters of sets
 * @audit:	gets a line for each refusal
 * @share:	returns enum odrp_far_status: may that name send a request, or have one
 *		more attachment or queue?  NULL: everybody may
 * @share_arg:	first argument of @share
 * @open:	the settings have spaces, so @host is initialised
 * @list:	in the order of the settings
 * @ending:	deleted spaces that still have connections or pages
 * @nr_pages:	of all spaces, also of deleted ones
 * @now:	time of the last spaces_stand()
 * @step_at, @probe_at: when the next step and the next probe are due
 */
struct spaces {
	struct pool *pool;
	const struct idents *idents;
	struct audit *audit;
	unsigned int (*share)(void *arg, const char *name, bool proved,
			      enum spaces_adds adds);
	void *share_arg;
	bool open;
	struct far_host host;
	struct space *list, *ending;
	uint64_t nr_pages;
	uint64_t now, step_at, probe_at;
};

/* Listens for clients, if the settings have spaces.  The caller keeps conf.  -errno, with
 * a sentence in why. */
int spaces_open(struct spaces *sp, struct nic *nic, const struct conf *conf,
		char why[CONF_WHY_MAX]);
void spaces_close(struct spaces *sp);
/* Makes all spaces that are not there yet, or none.  -errno, with a sentence in why. */
int spaces_make(struct spaces *sp, struct pool *pool, const struct conf *conf,
		char why[CONF_WHY_MAX]);
/* Frees all spaces and disconnects their clients.  Those with a record keep their pages for
 * the next agent. */
void spaces_unmake(struct spaces *sp);

/* Handles a connection request.  False: it is not for a space.  The request may delete a
 * space.  required: only peers that have proved a name get anything. */
bool spaces_request(struct spaces *sp, struct idents *idents, bool required,
		    const struct nic_event *ev);
/* spaces_go_by(): does an attachment use that pass?  spaces_cut_name(): cuts off all
 * attachments of peers that have proved that name.  spaces_gone(): handles the end of a
 * connection; false: it is not a space's. */
bool spaces_go_by(const struct spaces *sp, uint64_t pass);
void spaces_cut_name(struct spaces *sp, const char *name);
bool spaces_gone(struct spaces *sp, const struct nic_event *ev);
/* Does what is due at time now (ns, any origin): epochs, fences, probes of clients.
 * Returns when to call again; UINT64_MAX: after the next event. */
uint64_t spaces_step(struct spaces *sp, uint64_t now);
/* Stops and begins to serve parts of sets with lost-ms.  now: ns, of a clock that never stands
 * still, which that of spaces_step() may.  Returns when to call again. */
uint64_t spaces_stand(struct spaces *sp, uint64_t now);

struct space *spaces_find(const struct spaces *sp, const char *name);
/* Nobody finds the space any more, and its clients see a dead peer.  Its pages go back to
 * the pool, in the next calls of spaces_step() if there is much to end. */
void spaces_delete(struct spaces *sp, struct space *space);
/* The time since the epoch advanced, in ns: clients that are slow hold it.  0 while no
 * client lives. */
uint64_t spaces_epoch_age(const struct space *space);
/* Attachments to the space. */
unsigned int spaces_attached(const struct spaces *sp, const struct space *space);

/* Attachments and their queues. */
struct spaces_use {
	uint64_t attaches, queues;
};

/* Sums up what peers have that have proved that name, or, if it is an address, peers there
 * that have proved none. */
struct spaces_use spaces_use_of(const struct spaces *sp, const char *name);
/* The number by which attachments name their owner. */
uint64_t spaces_owner(const char *name);

/* Memory nodes that take part in the space, as far as this node knows. */
unsigned int spaces_joined(const struct space *space);
/* Declares memory node `node` of the space lost. -errno, with a sentence in why. */
int spaces_declare_lost(struct space *space, uint64_t node, char why[CONF_WHY_MAX]);

#endif /* MNODE_SPACES_H */
