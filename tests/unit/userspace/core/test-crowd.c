// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A space with as many clients as it was made for. Each has chunks and pages of its own, and
 * yet all of them get memory until half of the space is used. 64 clients in 16 MiB by day;
 * with ODRP_NIGHTLY=1, 256 in 64 MiB, whose service threads take minutes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bag.h"
#include "setting.h"

#include "../../../lib/nightly.h"

#define BYTES_EACH	(UINT64_C(256) << 10)	/* of the space, for a client */
#define BY_DAY		64u
#define AT_NIGHT	256u
#define SLOTS		200000u

const struct far_type *const far_type_all[] = { &bag_type, NULL };

struct client {
	struct far *far;
	struct far_task *task;
};

static void space_new(struct setting *set, unsigned clients)
{
	const struct far_space_attr attr = {
		.size = clients * BYTES_EACH, .max_clients = clients,
	};
	char why[200];

	snprintf(set->dir, sizeof(set->dir), "/tmp/far-crowd-XXXXXX");
	assert_non_null(mkdtemp(set->dir));
	snprintf(set->spec, sizeof(set->spec), "mem:dir=%s", set->dir);
	set->nr_nodes = 1;
	if (far_space_create(set->spec, "s", &attr, why, sizeof(why)))
		fail_msg("%s", why);
}

/* Blocks of three sizes, by one client after the other, until half of the bytes are theirs. */
static void half_fill(const struct client *client, unsigned clients, const struct bag *bag)
{
	static const uint64_t size[] = { 100, 300, 1000 };
	uint64_t bytes = 0;

	for (unsigned i = 0; bytes < clients * BYTES_EACH / 2; i++) {
		uint64_t one = size[i / clients % 3];
		int err = bag_put(client[i % clients].task, bag, i, one, i);

		if (err)
			fail_msg("client %u: error %d when %llu bytes are used", i % clients,
				 err, (unsigned long long)bytes);
		bytes += one;
	}
}

static void half_before_full(void **state)
{
	unsigned clients = nightly() ? AT_NIGHT : BY_DAY;
	struct client *client = calloc(clients, sizeof(*client));
	struct setting set;
	struct bag bag;

	(void)state;
	assert_non_null(client);
	space_new(&set, clients);
	for (unsigned i = 0; i < clients; i++) {
		client[i].far = setting_open(&set);
		assert_int_equal(far_enter(client[i].far, &client[i].task), 0);
	}
	assert_int_equal(bag_create(client[0].task, "b", SLOTS, &bag), 0);
	half_fill(client, clients, &bag);
	for (unsigned i = 0; i < clients; i++) {
		far_leave(client[i].task);
		far_close(client[i].far);
	}
	setting_check(&set);
	setting_free(&set);
	free(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(half_before_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
