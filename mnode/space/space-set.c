// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Questions of a set's arbiter to the other memory nodes.  A question is a connection
 * request that is rejected with the answer.  Each node has one question at a time.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
#include "../log.h"
#include "space-set.h"

uint32_t space_set_digest(const struct conf_space *conf, unsigned int node)
{
	const uint64_t numbers[] = {
		htole64(node), htole64(conf->size), htole64(conf->chunk),
		htole64(conf->clients),
	};
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, conf->name, strlen(conf->name));
	XXH3_64bits_update(&state, conf->nodes, conf->nr_nodes * sizeof(conf->nodes[0]));
	XXH3_64bits_update(&state, numbers, sizeof(numbers));
	return XXH3_64bits_digest(&state);
}

static const char *member_name(const struct space_member *member,
			       char name[INET_ADDRSTRLEN])
{
	return inet_ntop(AF_INET, &member->ip, name, INET_ADDRSTRLEN);
}

/* Logs a trouble when it changes. */
static void member_trouble(const struct space_set *set, struct space_member *member,
			   const char *trouble)
{
	char name[INET_ADDRSTRLEN];

	if (trouble && member->trouble != trouble)
		log_warning("space %s: memory node %s %s", set->conf->name,
			    member_name(member, name), trouble);
	member->trouble = trouble;
}

/* ---- questions --------------------------------------------------------------------- */

static void question_end(struct space_set *set, struct space_member *member)
{
	if (!member->conn)
		return;
	set->host->dev->ops->release(set->host->dev, member->conn);
	far_qp_free(&member->qp);
	member->conn = 0;
}

static void member_unreachable(const struct space_set *set, struct space_member *member,
			       int r)
{
	member_trouble(set, member, r == -EOPNOTSUPP ?
		       "cannot be asked: this NIC only listens" :
		       "cannot be asked: its address cannot be reached");
}

static int question_send(struct space_set *set, struct space_member *member,
			 const struct odrp_far_hello *hello)
{
	struct nic *dev = set->host->dev;
	struct odrp_auth_far req;

	if (!*member->key)
		return dev->ops->connect(dev, member->ip, ODRP_FAR_PORT, member->qp.qpn,
					 hello, sizeof(*hello), &member->conn);
	initiator_sign(&member->initiator, hello, member->qp.qpn, &req);
	return dev->ops->connect(dev, member->ip, ODRP_FAR_PORT, member->qp.qpn, &req,
				 sizeof(req), &member->conn);
}

/* False: there is no pass yet; the question is asked when the handshake is done. */
static bool member_knows_us(struct space_set *set, struct space_member *member)
{
	const struct ident *ident;
	int r;

	if (!*member->key || member->initiator.state == INITIATOR_PASSED)
		return true;
	if (initiator_under_way(&member->initiator))
		return false;
	ident = idents_find(set->idents, member->key);
	if (!ident) {
		member_trouble(set, member, "cannot be asked: its secret is not there");
		return false;
	}
	r = initiator_begin(&member->initiator, member->ip, member->key,
			    ident->secrets.secret[0], set->now);
	if (r)
		member_unreachable(set, member, r);
	return false;
}

static void question_ask(struct space_set *set, struct space_member *member,
			 enum odrp_far_role role, uint32_t number)
{
	struct far_host *host = set->host;
	struct odrp_far_hello hello = {
		.magic = cpu_to_be32(ODRP_FAR_MAGIC),
		.version = cpu_to_be16(ODRP_FAR_VERSION),
		.role = role, .attach = cpu_to_be64(set->life),
		.number = cpu_to_be32(number),
	};
	int r;

	if (member->conn || !member_knows_us(set, member))
		return;
	memcpy(hello.name, set->conf->name, strlen(set->conf->name));
	r = far_qp_new(host->dev, host->pdn, host->cqn, 0, 0, &member->qp);
	if (r)
		return;
	r = question_send(set, member, &hello);
	if (r) {
		far_qp_free(&member->qp);
		member->conn = 0;
		member_unreachable(set, member, r);
		return;
	}
	member->role = role;
	member->number = number;
}

