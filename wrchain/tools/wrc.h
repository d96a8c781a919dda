/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parts of the wrc command.  A command returns an exit status: 0 well,
 * 1 the chain is not (refused, or it did not do its work), 2 could not say
 * (and why is on standard error).
 */
#ifndef WRC_TOOLS_WRC_H
#define WRC_TOOLS_WRC_H

#include <json-c/json.h>
#include "core/check.h"

/*
 * What the agent arms by default, which differs with the chain: where nothing is
 * known of the card; and where the NIC is known to keep what keys and fences
 * rest on, for a client that uses keys.
 */
enum wrc_armed {
	WRC_ARMED_NOT,		/* one variant, or all */
	WRC_ARMED_ANY,
	WRC_ARMED_KNOWN,
	WRC_NR_ARMED,
};
extern const char *const wrc_armed_names[WRC_NR_ARMED];

struct wrc_cmd {
	const char *prog;	/* program named by --prog or as argument */
	bool strict;
	enum wrc_variant variant;
	enum wrc_recycle recycle;
	enum wrc_order order;
	bool one_variant;	/* cost: this one, not all */
	enum wrc_armed armed;	/* cost: this instead of a variant */
	bool fit, sweep;	/* cost */
	const char *cnodes, *queues;	/* cost: lists of numbers */
	const char *params[32];	/* cost: NAME=VALUE */
	int nr_params;
	bool json;
	uint32_t depth;
	uint32_t count;		/* run: requests; 0: three laps.  bench: in a round */
	uint32_t answer_every;	/* run: the others are quiet; 0: all answered */
	const char *output;
	char **files;
	int nr_files;
};

int wrc_cmd_list(const struct wrc_cmd *cmd);
int wrc_cmd_show(const struct wrc_cmd *cmd);
int wrc_cmd_image(const struct wrc_cmd *cmd);
int wrc_cmd_dis(const struct wrc_cmd *cmd);
int wrc_cmd_check(const struct wrc_cmd *cmd);
int wrc_cmd_run(const struct wrc_cmd *cmd);
int wrc_cmd_cost(const struct wrc_cmd *cmd);
int wrc_cmd_bench(const struct wrc_cmd *cmd);

/* Says what is wrong on standard error and returns 2. */
__attribute__((format(printf, 1, 2)))
int wrc_fail(const char *fmt, ...);
/* Prints and frees. */
void wrc_print_json(struct json_object *obj);

/* The options that cmd's program is built with. */
static inline struct wrc_opts wrc_cmd_opts(const struct wrc_cmd *cmd)
{
	struct wrc_opts opts = {
		.strict_index = cmd->strict, .variant = cmd->variant,
		.recycle = cmd->recycle, .order = cmd->order,
	};

	return opts;
}

/* The chain of that name, or -1 after saying which names there are. */
int wrc_chain_of(const char *name);
extern const char *const wrc_chain_purposes[ODRP_WIRE_NR_CHAINS];

/* An image with all that is needed to read it; memory is the owner's. */
struct wrc_image {
	struct wrc_prog prog;
	struct wrc_geom geom;
	struct wrc_bind bind;
	uint8_t *arena, *table;
};

/* The program of cmd, linked to an example's numbers. */
int wrc_image_make(const struct wrc_cmd *cmd, struct wrc_image *ret_image);
void wrc_image_free(struct wrc_image *image);
/* image_file.c: an image as JSON.  0 or 2, after saying why. */
int wrc_image_save(const struct wrc_image *image, const char *path);
int wrc_image_load(const char *path, struct wrc_image *ret_image);
/* A whole file, with a 0 behind it. */
int wrc_read_file(const char *path, uint8_t **ret_data, size_t *ret_len);
/* Hexadecimal digits, anything but them between; -EINVAL: an odd number. */
int wrc_parse_hex(const char *text, uint8_t *buf, size_t size, size_t *ret_len);

#endif /* WRC_TOOLS_WRC_H */
