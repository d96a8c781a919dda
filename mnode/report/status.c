// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* JSON answers to odrpctl and scripts. */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "../check.h"
#include "../log.h"
#include "../manager.h"
#include "metrics.h"
#include "status.h"

static const char *const chain_names[ODRP_WIRE_NR_CHAINS] = {
	[ODRP_WIRE_LOAD] = "load",
	[ODRP_WIRE_MAPPED_STORE] = "mapped_store",
	[ODRP_WIRE_UNMAPPED_STORE] = "unmapped_store",
	[ODRP_WIRE_INVALIDATE] = "invalidate",
};

static void add_value(struct json_object *obj, const char *name,
		      struct json_object *value)
{
	if (json_object_object_add(obj, name, value))
		json_object_put(value);
}

static void add_u64(struct json_object *obj, const char *name, uint64_t n)
{
	add_value(obj, name, json_object_new_uint64(n));
}

static void add_seconds(struct json_object *obj, const char *name, uint64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 ".%06u", ns / 1000000000,
		 (unsigned int)(ns % 1000000000 / 1000));
	add_value(obj, name, json_object_new_double_s(ns / 1e9, text));
}

static void add_bool(struct json_object *obj, const char *name, bool b)
{
	add_value(obj, name, json_object_new_boolean(b));
}

static struct json_object *answer_error(const char *text)
{
	struct json_object *obj = json_object_new_object();

	add_value(obj, "error", json_object_new_string(text));
	return obj;
}

static uint64_t process_cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* Pages by time; the average is a part of 1. */
static struct json_object *make_use(const struct use *u)
{
	struct json_object *obj = json_object_new_object();
	char text[16];

	snprintf(text, sizeof(text), "%u.%04u", use_share(u) / 10000, use_share(u) % 10000);
	add_u64(obj, "used", u->used);
	add_u64(obj, "held", u->held);
	add_u64(obj, "used_page_s", u->used_s.sum);
	add_u64(obj, "held_page_s", u->held_s.sum);
	add_value(obj, "average", json_object_new_double_s(use_share(u) / 1e4, text));
	add_u64(obj, "peak_used", u->peak_used);
	add_u64(obj, "peak_held", u->peak_held);
	return obj;
}

/* ---- sessions ------------------------------------------------------------------ */

static struct json_object *sess_chains(const struct sess *s)
{
	struct json_object *obj = json_object_new_object();
	unsigned int c;

	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++)
		add_u64(obj, chain_names[c], sess_executed(s, c));
	return obj;
}

static unsigned int sess_connected(const struct sess *s)
{
	unsigned int n, c, nr = 0;
	struct queue *q;

	sess_for_each_queue(s, n, c, q)
		nr += !!q->cm_id;
	return nr;
}

static const char *const state_names[] = {
	[SESS_OPENING] = "opening", [SESS_ATTACHED] = "live", [SESS_RESTORING] = "live",
	[SESS_DETACHED] = "live", [SESS_STOPPING] = "live", [SESS_SORTING] = "live",
	[SESS_FILLING] = "live", [SESS_ENDING] = "dying",
};

static struct json_object *make_sess(const struct sess *s)
{
	struct json_object *obj = json_object_new_object();
	struct in_addr in = { .s_addr = s->peer_ip };
	char ip[INET_ADDRSTRLEN];