/* ---- answers ----------------------------------------------------------------------- */

static void member_joins(struct space_set *set, struct space_member *member,
			 const struct odrp_far_member *answer)
{
	unsigned int node = member - set->members + 1;
	uint32_t generation = be32_to_cpu(answer->generation);
	char name[INET_ADDRSTRLEN];

	if (be32_to_cpu(answer->digest) != space_set_digest(set->conf, node)) {
		member_trouble(set, member, "has other settings of it; expected the same "
			       "nodes, size, chunk and clients");
		return;
	}
	if (member->generation && member->generation != generation) {
		log_warning("space %s: memory node %s has begun anew, and lost its part",
			    set->conf->name, member_name(member, name));
		set->lost = true;
		return;
	}
	member->generation = generation;
	member->joined = true;
	member_trouble(set, member, NULL);
}

static void member_refuses(struct space_set *set, struct space_member *member,
			   unsigned int status)
{
	switch (status) {
	case ODRP_FAR_E_BUSY:		/* the node is still cutting off clients of the life
					 * before */
		return;
	case ODRP_FAR_E_SPACE:
		member_trouble(set, member, "has no such space");
		return;
	case ODRP_FAR_E_RIGHTS:
		member_trouble(set, member, "does not take this one for the arbiter");
		return;
	case ODRP_FAR_E_VERSION:
		member_trouble(set, member, "speaks another version of the protocol");
		return;
	default:
		member_trouble(set, member, "refuses");
	}
}

/* Parses an answer.  -EPROTO: it is not an answer to this arbiter; -EKEYREJECTED: wrong
 * MAC.  Transports pad private data with zeros. */
static int answer_parse(const struct nic_event *event, const struct space_member *member,
			struct odrp_far_reject *ret_head,
			struct odrp_far_member *ret_member)
{
	size_t len = sizeof(*ret_head);

	if (event->type != NIC_GONE || event->reason != NIC_REJECTED ||
	    event->priv_len < len + sizeof(*ret_member) + ODRP_AUTH_MAC)
		return -EPROTO;
	memcpy(ret_head, event->priv, sizeof(*ret_head));
	memcpy(ret_member, event->priv + len, sizeof(*ret_member));
	if (be32_to_cpu(ret_head->magic) != ODRP_FAR_MAGIC)
		return -EPROTO;
	if (member->role == ODRP_FAR_JOIN && !ret_head->status)
		len += sizeof(*ret_member);
	return *member->key ? initiator_check(&member->initiator, event->priv, len,
					      event->priv + len) : 0;
}

static void answer_note(struct space_set *set, struct space_member *member,
			const struct nic_event *event)
{
	struct odrp_far_reject head;
	struct odrp_far_member answer;
	unsigned int status;
	int r = answer_parse(event, member, &head, &answer);

	/* The node has restarted and does not know the pass, or another machine has
	 * answered. */
	if (r == -EKEYREJECTED) {
		initiator_drop(&member->initiator);
		return;
	}
	if (r) {
		member_trouble(set, member, "does not answer");
		return;
	}
	status = be16_to_cpu(head.status);
	if (status)
		member_refuses(set, member, status);
	else if (member->role == ODRP_FAR_JOIN)
		member_joins(set, member, &answer);
	else
		member->cut[member->number] = member->incarnation;
}

bool space_set_event(struct space_set *set, const struct nic_event *event)
{
	unsigned int i;

	for (i = 0; i < set->nr_members; i++) {
		struct space_member *member = &set->members[i];

		if (initiator_event(&member->initiator, event))
			return true;
		if (member->conn != event->id)
			continue;
		answer_note(set, member, event);
		question_end(set, member);
		return true;
	}
	return false;
}

/* ---- the arbiter ------------------------------------------------------------------- */

