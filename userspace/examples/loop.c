// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An event loop without tasks: it submits calls, waits for the descriptor of their results
 * beside a timer of its own, and takes what has come. The far calls are made by a thread of
 * the library.
 *
 *	loop [NIC]	"mem" (default) or "mem:dir=PATH": no other back end keeps a space
 *			that a program creates
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <far/async.h>
#include <far/hash.h>
#include <far/space.h>

#define SPACE	"example-loop"
#define NR_KEYS	10000u
#define NR	64u	/* calls at the same time */
#define TAKE	16u	/* results at once */

/* State of a call until its result is there. */
struct place {
	uint64_t key, value;
};

struct loop {
	struct far_hash *hash;
	struct far_async *async;
	struct place place[NR];
	uint64_t next, done, ticks;
	int timer;
};

static int submit_put(struct loop *loop, unsigned at)
{
	struct place *place = &loop->place[at];
	struct far_call call = {
		.tag = at, .on = FAR_ASYNC_HASH, .op = FAR_ASYNC_PUT, .handle = loop->hash,
		.key = &place->key, .key_len = sizeof(place->key),
		.value = &place->value, .value_len = sizeof(place->value),
	};

	place->key = loop->next++;
	place->value = place->key * place->key;
	return far_async_submit(loop->async, &call);
}

/* Takes results, and submits the next call in the place of each. */
static int take_results(struct loop *loop)
{
	struct far_result result[TAKE];
	int nr = far_async_poll(loop->async, result, TAKE), err = nr < 0 ? nr : 0;

	for (int i = 0; i < nr && !err; i++) {
		err = result[i].status;
		loop->done++;
		if (!err && loop->next < NR_KEYS)
			err = submit_put(loop, result[i].tag);
	}
	return err;
}

static int run_loop(struct loop *loop)
{
	struct pollfd fd[2] = {
		{ .fd = far_async_fd(loop->async), .events = POLLIN },
		{ .fd = loop->timer, .events = POLLIN },
	};
	uint64_t ticks;
	int err = 0;

	for (unsigned i = 0; i < NR && !err; i++)
		err = submit_put(loop, i);
	while (!err && loop->done < NR_KEYS) {
		if (poll(fd, 2, -1) < 0)
			return -errno;
		if (fd[0].revents)
			err = take_results(loop);
		if (fd[1].revents && read(loop->timer, &ticks, sizeof(ticks)) > 0)
			loop->ticks += ticks;
	}
	return err;
}

/* Where tasks are needed all the same: to open. */
static int open_table(struct far *far, struct far_hash **ret_hash)
{
	struct far_task *task;
	int err = far_enter(far, &task);

	if (err)
		return err;
	err = far_hash_create(task, "squares", NULL, ret_hash);
	if (err == -EEXIST)
		err = far_hash_open(task, "squares", ret_hash);
	far_leave(task);
	return err;
}

static int run_client(struct far *far)
{
	const struct itimerspec every = {
		.it_interval.tv_nsec = 1000000, .it_value.tv_nsec = 1000000,
	};
	struct loop loop = { .timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK) };
	int err;

	if (loop.timer < 0)
		return -errno;
	timerfd_settime(loop.timer, 0, &every, NULL);
	err = open_table(far, &loop.hash);
	if (err)
		goto close_timer;
	err = far_async_open(far, NULL, &loop.async);
	if (err)
		goto close_hash;
	err = run_loop(&loop);
	far_async_close(loop.async);
	if (!err)
		printf("%" PRIu64 " calls, %" PRIu64 " ticks of a timer beside them\n",
		       loop.done, loop.ticks);
close_hash:
	far_hash_close(loop.hash);
close_timer:
	close(loop.timer);
	return err;
}

int main(int argc, char **argv)
{
	const struct far_conf conf = { .nic = argc > 1 ? argv[1] : "mem", .space = SPACE };
	const struct far_space_attr attr = { .size = 64 << 20 };
	struct far *far;
	char why[200];
	int err = far_space_create(conf.nic, SPACE, &attr, why, sizeof(why));

	/* -EEXIST: a run that was killed has left it */
	if (err && err != -EEXIST) {
		fprintf(stderr, "loop: %s\n", why);
		return 1;
	}
	err = far_open(&conf, why, sizeof(why), &far);
	if (err) {
		fprintf(stderr, "loop: %s\n", why);
	} else {
		err = run_client(far);
		if (err)
			fprintf(stderr, "loop: %s\n", far_strerror(err));
		far_close(far);
	}
	if (far_space_delete(conf.nic, SPACE, why, sizeof(why))) {
		fprintf(stderr, "loop: %s\n", why);
		err = -EIO;
	}
	return err ? 1 : 0;
}
