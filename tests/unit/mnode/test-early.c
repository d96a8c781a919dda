// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A client of a space that comes while the agent takes its memory is served later. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <far/far.h>
#include <nic/soft.h>
#include <space/early.h>

#include "../../../userspace/host/host.h"

struct client {
	char spec[160], why[256];
	int err;
	atomic_bool done;
};

static void *client_open(void *arg)
{
	struct client *c = arg;
	const char *const node[] = { "10.77.0.1" };
	struct far_conf conf = {
		.nic = c->spec, .space = "s", .nodes = node, .nr_nodes = 1,
	};
	struct far *far;

	c->err = far_open(&conf, c->why, sizeof(c->why), &far);
	atomic_store(&c->done, true);
	return NULL;
}

/* What the agent does once it is there: it has no space of that name. */
static void serve(struct far_host *host, const struct client *c)
{
	struct pollfd fd = { .fd = host->dev->event_fd, .events = POLLIN };
	const struct far_host_asker nobody = { .pass = 0 };
	struct nic_event ev;

	while (!atomic_load(&c->done)) {
		poll(&fd, 1, 20);
		while (!host->dev->ops->event(host->dev, &ev)) {
			if (ev.type == NIC_REQUEST)
				far_host_serve(host, &ev, &nobody);
			else
				host->dev->ops->release(host->dev, ev.id);
		}
	}
}

static void test_told(void **state)
{
	char dir[] = "/tmp/odrp-early-XXXXXX", words[160], why[NIC_SOFT_WHY_MAX];
	struct nic_soft_opts opts;
	struct far_host host;
	struct client client = { .err = 0 };
	struct early early;
	struct nic *nic;
	pthread_t thread;

	assert_non_null(mkdtemp(dir));
	snprintf(words, sizeof(words), "ip=10.77.0.1/24,dgram=%s/a:%s/b", dir, dir);
	snprintf(client.spec, sizeof(client.spec), "soft:ip=10.77.0.9/24,dgram=%s/b:%s/a",
		 dir, dir);
	assert_int_equal(nic_soft_parse(words, &opts, why), 0);
	assert_int_equal(nic_soft_open(&opts, &nic, why), 0);
	assert_int_equal(far_host_init(&host, nic), 0);
	assert_int_equal(early_start(&early, &host), 0);
	assert_int_equal(pthread_create(&thread, NULL, client_open, &client), 0);
	/* It comes again. */
	while (atomic_load(&early.nr_told) < 3 && !atomic_load(&client.done))
		usleep(1000);
	early_stop(&early);
	serve(&host, &client);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(client.err, -ENOENT);
	assert_non_null(strstr(client.why, "there is no such space"));
	assert_true(atomic_load(&early.nr_told) >= 3);
	far_host_fini(&host);
	nic->ops->close(nic);
	assert_int_equal(rmdir(dir), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_told) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
