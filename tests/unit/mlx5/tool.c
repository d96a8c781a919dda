// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * odrp-hwcheck itself on the fake card, whose NIC moves and whose clock goes while
 * the program sleeps.  FAKE=down: its port is; FAKE=dies: it is killed as soon as
 * it has begun.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "fake.h"

#define MOMENT_NS	20000

static const char *word;

static bool is(const char *what)
{
	return word && !strcmp(word, what);
}

/* Before main(). */
__attribute__((constructor))
static void begin(void)
{
	word = getenv("FAKE");
	fake_init();
	if (is("down"))
		fake.port.active = false;
}

int __wrap_usleep(useconds_t usec);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_ts);

int __wrap_usleep(useconds_t usec)
{
	uint64_t next;

	if (is("dies"))
		_exit(9);
	if (snic_step(fake.snic, fake.now, &next))
		_exit(10);
	fake.now = next == SNIC_NEVER || next <= fake.now ?
		   fake.now + MOMENT_NS : next;
	return 0;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret_ts)
{
	ret_ts->tv_sec = fake.now / 1000000000;
	ret_ts->tv_nsec = fake.now % 1000000000;
	return 0;
}