	add_u64(obj, "id", s->id);
	add_value(obj, "peer", json_object_new_string(inet_ntop(AF_INET, &in, ip,
								sizeof(ip))));
	/* "": the compute node has proved no name */
	add_value(obj, "name", json_object_new_string(s->name));
	add_value(obj, "state", json_object_new_string(state_names[s->state]));
	add_bool(obj, "attached", sess_attached(s));
	add_bool(obj, "keyed", keys_exist(&s->keys));
	add_u64(obj, "slabs", s->slabs.nr);
	add_u64(obj, "slots", s->tt.nr_slots);
	add_u64(obj, "queues", s->nr_queues);
	add_u64(obj, "depth", s->depth);
	add_u64(obj, "connections", sess_connected(s));
	/* The NIC does not stop these chains, so the session keeps their pages. */
	add_u64(obj, "unstopped", sess_unstopped(s));
	add_u64(obj, "lent", s->lent);
	add_u64(obj, "ring", ring_pages(&s->ring));
	add_u64(obj, "lease", s->lease.granted);
	add_u64(obj, "lease_ceiling", s->lease.ceiling);
	add_u64(obj, "used", s->lease.used);
	add_u64(obj, "want", s->lease.want);
	add_value(obj, "use", make_use(&s->use));
	add_bool(obj, "overdrawn", s->lease.overdrawn);
	add_u64(obj, "silent_ms", s->silent_ms);
	add_u64(obj, "beats", s->beats);
	add_u64(obj, "grants", s->grants);
	add_value(obj, "chains", sess_chains(s));
	return obj;
}

static struct json_object *make_sessions(struct manager *m)
{
	struct json_object *list = json_object_new_array();
	struct json_object *obj;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		obj = make_sess(m->sess[i]);
		if (json_object_array_add(list, obj))
			json_object_put(obj);
	}
	return list;
}

/* ---- clients ------------------------------------------------------------------- */

/* Adds what the sessions of a share have together. */
static void add_use(struct json_object *obj, const struct manager *m,
		    const struct share *share)
{
	uint64_t lease = 0, used = 0, want = 0;
	unsigned int i;

	for (i = 0; i < m->nr_sess; i++) {
		const struct lease *l = &m->sess[i]->lease;

		if (m->sess[i]->share != share)
			continue;
		lease += l->ceiling;
		used += l->used;
		want += l->want;
	}
	add_u64(obj, "sessions", manager_sessions_of(m, share));
	add_u64(obj, "connections", manager_connections_of(m, share));
	add_u64(obj, "metadata_bytes", manager_metadata_of(m, share));
	add_u64(obj, "lease", lease);
	add_u64(obj, "used", used);
	add_u64(obj, "want", want);
}

/* A limit of 0 stands for no limit. */
static struct json_object *make_client(const struct manager *m,
				       const struct share *share)
{
	struct json_object *obj = json_object_new_object();

	add_value(obj, "name", json_object_new_string(share->limits.name));
	add_bool(obj, "section", share->named);
	add_u64(obj, "weight", share->limits.weight);
	add_u64(obj, "guaranteed_pages", share->limits.guaranteed_pages);
	add_u64(obj, "max_pages", share->limits.max_pages);
	add_u64(obj, "max_sessions", share->limits.max_sessions);
	add_u64(obj, "max_connections", share->limits.max_connections);
	add_u64(obj, "max_requests", share->limits.max_requests);
	add_u64(obj, "max_bandwidth", share->limits.max_bandwidth);
	add_u64(obj, "bandwidth_holds", share->rate != 0);
	add_use(obj, m, share);
	add_u64(obj, "refused", share->refused);
	return obj;
}

static struct json_object *make_clients(const struct manager *m)
{
	struct json_object *list = json_object_new_array();
	const struct share *share;
	struct json_object *obj;

	for (share = m->shares.list; share; share = share->next) {
		obj = make_client(m, share);
		if (json_object_array_add(list, obj))
			json_object_put(obj);
	}
	return list;
}

/* ---- spaces ------------------------------------------------------------------- */

static struct json_object *make_space(const struct spaces *sp, struct space *space)
{
	struct json_object *obj = json_object_new_object();
	struct far_summary sum;

