#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#	test-runtimes.sh USERSPACE LIBRARY
# What a run-time keeps per thread goes with the task: exceptions of C++, and what the
# sanitizers and valgrind know of stacks, with a library that was built for none of them.
set -eu
userspace=$1 library=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/spaces"
skipped=77

cat >"$dir/tasks.cc" <<'CXX'
#include <far/far.h>
#include <far/space.h>
#include <cstdio>
#include <stdexcept>
#include <string>

static int bad;

/* Deeper frames, so that what is thrown crosses some. */
static void fail(far_task *task, unsigned depth)
{
	volatile char room[64] = { static_cast<char>(depth) };

	if (!depth)
		throw std::runtime_error("task " + std::to_string(far_task_index(task)));
	fail(task, depth - room[0] + room[0] - 1);
}

/* Sleeps while an exception is handled, and passes it on. */
static void sleep_in_handler(far_task *task, unsigned turn)
{
	try {
		fail(task, 5);
	} catch (...) {
		far_sleep(task, 100000 * (1 + (far_task_index(task) * 5 + turn) % 8));
		throw;
	}
}

static void run(far_task *task, void *)
{
	const std::string mine = "task " + std::to_string(far_task_index(task));

	for (unsigned turn = 0; turn < 20; turn++) {
		try {
			sleep_in_handler(task, turn);
		} catch (const std::exception &e) {
			far_yield(task);
			bad += mine != e.what();
		}
		bad += std::uncaught_exceptions();
	}
}

int main(int, char **argv)
{
	char why[200] = "";
	far_space_attr attr = {};
	far_conf conf = {};
	far_thread *thread;
	far *client;

	conf.nic = argv[1];
	conf.space = "runtimes";
	attr.size = 4 << 20;
	far_space_delete(argv[1], conf.space, why, sizeof(why));
	if (far_space_create(argv[1], conf.space, &attr, why, sizeof(why)) ||
	    far_open(&conf, why, sizeof(why), &client)) {
		std::puts(why);
		return 2;
	}
	if (far_thread_start(client, 8, run, nullptr, &thread))
		return 3;
	far_thread_join(thread);
	far_close(client);
	if (bad)
		std::printf("%d exceptions of other tasks\n", bad);
	return bad != 0;
}
CXX

# build PROGRAM OPTION...: with the library as it lies.
build() {
	local program=$1
	shift
	"${CXX:-g++}" -std=c++17 -g -I"$userspace/include" "$@" "$dir/tasks.cc" -o "$dir/$program" \
		"$library" -Wl,-rpath,"$(dirname "$library")" 2>"$dir/err"
}

# clean NAME COMMAND...: it ends well and reports nothing.
clean() {
	local name=$1
	shift
	timeout 60 "$@" >"$dir/out" 2>&1 || { cat "$dir/out"; echo "$name: it fails"; exit 1; }
	! grep -E 'ERROR: |WARNING: ' "$dir/out" || { echo "$name: it warns"; exit 1; }
	skipped=0
}

if build plain; then
	clean C++ "$dir/plain" "mem:dir=$dir/spaces"
	for sanitizer in address thread; do
		build "$sanitizer" "-fsanitize=$sanitizer" || continue
		clean "$sanitizer sanitizer" "$dir/$sanitizer" "mem:dir=$dir/spaces"
	done
	if command -v valgrind >/dev/null; then
		clean valgrind valgrind -q --error-exitcode=1 "$dir/plain" "mem:dir=$dir/spaces"
		[[ ! -s $dir/out ]] || { cat "$dir/out"; echo "valgrind: it reports"; exit 1; }
	fi
fi
exit "$skipped"
