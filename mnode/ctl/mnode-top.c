// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* odrpctl mnode top; see mnode-top.h. */
#include <errno.h>
#include <inttypes.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent.h"
#include "mnode-top.h"
#include "odrpctl.h"
#include "top.h"

#define PAGES_PER_MB	256.0
#define BYTES_PER_MB	1048576.0
#define NR_RATES	4

/* in the order of the columns; a compute node with keys does the first two without chains */
static const struct {
	const char *chain, *json;
	bool by_keys;
} rates[NR_RATES] = {
	{ "load", "loads_per_s", true },
	{ "mapped_store", "mapped_stores_per_s", true },
	{ "unmapped_store", "unmapped_stores_per_s" },
	{ "invalidate", "invalidates_per_s" },
};

/* False: the agent does not count these requests. */
static bool rate_of(struct json_object *from, struct json_object *to, uint64_t ns,
		    unsigned int which, double *ret_rate)
{
	const char *chain = rates[which].chain;

	if (rates[which].by_keys && agent_yes(to, "keyed"))
		return false;
	*ret_rate = top_rate(agent_num(agent_get(from, "chains"), chain),
			     agent_num(agent_get(to, "chains"), chain), ns);
	return true;
}

/* ---- output ----------------------------------------------------------------------- */

void mnode_top_head(char line[MNODE_TOP_LINE])
{
	snprintf(line, MNODE_TOP_LINE, "%5s %-15s %-7s %6s %6s %6s %6s %7s %7s %6s", "ID",
		 "PEER", "STATE", "LOAD/S", "MAPD/S", "UNMP/S", "INVL/S", "USED MB",
		 "HELD MB", "SILENT");
}

void mnode_top_line(struct json_object *from, struct json_object *to, uint64_t ns,
		    char line[MNODE_TOP_LINE])
{
	char text[NR_RATES][16], used[16], held[16], silent[16];
	unsigned int i;
	double rate;

	for (i = 0; i < NR_RATES; i++) {
		if (rate_of(from, to, ns, i, &rate))
			top_count_text(rate, text[i]);
		else
			snprintf(text[i], sizeof(text[i]), "keys");
	}
	snprintf(line, MNODE_TOP_LINE,
		 "%5" PRIu64 " %-15s %-7s %6s %6s %6s %6s %7s %7s %6s",
		 agent_num(to, "id"), agent_str(to, "peer"), agent_session_state(to),
		 text[0], text[1], text[2], text[3],
		 top_mb_text(agent_num(agent_get(to, "use"), "used") / PAGES_PER_MB, used),
		 top_mb_text(agent_num(agent_get(to, "use"), "held") / PAGES_PER_MB, held),
		 top_count_text(agent_num(to, "silent_ms"), silent));
}

/* Used of held, between two answers, in percent; false: nothing was held. */
static bool share_between(struct json_object *from, struct json_object *to, double *ret_share)
{
	uint64_t used = agent_num(to, "used_page_s") - agent_num(from, "used_page_s");
	uint64_t held = agent_num(to, "held_page_s") - agent_num(from, "held_page_s");

	if (!held)
		return false;
	*ret_share = 100.0 * used / held;
	return true;
}

bool mnode_top_use_line(struct json_object *from, struct json_object *to,
			char line[MNODE_TOP_LINE])
{
	uint64_t used = agent_num(to, "peak_used"), held = agent_num(to, "peak_held");
	char used_mb[16], held_mb[16];
	double share;

	if (!held || !share_between(from, to, &share))
		return false;
	snprintf(line, MNODE_TOP_LINE, "used / held: %.1f %% by time; at the peak %.1f %%, "
		 "%s of %s MB", share, 100.0 * used / held,
		 top_mb_text(used / PAGES_PER_MB, used_mb),
		 top_mb_text(held / PAGES_PER_MB, held_mb));
	return true;
}

void mnode_top_space_head(char line[MNODE_TOP_LINE])
{
	snprintf(line, MNODE_TOP_LINE, "%-36s %8s %8s %7s %6s %8s", "SPACE", "USED MB",
		 "SIZE MB", "CLIENTS", "FENCED", "EPOCH MS");
}

void mnode_top_space_line(struct json_object *space, char line[MNODE_TOP_LINE])
{
	char used[16], size[16], clients[16], fenced[16], age[16];

	snprintf(line, MNODE_TOP_LINE, "%-36s %8s %8s %7s %6s %8s", agent_str(space, "name"),
		 top_mb_text(agent_num(space, "used") / BYTES_PER_MB, used),
		 top_mb_text(agent_num(space, "size") / BYTES_PER_MB, size),
		 top_count_text(agent_num(space, "clients"), clients),
		 top_count_text(agent_num(space, "fenced"), fenced),
		 top_count_text(agent_num(space, "epoch_age_ms"), age));
}

static void add_rate(struct json_object *obj, const char *name, double rate)
{
	char text[32];

	snprintf(text, sizeof(text), "%.1f", rate);
	json_object_object_add(obj, name, json_object_new_double_s(rate, text));
}

struct json_object *mnode_top_json(struct json_object *from,
				   struct json_object *to, uint64_t ns)
{
	static const char *const names[][2] = {
		{ "used", "used_pages" }, { "lease", "lease_pages" },
		{ "want", "want_pages" }, { "silent_ms", "silent_ms" },
	};
	struct json_object *obj = json_object_new_object(), *use = agent_get(to, "use");
	unsigned int i;
	double rate;

