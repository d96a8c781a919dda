/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Limits of each identity, for all of its sessions together.  An identity is the name
 * that a peer has proved, or its address if it has proved none.
 */
#ifndef MNODE_SHARES_H
#define MNODE_SHARES_H

#include <nic/node.h>
#include "../conf.h"
#include "lease.h"

/* Events that are logged once for a share, until its limits are set anew: bits of @logged. */
#define SHARE_LOG_RATE		(1u << 0)	/* the NIC does not limit the bandwidth */

/**
 * struct share - limits of one identity
 * @limits:	of its section, or those for identities without a section
 * @named:	has a section; such a share exists also without a session
 * @lease:	limits of its leases
 * @requests:	connection requests that may come at once, in units of 1 / SHARE_REQUEST
 * @rate:	the NIC's object that limits bandwidth; 0: none
 * @logged:	what has been logged already: SHARE_LOG_*
 * @refused:	requests that were refused because a limit was reached
 * @places:	its sessions, and ended ones until all of them is freed
 */
struct share {
	struct share *next;
	struct conf_client limits;
	bool named;
	struct lease_share lease;
	uint64_t requests;
	uint32_t rate;
	unsigned int logged;
	uint64_t refused;
	unsigned int places;
};

/* milliseconds of a minute: each millisecond adds max_requests units */
#define SHARE_REQUEST	60000

/* struct shares - all shares; @nic makes rate limits; NULL: there are none */
struct shares {
	struct share *list;
	struct conf_client others;
	struct nic *nic;
};

/* Applies settings; shares that exist stay.  -ENOMEM: no limit has changed. */
int shares_set(struct shares *shares, const struct conf *conf);
void shares_fini(struct shares *shares);
/* NULL: no share has that name. */
struct share *shares_find(const struct shares *shares, const char *name);
/* Finds the share of that name, or makes one.  -ENOMEM. */
int shares_get(struct shares *shares, const char *name, struct share **ret_share);
/* Refills allowances of requests.  Frees shares that have no section, a full allowance
 * and no use according to needed(). */
void shares_tick(struct shares *shares, uint32_t elapsed_ms,
		 bool (*needed)(void *arg, const struct share *share), void *arg);
/* Frees the share of that name if it has no section, a full allowance and no use. */
void shares_tidy(struct shares *shares, const char *name,
		 bool (*needed)(void *arg, const struct share *share), void *arg);
/* Makes the NIC limit the share's bandwidth.  -EOPNOTSUPP: this NIC cannot; or the NIC's
 * error. */
int share_set_rate(const struct shares *shares, struct share *share);
/* Takes one connection request from the allowance.  False: there were too many. */
bool share_take_request(struct share *share);

#endif /* MNODE_SHARES_H */
