/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A space of one node in virtual time, and two compute nodes that may open clients of it. */
#ifndef TEST_FAR_CORE_SIM_WORLD_H
#define TEST_FAR_CORE_SIM_WORLD_H

#include "../../../../userspace/nic/sim/sim.h"

struct far;

extern struct far_sim *sim_world;

/* A client of compute node cn; the test fails if it cannot be opened. */
struct far *sim_world_client(unsigned cn);

int sim_world_setup(void **state);
int sim_world_teardown(void **state);

#define SIM_WORLD_TEST(name) \
	cmocka_unit_test_setup_teardown(name, sim_world_setup, sim_world_teardown)

#endif
