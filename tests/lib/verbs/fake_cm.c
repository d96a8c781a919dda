/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The connection manager, and memory nodes behind it, whose spaces are those of mem. */
#include <core/wqe.h>
#include <errno.h>
#include <netinet/in.h>
#include <odrp/auth.h>
#include <odrp/far.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "../../../userspace/nic/mem_priv.h"
#include "fake_priv.h"

struct fake_event {
	struct rdma_cm_event event;
	struct fake_event *next;
	uint8_t priv[256];
};

struct fake_channel {
	struct rdma_event_channel channel;
	struct fake_event *first, **last;
};

struct fake_attach {
	struct fake_attach *next;
	uint64_t id;
	unsigned rights, users;
	bool ended;
	struct far_peer peer;
	struct far_host_map map;
};

static struct fake_attach *attaches;
static pthread_mutex_t cm_lock = PTHREAD_MUTEX_INITIALIZER;	/* attaches */
static const char *const node_name[] = { "0", "1" };

/* ---- events ---- */

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct fake_channel *mine;

	if (fake_fails(ENODEV))
		return NULL;
	mine = calloc(1, sizeof(*mine));
	mine->channel.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
	mine->last = &mine->first;
	fake_made(1);
	return &mine->channel;
}

void rdma_destroy_event_channel(struct rdma_event_channel *channel)
{
	close(channel->fd);
	free(channel);
	fake_made(-1);
}

void fake_event(struct rdma_cm_id *id, const struct rdma_cm_event *from)
{
	struct fake_channel *channel = (struct fake_channel *)id->channel;
	struct fake_event *event = calloc(1, sizeof(*event));
	unsigned len = from->param.conn.private_data_len;

	event->event = *from;
	event->event.id = id;
	event->event.param.conn.private_data = NULL;
	if (len) {
		memcpy(event->priv, from->param.conn.private_data, len);
		event->event.param.conn.private_data = event->priv;
	}
	pthread_mutex_lock(&fake_lock);
	*channel->last = event;
	channel->last = &event->next;
	pthread_mutex_unlock(&fake_lock);
	eventfd_write(channel->channel.fd, 1);
}

static void event_add(struct rdma_cm_id *id, enum rdma_cm_event_type type, int status,
		      const void *priv, unsigned len)
{
	fake_event(id, &(struct rdma_cm_event) {
		.event = type, .status = status,
		.param.conn = {
			.qp_num = FAKE_PEER_QPN, .private_data = priv,
			.private_data_len = len,
		},
	});
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct fake_channel *mine = (struct fake_channel *)channel;
	struct fake_event *first;
	eventfd_t one;

	if (eventfd_read(channel->fd, &one))
		return -1;
	pthread_mutex_lock(&fake_lock);
	first = mine->first;
	if (first) {
		mine->first = first->next;
		if (!mine->first)
			mine->last = &mine->first;
		fake_id_of(first->event.id)->unacked++;
	}
	pthread_mutex_unlock(&fake_lock);
	errno = EAGAIN;
	*event = first ? &first->event : NULL;
	return first ? 0 : -1;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	fake_id_of(event->id)->unacked--;
	free(event);
	return 0;
}

/* Takes an event of the id, or a request to it, that nobody has taken. */
static struct fake_event *event_of(struct rdma_cm_id *id)
{
	struct fake_channel *mine = (struct fake_channel *)id->channel;
	struct fake_event **at, *found;

	pthread_mutex_lock(&fake_lock);
	at = &mine->first;
	while (*at && (*at)->event.id != id &&
	       ((*at)->event.event != RDMA_CM_EVENT_CONNECT_REQUEST ||
		&fake_id_of((*at)->event.id)->listener->id != id))
		at = &(*at)->next;
	found = *at;
	if (found)
		*at = found->next;
	if (!*at)
		mine->last = at;
	pthread_mutex_unlock(&fake_lock);
	return found;
}

/* What has not been taken of an id is forgotten with it. */
static void events_drop(struct rdma_cm_id *id)
{
	struct rdma_cm_id *its;
	struct fake_event *event;

	while ((event = event_of(id))) {
		its = event->event.id;
		free(event);
		if (its != id)
			rdma_destroy_id(its);
	}
}

void fake_left(struct rdma_cm_id *id)
{
	event_add(id, RDMA_CM_EVENT_DISCONNECTED, 0, NULL, 0);
}

/* ---- ids ---- */

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id,
		   void *context, enum rdma_port_space ps)
{
	struct fake_id *mine;

	if (ps != RDMA_PS_TCP)
		fake_wrong("port space");
	if (fake_fails(ENOMEM))
		return -1;
	mine = calloc(1, sizeof(*mine));
	mine->id.channel = channel;
	mine->id.context = context;
	fake_made(1);
	*id = &mine->id;
	return 0;
}

static void attach_put(struct fake_attach *attach)
{
	struct fake_attach **at = &attaches;

	if (--attach->users)
		return;
	while (*at != attach)
		at = &(*at)->next;
	*at = attach->next;
	fake.host->ops->host->unmap(fake.host, &attach->map);
	free(attach);
}

