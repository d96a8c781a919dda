/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Services of a program, and calls of them; see service.h. */
#include "service.h"

#include <core/wqe.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <own/own.h>

#include "../base/parse.h"
#include "../base/why.h"
#include "real.h"

#define PENDING_MAX	256u	/* calls of a service that were not taken */
#define SHAKING_MS	1	/* between two looks for messages of handshakes */

/* The table's struct far_listener. */
struct far_service {
	struct far_service *next;
	struct far_qset *qset;
	char name[FAR_SERVICE_MAX + 1];
	unsigned nr;
	struct far_pending *first, **end;
};

/* ---- connections of callers ---- */

void far_guest_add(struct far_server *server, struct far_guest *guest, uint32_t id)
{
	guest->id = id;
	guest->next = server->guests;
	server->guests = guest;
}

void far_guest_remove(struct far_server *server, struct far_guest *guest)
{
	struct far_guest **at = &server->guests;

	while (*at != guest)
		at = &(*at)->next;
	*at = guest->next;
	guest->id = 0;
}

/* A connection has ended. False: it is no caller's. */
static bool guest_gone(struct far_server *server, uint32_t id)
{
	struct far_guest *guest = server->guests;

	while (guest && guest->id != id)
		guest = guest->next;
	if (!guest)
		return false;
	__atomic_store_n(&guest->over, true, __ATOMIC_RELEASE);
	if (guest->ended)
		guest->ended(guest);
	return true;
}

/* ---- calls that come ---- */

static struct far_service *service_find(const struct far_server *server, const char *name)
{
	struct far_service *service = server->services;

	while (service && strcmp(service->name, name))
		service = service->next;
	return service;
}

static bool service_named(void *arg, const uint8_t *digest, uint8_t ret_name[ODRP_FAR_NAME_MAX])
{
	const struct far_server *server = arg;
	uint8_t name[ODRP_FAR_NAME_MAX], its[ODRP_AUTH_SPACE];
	const struct far_service *service;

	for (service = server->services; service; service = service->next) {
		memset(name, 0, sizeof(name));
		memcpy(name, service->name, strlen(service->name));
		auth_space(name, sizeof(name), its);
		if (memcmp(its, digest, sizeof(its)))
			continue;
		memcpy(ret_name, name, sizeof(name));
		return true;
	}
	return false;
}

static unsigned service_call(void *arg, const struct nic_event *event,
			     const struct far_host_asker *asker,
			     const struct odrp_far_hello *hello)
{
	struct far_server *server = arg;
	char name[ODRP_FAR_NAME_MAX + 1] = "";
	struct far_service *service;
	struct far_pending *pending;

	memcpy(name, hello->name, sizeof(hello->name));
	service = service_find(server, name);
	if (!service)
		return ODRP_FAR_E_SPACE;
	if (service->nr == PENDING_MAX)
		return ODRP_FAR_E_BUSY;
	pending = calloc(1, sizeof(*pending));
	if (!pending)
		return ODRP_FAR_E_NOMEM;
	far_host_signed_keep(asker, &pending->req);
	far_hello_caller(hello, &pending->regions, &pending->hello);
	far_guest_add(server, &pending->guest, event->id);
	*service->end = pending;
	service->end = &pending->next;
	service->nr++;
	service->qset->nic->ops->wake(service->qset);
	return ODRP_FAR_OK;
}

void far_server_event(struct far_server *server, const struct nic_event *event)
{
	const struct far_host_asker anybody = { .pass = 0 };

	if (event->type == NIC_REQUEST && server->auth)
		far_node_auth_request(server->auth, event);
	else if (event->type == NIC_REQUEST)
		far_host_serve(&server->host, event, &anybody);
	else if (event->type == NIC_GONE && !guest_gone(server, event->id) &&
		 !(server->auth && far_node_auth_gone(server->auth, event->id)))
		server->dev->ops->release(server->dev, event->id);
}

static void *server_main(void *arg)
{
	struct far_server *server = arg;
	struct pollfd fd[2] = {
		{ .fd = server->dev->event_fd, .events = POLLIN },
		{ .fd = server->stop_fd, .events = POLLIN },
	};
	bool shaking = false;

	do {
		poll(fd, 2, shaking ? SHAKING_MS : -1);
		pthread_mutex_lock(server->lock);
		server->take(server->arg);
		shaking = server->auth && far_node_auth_work(server->auth, far_real_now(NULL));
		pthread_mutex_unlock(server->lock);
	} while (!fd[1].revents);
	return NULL;
}

/* ---- start and end ---- */

static int thread_start(struct far_server *server)
{
	int err;

	server->stop_fd = own_fd(eventfd(0, 0));
	if (server->stop_fd < 0)
		return server->stop_fd;
	err = own_thread_start(&server->thread, server_main, server);
	if (err)
		own_fd_close(server->stop_fd);
	return err;
}

