/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Services on verbs. A NIC of wrchain's table on the same device takes connection requests;
 * the queue pairs of accepted calls are of the queue sets' own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <nic/verbs.h>

#include "../base/parse.h"
#include "../base/why.h"
#include "verbs_priv.h"

struct verbs_server {
	struct far_server s;
	pthread_mutex_t lock;
};

static struct far_server *server_of(struct far_nic *nic)
{
	return &verbs_nic_of(nic)->server->s;
}

/* ---- start and end ---- */

static void events_take(void *arg)
{
	struct far_server *server = arg;
	struct nic_event event;

	while (!server->dev->ops->event(server->dev, &event))
		far_server_event(server, &event);
}

static int dev_open(struct verbs_nic *verbs, struct nic **ret_dev, char *why, size_t len)
{
	struct nic_verbs_opts opts;
	char reason[NIC_VERBS_WHY_MAX];
	int err = nic_verbs_parse(verbs_name(verbs), &opts, reason);

	if (!err)
		err = nic_verbs_open(&opts, ret_dev, reason);
	return err ? far_why(why, len, err, "%s", reason) : 0;
}

int verbs_server_new(struct verbs_nic *verbs, char *why, size_t len)
{
	struct verbs_server *server = calloc(1, sizeof(*server));
	int err;

	if (!server)
		return far_why(why, len, -ENOMEM, "%s", strerror(ENOMEM));
	pthread_mutex_init(&server->lock, NULL);
	err = dev_open(verbs, &server->s.dev, why, len);
	if (err)
		goto free_server;
	server->s.lock = &server->lock;
	server->s.take = events_take;
	server->s.arg = &server->s;
	err = far_server_start(&server->s, verbs->keys, why, len);
	if (err)
		goto close_dev;
	verbs->server = server;
	return 0;

close_dev:
	server->s.dev->ops->close(server->s.dev);
free_server:
	pthread_mutex_destroy(&server->lock);
	free(server);
	return err;
}

void verbs_server_free(struct verbs_server *server)
{
	far_server_stop(&server->s);
	server->s.dev->ops->close(server->s.dev);
	pthread_mutex_destroy(&server->lock);
	free(server);
}

/* ---- services ---- */

/* Makes the server on the first call. */
static int server_get(struct verbs_nic *verbs)
{
	char why[1];
	int err = 0;

	pthread_mutex_lock(&verbs->lock);
	if (!verbs->server)
		err = verbs_server_new(verbs, why, sizeof(why));
	pthread_mutex_unlock(&verbs->lock);
	return err;
}

int verbs_service_listen(struct far_qset *qset, const char *name,
			 struct far_listener **ret_listener)
{
	int err = far_parse_is_name(name, FAR_SERVICE_MAX) ?
		  server_get(verbs_nic_of(qset->nic)) : -EINVAL;

	return err ? err : far_service_listen(server_of(qset->nic), qset, name, ret_listener);
}

void verbs_service_unlisten(struct far_nic *nic, struct far_listener *listener)
{
	far_service_unlisten(server_of(nic), listener);
}

int verbs_service_take(struct far_nic *nic, struct far_listener *listener,
		       struct far_caller *ret_caller)
{
	return far_service_take(server_of(nic), listener, ret_caller);
}

void verbs_service_reject(struct far_nic *nic, struct far_caller *caller, int status)
{
	far_service_reject(server_of(nic), caller->priv, status);
}

/* ---- wires of callers ---- */

/* Flushes what was posted. */
static void wire_ended(struct far_guest *guest)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	ibv_modify_qp(((struct verbs_guest *)guest)->qp, &attr, IBV_QP_STATE);
}

void verbs_guest_end(struct verbs_nic *verbs, struct verbs_guest *guest)
{
	uint32_t id = guest->g.id;
	struct far_server *server;

	if (id) {
		server = &verbs->server->s;
		pthread_mutex_lock(server->lock);
		far_guest_remove(server, &guest->g);
		server->dev->ops->disconnect(server->dev, id);
		server->dev->ops->release(server->dev, id);
		pthread_mutex_unlock(server->lock);
	}
	if (guest->qp)
		ibv_destroy_qp(guest->qp);
	guest->qp = NULL;
}

/* Makes the queue pair of a wire that a caller is to get. */
static int wire_qp(struct verbs_wire *wire, const struct far_window *window)
{
	struct verbs_qp_conf conf;
	int err = verbs_wire_conf(&wire->end, window, wire, &conf);

	if (!err)
		err = verbs_qp_new(NULL, &conf, &wire->guest.qp);
	wire->qp = wire->guest.qp;
	return err;
}

/* Accepts the call with the wire's queue pair. -ECONNRESET: the caller has given up. */
static int wire_accept(struct verbs_wire *wire, struct far_pending *pending,
		       const struct far_window *window, const struct far_hello *answer)
{
	struct far_server *server = &wire->verbs->server->s;
	struct far_hello_accept accept;
	size_t len = far_pending_answer(pending, wire->qp->qp_num, verbs_window_key(window),
					window->span, answer, &accept);
	uint32_t id = pending->guest.id;
	int err = -ECONNRESET;

	pthread_mutex_lock(server->lock);
	if (!pending->guest.over && !nic_verbs_accept(server->dev, id, wire->qp, &accept, len)) {
		err = 0;
		far_guest_remove(server, &pending->guest);
		wire->guest.g.ended = wire_ended;
		far_guest_add(server, &wire->guest.g, id);
	}
	pthread_mutex_unlock(server->lock);
	return err;
}

int verbs_service_accept(struct far_nic *nic, struct far_caller *caller,
			 const struct far_end *end, const struct far_window *window,
			 const struct far_hello *answer, struct far_link **ret_link)
{
	struct far_pending *pending = caller->priv;
	struct verbs_wire *wire;
	int err = verbs_wire_new(verbs_nic_of(nic), end, &wire);

	if (err)
		goto reject;
	wire->regions = pending->regions;
	err = wire_qp(wire, window);
	if (!err)
		err = verbs_wire_bind(wire);
	if (err)
		goto free_wire;
	err = wire_accept(wire, pending, window, answer);
	if (err)
		goto hang_up;
	far_pending_free(server_of(nic), pending);
	*ret_link = (struct far_link *)wire;
	return 0;

hang_up:
	verbs_wire_hangup(nic, (struct far_link *)wire);
	far_pending_free(server_of(nic), pending);
	return err;

free_wire:
	verbs_wire_free(wire);
reject:
	far_service_reject(server_of(nic), pending, err);
	return err;
}
