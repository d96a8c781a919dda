/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Services on soft, under soft_nic.lock; service.c has what is common. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/parse.h"
#include "../base/why.h"
#include "service.h"
#include "soft_priv.h"

static struct far_server *server_of(struct far_nic *nic)
{
	return soft_nic_of(nic)->server;
}

static void events_take(void *soft)
{
	soft_events_take(soft);
}

int soft_server_new(struct soft_nic *soft, const char *keys, char *why, size_t len)
{
	struct far_server *server = calloc(1, sizeof(*server));
	int err;

	if (!server)
		return far_why(why, len, -ENOMEM, "%s", strerror(ENOMEM));
	server->dev = soft->dev;
	server->lock = &soft->lock;
	server->take = events_take;
	server->arg = soft;
	err = far_server_start(server, keys, why, len);
	if (err)
		free(server);
	else
		soft->server = server;
	return err;
}

void soft_server_free(struct far_server *server)
{
	far_server_stop(server);
	free(server);
}

/* Makes the server on the first call. */
static int server_get(struct soft_nic *soft)
{
	char why[1];
	int err = 0;

	pthread_mutex_lock(&soft->lock);
	if (!soft->server)
		err = soft_server_new(soft, "", why, sizeof(why));
	pthread_mutex_unlock(&soft->lock);
	return err;
}

int soft_service_listen(struct far_qset *qset, const char *name, struct far_listener **ret_listener)
{
	int err = far_parse_is_name(name, FAR_SERVICE_MAX) ?
		  server_get(soft_nic_of(qset->nic)) : -EINVAL;

	return err ? err : far_service_listen(server_of(qset->nic), qset, name, ret_listener);
}

void soft_service_unlisten(struct far_nic *nic, struct far_listener *listener)
{
	far_service_unlisten(server_of(nic), listener);
}

int soft_service_take(struct far_nic *nic, struct far_listener *listener,
	      struct far_caller *ret_caller)
{
	return far_service_take(server_of(nic), listener, ret_caller);
}

void soft_service_reject(struct far_nic *nic, struct far_caller *caller, int status)
{
	far_service_reject(server_of(nic), caller->priv, status);
}

/* Accepts the call with the wire's queue pair. -ECONNRESET: the caller has given up. */
static int wire_accept(struct soft_wire *wire, struct far_pending *pending,
		       const struct far_window *window, const struct far_hello *answer)
{
	struct soft_nic *soft = wire->soft;
	struct far_hello_accept accept;
	size_t len = far_pending_answer(pending, wire->qp.qpn, soft_window_key(window),
					window->span, answer, &accept);
	uint32_t id = pending->guest.id;
	int err = -ECONNRESET;

	pthread_mutex_lock(&soft->lock);
	soft_events_take(soft);
	if (!pending->guest.over &&
	    !soft->dev->ops->accept(soft->dev, id, wire->qp.qpn, &accept, len)) {
		err = 0;
		far_guest_remove(soft->server, &pending->guest);
		soft_conn_add(soft, &wire->conn, id, SOFT_CONN_UP);
	}
	pthread_mutex_unlock(&soft->lock);
	return err;
}

int soft_service_accept(struct far_nic *nic, struct far_caller *caller, const struct far_end *end,
		const struct far_window *window, const struct far_hello *answer,
		struct far_link **ret_link)
{
	struct soft_nic *soft = soft_nic_of(nic);
	struct far_pending *pending = caller->priv;
	struct soft_qp_conf conf;
	struct soft_wire *wire;
	int err = soft_wire_new(soft, end, window, &wire);

	if (err)
		goto reject;
	wire->regions = pending->regions;
	err = soft_wire_conf(end, window, &conf);
	if (!err)
		err = far_qp_new(soft->dev, conf.pdn, conf.cqn, conf.log_sq, conf.access,
				 &conf.rq, &wire->qp);
	if (!err)
		err = soft_wire_bind(wire);
	if (err)
		goto free_wire;
	err = wire_accept(wire, pending, window, answer);
	if (err)
		goto hang_up;
	far_pending_free(soft->server, pending);
	*ret_link = (struct far_link *)wire;
	return 0;

hang_up:
	soft_wire_hangup(nic, (struct far_link *)wire);
	far_pending_free(soft->server, pending);
	return err;

free_wire:
	soft_wire_free(wire);
reject:
	far_service_reject(soft->server, pending, err);
	return err;
}
