// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* far info: back ends, whether they work here, and why not. */
#include "far.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "../nic/nic.h"
#include "../nic/sim/sim.h"

static void print_backend(const struct far_nic_ops *ops)
{
	char why[256] = "";
	struct far_nic *nic;
	int err = ops->open("", why, sizeof(why), &nic);

	printf("%s: %s\n", ops->name, ops->summary);
	if (err) {
		printf("  does not work here: %s\n", why[0] ? why : strerror(-err));
		return;
	}
	ops->close(nic);
	printf("  works here\n");
}

static void print_profiles(void)
{
	const char *name;
	size_t i;

	printf("  profiles:");
	for (i = 0; (name = far_sim_profile_name(i)); i++)
		printf(" %s", name);
	printf("\n");
}

static void print_atlas(void)
{
	const struct far_sim_fault *fault;

	printf("\nfaults that sim injects, and what survives them:\n");
	for (fault = far_sim_atlas; fault->name; fault++)
		printf("  %-8s %s\n", fault->name, fault->survivable);
}

int far_info(int argc, char **argv)
{
	static const struct argp argp = {
		.doc = "Lists the back ends for --nic, and whether they work here.",
	};
	unsigned i;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	for (i = 0; far_nic_all[i]; i++)
		print_backend(far_nic_all[i]);
	print_profiles();
	print_atlas();
	return 0;
}
