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

int wrc_image_arm(const struct wrc_prog *prog, const struct wrc_geom *geom,
		  const struct wrc_bind *bind, void *arena,
		  char why[WRC_WHY_MAX], __u16 *ret_doorbell)
{
	return wrc_arm_rules(prog, geom, bind, arena, WRC_ALL_RULES, why,
			     ret_doorbell);
}
