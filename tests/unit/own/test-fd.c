// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A descriptor that own_fd() cannot take is closed, and the next one is taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <own/own.h>

static bool fails;

int __real_fcntl64(int fd, int cmd, int arg);
int __wrap_fcntl64(int fd, int cmd, int arg);

/* The linker puts this in place of fcntl(), of which own.c uses calls with a number. */
int __wrap_fcntl64(int fd, int cmd, int arg)
{
	if (!fails)
		return __real_fcntl64(fd, cmd, arg);
	errno = EACCES;
	return -1;
}

static bool is_full;	/* for fork() handlers, there is no memory */

int __real_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));
int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

int __wrap_pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	return is_full ? ENOMEM : __real_pthread_atfork(prepare, parent, child);
}

/* The first one is refused for want of memory, and the next one is taken. */
static void test_no_memory(void **state)
{
	int fd = open("/dev/null", O_RDONLY);

	is_full = true;
	assert_int_equal(own_fd(fd), -ENOMEM);
	is_full = false;
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	fd = own_fd(open("/dev/null", O_RDONLY));
	assert_true(fd >= 0);
	own_fd_close(fd);
}

static void not_taken(int fd)
{
	fails = true;
	assert_int_equal(own_fd(fd), -EACCES);
	fails = false;
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
}

static void test_high(void **state)
{
	not_taken(open("/dev/null", O_RDONLY));
}

/* The program has closed its standard input, so the new descriptor gets its number. */
static void test_low(void **state)
{
	int in = dup(STDIN_FILENO);

	close(STDIN_FILENO);
	assert_int_equal(open("/dev/null", O_RDONLY), STDIN_FILENO);
	not_taken(STDIN_FILENO);
	dup2(in, STDIN_FILENO);
	close(in);
}

static void test_taken(void **state)
{
	int fd = own_fd(open("/dev/null", O_RDONLY));

	assert_true(fd > STDERR_FILENO);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	own_fd_close(fd);
	assert_int_equal(own_fd(open("/nowhere", O_RDONLY)), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_memory),
		cmocka_unit_test(test_high),
		cmocka_unit_test(test_low),
		cmocka_unit_test(test_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
