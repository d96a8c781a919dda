/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The agent's metrics for Prometheus: the numbers of "status". */
#ifndef MNODE_METRICS_H
#define MNODE_METRICS_H

#include <stddef.h>
#include <stdint.h>
#include "prom.h"

struct manager;

/* docs/metrics.md lists them. */
extern const struct prom_metric metrics_table[];
extern const struct prom_rows metrics_rows[];

/* wall_ns: time since the agent began.  The caller frees the text.  -ENOMEM. */
int metrics_make(struct manager *m, uint64_t wall_ns, char **ret_text,
		 size_t *ret_len);

#endif /* MNODE_METRICS_H */
