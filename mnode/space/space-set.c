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
#include "silence.h"

uint32_t space_set_digest(const struct conf_space *conf, unsigned int node)
{
	const uint64_t numbers[] = {
		htole64(node), htole64(conf->size), htole64(conf->chunk),
		htole64(conf->clients),
	};
	const uint64_t lost_ms = htole64(conf->lost_ms);
	XXH3_state_t state;

	XXH3_64bits_reset(&state);
	XXH3_64bits_update(&state, conf->name, strlen(conf->name));
	XXH3_64bits_update(&state, conf->nodes, conf->nr_nodes * sizeof(conf->nodes[0]));
	XXH3_64bits_update(&state, numbers, sizeof(numbers));
	/* Agents that do not know this setting are members of sets without it. */
	if (conf->lost_ms)
		XXH3_64bits_update(&state, &lost_ms, sizeof(lost_ms));
	return XXH3_64bits_digest(&state);
}

static const char *member_name(const struct space_member *member,
			       char name[INET_ADDRSTRLEN])
{
	return inet_ntop(AF_INET, &member->l.link.ip, name, INET_ADDRSTRLEN);
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

/* ---- the link of a question's call ------------------------------------------------- */

static struct space_member *member_of(struct far_link *link)
{
	return (struct space_member *)link;
}

static int link_connect(struct far_link *link, const void *priv, size_t len)
{
	struct space_member *member = member_of(link);
	struct nic *dev = member->l.dev;
	int r = dev->ops->connect(dev, link->ip, ODRP_FAR_PORT, link->qpn, priv, len,
				  &member->conn);

	member->event.kind = FAR_NEWS_NONE;
	if (r)
		member->conn = 0;
	return r;
}

static void link_poll(struct far_link *link, struct far_news *ret_news)
{
	struct space_member *member = member_of(link);

	*ret_news = member->event;
	member->event.kind = FAR_NEWS_NONE;
	if (ret_news->kind == FAR_NEWS_NONE && !far_nic_link_take(&member->l, ret_news))
		ret_news->kind = FAR_NEWS_NONE;
}

static void link_close(struct far_link *link)
{
	struct space_member *member = member_of(link);
	struct nic *dev = member->l.dev;

	if (member->conn) {
		dev->ops->disconnect(dev, member->conn);
		dev->ops->release(dev, member->conn);
	}
	member->conn = 0;
	far_nic_link_free(&member->l);
}

static uint64_t link_now(struct far_link *link)
{
	return member_of(link)->set->now;
}

static const struct far_link_ops link_ops = {
	.open = far_nic_link_open, .connect = link_connect, .send = far_nic_link_send,
	.poll = link_poll, .close = link_close, .now = link_now,
};

/* ---- answers ----------------------------------------------------------------------- */

enum space_member_state space_member_next(enum space_member_state state,
					  enum space_member_event event)
{
	/* 0 is ABSENT, which nothing leads to: the event changes nothing. */
	static const uint8_t next[SPACE_MEMBER_NR_STATES][SPACE_MEMBER_NR_EVENTS] = {
		[SPACE_MEMBER_ABSENT] = {
			[SPACE_MEMBER_OTHER]	= SPACE_MEMBER_JOINED,
		},
		[SPACE_MEMBER_JOINED] = {
			[SPACE_MEMBER_OTHER]	= SPACE_MEMBER_EMPTY,
			[SPACE_MEMBER_DECLARE]	= SPACE_MEMBER_DECLARED,
		},
		[SPACE_MEMBER_EMPTY] = {
			[SPACE_MEMBER_SAME]	= SPACE_MEMBER_JOINED,
			[SPACE_MEMBER_DECLARE]	= SPACE_MEMBER_DECLARED,
		},
		[SPACE_MEMBER_DECLARED] = {
			[SPACE_MEMBER_COUNT]	= SPACE_MEMBER_LOST,
		},
		[SPACE_MEMBER_LOST] = {
			[SPACE_MEMBER_OTHER]	= SPACE_MEMBER_JOINED,
		},
	};

	return next[state][event] ? next[state][event] : state;
}

/* True: the state has changed. */
static bool member_event(struct space_set *set, struct space_member *member,
			 enum space_member_event event)
{
	enum space_member_state was = member->state;

	member->state = space_member_next(was, event);
	set->changed |= member->state != was;
	return member->state != was;
}

/* Has the member another part than the arbiter knows, and is it one? */
static bool part_is_new(const struct space_member *member, uint32_t generation)
{
	return generation && (member->state == SPACE_MEMBER_ABSENT ||
			      member->state == SPACE_MEMBER_LOST);
}

static void member_answers(struct space_set *set, struct space_member *member,
			   uint32_t generation)
{
	char name[INET_ADDRSTRLEN];
	bool new;

	if (generation == member->generation) {
		member_event(set, member, SPACE_MEMBER_SAME);
		return;
	}
	new = part_is_new(member, generation);
	if (member->state == SPACE_MEMBER_LOST && !new)
		return;
	if (!member_event(set, member, SPACE_MEMBER_OTHER))
		return;
	/* Nothing is in a set that has not opened: another empty part is as good. */
	if (set->space->closed && !new) {
		member->state = SPACE_MEMBER_ABSENT;
		member->generation = 0;
		return;
	}
	if (member->state == SPACE_MEMBER_EMPTY)
		log_warning("space %s: memory node %s has lost its part: if nobody brings it "
			    "back, \"odrpctl mnode lost %s %u\" lets an empty one begin",
			    set->conf->name, member_name(member, name), set->conf->name,
			    (unsigned int)(member - set->members) + 1);
	if (!new)
		return;
	if (member->generation) {
		member->losses++;
		log_info("space %s: memory node %s is back with an empty part",
			 set->conf->name, member_name(member, name));
	}
	member->generation = generation;
}

static void member_joins(struct space_set *set, struct space_member *member,
			 const struct odrp_far_member *answer)
{
	unsigned int node = member - set->members + 1;

	if (be32_to_cpu(answer->digest) != space_set_digest(set->conf, node)) {
		member_trouble(set, member, "has other settings of it; expected the same "
			       "nodes, size, chunk, clients and lost-ms");
		member->known = false;
		return;
	}
	member_answers(set, member, be32_to_cpu(answer->generation));
	silence_ends(member, be32_to_cpu(answer->generation), answer->turn);
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
	case ODRP_FAR_E_PART:
		member_trouble(set, member, "keeps its part, which only an arbiter with node-keys "
			       "may empty: stop the agent there, and start it again");
		return;
	case ODRP_FAR_E_VERSION:
		member_trouble(set, member, "speaks another version of the protocol");
		return;
	default:
		member_trouble(set, member, "refuses");
	}
}

