/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What each identity may have, whatever sessions it has: by the name it has proved, or
 * by its address, if it has proved none.
 */
#ifndef MNODE_SHARES_H
#define MNODE_SHARES_H

#include <nic/node.h>
#include "conf.h"
#include "lease.h"

/**
 * struct share - of one identity
 * @limits:	of its section, or of all that have none
 * @named:	it has a section, and is there also without a session
 * @lease:	of its pages
 * @requests:	for connections that may come at once, in parts of SHARE_REQUEST
 * @rate:	of its bandwidth, in the NIC; 0: none was made
 * @rate_said:	the log has it that the NIC does not hold it
 * @refused:	for being too many of something
 */
struct share {
	struct share *next;
	struct conf_client limits;
	bool named;
	struct lease_share lease;
	uint64_t requests;
	uint32_t rate;
	bool rate_said;
	uint64_t refused;
};

/* A minute's ms: so that each ms gives max_requests of them. */
#define SHARE_REQUEST	60000

/* @nic: that holds limits of rate, or NULL: none does. */
struct shares {
	struct share *list;
	struct conf_client others;
	struct nic *nic;
};

/* As the settings have it, now; who is there stays.  -ENOMEM: nothing has changed. */
int shares_set(struct shares *shares, const struct conf *conf);
void shares_fini(struct shares *shares);
/* NULL: there is none of that name. */
struct share *shares_find(const struct shares *shares, const char *name);
/* Of that name, which is there from then on.  -ENOMEM. */
int shares_get(struct shares *shares, const char *name, struct share **ret_share);
/* Time passes.  Those that have no section and that nobody needs go. */
void shares_tick(struct shares *shares, uint32_t elapsed_ms,
		 bool (*needed)(void *arg, const struct share *share), void *arg);
/* The NIC goes by its bandwidth from now on.  -EOPNOTSUPP: this NIC cannot. */
int share_set_rate(const struct shares *shares, struct share *share);
/* A request for a connection has come.  False: one too many. */
bool share_take_request(struct share *share);

#endif /* MNODE_SHARES_H */
