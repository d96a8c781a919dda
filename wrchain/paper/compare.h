/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs that the verifier accepts and no agent arms; paper.h says why. */
#ifndef WRC_PAPER_COMPARE_H
#define WRC_PAPER_COMPARE_H

#include "../prog/parts.h"

int wrc_prog_mapped_store(const struct wrc_opts *opts, struct wrc_prog *prog);
int wrc_prog_unmapped_store(const struct wrc_opts *opts, struct wrc_prog *prog);
int wrc_prog_lending_load(const struct wrc_opts *opts, struct wrc_prog *prog);

#endif /* WRC_PAPER_COMPARE_H */
