/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * odrpctl swap metrics: the counters of this machine's devices, for Prometheus.
 */
#ifndef CTL_SWAP_METRICS_H
#define CTL_SWAP_METRICS_H

#include <stdio.h>
#include "../prom.h"

/* docs/metrics.md lists them. */
extern const struct prom_metric swap_metrics_table[];
extern const struct prom_rows swap_metrics_rows;

/* 0 or -errno of writing. */
int swap_metrics_write(FILE *f);
/*
 * Into a file that anybody may read.  Another file of the directory gets the text
 * and then the name, so that a reader sees all of the old or all of the new, and
 * the old stays if something fails.
 */
int swap_metrics_save(const char *path);

#endif /* CTL_SWAP_METRICS_H */