/* With cm_lock. */
static void attach_end(struct fake_attach *attach)
{
	if (!attach->ended)
		fake.host->ops->detach(fake.host, &attach->peer);
	attach->ended = true;
}

int rdma_destroy_id(struct rdma_cm_id *id)
{
	struct fake_id *mine = fake_id_of(id);

	if (id->qp || mine->unacked)
		fake_wrong("an id that is destroyed while it is in use");
	fake_pair_left(mine);
	fake_listener_drop(mine);
	if (id->channel)
		events_drop(id);
	pthread_mutex_lock(&cm_lock);
	if (mine->attach && mine->control)
		attach_end(mine->attach);
	if (mine->attach)
		attach_put(mine->attach);
	pthread_mutex_unlock(&cm_lock);
	free(mine);
	fake_made(-1);
	return 0;
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t len)
{
	if (level != RDMA_OPTION_ID || name != RDMA_OPTION_ID_ACK_TIMEOUT || len != 1)
		fake_wrong("option of an id");
	return 0;
}

int rdma_resolve_addr(struct rdma_cm_id *id, struct sockaddr *from, struct sockaddr *to,
		      int ms)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)to;
	uint32_t ip = ntohl(in->sin_addr.s_addr);

	fake_id_of(id)->port = ntohs(in->sin_port);
	if (to->sa_family != AF_INET || from ||
	    (fake_id_of(id)->port != ODRP_FAR_PORT && !fake_listened(fake_id_of(id)->port)))
		fake_wrong("addresses of rdma_resolve_addr()");
	if (fake_fails(ENETUNREACH))
		return -1;
	fake_id_of(id)->node = fake_listened(fake_id_of(id)->port) ? 0 : ip - 0x7f000001;
	id->verbs = fake_context();
	id->port_num = 1;
	id->route.addr.dst_sin = *in;
	id->route.addr.src_sin.sin_family = AF_INET;
	id->route.addr.src_sin.sin_addr.s_addr = htonl(0x7f000063);
	event_add(id, fake_id_of(id)->node < 2 ? RDMA_CM_EVENT_ADDR_RESOLVED :
		  RDMA_CM_EVENT_ADDR_ERROR, 0, NULL, 0);
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int ms)
{
	if (fake_fails(ENETUNREACH))
		return -1;
	event_add(id, RDMA_CM_EVENT_ROUTE_RESOLVED, 0, NULL, 0);
	return 0;
}

/* ---- the memory node ---- */

static struct fake_attach *attach_find(uint64_t id)
{
	struct fake_attach *attach = attaches;

	while (attach && (attach->id != id || attach->ended))
		attach = attach->next;
	return attach;
}

static bool attach_gone(const struct fake_attach *attach)
{
	const struct mem_peer *peer = attach->peer.priv;

	return attach->ended || mem_file_gone(peer->map);
}

static unsigned attach_new(struct fake_id *mine, const struct odrp_far_hello *hello)
{
	struct fake_attach *attach = calloc(1, sizeof(*attach));
	char name[ODRP_FAR_NAME_MAX + 1] = "";

	memcpy(name, hello->name, sizeof(hello->name));
	if (fake.host->ops->attach(fake.host, node_name[mine->node], name, hello->rights,
				   &attach->peer)) {
		free(attach);
		return ODRP_FAR_E_SPACE;
	}
	fake.host->ops->host->map(fake.host, node_name[mine->node], name, &attach->map);
	attach->id = be64_to_cpu(hello->attach);
	attach->rights = hello->rights;
	attach->users = 1;
	attach->next = attaches;
	attaches = attach;
	mine->attach = attach;
	mine->control = true;
	return ODRP_FAR_OK;
}

static unsigned question(struct fake_attach *attach, const struct odrp_far_hello *hello)
{
	unsigned client = be32_to_cpu(hello->number);
	int err = 0;

	if (hello->role == ODRP_FAR_DETACH)
		attach_end(attach);
	else if (hello->role == ODRP_FAR_CLAIM)
		err = fake.host->ops->claim(fake.host, &attach->peer, client);
	else if (hello->role == ODRP_FAR_UNCLAIM)
		fake.host->ops->unclaim(fake.host, &attach->peer, client);
	else
		err = fake.host->ops->fence(fake.host, &attach->peer, client);
	return err ? ODRP_FAR_E_BUSY : ODRP_FAR_OK;
}

/* ODRP_FAR_OK and *ret_up, or what a REJ says. */
static unsigned hello_serve(struct fake_id *mine, const struct odrp_far_hello *hello,
			    bool *ret_up)
{
	struct fake_attach *attach = attach_find(be64_to_cpu(hello->attach));

	*ret_up = false;
	if (hello->role == ODRP_FAR_ATTACH) {
		*ret_up = true;
		return attach_new(mine, hello);
	}
	if (hello->role == ODRP_FAR_CALL)
		return ODRP_FAR_E_SPACE;
	if (!attach || attach_gone(attach))
		return ODRP_FAR_E_ATTACH;
	if (hello->role != ODRP_FAR_QUEUE)
		return question(attach, hello);
	*ret_up = true;
	mine->attach = attach;
	attach->users++;
	return ODRP_FAR_OK;
}

