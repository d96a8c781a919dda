/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The comparison of a card with the software NIC, and its report: a JSON
 * object that both programs and people read.
 */
#ifndef MNODE_MLX5_CHECK_H
#define MNODE_MLX5_CHECK_H

#include <json-c/json.h>
#include <stdio.h>
#include "mlx5-side.h"

/*
 * Describes a device: name, firmware, capabilities, and under "lacks" a
 * sentence for each thing that chains need and it does not have.
 */
int check_describe(const struct wrc_mlx5 *dev, struct json_object **ret_obj);

/*
 * Runs all programs and probes on both sides and adds "programs" and "probes"
 * to the report.  *ret_same: every program did the same on both.  What a probe
 * says is not judged.
 */
int check_compare(struct side *card, struct side *soft,
		  struct json_object *report, bool *ret_same);

/* For people. */
void check_print(struct json_object *report, FILE *f);

#endif /* MNODE_MLX5_CHECK_H */
