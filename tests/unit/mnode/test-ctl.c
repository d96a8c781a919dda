// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The control socket: lines that are answered, and clients who say nothing. The loop runs
 * by hand, and its clock is the test's.
 */
#include <errno.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include <report/ctl.h>

#define ROUNDS		500
#define LONG_USEC	(10 * 1000 * 1000ull)	/* that a client may say nothing */
#define MOST		12			/* of one user */

static sd_event *event;
static struct ctl *ctl;
static char dir[] = "ctl-XXXXXX";
static uint64_t ahead_usec;

int __wrap_sd_event_now(sd_event *e, clockid_t clock, uint64_t *usec);

int __wrap_sd_event_now(sd_event *e, clockid_t clock, uint64_t *usec)
{
	*usec = 1000000000ull + ahead_usec;
	return 0;
}

static unsigned int nr_asked;

static bool is_late;

/* The request itself; while is_late, no answer. */
static struct json_object *echo(void *arg, struct json_object *req)
{
	nr_asked++;
	if (is_late)
		return NULL;
	return json_object_get(req);
}

static int setup(void **state)
{
	char path[64];

	memcpy(dir, "ctl-XXXXXX", sizeof(dir));
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/run/ctl", dir);
	ahead_usec = 0;
	assert_int_equal(sd_event_new(&event), 0);
	assert_int_equal(ctl_new(event, path, echo, NULL, &ctl), 0);
	return 0;
}

static int teardown(void **state)
{
	ctl_free(ctl);
	sd_event_unref(event);
	return rmdir(dir);
}

static int dial(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/run/ctl", dir);
	assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void turn(unsigned int rounds)
{
	while (rounds--)
		assert_true(sd_event_run(event, 1000) >= 0);
}

/* Sends that, and hears that; "": it is hung up on. */
static void expect(int fd, const char *say, const char *want)
{
	char heard[128];
	size_t got = 0;
	ssize_t n = -1;
	unsigned int i;

	send(fd, say, strlen(say), MSG_NOSIGNAL);
	for (i = 0; i < ROUNDS && n && got < strlen(want) + !*want; i++) {
		turn(1);
		n = recv(fd, heard + got, sizeof(heard) - got, MSG_DONTWAIT);
		got += n > 0 ? n : 0;
		if (n < 0 && errno != EAGAIN)
			break;
	}
	assert_in_range(i, 0, ROUNDS - 1);
	assert_int_equal(got, strlen(want));
	assert_memory_equal(heard, want, got);
}

static void test_lines(void **state)
{
	int fd = dial();

	expect(fd, "{\"a\":1}\n", "{\"a\":1}\n");
	close(fd);
	fd = dial();
	expect(fd, "[1]\n[2]\n[3", "[1]\n[2]\n");
	expect(fd, "]\nno\n", "[3]\n{\"error\":\"not JSON\"}\n");
	close(fd);
}

/* Many requests at once: one in a turn of the loop, and all of them in the end, although
 * their client says nothing more. */
static void test_many(void **state)
{
	unsigned int i, before = nr_asked, last;
	char heard[100 * 4];
	int fd = dial();

	for (i = 0; i < 100; i++)
		assert_int_equal(send(fd, "[1]\n", 4, MSG_NOSIGNAL), 4);
	shutdown(fd, SHUT_WR);
	for (i = 0; i < ROUNDS && nr_asked - before < 100; i++) {
		last = nr_asked;
		turn(1);
		assert_in_range(nr_asked - last, 0, 1);
		recv(fd, heard, sizeof(heard), MSG_DONTWAIT);
	}
	assert_int_equal(nr_asked - before, 100);
	close(fd);
}

/* The process can have no more descriptors: a connection waits, and does not keep the loop
 * turning. */
static void test_no_descriptor(void **state)
{
	struct rlimit limit, most;
	int fd = dial(), next = dup(fd), i;

	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &most), 0);
	limit = most;
	limit.rlim_cur = next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (i = 0; i < 20 && sd_event_run(event, 0) > 0; i++)
		;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &most), 0);
	assert_in_range(i, 1, 19);
	ahead_usec = 1000 * 1000;
	assert_true(sd_event_run(event, LONG_USEC) > 0);	/* the timer, after a second */
	expect(fd, "[1]\n", "[1]\n");
	close(fd);
}

/* Half a question lasts as long as none. */
static void test_silent(void **state)
{
	int fd[MOST + 1], i;

	for (i = 0; i < MOST; i++)
		fd[i] = dial();
	send(fd[0], "{\"a\"", 4, MSG_NOSIGNAL);
	turn(20);
	fd[MOST] = dial();
	expect(fd[MOST], "[1]\n", "");
	close(fd[MOST]);
	expect(fd[1], "[1]\n", "[1]\n");
	ahead_usec = LONG_USEC - 1;
	expect(fd[2], "[1]\n", "[1]\n");
	ahead_usec = LONG_USEC;
	expect(fd[2], "[1]\n", "[1]\n");
	for (i = 0; i < MOST; i++) {
		if (i != 2)
			expect(fd[i], "[1]\n", "");
		close(fd[i]);
	}
	fd[0] = dial();
	expect(fd[0], "[1]\n", "[1]\n");
	close(fd[0]);
}

/* An answer that is not known yet: nobody else waits for it, and its client as long as it
 * takes, or until it goes. */
static void test_late(void **state)
{
	int fd[3], i;
	char byte;

	is_late = true;
	for (i = 0; i < 2; i++) {
		fd[i] = dial();
		assert_int_equal(send(fd[i], "[1]\n[2]\n", 8, MSG_NOSIGNAL), 8);
	}
	turn(20);
	close(fd[0]);
	ahead_usec = 2 * LONG_USEC;
	turn(20);
	ctl_again(ctl);
	is_late = false;
	fd[2] = dial();
	expect(fd[2], "[3]\n", "[3]\n");
	assert_int_equal(recv(fd[1], &byte, 1, MSG_DONTWAIT), -1);
	ctl_again(ctl);
	expect(fd[1], "[4]\n", "[1]\n[2]\n[4]\n");
	close(fd[1]);
	close(fd[2]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_descriptor, setup, teardown),
		cmocka_unit_test_setup_teardown(test_silent, setup, teardown),
		cmocka_unit_test_setup_teardown(test_late, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