static int why_of(char *why, size_t len, const struct far_server *server, int err)
{
	return far_why(why, len, err, "%s: %s", server->dev->ops->name, strerror(-err));
}

int far_server_start(struct far_server *server, const char *keys, char *why, size_t len)
{
	int err = far_host_init(&server->host, server->dev);

	if (err)
		return why_of(why, len, server, err);
	server->host.call = service_call;
	server->host.service = service_named;
	server->host.arg = server;
	if (*keys)
		err = far_node_auth_new(&server->host, keys, why, len, &server->auth);
	if (err)
		goto fini_host;
	err = thread_start(server);
	if (err) {
		why_of(why, len, server, err);
		goto free_auth;
	}
	return 0;

free_auth:
	if (server->auth)
		far_node_auth_free(server->auth);
fini_host:
	far_host_fini(&server->host);
	return err;
}

void far_server_stop(struct far_server *server)
{
	eventfd_write(server->stop_fd, 1);
	pthread_join(server->thread, NULL);
	far_host_fini(&server->host);
	if (server->auth)
		far_node_auth_free(server->auth);
	own_fd_close(server->stop_fd);
}

/* ---- services ---- */

int far_service_listen(struct far_server *server, struct far_qset *qset, const char *name,
		       struct far_listener **ret_listener)
{
	struct far_service *service = calloc(1, sizeof(*service));
	int err = 0;

	if (!service)
		return -ENOMEM;
	service->qset = qset;
	service->end = &service->first;
	memcpy(service->name, name, strlen(name));
	pthread_mutex_lock(server->lock);
	if (service_find(server, service->name)) {
		err = -EADDRINUSE;
	} else {
		service->next = server->services;
		server->services = service;
	}
	pthread_mutex_unlock(server->lock);
	if (err)
		free(service);
	else
		*ret_listener = (struct far_listener *)service;
	return err;
}

static struct far_pending *pending_pop(struct far_service *service)
{
	struct far_pending *pending = service->first;

	if (!pending)
		return NULL;
	service->first = pending->next;
	if (!service->first)
		service->end = &service->first;
	service->nr--;
	return pending;
}

void far_pending_free(struct far_server *server, struct far_pending *pending)
{
	uint32_t id = pending->guest.id;

	if (id) {
		pthread_mutex_lock(server->lock);
		far_guest_remove(server, &pending->guest);
		server->dev->ops->release(server->dev, id);
		pthread_mutex_unlock(server->lock);
	}
	explicit_bzero(pending, sizeof(*pending));
	free(pending);
}

/* Rejects with a status of odrp/far.h. */
static void pending_reject(struct far_server *server, struct far_pending *pending,
			   unsigned status)
{
	struct {
		struct odrp_far_reject head;
		uint8_t mac[FAR_HOST_MAC];
	} rej = {
		.head.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.head.version = cpu_to_be16(ODRP_FAR_VERSION),
		.head.status = cpu_to_be16(status),
	};
	const struct far_host_asker *asker = &pending->req.asker;
	size_t len = sizeof(rej.head);

	if (asker->pass)
		len = asker->sign(asker, false, 0, &rej, len);
	pthread_mutex_lock(server->lock);
	server->dev->ops->reject(server->dev, pending->guest.id, &rej, len);
	pthread_mutex_unlock(server->lock);
	far_pending_free(server, pending);
}

void far_service_unlisten(struct far_server *server, struct far_listener *listener)
{
	struct far_service *service = (struct far_service *)listener, **at;
	struct far_pending *pending;

	pthread_mutex_lock(server->lock);
	for (at = &server->services; *at != service; at = &(*at)->next)
		;
	*at = service->next;
	pthread_mutex_unlock(server->lock);
	while ((pending = pending_pop(service)))
		pending_reject(server, pending, ODRP_FAR_E_SPACE);
	free(service);
}

int far_service_take(struct far_server *server, struct far_listener *listener,
		     struct far_caller *ret_caller)
{
	struct far_pending *pending;
	bool over;

	do {
		pthread_mutex_lock(server->lock);
		server->take(server->arg);
		pending = pending_pop((struct far_service *)listener);
		over = pending && pending->guest.over;
		pthread_mutex_unlock(server->lock);
		if (over)
			far_pending_free(server, pending);
	} while (over);
	if (!pending)
		return -EAGAIN;
	ret_caller->hello = pending->hello;
	ret_caller->priv = pending;
	return 0;
}

void far_service_reject(struct far_server *server, struct far_pending *pending, int status)
{
	pending_reject(server, pending, far_hello_reason(status));
}

size_t far_pending_answer(const struct far_pending *pending, uint32_t qpn, uint32_t rkey,
			  uint64_t size, const struct far_hello *answer,
			  struct far_hello_accept *ret_accept)
{
	const struct far_host_asker *asker = &pending->req.asker;
	size_t len = far_hello_accept(ret_accept, rkey, size, answer);

	return asker->pass ? asker->sign(asker, true, qpn, ret_accept, len) : len;
}
