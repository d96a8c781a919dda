/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The RDMA devices of this host, and the features that the back end verbs uses. */
#ifndef FAR_NIC_VERBS_INFO_H
#define FAR_NIC_VERBS_INFO_H

#include <stdbool.h>
#include <stdint.h>

struct far_verbs_gid {
	unsigned index;
	const char *type;	/* "RoCE v2", ... */
	char gid[46];		/* as an IPv6 address */
};

struct far_verbs_port {
	unsigned number;
	const char *state;	/* "PORT_ACTIVE", ... */
	const char *link;	/* "Ethernet", "InfiniBand" */
	unsigned mtu;		/* most payload of a packet, in bytes */
	uint64_t max_message;	/* bytes */
	unsigned nr_gids;
	struct far_verbs_gid *gid;
};

struct far_verbs_device {
	const char *name;
	char firmware[64];
	const char *atomics;	/* "none", "device", "host" */
	int thread_domains;	/* 0: supported; else the (positive) errno of a try */
	int max_inline;		/* bytes that libfar can use; -errno: no queue pair */
	int max_sge, max_queue, max_queues, max_reads;
	unsigned nr_ports;
};

/*
 * Receives the report. A result other than 0 ends the report and is returned. The structs
 * are valid during the call only.
 */
struct far_verbs_reporter {
	int (*device)(void *arg, const struct far_verbs_device *device);
	int (*port)(void *arg, const struct far_verbs_port *port);
	void *arg;
};

/* Reports each device, followed by its ports. 0 also if there is no device. */
int far_verbs_report(const struct far_verbs_reporter *to);

#endif