static void question_answered(struct space_set *set, struct space_member *member)
{
	const struct far_news *news = &member->call.news;
	struct odrp_far_reject head;
	struct odrp_far_member answer = { .turn = 0 };
	size_t len = news->len < sizeof(head) ? 0 : news->len - sizeof(head);

	/* Transports pad private data with zeros. */
	if (far_call_accepted(&member->call) || len < offsetof(struct odrp_far_member, turn)) {
		member_trouble(set, member, "does not answer");
		return;
	}
	memcpy(&head, news->bytes, sizeof(head));
	memcpy(&answer, news->bytes + sizeof(head), len < sizeof(answer) ? len : sizeof(answer));
	if (head.status)
		member_refuses(set, member, be16_to_cpu(head.status));
	else if (member->call.hello.role == ODRP_FAR_JOIN)
		member_joins(set, member, &answer);
	else
		member->cut[be32_to_cpu(member->call.hello.number)] = member->incarnation;
}

/* The call has failed in state `was`. */
static void question_failed(struct space_set *set, struct space_member *member,
			    enum far_call_state was)
{
	const struct far_call *call = &member->call;

	if (call->late && was != FAR_CALL_ASKED)
		member_trouble(set, member, "does not answer the handshake in time");
	else if (call->late || call->err == -ECONNREFUSED)
		member_trouble(set, member, "does not answer");
	else if (call->err == -EKEYREJECTED || call->err == -EPROTO || call->err == -ESTALE)
		member_trouble(set, member, "has another secret than this one");
	else if (call->err == -EOPNOTSUPP)
		member_trouble(set, member, "cannot be asked: this NIC only listens");
	else if (call->err != -ENOMEM && call->err != -EINPROGRESS)
		member_trouble(set, member,
			       "cannot be asked: its address cannot be reached");
}

/* ---- questions --------------------------------------------------------------------- */

static void question_end(struct space_member *member)
{
	if (!member->asking)
		return;
	far_call_end(&member->call);
	link_close(&member->l.link);
	explicit_bzero(&member->proof, sizeof(member->proof));
	member->asking = false;
}

static void question_step(struct space_set *set, struct space_member *member)
{
	enum far_call_state was = member->call.state;

	if (!member->asking)
		return;
	far_call_step(&member->call);
	if (!far_call_is_over(&member->call))
		return;
	if (member->call.state == FAR_CALL_DONE)
		question_answered(set, member);
	else
		question_failed(set, member, was);
	question_end(member);
}

/* Fills in the name and secret of a call.  False: the secret is not there. */
static bool member_prove(const struct space_set *set, struct space_member *member)
{
	const struct ident *ident = *member->key ? idents_find(set->idents, member->key) : NULL;

	member->proof = (struct far_key){ .set = ident };
	if (!ident)
		return !*member->key;
	memcpy(member->proof.name, member->key, sizeof(member->key));
	memcpy(member->proof.secret, ident->secrets.secret[0], sizeof(member->proof.secret));
	return true;
}

static void question_ask(struct space_set *set, struct space_member *member,
			 enum odrp_far_role role, uint32_t number)
{
	struct odrp_far_hello hello = far_hello(role, set->life);