	far_summary_of(space->host.base, &space->sb, &space->host.tally, &sum);
	add_value(obj, "name", json_object_new_string(space->host.name));
	add_u64(obj, "size", sum.size);
	add_u64(obj, "used", sum.used);
	add_u64(obj, "chunks", sum.used / space->sb.chunk_size);
	add_u64(obj, "max_chunks", space->sb.nr_chunks);
	add_u64(obj, "epoch", space->epoch);
	add_u64(obj, "epoch_age_ms", spaces_epoch_age(space) / 1000000);
	add_u64(obj, "attached", spaces_attached(sp, space));
	add_u64(obj, "clients", sum.clients);
	add_u64(obj, "max_clients", space->sb.max_clients);
	add_u64(obj, "structures", sum.names);
	add_u64(obj, "fenced", space->fenced);
	add_u64(obj, "nodes", space->sb.nr_nodes);
	add_u64(obj, "node", space->sb.node);
	add_u64(obj, "joined", spaces_joined(space));
	add_value(obj, "open", json_object_new_boolean(!space->host.closed));
	return obj;
}

static struct json_object *make_spaces(const struct spaces *sp)
{
	struct json_object *list = json_object_new_array();
	struct space *space;
	struct json_object *obj;

	for (space = sp->list; space; space = space->next) {
		obj = make_space(sp, space);
		if (json_object_array_add(list, obj))
			json_object_put(obj);
	}
	return list;
}

/* ---- status -------------------------------------------------------------------- */

/* A card would answer by firmware commands, so its counts are those of the last look at
 * each queue (health.c). */
static void queues_count(struct manager *m)
{
	unsigned int i, n, c;
	struct queue *q;

	for (i = 0; m->nic->node->look_fd < 0 && i < m->nr_sess; i++) {
		sess_for_each_queue(m->sess[i], n, c, q)
			queue_count(q);
	}
}

static struct json_object *make_chains(struct manager *m)
{
	struct json_object *obj = json_object_new_object();
	unsigned int c, i;

	for (c = 0; c < ODRP_WIRE_NR_CHAINS; c++) {
		uint64_t n = m->executed[c];

		for (i = 0; i < m->nr_sess; i++)
			n += sess_executed(m->sess[i], c);
		add_u64(obj, chain_names[c], n);
	}
	return obj;
}

static struct json_object *make_handshakes(const struct responder *responder)
{
	struct json_object *obj = json_object_new_object();

	add_u64(obj, "done", responder->done);
	add_u64(obj, "failed", responder->failed);
	add_u64(obj, "under_way", responder->nr_taken);
	add_u64(obj, "cookies", responder->cookies);
	add_u64(obj, "sent_away", responder->full);
	return obj;
}

static struct json_object *make_counters(const struct manager *m)
{
	struct json_object *obj = json_object_new_object();
	struct json_object *rejects = json_object_new_object();
	unsigned int i;

	add_u64(obj, "sessions", m->sess_total);
	add_u64(obj, "left", m->sess_left);
	add_u64(obj, "dead", m->sess_dead);
	add_u64(obj, "evicted", m->sess_evicted);
	add_u64(obj, "resumed", m->sess_resumed);
	add_u64(obj, "adopted", m->sess_adopted);
	add_u64(obj, "broken_queues", m->queues_broken);
	add_u64(obj, "lent_pages", m->lender.nr_lent);
	add_u64(obj, "returned_pages", m->lender.nr_back);
	add_u64(obj, "scrubbed_pages", m->lender.nr_scrubbed);
	add_u64(obj, "foreign_pages", m->lender.nr_foreign);
	add_u64(obj, "lender_retries", m->lender.nr_retries);
	add_u64(obj, "lender_failures", m->lender.nr_failures);
	for (i = 1; i <= ODRP_WIRE_E_NO_SWAP; i++)
		add_u64(rejects, hello_status_name(i), m->rejects[i]);
	add_value(obj, "rejects", rejects);
	return obj;
}

static int report_number(void *arg, const char *name, uint64_t value)
{
	return json_object_object_add(arg, name, json_object_new_uint64(value));
}

static int report_text(void *arg, const char *name, const char *value)
{
	return json_object_object_add(arg, name, json_object_new_string(value));
}

