/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a program may ask for: the attributes of a client and of a server. */
#ifndef FAR_RPC_ATTR_H
#define FAR_RPC_ATTR_H

#include <far/rpc.h>

#define RPC_BATCH_MAX		64u	/* requests of a message */
#define RPC_CONNECTIONS_MAX	65535u
#define RPC_WORKERS_MAX		1024u

/*
 * Each checks all but the NIC. -EINVAL: why (why_len bytes, 0: nobody wants it) names the value
 * and what was expected.
 */
int rpc_attr_check(const struct far_rpc_attr *attr, char *why, size_t why_len);
int rpc_server_attr_check(const struct far_rpc_server_attr *attr, char *why, size_t why_len);

/* Opens a NIC by its name. -EINVAL: it is NULL; other errors as far_nic_open(). */
struct far_nic;
int rpc_nic_open(const char *spec, char *why, size_t why_len, struct far_nic **ret_nic);

#endif
