/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* odrpctl swap metrics: counters of this machine's swap devices, for Prometheus. */
#ifndef CTL_SWAP_METRICS_H
#define CTL_SWAP_METRICS_H

#include <stdio.h>
#include "../report/prom.h"

/* docs/metrics.md lists them. */
extern const struct prom_metric swap_metrics_table[];

/* Returns 0 or -errno of writing. */
int swap_metrics_write(FILE *f);
/*
 * Writes a file that everybody may read.  The text goes into a temporary file in the same
 * directory, which then gets the name: readers see the whole old or the whole new text,
 * and the old file stays if something fails.
 */
int swap_metrics_save(const char *path);

#endif /* CTL_SWAP_METRICS_H */
