/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the verifier says about an image. */
#ifndef TEST_WRCHAIN_VERDICT_H
#define TEST_WRCHAIN_VERDICT_H

#include "bench.h"

/* Which rules refuse it, each asked alone; the last one's reason. */
unsigned int refused_by(struct bench *b, char why[WRC_WHY_MAX]);
/* Refused by that rule alone, in a sentence that has these words. */
void expect_refusal(struct bench *b, enum wrc_rule rule, const char *words);
void expect_accepted(struct bench *b);

#endif /* TEST_WRCHAIN_VERDICT_H */
