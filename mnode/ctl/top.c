// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Samples and rates; see top.h. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include "top.h"

#define NS_PER_S	1000000000ull
#define CLEAR		"\033[H\033[J"

uint64_t top_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_S + t.tv_nsec;
}

double top_rate(uint64_t from, uint64_t to, uint64_t ns)
{
	return ns && to > from ? (to - from) * (double)NS_PER_S / ns : 0;
}

const char *top_count_text(double n, char text[TOP_TEXT])
{
	if (n < 999999.5)
		snprintf(text, TOP_TEXT, "%.0f", n);
	else
		snprintf(text, TOP_TEXT, "%.0fM", n / 1e6);
	return text;
}

const char *top_mb_text(double mb, char text[TOP_TEXT])
{
	snprintf(text, TOP_TEXT, mb < 99999 ? "%.1f" : "%.0f", mb);
	return text;
}

const char *top_us_text(double us, char text[TOP_TEXT])
{
	if (us < 99999.5)
		snprintf(text, TOP_TEXT, "%.0f", us);
	else if (us < 999.5e3)
		snprintf(text, TOP_TEXT, "%.0fms", us / 1e3);
	else
		snprintf(text, TOP_TEXT, "%.0fs", us / 1e6);
	return text;
}

void top_clear(void)
{
	if (isatty(STDOUT_FILENO))
		fputs(CLEAR, stdout);
}

/* ---- keys ------------------------------------------------------------------------- */

static volatile sig_atomic_t signal_got;

static void signal_note(int number)
{
	signal_got = number;
}

/**
 * struct keys - the terminal, whose keys are read one by one while top runs
 * @on:		input and output are a terminal
 * @before:	how it was
 * @mask:	the signals that were blocked
 */
struct keys {
	bool on;
	struct termios before;
	sigset_t mask;
};

/* Signals that would end the process are noted, in ppoll() alone, so that the terminal is
 * put right first. */
static void keys_begin(struct keys *keys)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	const struct sigaction note = { .sa_handler = signal_note };
	struct sigaction old;
	struct termios raw;
	sigset_t set;
	size_t i;

	keys->on = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
		   !tcgetattr(STDIN_FILENO, &keys->before);
	if (!keys->on)
		return;
	sigemptyset(&set);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		sigaddset(&set, ends[i]);
		if (!sigaction(ends[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(ends[i], &note, NULL);
	}
	sigprocmask(SIG_BLOCK, &set, &keys->mask);
	raw = keys->before;
	raw.c_lflag &= ~(ICANON | ECHO);
	tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

/* Ends the process, if a signal has come. */
static void keys_end(const struct keys *keys)
{
	if (!keys->on)
		return;
	tcsetattr(STDIN_FILENO, TCSADRAIN, &keys->before);
	if (signal_got) {
		signal(signal_got, SIG_DFL);
		raise(signal_got);
	}
	sigprocmask(SIG_SETMASK, &keys->mask, NULL);
}

/* True: the key is q, or nobody types any more. */
static bool key_ends(void)
{
	char key;
	ssize_t n = read(STDIN_FILENO, &key, 1);

	return n == 1 ? key == 'q' || key == 'Q' : !n || errno != EINTR;
}

/* False: the user ends it. */
static bool wait_seconds(const struct keys *keys, double seconds)
{
	uint64_t now = top_now_ns(), end = now + seconds * NS_PER_S;
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };

	for (; now < end; now = top_now_ns()) {
		struct timespec t = { (end - now) / NS_PER_S, (end - now) % NS_PER_S };
		int r = ppoll(&fd, keys->on, &t, keys->on ? &keys->mask : NULL);

		if (signal_got || (r > 0 && key_ends()))
			return false;
	}
	return true;
}

/* ---- the loop ----------------------------------------------------------------------- */

static int run(const struct top *top, const struct keys *keys, double seconds,
	       unsigned long count)
{
	unsigned int place = 0;
	unsigned long n;
	int r;

	r = top->look(top->arg, place);
	for (n = 0; !r && (!count || n < count); n++) {
		if (!wait_seconds(keys, seconds))
			return 0;
		place = !place;
		r = top->look(top->arg, place);
		if (r)
			return r;
		top->print(top->arg, place);
		if (fflush(stdout))
			r = -errno;
	}
	return r;
}

int top_run(const struct top *top, double seconds, unsigned long count)
{
	struct keys keys;
	int r;

	keys_begin(&keys);
	r = run(top, &keys, seconds, count);
	keys_end(&keys);
	return r;
}

int top_parse_interval(const char *text, double *ret_seconds)
{
	double seconds;
	char *end;

	seconds = strtod(text, &end);
	if (end == text || *end || !(seconds >= TOP_MIN_INTERVAL) ||
	    seconds > TOP_MAX_INTERVAL)
		return -EINVAL;
	*ret_seconds = seconds;
	return 0;
}

int top_parse_count(const char *text, unsigned long *ret_count)
{
	unsigned long count;
	char *end;

	errno = 0;
	count = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno)
		return -EINVAL;
	*ret_count = count;
	return 0;
}