	json_object_object_add(obj, "peer",
			       json_object_new_string(agent_str(to, "peer")));
	json_object_object_add(obj, "state",
			json_object_new_string(agent_session_state(to)));
	for (i = 0; i < NR_RATES; i++) {
		if (rate_of(from, to, ns, i, &rate))
			add_rate(obj, rates[i].json, rate);
		else
			json_object_object_add(obj, rates[i].json, NULL);
	}
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		json_object_object_add(obj, names[i][1], json_object_new_uint64(
					agent_num(to, names[i][0])));
	json_object_object_add(obj, "kept_pages",
			       json_object_new_uint64(agent_num(use, "used")));
	json_object_object_add(obj, "held_pages",
			       json_object_new_uint64(agent_num(use, "held")));
	if (!share_between(agent_get(from, "use"), use, &rate))
		json_object_object_add(obj, "used_percent", NULL);
	else
		add_rate(obj, "used_percent", rate);
	return obj;
}

/* ---- the loop --------------------------------------------------------------------- */

/**
 * struct looks - two answers of the agent
 * @answer:	each has a list of sessions; NULL: none yet
 * @ns:		when each answer came
 * @unanswered:	the agent did not answer the last request
 */
struct looks {
	const char *control;
	bool json, unanswered;
	struct json_object *answer[2];
	uint64_t ns[2];
};

static int parse_sessions(const char *line, struct json_object **ret_answer)
{
	struct json_object *answer = json_tokener_parse(line);

	if (!json_object_is_type(agent_get(answer, "sessions"), json_type_array)) {
		json_object_put(answer);
		return -EBADMSG;
	}
	*ret_answer = answer;
	return 0;
}

static int looks_look(void *arg, unsigned int place)
{
	struct json_object *req = json_object_new_object(), *answer;
	struct looks *l = arg;
	char *line;
	int r;

	json_object_object_add(req, "command", json_object_new_string("status"));
	r = agent_ask(l->control, req, &line);
	json_object_put(req);
	l->unanswered = r;
	if (r)
		return r;
	l->ns[place] = top_now_ns();
	r = parse_sessions(line, &answer);
	free(line);
	if (r)
		return r;
	json_object_put(l->answer[place]);
	l->answer[place] = answer;
	return 0;
}

/* Finds the session in the other answer; a new session is compared with itself. */
static struct json_object *sess_before(struct looks *l, unsigned int to,
				       struct json_object *s)
{
	struct json_object *list = agent_get(l->answer[!to], "sessions"), *other;
	size_t i;

	for (i = 0; i < json_object_array_length(list); i++) {
		other = json_object_array_get_idx(list, i);
		if (agent_num(other, "id") == agent_num(s, "id"))
			return other;
	}
	return s;
}

static void print_json(struct looks *l, unsigned int to, struct json_object *list)
{
	struct json_object *all = json_object_new_object(), *s;
	uint64_t ns = l->ns[to] - l->ns[!to];
	size_t i;

	for (i = 0; i < json_object_array_length(list); i++) {
		s = json_object_array_get_idx(list, i);
		json_object_object_add(all, agent_str(s, "id"),
				       mnode_top_json(sess_before(l, to, s), s, ns));
	}
	if (agent_get(l->answer[to], "spaces"))
		json_object_object_add(all, "spaces", json_object_get(
					agent_get(l->answer[to], "spaces")));
	puts(json_object_to_json_string_ext(all, JSON_C_TO_STRING_PLAIN));
	json_object_put(all);
}

static void print_spaces(struct json_object *list)
{
	size_t i, nr = list ? json_object_array_length(list) : 0;
	char line[MNODE_TOP_LINE];

	if (!nr)
		return;
	mnode_top_space_head(line);
	printf("\n%s\n", line);
	for (i = 0; i < nr; i++) {
		mnode_top_space_line(json_object_array_get_idx(list, i), line);
		puts(line);
	}
}

static void looks_print(void *arg, unsigned int to)
{
	struct looks *l = arg;
	struct json_object *list = agent_get(l->answer[to], "sessions"), *s;
	char line[MNODE_TOP_LINE];
	size_t i;

	if (l->json) {
		print_json(l, to, list);
		return;
	}
	top_clear();
	mnode_top_head(line);
	puts(line);
	for (i = 0; i < json_object_array_length(list); i++) {
		s = json_object_array_get_idx(list, i);
		mnode_top_line(sess_before(l, to, s), s, l->ns[to] - l->ns[!to], line);
		puts(line);
	}
	if (!i)
		puts("no compute nodes");
	if (mnode_top_use_line(agent_get(l->answer[!to], "use"),
			       agent_get(l->answer[to], "use"), line))
		puts(line);
	print_spaces(agent_get(l->answer[to], "spaces"));
}

int mnode_top(const char *control, double seconds, unsigned long count, bool json)
{
	struct looks l = { .control = control, .json = json };
	const struct top top = { looks_look, looks_print, &l };
	int r = top_run(&top, seconds, count);

	json_object_put(l.answer[0]);
	json_object_put(l.answer[1]);
	if (!r)
		return EXIT_OK;
	if (l.unanswered)
		return agent_complain(control, r);
	fprintf(stderr, "odrpctl mnode top: %s\n", r == -EBADMSG ?
		"the answer has no sessions" : strerror(-r));
	return EXIT_TROUBLE;
}
