// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* `wrc cost --cnodes`: many requests at once. */
#include <stdlib.h>
#include "cost.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MAX_LIST 32
#define MAX_NODES 1000
#define MAX_QUEUES 1024

struct list {
	unsigned int n[MAX_LIST];
	unsigned int nr;
};

static int parse_list(const char *what, const char *text, unsigned long max,
		      struct list *ret_list)
{
	const char *at = text;
	unsigned long n;
	char *end;

	ret_list->nr = 0;
	for (;;) {
		errno = 0;
		n = strtoul(at, &end, 10);
		if (errno || end == at || *at == '-' || n < 1 || n > max ||
		    (*end && *end != ','))
			return wrc_fail("%s '%s' is no list of numbers from 1 to %lu",
					what, text, max);
		if (ret_list->nr == MAX_LIST)
			return wrc_fail("%s '%s' has more than %d numbers",
					what, text, MAX_LIST);
		ret_list->n[ret_list->nr++] = n;
		if (!*end)
			return 0;
		at = end + 1;
	}
}

static struct json_object *load_row(const char *program, const char *variant,
				    const struct wrc_cost *cost,
				    const struct wrc_params *p,
				    unsigned int cnodes, unsigned int queues,
				    unsigned int window)
{
	struct json_object *o = json_object_new_object();
	struct wrc_load l;

	wrc_model_load(cost, p, cnodes, queues, window, &l);
	cost_add_text(o, "program", program);
	cost_add_text(o, "variant", variant);
	cost_add(o, "cnodes", cnodes);
	cost_add(o, "queues", queues);
	cost_add(o, "outstanding", window);
	cost_add(o, "model_mops", l.mops);
	cost_add(o, "model_latency_us", l.latency_ns / 1e3);
	cost_add_text(o, "model_busiest", wrc_station_name(l.first));
	cost_add(o, "model_busy_percent", 100 * l.use[l.first]);
	return o;
}

static void load_grid(struct json_object *rows, const char *program,
		      const char *variant, const struct wrc_cost *cost,
		      const struct wrc_params *p, const struct list *cnodes,
		      const struct list *queues, unsigned int window)
{
	for (unsigned int i = 0; i < cnodes->nr; i++)
		for (unsigned int j = 0; j < queues->nr; j++)
			json_object_array_add(rows,
				load_row(program, variant, cost, p,
					 cnodes->n[i], queues->n[j], window));
}

int cost_load_rows(const struct wrc_cmd *cmd, const struct wrc_params *p,
		   struct json_object **ret_rows)
{
	struct cost_prog *progs = calloc(COST_MAX_PROGS, sizeof(*progs));
	struct list cnodes, queues;
	struct wrc_cost cost;
	unsigned int i, nr = 0;
	int status;

	*ret_rows = json_object_new_array();
	status = parse_list("cnodes", cmd->cnodes ? cmd->cnodes : "1",
			    MAX_NODES, &cnodes);
	if (!status)
		status = parse_list("queues", cmd->queues ? cmd->queues : "1",
				    MAX_QUEUES, &queues);
	if (!status && !progs)
		status = wrc_fail("no memory");
	if (!status)
		status = cost_programs(cmd, progs, &nr);
	if (!status && !cmd->nr_files) {
		wrc_model_onesided(p, &cost);
		load_grid(*ret_rows, "one-sided", "READ 4 KB", &cost, p,
			  &cnodes, &queues, cmd->depth - 1);
	}
	for (i = 0; !status && i < nr; i++) {
		/* Rungs are for latency; ask for one by name. */
		if (!cost_one(cmd) && !progs[i].armed &&
		    progs[i].variant != WRC_V_PAPER)
			continue;
		cost_of(&progs[i], p, &cost);
		load_grid(*ret_rows, progs[i].prog.name,
			  progs[i].name, &cost, p,
			  &cnodes, &queues, cmd->depth - 1);
	}
	free(progs);
	return status;
}

void cost_load_print(struct json_object *rows)
{
	static const struct cost_column columns[] = {
		{ "program", "program", -14, 0 },
		{ "variant", "variant", -14, 0 },
		{ "cnodes", "cnodes", 6, 0 },
		{ "queues", "queues", 6, 0 },
		{ "outstanding", "each", 4, 0 },
		{ "model_mops", "model M/s", 9, 3 },
		{ "model_latency_us", "model us", 10, 1 },
		{ "model_busy_percent", "busy %", 6, 0 },
		{ "model_busiest", "busiest", -12, 0 },
	};

	cost_table("clients, queues of each, requests outstanding in each queue",
		   rows, columns, ARRAY_LEN(columns));
}
