/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A memory node's answers to hellos. A hello is checked before it is used. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../space/summary.h"
#include "host_priv.h"

#define MAX_QUEUES	2048u	/* queues of an attachment */
#define CONTROL_LOG_SQ	2

/* The answer to a question: a status, and len bytes of one of the structs. */
struct answer {
	unsigned status;
	size_t len;
	union {
		struct odrp_far_info info;
		struct odrp_far_member member;
	};
};

static const char *status_name(unsigned status)
{
	static const char *const names[] = {
		[ODRP_FAR_E_MALFORMED] = "malformed hello",
		[ODRP_FAR_E_VERSION] = "other protocol version",
		[ODRP_FAR_E_SPACE] = "no such space",
		[ODRP_FAR_E_ATTACH] = "no such attachment",
		[ODRP_FAR_E_BUSY] = "number in use, or too many requests",
		[ODRP_FAR_E_NOMEM] = "no memory",
		[ODRP_FAR_E_LIMIT] = "a limit is reached",
		[ODRP_FAR_E_RIGHTS] = "no right to this space",
		[ODRP_FAR_E_INCOMPLETE] = "the space's set is not complete",
		[ODRP_FAR_E_AUTH] = "not authenticated",
		[ODRP_FAR_E_STARTING] = "starting",
		[ODRP_FAR_E_PART] = "nothing is emptied without a proof",
	};

	return status < sizeof(names) / sizeof(names[0]) && names[status] ?
	       names[status] : "unknown";
}

static size_t answer_sign(const struct far_host_asker *asker, bool accepted,
			  uint32_t qpn, void *answer, size_t len)
{
	return asker->pass ? asker->sign(asker, accepted, qpn, answer, len) : len;
}

static void request_answer(struct far_host *host, const struct nic_event *event,
			   const struct far_host_asker *asker,
			   const struct answer *answer)
{
	struct {
		struct odrp_far_reject head;
		uint8_t more[sizeof(struct odrp_far_info) + FAR_HOST_MAC];
	} rej = {
		.head.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.head.version = cpu_to_be16(ODRP_FAR_VERSION),
		.head.status = cpu_to_be16(answer->status),
	};

	memcpy(rej.more, &answer->info, answer->len);
	host->dev->ops->reject(host->dev, event->id, &rej,
			       answer_sign(asker, false, 0, &rej,
					   sizeof(rej.head) + answer->len));
	host->dev->ops->release(host->dev, event->id);
}

static void request_refuse(struct far_host *host, const struct nic_event *event,
			   const struct far_host_asker *asker,
			   const struct answer *answer)
{
	if (host->refused)
		host->refused(host->arg, event, asker,
			      status_name(answer->status));
	request_answer(host, event, asker, answer);
}

void far_host_refuse(struct far_host *host, const struct nic_event *event,
		     const struct far_host_asker *asker, unsigned status)
{
	const struct answer answer = { .status = status };

	request_refuse(host, event, asker, &answer);
}

bool far_host_is_hello(const struct nic_event *event)
{
	__be32 magic;

	if (event->priv_len < sizeof(magic))
		return false;
	memcpy(&magic, event->priv, sizeof(magic));
	return magic == cpu_to_be32(ODRP_FAR_MAGIC);
}

/* Copies and checks a hello. ODRP_FAR_OK, or the status with which to reject it. */
static unsigned hello_check(const struct nic_event *event, struct odrp_far_hello *hello)
{
	if (event->priv_len < sizeof(*hello))
		return ODRP_FAR_E_MALFORMED;
	memcpy(hello, event->priv, sizeof(*hello));
	if (be32_to_cpu(hello->magic) != ODRP_FAR_MAGIC)
		return ODRP_FAR_E_MALFORMED;
	if (be16_to_cpu(hello->version) != ODRP_FAR_VERSION)
		return ODRP_FAR_E_VERSION;
	if (hello->role == ODRP_FAR_CALL)
		return hello->rights > ODRP_FAR_CALL_MAX ? ODRP_FAR_E_MALFORMED : ODRP_FAR_OK;
	if (hello->role < ODRP_FAR_ATTACH || hello->role > ODRP_FAR_CUT ||
	    !hello->attach)
		return ODRP_FAR_E_MALFORMED;
	if (hello->role == ODRP_FAR_ATTACH)
		return hello->rights & ~(ODRP_FAR_READ | ODRP_FAR_WRITE) ?
		       ODRP_FAR_E_MALFORMED : ODRP_FAR_OK;
	return ((hello->role >= ODRP_FAR_CLAIM && hello->role <= ODRP_FAR_FENCE) ||
		hello->role == ODRP_FAR_CUT) &&
	       be32_to_cpu(hello->number) >= ODRP_FAR_MAX_CLIENTS ?
	       ODRP_FAR_E_MALFORMED : ODRP_FAR_OK;
}

static struct far_host_space *space_of(const struct far_host *host,
				       const struct odrp_far_hello *hello)
{
	char name[ODRP_FAR_NAME_MAX + 1] = "";

	memcpy(name, hello->name, sizeof(hello->name));
	return far_host_space_find(host, name);
}

