/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The RDMA devices of this host, and what the back end verbs finds on them. */
#ifndef FAR_NIC_VERBS_INFO_H
#define FAR_NIC_VERBS_INFO_H

#include <stdbool.h>
#include <stdint.h>

#define FAR_VERBS_GIDS	16u	/* of a port, at most, are told */

struct far_verbs_gid {
	unsigned index;
	const char *type;	/* "RoCE v2", ... */
	char gid[46];		/* as an IPv6 address */
};

struct far_verbs_port {
	unsigned number;
	const char *state;	/* "PORT_ACTIVE", ... */
	const char *link;	/* "Ethernet", "InfiniBand" */
	unsigned mtu;		/* bytes, of a packet's payload */
	uint64_t max_message;	/* bytes */
	unsigned nr_gids;
	struct far_verbs_gid gid[FAR_VERBS_GIDS];
};

struct far_verbs_device {
	const char *name;
	char firmware[64];
	const char *atomics;	/* "none", "device", "host" */
	int thread_domains;	/* 0: it has them; or the errno of asking for one */
	int max_inline;		/* bytes, up to what libfar asks for; -errno: no queue pair */
	int max_sge, max_queue, max_queues, max_reads;
	unsigned nr_ports;
};

/* Who is told; not 0 ends it, and is returned. The structs are for the call only. */
struct far_verbs_reporter {
	int (*device)(void *arg, const struct far_verbs_device *device);
	int (*port)(void *arg, const struct far_verbs_port *port);
	void *arg;
};

/* Each device, and behind it its ports. 0 also where there are none. */
int far_verbs_report(const struct far_verbs_reporter *to);

#endif
