/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Services of a program, on a NIC of wrchain's table: a thread takes the NIC's events, checks
 * who calls, and rings the bell of the queue set whose thread takes calls of the service. For
 * soft and verbs, whose functions of the table's other end call these.
 */
#ifndef FAR_NIC_SERVICE_H
#define FAR_NIC_SERVICE_H

#include <pthread.h>

#include "../host/signed.h"
#include "hello.h"
#include "nic.h"
#include "node_auth.h"

/**
 * struct far_guest - a connection that has come from a caller
 * @id:		0: there is none
 * @over:	it has ended; atomic
 * @ended:	is told of that, under the lock; may be NULL
 */
struct far_guest {
	struct far_guest *next;
	uint32_t id;
	bool over;
	void (*ended)(struct far_guest *guest);
};

/**
 * struct far_pending - a call of a service that was not answered: far_caller.priv
 * @req:	signs the answer
 * @regions:	the caller's window
 */
struct far_pending {
	struct far_pending *next;
	struct far_guest guest;
	struct far_host_signed req;
	struct far_regions regions;
	struct far_hello hello;
};

/**
 * struct far_server - what answers calls
 * @lock:	the back end's: protects the NIC and all of this
 * @take:	takes the NIC's events, under the lock, and has far_server_event() handle them
 * @host:	serves no space
 * @auth:	NULL: everybody may call
 */
struct far_server {
	struct nic *dev;
	pthread_mutex_t *lock;
	void (*take)(void *arg);
	void *arg;
	struct far_host host;
	struct far_node_auth *auth;
	struct far_service *services;
	struct far_guest *guests;
	pthread_t thread;
	int stop_fd;
};

/*
 * Starts the server, whose first four fields are set. keys: callers must prove a name of this
 * directory of secrets; "": nobody needs to. -errno, with a sentence in why.
 */
int far_server_start(struct far_server *server, const char *keys, char *why, size_t len);
/* Stops the thread. The NIC stays open. */
void far_server_stop(struct far_server *server);
/* The caller holds the lock. */
void far_server_event(struct far_server *server, const struct nic_event *event);

/* The table's listen(), but for the server, and its unlisten(), take() and reject(). */
int far_service_listen(struct far_server *server, struct far_qset *qset, const char *name,
		       struct far_listener **ret_listener);
void far_service_unlisten(struct far_server *server, struct far_listener *listener);
int far_service_take(struct far_server *server, struct far_listener *listener,
		     struct far_caller *ret_caller);
void far_service_reject(struct far_server *server, struct far_pending *pending, int status);
/* Fills the answer to a call by queue pair qpn, and signs it if need be. Returns its length. */
size_t far_pending_answer(const struct far_pending *pending, uint32_t qpn, uint32_t rkey,
			  uint64_t size, const struct far_hello *answer,
			  struct far_hello_accept *ret_accept);
/* Ends the connection, unless the caller has taken it, and frees the call. */
void far_pending_free(struct far_server *server, struct far_pending *pending);

/* Adds a connection, or takes it away. The caller holds the lock. */
void far_guest_add(struct far_server *server, struct far_guest *guest, uint32_t id);
void far_guest_remove(struct far_server *server, struct far_guest *guest);

#endif
