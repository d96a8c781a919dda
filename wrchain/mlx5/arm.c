// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Arming: an image is written, then verified, and only then there is a value to
 * ring the doorbell with.
 */
#include "../core/check.h"

int wrc_arm_rules(const struct wrc_prog *prog, const struct wrc_geom *geom,
		  const struct wrc_bind *bind, void *arena, unsigned int rules,
		  char why[WRC_WHY_MAX], __u16 *ret_doorbell)
{
	int err;

	why[0] = 0;
	err = wrc_image_write(prog, geom, bind, arena);
	if (!err)
		err = wrc_check_rules(prog, geom, bind, arena, rules, why);
	if (!err)
		*ret_doorbell = geom->start_bb;
	return err;
}

/* The rules of a piece.  Rule patch alone takes two fifths of the time of all. */
#define RULE(name) (1u << WRC_RULE_##name)
enum {
	PASS_WQES = RULE(FORM) | RULE(KEY) | RULE(ADDRESS) | RULE(ATOMIC) |
		    RULE(INDEX) | RULE(BALANCE) | RULE(RQ),
	PASS_PATCHES = RULE(PATCH),
	PASS_RUN = RULE(ORDER) | RULE(ANSWER) | RULE(FLOW) | RULE(MOVE),
	PASS_ROWS = RULE(OWN) | RULE(TABLE) | RULE(KEYED) | RULE(GRACE),
};

_Static_assert((PASS_WQES | PASS_PATCHES | PASS_RUN | PASS_ROWS) == WRC_ALL_RULES,
	       "no rule is left out");

int wrc_image_arm(const struct wrc_prog *prog, const struct wrc_geom *geom,
		  const struct wrc_bind *bind, void *arena, unsigned int *step,
		  char why[WRC_WHY_MAX], __u16 *ret_doorbell)
{
	static const unsigned int passes[] = {
		PASS_WQES, PASS_PATCHES, PASS_RUN, PASS_ROWS,
	};
	const unsigned int nr = sizeof(passes) / sizeof(passes[0]);
	int err;

	why[0] = 0;
	if (*step > nr)
		return -EINVAL;
	if (*step)
		err = wrc_check_rules(prog, geom, bind, arena,
				      passes[*step - 1], why);
	else
		err = wrc_image_write(prog, geom, bind, arena);
	if (err)
		return err;
	if (++*step <= nr)
		return -EAGAIN;
	*ret_doorbell = geom->start_bb;
	return 0;
}