static void answer(struct fake_id *mine, const struct odrp_far_hello *hello)
{
	uint8_t bytes[256];
	size_t len;
	struct odrp_far_reject rej = {
		.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.version = cpu_to_be16(ODRP_FAR_VERSION),
	};
	struct {
		struct odrp_far_accept head;
		struct odrp_far_region region;
	} accept = {
		.head.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.head.version = cpu_to_be16(ODRP_FAR_VERSION),
		.region.rkey = cpu_to_be32(FAKE_RKEY),
	};
	bool up;
	unsigned status = hello_serve(mine, hello, &up);

	if (status || !up) {
		rej.status = cpu_to_be16(status);
		memcpy(bytes, &rej, sizeof(rej));
		len = fake_auth_sign(mine->node, false, bytes, sizeof(rej));
		event_add(&mine->id, RDMA_CM_EVENT_REJECTED, FAKE_REJECTED, bytes, len);
		return;
	}
	accept.head.nr_regions = cpu_to_be16(mine->control);
	accept.region.size = cpu_to_be64(mine->attach->map.size);
	mine->up = true;
	memcpy(bytes, &accept, sizeof(accept));
	len = sizeof(accept.head) + (mine->control ? sizeof(accept.region) : 0);
	/* Without a MAC zeros may follow. */
	len = fake.key_dir ? fake_auth_sign(mine->node, true, bytes, len) : sizeof(accept);
	event_add(&mine->id, RDMA_CM_EVENT_ESTABLISHED, 0, bytes, len);
}

/* What it says, if it has to be signed. False: it has been answered. */
static bool request_open(struct fake_id *mine, const void *priv,
			 struct odrp_far_hello *hello)
{
	struct odrp_far_reject rej = {
		.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.version = cpu_to_be16(ODRP_FAR_VERSION),
		.status = cpu_to_be16(ODRP_FAR_E_AUTH),
	};
	__be32 magic;

	memcpy(&magic, priv, sizeof(magic));
	memcpy(hello, priv, sizeof(*hello));
	if (!fake.key_dir)
		return true;
	if (magic == cpu_to_be32(ODRP_AUTH_MAGIC)) {
		event_add(&mine->id, RDMA_CM_EVENT_ESTABLISHED, 0, &rej, sizeof(rej));
		return false;
	}
	if (magic == cpu_to_be32(ODRP_AUTH_FAR_MAGIC) &&
	    fake_auth_request(mine->node, mine->id.qp->qp_num, priv, hello))
		return true;
	event_add(&mine->id, RDMA_CM_EVENT_REJECTED, FAKE_REJECTED, &rej, sizeof(rej));
	return false;
}

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	const struct odrp_far_hello *first = param->private_data;
	struct odrp_far_hello hello;

	if (fake_listened(fake_id_of(id)->port))
		return fake_fails(EINVAL) ? -1 : fake_call(fake_id_of(id), param);
	if (param->private_data_len != sizeof(hello) ||
	    (!fake.key_dir && be32_to_cpu(first->magic) != ODRP_FAR_MAGIC) ||
	    /* 7 has no end on rdma_rxe */
	    !param->retry_count || param->retry_count > 6 ||
	    param->rnr_retry_count != 7 || param->initiator_depth != RDMA_MAX_INIT_DEPTH ||
	    !param->responder_resources || !id->qp)
		fake_wrong("parameters of rdma_connect()");
	if (fake_fails(EINVAL))
		return -1;
	pthread_mutex_lock(&cm_lock);
	if (request_open(fake_id_of(id), first, &hello))
		answer(fake_id_of(id), &hello);
	pthread_mutex_unlock(&cm_lock);
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *id)
{
	if (id->qp)
		fake_qp_error((struct fake_qp *)id->qp);
	fake_pair_left(fake_id_of(id));
	return 0;
}

bool fake_gone(struct fake_qp *qp)
{
	struct fake_id *mine = fake_id_of(qp->id);
	bool gone;

	pthread_mutex_lock(&cm_lock);
	gone = !mine->attach || attach_gone(mine->attach);
	pthread_mutex_unlock(&cm_lock);
	return gone;
}

uint8_t *fake_far(struct fake_qp *qp, uint64_t addr, uint32_t len, bool read)
{
	const struct fake_attach *attach = fake_id_of(qp->id)->attach;

	if (!(attach->rights & (read ? ODRP_FAR_READ : ODRP_FAR_WRITE)))
		return NULL;
	if (addr > attach->map.size || len > attach->map.size - addr)
		return NULL;
	return (uint8_t *)attach->map.addr + addr;
}

/* ---- devices ---- */

struct ibv_context **rdma_get_devices(int *nr)
{
	struct ibv_context **list;

	if (fake_fails(ENODEV))
		return NULL;
	list = calloc(2, sizeof(*list));
	list[0] = fake_context();
	*nr = 1;
	return list;
}

void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
