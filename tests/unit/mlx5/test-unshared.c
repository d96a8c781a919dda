// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A card that makes no keys of several domains for one registration: the agent starts,
 * says so, and serves compute nodes with keys all the same.
 *
 * Linked with under.c, and with --wrap=wrc_mlx5_share_init and --wrap=log_line.
 */
#include <errno.h>
#include <log.h>
#include <string.h>
#include "bed/load.h"
#include "fake.h"

#define SLOTS	200

static struct bed bed;
static unsigned int said, refused;

void __wrap_log_line(int level, const char *fmt, ...);
int __wrap_wrc_mlx5_share_init(struct wrc_mlx5 *dev, void *va, __u64 len, __u64 iova,
			       struct wrc_mlx5_share *ret_share);

void __wrap_log_line(int level, const char *fmt, ...)
{
	said += level == LOG_WARNING && strstr(fmt, "shares no registration");
}

int __wrap_wrc_mlx5_share_init(struct wrc_mlx5 *dev, void *va, __u64 len, __u64 iova,
			       struct wrc_mlx5_share *ret_share)
{
	refused++;
	return -EREMOTEIO;
}

static void works_all_the_same(void **state)
{
	struct bed_options o;
	struct load load;

	said = refused = 0;
	bed_options(&o);
	bed_open(&bed, &o, 1);
	assert_int_equal(refused, bed_keyed);
	assert_int_equal(said, bed_keyed);
	bed_connect(&bed, 0, SLOTS, 1, 7);
	load_init(&load, &bed, 0, SLOTS, 1);
	load_run(&load, 300);
	assert_int_equal(refused, 2 * bed_keyed);
	load_close(&load, &bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(works_all_the_same),
	};

	return bed_run_tests(tests);
}