static struct json_object *make_nic(struct nic *nic)
{
	struct json_object *obj = json_object_new_object();
	const struct nic_reporter to = {
		.number = report_number, .text = report_text, .arg = obj,
	};

	add_value(obj, "name", json_object_new_string(nic->ops->name));
	add_bool(obj, "strict_index", nic->node->strict_index);
	if (nic->ops->report(nic, &to))
		log_warning("cannot report all counters of the NIC");
	return obj;
}

struct json_object *status_make(struct manager *m, uint64_t wall_ns)
{
	struct json_object *obj = json_object_new_object();
	uint64_t nic_ns = m->nic->ops->cpu_ns(m->nic);
	uint64_t all_ns = process_cpu_ns();
	uint64_t free = manager_free_pages(m);
	uint64_t armed = manager_armed_pages(m);
	uint64_t rest = m->pool.pages - m->spaces.nr_pages - free;

	queues_count(m);
	add_u64(obj, "pages_total", m->pool.pages);
	add_u64(obj, "pages_free", free);
	add_u64(obj, "pages_mapped", rest > armed ? rest - armed : 0);
	/* in page registers of stores */
	add_u64(obj, "pages_armed", armed);
	add_u64(obj, "pages_stock", m->stock.target > armed ?
				    m->stock.target - armed : 0);
	add_u64(obj, "pages_withheld", manager_withheld_pages(m));
	add_u64(obj, "pages_spaces", m->spaces.nr_pages);
	add_u64(obj, "table_bytes", m->pool.tables.bytes);
	add_u64(obj, "metadata_bytes", manager_metadata_of(m, NULL));
	add_u64(obj, "metadata_most_bytes", manager_metadata_most(m));
	add_u64(obj, "pages_pool", m->pool.nr_free);
	add_value(obj, "use", make_use(&m->use));
	add_u64(obj, "slack", m->slack);
	add_bool(obj, "huge_pages", m->pool.page_mem.huge);
	add_value(obj, "order", json_object_new_string(m->waits ? "wait" :
								  "fence"));
	add_value(obj, "translate", json_object_new_string(m->direct ? "direct" :
							   m->nic_translates ? "nic" :
							   "chain"));
	add_value(obj, "auth", json_object_new_string(conf_auth_name(m->conf)));
	add_value(obj, "handshakes", make_handshakes(&m->responder));
	add_value(obj, "chains", make_chains(m));
	add_seconds(obj, "agent_cpu_s", all_ns > nic_ns ? all_ns - nic_ns : 0);
	add_seconds(obj, "nic_cpu_s", nic_ns);
	add_seconds(obj, "wall_s", wall_ns);
	/* The agent heard no other event during that time. */
	add_seconds(obj, "longest_turn_s", m->longest_turn_ns);
	add_bool(obj, "nic_silent", manager_health_silent(m));
	add_bool(obj, "draining", m->draining || m->ending);
	add_value(obj, "sessions", make_sessions(m));
	add_value(obj, "spaces", make_spaces(&m->spaces));
	add_value(obj, "counters", make_counters(m));
	add_value(obj, "nic", make_nic(m->nic));
	return obj;
}

/* ---- check --------------------------------------------------------------------- */

static struct json_object *make_check(const struct check_result *res)
{
	struct json_object *obj = json_object_new_object(), *list;
	unsigned int i;