bool space_set_key(const struct conf_space *conf, unsigned int node,
		   char ret_name[CONF_CLIENT_MAX])
{
	const char *at = conf->node_keys;
	size_t len;

	*ret_name = 0;
	for (; *at && node; at += strspn(at, ", \t")) {
		len = strcspn(at, ", \t");
		if (!--node && len < CONF_CLIENT_MAX) {
			memcpy(ret_name, at, len);
			ret_name[len] = 0;
		}
		at += len;
	}
	return *ret_name;
}

int space_set_init(struct space_set *set, struct far_host *host,
		   const struct far_host_space *space, const struct conf_space *conf,
		   const struct idents *idents)
{
	unsigned int i;

	*set = (struct space_set){
		.host = host, .space = space, .conf = conf, .idents = idents,
	};
	set->members = calloc(conf->nr_nodes, sizeof(*set->members));
	if (!set->members)
		return -ENOMEM;
	for (i = 1; i < conf->nr_nodes; i++) {
		struct space_member *member = &set->members[set->nr_members++];

		member->ip = conf->nodes[i];
		space_set_key(conf, i, member->key);
		initiator_init(&member->initiator, host->dev, host->pdn);
		member->cut = calloc(conf->clients + 1, sizeof(*member->cut));
		if (!member->cut) {
			space_set_fini(set);
			return -ENOMEM;
		}
	}
	return 0;
}

void space_set_fini(struct space_set *set)
{
	unsigned int i;

	for (i = 0; i < set->nr_members; i++) {
		question_end(set, &set->members[i]);
		initiator_drop(&set->members[i].initiator);
		free(set->members[i].cut);
	}
	free(set->members);
	*set = (struct space_set){ .nr_members = 0 };
}

void space_set_begin(struct space_set *set, uint64_t life)
{
	unsigned int i;

	set->life = life;
	set->lost = false;
	set->ask_at = 0;
	for (i = 0; i < set->nr_members; i++) {
		struct space_member *member = &set->members[i];

		question_end(set, member);
		member->joined = false;
		member->generation = 0;
		memset(member->cut, 0, (set->conf->clients + 1) * sizeof(*member->cut));
	}
}

/* Advances the handshake.  True: it has just ended, with success or not. */
static bool handshake_goes_on(struct space_set *set, struct space_member *member)
{
	bool under_way = initiator_under_way(&member->initiator);

	if (under_way)
		initiator_work(&member->initiator, set->now);
	if (member->initiator.refused)
		member_trouble(set, member, "has another secret than this one");
	else if (member->initiator.timed_out)
		member_trouble(set, member, "does not answer the handshake in time");
	return under_way && !initiator_under_way(&member->initiator);
}

uint64_t space_set_step(struct space_set *set, uint64_t now)
{
	bool handshaking = false;
	unsigned int i;

	set->now = now;
	for (i = 0; i < set->nr_members; i++) {
		struct space_member *member = &set->members[i];

		if (handshake_goes_on(set, member) && member->initiator.state == INITIATOR_PASSED)
			set->ask_at = now;
	}
	if (now >= set->ask_at) {
		for (i = 0; i < set->nr_members; i++)
			question_ask(set, &set->members[i], ODRP_FAR_JOIN,
				     set->members[i].generation);
		set->ask_at = now + SPACE_SET_ASK_NS;
	}
	for (i = 0; i < set->nr_members; i++)
		handshaking |= initiator_awaits_mail(&set->members[i].initiator);
	return handshaking ? now + SPACE_SET_HANDSHAKE_NS : set->ask_at;
}

unsigned int space_set_joined(const struct space_set *set)
{
	unsigned int i, nr = 0;

	for (i = 0; i < set->nr_members; i++)
		nr += set->members[i].joined;
	return nr;
}

int space_set_cut(struct space_set *set, unsigned int node, unsigned int number,
		  unsigned int incarnation)
{
	struct space_member *member = &set->members[node - 1];

	if (member->cut[number] == incarnation)
		return 0;
	if (!member->conn) {
		question_ask(set, member, ODRP_FAR_CUT, number);
		member->incarnation = incarnation;
	}
	return -EBUSY;
}
