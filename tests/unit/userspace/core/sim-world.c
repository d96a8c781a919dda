// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A space of one node in virtual time: see sim-world.h. */
#include "sim-world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/space.h"

struct far_sim *sim_world;

struct far *sim_world_client(unsigned cn)
{
	const struct far_conf conf = { .space = "s", .seed = 1 };
	struct far *far;
	char why[200];

	if (far_open_nic(far_sim_nic(sim_world, cn), &conf, why, sizeof(why), &far))
		fail_msg("%s", why);
	return far;
}

int sim_world_setup(void **state)
{
	const struct far_sim_attr attr = {
		.profile = "cx6-200", .cns = 2, .mns = 1, .seed = 1,
		.max_space = UINT64_C(16) << 20, .scale = 1,
	};
	const struct far_space_attr space = {
		.size = UINT64_C(8) << 20, .max_clients = 8,
	};
	char why[200];

	(void)state;
	if (far_sim_new(&attr, why, sizeof(why), &sim_world) ||
	    far_space_create_on(far_sim_nic(sim_world, 0), "s", &space, why, sizeof(why)))
		fail_msg("%s", why);
	return 0;
}

int sim_world_teardown(void **state)
{
	(void)state;
	far_sim_free(sim_world);
	return 0;
}