	add_bool(obj, "ok", check_ok(res));
	add_bool(obj, "exact", res->exact);
	add_u64(obj, "pages_total", res->total);
	add_u64(obj, "pool", res->pool);
	add_u64(obj, "free", res->free);
	add_u64(obj, "mapped", res->mapped);
	add_u64(obj, "slabs", res->slabs);
	add_u64(obj, "armed", res->armed);
	add_u64(obj, "held", res->held);
	add_u64(obj, "spaces", res->spaces);
	add_u64(obj, "returning", res->returning);
	add_u64(obj, "withheld", res->withheld);
	add_u64(obj, "lost", res->lost);
	add_u64(obj, "doubled", res->doubled);
	add_u64(obj, "foreign", res->foreign);
	add_u64(obj, "empty_slots", res->empty);
	add_u64(obj, "stray", res->stray);
	add_u64(obj, "overtaken", res->overtaken);
	list = json_object_new_array();
	for (i = 0; i < res->nr_problems; i++)
		json_object_array_add(list,
				json_object_new_string(res->problems[i]));
	add_value(obj, "problems", list);
	return obj;
}

/* ---- commands -------------------------------------------------------------------- */

/*
 * The pages are counted in pieces: the first call begins, later ones have the result. All who
 * wait get the same one: counts in a row would leave the manager no turn of its own.
 */
static struct json_object *check_answer(struct manager *m)
{
	struct check_result res;
	int r = check_result(m, &res);

	if (r == -EAGAIN)
		return NULL;
	if (r == -ENOENT) {
		if (manager_health_silent(m))
			return answer_error("the card does not answer; try again");
		r = check_begin(m);
		return r ? answer_error(strerror(-r)) : NULL;
	}
	return r ? answer_error(r == -EBUSY ? "pages are on their way back; try again" :
				strerror(-r)) : make_check(&res);
}

/* struct request - manager, all of it, argument of the command or NULL, and the agent's run
 * time */
struct request {
	struct manager *m;
	struct json_object *obj, *arg;
	uint64_t wall_ns;
};

/**
 * struct command - a command of the control socket
 * @key:	name of the argument in the request; NULL: there is none
 * @type:	type of the argument
 * @expected:	describes the argument, for error answers
 * @reads:	changes nothing, so it is answered while pages are counted
 */
struct command {
	const char *name;
	const char *key;
	enum json_type type;
	const char *expected;
	bool reads;
	struct json_object *(*fn)(const struct request *req);
};

static struct json_object *answer_ok(void)
{
	struct json_object *obj = json_object_new_object();

	add_bool(obj, "ok", true);
	return obj;
}

static struct json_object *command_status(const struct request *req)
{
	return status_make(req->m, req->wall_ns);
}

static struct json_object *command_check(const struct request *req)
{
	return check_answer(req->m);
}

static struct json_object *command_sessions(const struct request *req)
{
	struct json_object *obj = json_object_new_object();

	queues_count(req->m);
	add_value(obj, "sessions", make_sessions(req->m));
	return obj;
}

static struct json_object *command_clients(const struct request *req)
{
	struct json_object *obj = json_object_new_object();

	add_value(obj, "clients", make_clients(req->m));
	return obj;
}

static struct json_object *command_metrics(const struct request *req)
{
	struct json_object *obj;
	char *text;
	size_t len;

	if (metrics_make(req->m, req->wall_ns, &text, &len))
		return answer_error(strerror(ENOMEM));
	obj = json_object_new_object();
	add_value(obj, "text", json_object_new_string_len(text, len));
	free(text);
	return obj;
}

static struct json_object *command_drain(const struct request *req)
{
	manager_drain(req->m, true);
	return answer_ok();
}

static struct json_object *command_undrain(const struct request *req)
{
	manager_drain(req->m, false);
	return answer_ok();
}

static struct json_object *command_evict(const struct request *req)
{
	struct sess *s = manager_find(req->m, json_object_get_uint64(req->arg));
	char text[64];

	if (!s) {
		snprintf(text, sizeof(text), "no live session has number %s",
			 json_object_get_string(req->arg));
		return answer_error(text);
	}
	log_notice("session %" PRIu64 ": the operator evicts it", s->id);
	manager_kill(req->m, s, WHY_EVICTED);
	return answer_ok();
}

static struct json_object *command_revoke(const struct request *req)
{
	struct json_object *obj;
	char why[CONF_WHY_MAX];
	int nr = manager_revoke(req->m, json_object_get_string(req->arg), why);