/*
 * Accepts the connection request with link's queue pair, and names the region of the
 * space `regions`; none if that is NULL. 0 or -errno.
 */
static int link_accept(struct far_host *host, struct far_host_link *link,
		       const struct far_host_asker *asker,
		       const struct far_host_space *regions)
{
	struct {
		struct odrp_far_accept head;
		struct odrp_far_region region;
		uint8_t mac[FAR_HOST_MAC];
	} accept = {
		.head.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.head.version = cpu_to_be16(ODRP_FAR_VERSION),
		.head.nr_regions = cpu_to_be16(regions ? 1 : 0),
	};
	size_t len = sizeof(accept.head);

	if (regions) {
		len += sizeof(accept.region);
		accept.region.size = cpu_to_be64(regions->size);
		accept.region.rkey = cpu_to_be32(regions->key);
	}
	len = answer_sign(asker, true, link->qp.qpn, &accept, len);
	return host->dev->ops->accept(host->dev, link->conn, link->qp.qpn, &accept, len);
}

static unsigned attach_open(struct far_host *host, struct far_host_attach *attach,
			    const struct far_host_asker *asker, uint32_t conn)
{
	attach->control.conn = conn;
	if (far_qp_new(host->dev, host->pdn, host->cqn, CONTROL_LOG_SQ, 0, NULL,
			&attach->control.qp))
		return ODRP_FAR_E_NOMEM;
	if (link_accept(host, &attach->control, asker, attach->space)) {
		far_qp_free(&attach->control.qp);
		return ODRP_FAR_E_NOMEM;
	}
	attach->next = host->attaches;
	host->attaches = attach;
	host->nr_attaches++;
	return ODRP_FAR_OK;
}

static unsigned serve_attach(struct far_host *host, const struct nic_event *event,
			     const struct far_host_asker *asker,
			     const struct odrp_far_hello *hello)
{
	struct far_host_space *space = space_of(host, hello);
	struct far_host_attach *attach;
	unsigned status;

	if (!space)
		return ODRP_FAR_E_SPACE;
	if (space->closed)
		return ODRP_FAR_E_INCOMPLETE;
	if (far_host_find(host, be64_to_cpu(hello->attach)))
		return ODRP_FAR_E_BUSY;
	if (host->nr_attaches == FAR_HOST_ATTACHES)
		return ODRP_FAR_E_LIMIT;
	attach = calloc(1, sizeof(*attach));
	if (!attach)
		return ODRP_FAR_E_NOMEM;
	attach->space = space;
	attach->id = be64_to_cpu(hello->attach);
	attach->ip = event->peer_ip;
	attach->pass = asker->pass;
	attach->owner = asker->owner;
	attach->rights = hello->rights;
	status = attach_open(host, attach, asker, event->id);
	if (status)
		free(attach);
	return status;
}

/* Ends an older queue of the same number, if there is one. */
static void queue_replace(struct far_host *host, struct far_host_attach *attach,
			  uint32_t number)
{
	struct far_host_link **at = &attach->queues, *link;

	while (*at && (*at)->number != number)
		at = &(*at)->next;
	link = *at;
	if (!link)
		return;
	*at = link->next;
	far_host_queue_end(host, attach, link);
}

static unsigned queue_open(struct far_host *host, struct far_host_attach *attach,
			   const struct far_host_asker *asker,
			   struct far_host_link *link)
{
	unsigned access = (attach->rights & ODRP_FAR_READ ? NIC_REMOTE_READ : 0) |
			  (attach->rights & ODRP_FAR_WRITE ?
			   NIC_REMOTE_WRITE | NIC_REMOTE_ATOMIC : 0);

	if (far_qp_new(host->dev, attach->space->pdn, host->cqn, 0, access, NULL,
			&link->qp))
		return ODRP_FAR_E_NOMEM;
	if (link_accept(host, link, asker, NULL)) {
		far_qp_free(&link->qp);
		return ODRP_FAR_E_NOMEM;
	}
	link->next = attach->queues;
	attach->queues = link;
	attach->nr_queues++;
	host->nr_queues++;
	return ODRP_FAR_OK;
}

/* The attachment that a hello names. NULL: there is none, or another peer has made it. */
static struct far_host_attach *attach_of(const struct far_host *host,
					 const struct nic_event *event,
					 const struct far_host_asker *asker,
					 const struct odrp_far_hello *hello)
{
	struct far_host_attach *attach =
		far_host_find(host, be64_to_cpu(hello->attach));

	return attach && attach->ip == event->peer_ip && attach->pass == asker->pass ?
	       attach : NULL;
}

static unsigned serve_queue(struct far_host *host, const struct nic_event *event,
			    const struct far_host_asker *asker,
			    const struct odrp_far_hello *hello)
{
	struct far_host_attach *attach = attach_of(host, event, asker, hello);
	struct far_host_link *link;
	unsigned status;

	if (!attach)
		return ODRP_FAR_E_ATTACH;
	queue_replace(host, attach, be32_to_cpu(hello->number));
	if (attach->nr_queues == MAX_QUEUES || host->nr_queues == FAR_HOST_QUEUES)
		return ODRP_FAR_E_LIMIT;
	link = calloc(1, sizeof(*link));
	if (!link)
		return ODRP_FAR_E_NOMEM;
	link->conn = event->id;
	link->number = be32_to_cpu(hello->number);
	status = queue_open(host, attach, asker, link);
	if (status)
		free(link);
	return status;
}

