/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `wrc cost`: rows are made once, as JSON, and printed as such or as a table.
 * What the model says and what the paper says never share a column.
 */
#ifndef WRC_TOOLS_COST_H
#define WRC_TOOLS_COST_H

#include "model/model.h"
#include "wrc.h"

/**
 * struct cost_column - one column of a table
 * @key:	of the row's object
 * @head:	its title
 * @width:	characters; negative: to the left
 * @digits:	behind the point of a number
 */
struct cost_column {
	const char *key, *head;
	int width, digits;
};

/* A key that is not in a row is a dash. */
void cost_table(const char *title, struct json_object *rows,
		const struct cost_column *columns, unsigned int nr_columns);

/* A program that somebody asked for. */
struct cost_prog {
	struct wrc_prog prog;
	enum wrc_variant variant;
	char name[24];		/* of the variant, or of what is armed */
	bool armed;
	bool alone;		/* there is no chain: the client does it, by a key */
};

void cost_of(const struct cost_prog *cp, const struct wrc_params *p,
	     struct wrc_cost *ret_cost);

/* What the agent arms by default: `translate` and `order` are `auto`. */
struct wrc_opts cost_armed(const struct wrc_cmd *cmd, enum wrc_armed nic,
			   int chain);
/* All but name and armed.  0 or 2. */
int cost_build(int chain, const struct wrc_opts *opts, struct cost_prog *ret);

/* Is one program of each chain asked for, not all of them? */
bool cost_one(const struct wrc_cmd *cmd);
/* Those of cmd, or all.  0 or 2. */
int cost_programs(const struct wrc_cmd *cmd, struct cost_prog *progs,
		  unsigned int *ret_nr);
#define COST_MAX_PROGS \
	(ODRP_WIRE_NR_CHAINS * (WRC_NR_VARIANTS + WRC_NR_ARMED))

void cost_add(struct json_object *row, const char *key, double value);
void cost_add_text(struct json_object *row, const char *key, const char *text);

/* Arrays of rows; *ret_rows is the caller's.  0 or 2. */
int cost_load_rows(const struct wrc_cmd *cmd, const struct wrc_params *p,
		   struct json_object **ret_rows);
int cost_sweep_rows(const struct wrc_cmd *cmd, const struct wrc_params *p,
		    struct json_object **ret_rows);

void cost_load_print(struct json_object *rows);
void cost_sweep_print(struct json_object *rows);

#endif /* WRC_TOOLS_COST_H */
