/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The clients that a memory node of this process lets in: those that have proved a name
 * of a directory of secrets, and the process itself, which has a secret of its own that
 * nobody else knows. The caller holds the memory node's lock, except at start and end.
 */
#ifndef FAR_NIC_NODE_AUTH_H
#define FAR_NIC_NODE_AUTH_H

#include "../host/host.h"
#include "../host/responder.h"
#include "../peer/pass.h"

/**
 * struct far_node_auth - names, passes and handshakes of a memory node
 * @self:	the name and secret of this process
 * @ticked_ns:	the last far_node_auth_work()
 */
struct far_node_auth {
	struct far_host *host;
	struct idents idents;
	struct responder responder;
	struct far_key self;
	uint64_t ticked_ns;
};

/*
 * Reads the directory once. -errno, with a sentence in why: it cannot be read, a file in
 * it cannot be used, or it has no secret.
 */
int far_node_auth_new(struct far_host *host, const char *dir, char *why, size_t len,
		      struct far_node_auth **ret_auth);
/* Called after far_host_fini(). */
void far_node_auth_free(struct far_node_auth *auth);
/* Answers a connection request: a handshake, a signed request, or one to refuse. */
void far_node_auth_request(struct far_node_auth *auth, const struct nic_event *event);
/* A connection has ended. False: it is not a handshake's. */
bool far_node_auth_gone(struct far_node_auth *auth, uint32_t conn);
/* Takes messages of handshakes. True: some are under way, so the caller calls again soon. */
bool far_node_auth_work(struct far_node_auth *auth, uint64_t now_ns);

#endif