	if (nr < 0)
		return answer_error(why);
	obj = answer_ok();
	add_u64(obj, "sessions", nr);
	return obj;
}

static struct json_object *command_delete_space(const struct request *req)
{
	const char *name = json_object_get_string(req->arg);
	char text[128];

	if (!manager_delete_space(req->m, name))
		return answer_ok();
	snprintf(text, sizeof(text), "no space has the name '%.60s'", name);
	return answer_error(text);
}

static struct json_object *command_lost(const struct request *req)
{
	struct json_object *node;
	char why[CONF_WHY_MAX];

	if (!json_object_object_get_ex(req->obj, "node", &node) ||
	    !json_object_is_type(node, json_type_int))
		return answer_error("lost: expected \"node\", the number of a memory node");
	if (manager_declare_lost(req->m, json_object_get_string(req->arg),
				 json_object_get_uint64(node), why))
		return answer_error(why);
	return answer_ok();
}

static const struct command commands[] = {
	{ "status", .reads = true, .fn = command_status },
	{ "check", .fn = command_check },
	{ "sessions", .reads = true, .fn = command_sessions },
	{ "clients", .reads = true, .fn = command_clients },
	{ "metrics", .reads = true, .fn = command_metrics },
	{ "evict", "session", json_type_int, "the number of a session", false,
	  command_evict },
	{ "revoke", "name", json_type_string,
	  "a compute node's name, as its file of secrets had it", false, command_revoke },
	{ "drain", .fn = command_drain },
	{ "undrain", .fn = command_undrain },
	{ "delete-space", "space", json_type_string, "the name of a space", false,
	  command_delete_space },
	{ "lost", "space", json_type_string, "the name of a space", false, command_lost },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

/* Answers an unknown command with a list of all commands. */
static struct json_object *command_unknown(const char *text)
{
	char why[512];
	size_t i, len;

	len = snprintf(why, sizeof(why), "command '%.40s': expected", text);
	for (i = 0; i < NR_COMMANDS; i++)
		len += snprintf(why + len, sizeof(why) - len, "%s %s",
				!i ? "" : i + 1 < NR_COMMANDS ? "," : " or",
				commands[i].name);
	return answer_error(why);
}

/* arg: NULL if the request has none. */
static struct json_object *command_wrong_arg(const struct command *command,
					     struct json_object *arg)
{
	char why[256];

	if (arg)
		snprintf(why, sizeof(why), "%s: %s=%.40s: expected %s", command->name,
			 command->key, json_object_to_json_string(arg),
			 command->expected);
	else
		snprintf(why, sizeof(why), "%s: expected \"%s\", %s", command->name,
			 command->key, command->expected);
	return answer_error(why);
}

static bool command_arg_ok(const struct command *command, struct json_object *arg)
{
	return json_object_is_type(arg, command->type) &&
	       (command->type != json_type_string || json_object_get_string_len(arg));
}

struct json_object *status_command(struct manager *m, struct json_object *obj,
				   uint64_t wall_ns)
{
	struct request req = { .m = m, .obj = obj, .wall_ns = wall_ns };
	const struct command *command = commands;
	struct json_object *name;

	if (!json_object_is_type(obj, json_type_object) ||
	    !json_object_object_get_ex(obj, "command", &name) ||
	    !json_object_is_type(name, json_type_string))
		return answer_error("expected an object with \"command\", a string");
	while (strcmp(command->name, json_object_get_string(name)))
		if (++command == commands + NR_COMMANDS)
			return command_unknown(json_object_get_string(name));
	if (command->key) {
		json_object_object_get_ex(obj, command->key, &req.arg);
		if (!command_arg_ok(command, req.arg))
			return command_wrong_arg(command, req.arg);
	}
	if (!command->reads && check_runs(m))
		return NULL;
	return command->fn(&req);
}
