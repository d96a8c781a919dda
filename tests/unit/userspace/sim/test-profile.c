// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Profiles and configuration strings: what is taken, and what is said of the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../../userspace/nic/sim/profile.h"
#include "../../../../userspace/nic/sim/sim.h"

static void test_builtin(void **state)
{
	static const char *const names[] = { "cx5-100", "cx6-100", "cx6-200" };
	struct sim_profile profile;
	char why[256];
	unsigned i;

	for (i = 0; i < 3; i++) {
		assert_int_equal(sim_profile_load(names[i], &profile, why, sizeof(why)),
				 0);
		assert_true(profile.rtt_ns > 0);
	}
	/* Those of the last one's file that may be missing cost nothing. */
	assert_true(profile.qp_slots == 0 && profile.wake_ns == 0 && profile.recv_ns == 0);
	assert_int_equal(sim_profile_load("cx9", &profile, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "cx9"));
}

static int load_text(const char *text, char *why, size_t why_len)
{
	char path[] = "/tmp/far-profile-XXXXXX";
	struct sim_profile profile;
	int fd = mkstemp(path), err;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	err = sim_profile_load(path, &profile, why, why_len);
	unlink(path);
	return err;
}

static void test_bad_files(void **state)
{
	char why[256];

	assert_int_equal(load_text("build_ns = 1\n", why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "missing"));
	assert_int_equal(load_text("colour_ns = 1\n", why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "colour_ns"));
	assert_int_equal(load_text("spin_barge = 2\n", why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "spin_barge=2: expected a number from 0 to 1"));
	assert_int_equal(load_text("build_ns = x\n", why, sizeof(why)), -EINVAL);
	assert_int_equal(load_text("build_ns = nan\n", why, sizeof(why)), -EINVAL);
	assert_int_equal(load_text("nonsense\n", why, sizeof(why)), -EINVAL);
	assert_non_null(strstr(why, "line 1"));
}

static void test_conf(void **state)
{
	static const char *const good[] = {
		"", "cx5-100", "cx6-200,cns=2,mns=3,seed=9,space=1M", "build_ns=7",
		"cx6-200,adversary=tear+delay+break",
	};
	static const char *const bad[] = {
		"cx9", "cns=0", "mns=x", "seed=-1", "space=1X", "space=0",
		"adversary=tear+rain", "colour=1", "build_ns=-1", "cns=5000000000", ",",
	};
	struct far_nic *nic;
	char why[256];
	unsigned i;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (far_sim_ops.open(good[i], why, sizeof(why), &nic))
			fail_msg("%s: %s", good[i], why);
		far_sim_ops.close(nic);
	}
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		why[0] = 0;
		assert_int_equal(far_sim_ops.open(bad[i], why, sizeof(why), &nic),
				 -EINVAL);
		assert_true(why[0]);
	}
}

static void test_conf_cn(void **state)
{
	struct far_sim_attr attr = { .profile = "cx6-200", .cns = 2, .mns = 1,
				     .max_space = 4096, .scale = 1 };
	struct far_sim *sim;
	struct far_nic *nic;
	char why[256];

	assert_int_equal(far_sim_ops.open("cn=0", why, sizeof(why), &nic), -ENODEV);
	assert_int_equal(far_sim_new(&attr, why, sizeof(why), &sim), 0);
	assert_int_equal(far_sim_ops.open("cn=1", why, sizeof(why), &nic), 0);
	assert_ptr_equal(nic, far_sim_nic(sim, 1));
	assert_ptr_equal(far_sim_of(nic), sim);
	assert_int_equal(far_sim_ops.open("cn=2", why, sizeof(why), &nic), -ENODEV);
	far_sim_ops.close(nic);
	far_sim_free(sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builtin),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_conf),
		cmocka_unit_test(test_conf_cn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
