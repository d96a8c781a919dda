/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The conformance suite over one kind of back end: test-far-nic-suite KIND. */
#include <stdio.h>
#include <string.h>

#include "bed.h"

int main(int argc, char **argv)
{
	const struct bed_kind *kind = bed_kinds;

	while (kind->name && (argc != 2 || strcmp(kind->name, argv[1])))
		kind++;
	if (!kind->name) {
		fprintf(stderr, "usage: test-far-nic-suite mem|trace|fault|"
			"fault-adverse|soft|sim|sim-adverse|verbs\n");
		return 2;
	}
	bed_choose(kind);
	return suite_ops() + suite_queue() + suite_fail() + suite_thread() +
	       suite_call() + suite_datagram();
}