/* ---- questions ---- */

static struct far_host_space *space_number(const struct far_host *host, uint32_t number)
{
	struct far_host_space *space = host->spaces;

	while (space && number--)
		space = space->next;
	return space;
}

static unsigned serve_look(const struct far_host *host,
			   const struct odrp_far_hello *hello, struct answer *answer)
{
	struct odrp_far_info *info = &answer->info;
	struct far_host_space *space = hello->name[0] ? space_of(host, hello) :
		space_number(host, be32_to_cpu(hello->number));
	struct far_summary sum = { .size = 0 };

	if (!space)
		return ODRP_FAR_E_SPACE;
	if (space->sb.magic)
		far_summary_of(space->base, &space->sb, &space->tally, &sum);
	info->size = cpu_to_be64(space->size);
	info->used = cpu_to_be64(sum.used);
	info->clients = cpu_to_be32(sum.clients);
	info->max_clients = cpu_to_be32(sum.sb.client_off ? sum.sb.max_clients : 0);
	info->names = cpu_to_be32(sum.names);
	info->nr_nodes = cpu_to_be16(sum.sb.nr_nodes);
	info->node = cpu_to_be16(sum.sb.node);
	memcpy(info->name, space->name, sizeof(info->name));
	answer->len = sizeof(*info);
	return ODRP_FAR_OK;
}

static unsigned serve_delete(struct far_host *host, const struct odrp_far_hello *hello)
{
	struct far_host_space *space = space_of(host, hello);

	if (!space)
		return ODRP_FAR_E_SPACE;
	if (!host->delete || !space->deletable)
		return ODRP_FAR_E_RIGHTS;
	host->delete(host->arg, space);
	return ODRP_FAR_OK;
}

/* JOIN and CUT, which only the arbiter of the space's set may ask. */
static unsigned serve_arbiter(struct far_host *host, const struct nic_event *event,
			      const struct odrp_far_hello *hello, struct answer *answer)
{
	struct far_host_space *space = space_of(host, hello);
	uint32_t number = be32_to_cpu(hello->number);
	uint64_t life = be64_to_cpu(hello->attach);
	unsigned status;

	if (!space)
		return ODRP_FAR_E_SPACE;
	if (!space->arbiter || space->arbiter != event->peer_ip)
		return ODRP_FAR_E_RIGHTS;
	if (hello->role == ODRP_FAR_CUT) {
		/* All attachments of another life have been ended already. */
		if (space->life != life)
			return ODRP_FAR_OK;
		return far_host_fence(host, space, number) ? ODRP_FAR_E_BUSY :
		       ODRP_FAR_OK;
	}
	status = host->join(host->arg, space, hello, &answer->member);
	if (!status)
		answer->len = sizeof(answer->member);
	return status;
}

static unsigned serve_question(struct far_host *host, const struct nic_event *event,
			       const struct far_host_asker *asker,
			       const struct odrp_far_hello *hello, struct answer *answer)
{
	struct far_host_attach *attach;

	switch (hello->role) {
	case ODRP_FAR_LOOK:
		return serve_look(host, hello, answer);
	case ODRP_FAR_DELETE:
		return serve_delete(host, hello);
	case ODRP_FAR_JOIN:
	case ODRP_FAR_CUT:
		return serve_arbiter(host, event, hello, answer);
	}
	attach = attach_of(host, event, asker, hello);
	if (!attach)
		return ODRP_FAR_E_ATTACH;
	return far_host_answer(host, hello->role, attach, be32_to_cpu(hello->number));
}

/* Else it only says how things are. */
static bool answer_refuses(unsigned status)
{
	return status != ODRP_FAR_OK && status != ODRP_FAR_E_BUSY &&
	       status != ODRP_FAR_E_SPACE && status != ODRP_FAR_E_ATTACH;
}

void far_host_serve(struct far_host *host, const struct nic_event *event,
		    const struct far_host_asker *asker)
{
	struct answer answer = { .len = 0 };
	struct odrp_far_hello hello;

	answer.status = hello_check(event, &hello);
	if (!answer.status && hello.role == ODRP_FAR_ATTACH)
		answer.status = serve_attach(host, event, asker, &hello);
	else if (!answer.status && hello.role == ODRP_FAR_QUEUE)
		answer.status = serve_queue(host, event, asker, &hello);
	else if (!answer.status && hello.role == ODRP_FAR_CALL)
		answer.status = host->call ? host->call(host->arg, event, asker, &hello) :
				ODRP_FAR_E_SPACE;
	else if (!answer.status) {
		answer.status = serve_question(host, event, asker, &hello, &answer);
		if (answer_refuses(answer.status))
			request_refuse(host, event, asker, &answer);
		else
			request_answer(host, event, asker, &answer);
		return;
	}
	if (answer.status)
		request_refuse(host, event, asker, &answer);
}
