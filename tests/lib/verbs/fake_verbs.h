/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An RDMA device that is none: what verbs of libfar and the NIC on plain verbs call of
 * libibverbs and librdmacm, linked in front of them. Work requests are executed when they
 * are posted. Connections lead to who listens in this process, or, if nobody listens, to
 * memory nodes whose spaces are those of mem. It checks what it is given, notes it, and
 * fails the N-th call.
 */
#ifndef TEST_FAR_FAKE_VERBS_H
#define TEST_FAR_FAKE_VERBS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../userspace/nic/nic.h"

#define FAKE_DEVICE	"fake0"
/* Memory node i of mem is at 127.0.0.(i + 1). */

struct fake_verbs {
	/* Settings, before the back end is opened. */
	struct far_nic *host;		/* mem: has the spaces */
	const char *key_dir, *key_name;	/* who alone is let in; NULL: anybody */
	bool no_td;			/* the provider has no thread domains */
	bool no_atomics;		/* the device, as iWARP ones */
	unsigned max_tds;		/* doorbells to be had; 0: no limit */
	uint32_t max_inline;		/* of the device */
	uint32_t gids;			/* of its port */
	uint32_t same_qpn;		/* all queue pairs get this number; 0: one each */
	bool qp_stays;			/* ibv_destroy_qp() fails */
	bool split_keys;		/* lkey and rkey differ */
	unsigned fail_at;		/* that call fails, counted from 1; 0: none */
	/* What was seen. */
	unsigned calls;			/* of those that may fail */
	unsigned tds, parents;		/* that exist */
	unsigned td_pds, td_cqs, td_qps;/* made under a thread domain, ever */
	unsigned objects;		/* of all kinds, that exist */
	unsigned posts;			/* calls of ibv_post_send() */
	unsigned handshakes;		/* that were right */
	unsigned inlined;		/* work requests with data inline */
	unsigned fenced, signaled;
	const char *wrong;		/* the first argument that cannot be; or NULL */
};

extern struct fake_verbs fake;

#endif
