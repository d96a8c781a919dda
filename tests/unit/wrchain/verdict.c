// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the verifier says about an image; see verdict.h. */
#include <stdio.h>
#include <stdlib.h>
#include "verdict.h"

unsigned int refused_by(struct bench *b, char why[WRC_WHY_MAX])
{
	unsigned int mask = 0;

	why[0] = 0;
	for (int rule = 0; rule < WRC_NR_RULES; rule++) {
		char text[WRC_WHY_MAX];

		if (!wrc_check_rules(&b->prog, &b->geom, &b->bind, b->arena,
				     1u << rule, text))
			continue;
		mask |= 1u << rule;
		memcpy(why, text, WRC_WHY_MAX);
	}
	return mask;
}

void expect_refusal(struct bench *b, enum wrc_rule rule, const char *words)
{
	char why[WRC_WHY_MAX], all[WRC_WHY_MAX];
	unsigned int mask = refused_by(b, why);

	if (mask != 1u << rule)
		fail_msg("'%s' was to be refused by %s alone, and was by mask 0x%x: %s",
			 words, wrc_rule_name(rule), mask, why);
	assert_int_equal(wrc_image_check(&b->prog, &b->geom, &b->bind,
					 b->arena, all), -EPERM);
	assert_string_equal(all, why);
	if (strncmp(why, wrc_rule_name(rule), strlen(wrc_rule_name(rule))) ||
	    !strstr(why, words))
		fail_msg("no '%s' in: %s", words, why);
	/* For test-check-cases.py. */
	if (getenv("VERDICT_PRINT"))
		printf("refused alone: %s\n", why);
}

void expect_accepted(struct bench *b)
{
	char why[WRC_WHY_MAX];

	if (wrc_image_check(&b->prog, &b->geom, &b->bind, b->arena, why))
		fail_msg("%s: %s", b->prog.name, why);
}