	if (member->asking)
		return;
	if (!member_prove(set, member)) {
		member_trouble(set, member, "cannot be asked: its secret is not there");
		return;
	}
	hello.number = cpu_to_be32(number);
	if (role == ODRP_FAR_JOIN && member->state == SPACE_MEMBER_LOST)
		hello.rights = ODRP_FAR_ANEW;
	if (role == ODRP_FAR_JOIN)
		hello.rights |= silence_turn(set, member) << ODRP_FAR_TURN;
	memcpy(hello.name, set->conf->name, strlen(set->conf->name));
	far_call_begin(&member->call, &member->l.link, member->proof.set ? &member->proof : NULL,
		       &member->passes, &hello);
	member->asking = true;
	question_step(set, member);
}

bool space_set_event(struct space_set *set, const struct nic_event *event)
{
	unsigned int i;

	for (i = 0; i < set->nr_members; i++) {
		struct space_member *member = &set->members[i];

		if (!member->conn || member->conn != event->id)
			continue;
		far_nic_link_event(event, &member->event);
		question_step(set, member);
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

		member->set = set;
		member->l = (struct far_nic_link){
			.link = {
				.ops = &link_ops, .ip = conf->nodes[i],
				.connect_ns = FAR_CALL_MESSAGE_NS,
			},
			.dev = host->dev, .pdn = host->pdn, .cqn = host->cqn,
		};
		space_set_key(conf, i, member->key);
		far_passes_init(&member->passes);
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
		question_end(&set->members[i]);
		far_passes_fini(&set->members[i].passes);
		free(set->members[i].cut);
	}
	free(set->members);
	*set = (struct space_set){ .nr_members = 0 };
}

void space_set_begin(struct space_set *set, uint64_t life)
{
	unsigned int i;

	set->life = life;
	set->ask_at = 0;
	for (i = 0; i < set->nr_members; i++) {
		struct space_member *member = &set->members[i];

		question_end(member);
		member->state = SPACE_MEMBER_ABSENT;
		member->generation = 0;
		member->losses = 0;
		silence_begins(member);
		memset(member->cut, 0, (set->conf->clients + 1) * sizeof(*member->cut));
	}
}

uint64_t space_set_step(struct space_set *set, uint64_t now)
{
	bool handshaking = false;
	unsigned int i;

	set->now = now;
	for (i = 0; i < set->nr_members; i++)
		question_step(set, &set->members[i]);
	if (now >= set->ask_at) {
		for (i = 0; i < set->nr_members; i++)
			question_ask(set, &set->members[i], ODRP_FAR_JOIN,
				     set->members[i].generation);
		set->ask_at = now + SPACE_SET_ASK_NS;
	}
	for (i = 0; i < set->nr_members; i++)
		handshaking |= set->members[i].asking &&
			       far_call_awaits_message(&set->members[i].call);
	return handshaking ? now + SPACE_SET_HANDSHAKE_NS : set->ask_at;
}

unsigned int space_set_joined(const struct space_set *set)
{
	unsigned int i, nr = 0;

	for (i = 0; i < set->nr_members; i++)
		nr += set->members[i].state == SPACE_MEMBER_JOINED;
	return nr;
}

int space_set_cut(struct space_set *set, unsigned int node, unsigned int number,
		  unsigned int incarnation)
{
	struct space_member *member = &set->members[node - 1];

	if (member->state == SPACE_MEMBER_LOST || member->cut[number] == incarnation)
		return 0;
	if (!member->asking) {
		question_ask(set, member, ODRP_FAR_CUT, number);
		member->incarnation = incarnation;
	}
	return -EBUSY;
}

/* ---- members that are lost ----------------------------------------------------------- */

int space_set_declare(struct space_set *set, unsigned int node, const char *why)
{
	struct space_member *member = &set->members[node - 1];
	char name[INET_ADDRSTRLEN];

	/* No epochs pass there, behind which it would be lost. */
	if (set->space->closed)
		return -EAGAIN;
	if (!member_event(set, member, SPACE_MEMBER_DECLARE))
		return member->state == SPACE_MEMBER_ABSENT ? -EAGAIN : -EALREADY;
	member->losses++;
	member->declared = 0;
	silence_begins(member);
	log_notice("space %s: memory node %s is declared lost: %s", set->conf->name,
		   member_name(member, name), why);
	return 0;
}

bool space_set_count(struct space_set *set, uint64_t epoch, uint64_t behind)
{
	char name[INET_ADDRSTRLEN];
	bool waits = false;
	unsigned int i;

	for (i = 0; i < set->nr_members; i++) {
		struct space_member *member = &set->members[i];

		if (member->state != SPACE_MEMBER_DECLARED)
			continue;
		if (!member->declared)
			member->declared = epoch;
		else if (behind > member->declared && epoch > member->declared &&
			 member_event(set, member, SPACE_MEMBER_COUNT))
			log_info("space %s: memory node %s is lost, and no client uses it",
				 set->conf->name, member_name(member, name));
		waits |= member->state == SPACE_MEMBER_DECLARED && member->declared == epoch;
	}
	return waits;
}
