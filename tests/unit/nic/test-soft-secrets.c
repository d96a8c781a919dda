// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What a stranger would have to guess is not the same in each life of a NIC, nor
 * does its seed, which is for faults, say it.
 */
#include <nic/soft.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "pair.h"

#define NR_SIDES 8

/* Opens a NIC; what its objects go by. */
static void live_once(const char *words, uint32_t qpns[NR_SIDES],
		      uint32_t keys[NR_SIDES])
{
	struct side sides[NR_SIDES] = { 0 };
	struct nic_soft_opts opts;
	char why[NIC_SOFT_WHY_MAX];
	struct nic *nic;
	unsigned int i;

	if (nic_soft_parse(words, &opts, why) ||
	    nic_soft_open(&opts, &nic, why))
		fail_msg("%s: %s", words, why);
	for (i = 0; i < NR_SIDES; i++) {
		side_open(&sides[i], nic);
		qpns[i] = sides[i].qpn;
		keys[i] = sides[i].key;
	}
	nic->ops->close(nic);
	for (i = 0; i < NR_SIDES; i++)
		free(sides[i].mem);
}

static void two_lives(void **state)
{
	uint32_t qpns[2][NR_SIDES], keys[2][NR_SIDES];
	char dir[] = "nic-XXXXXX", words[256];
	unsigned int i;

	assert_non_null(mkdtemp(dir));
	snprintf(words, sizeof(words), "ip=10.0.0.1/24,dgram=%s/a:%s/b,seed=1",
		 dir, dir);
	for (i = 0; i < 2; i++)
		live_once(words, qpns[i], keys[i]);
	/* By chance: once in 2^64 runs. */
	assert_memory_not_equal(qpns[0], qpns[1], sizeof(qpns[0]));
	assert_memory_not_equal(keys[0], keys[1], sizeof(keys[0]));
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
