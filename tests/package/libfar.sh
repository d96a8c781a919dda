# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The packages of libfar, as somebody uses them who has nothing else of the tree. To be
# sourced by install.sh after lib.sh.
# shellcheck shell=bash
#
#   libfar_functions     what the shared library exports, by the package's own list
#   libfar_spaces        far creates a space, lists, checks and deletes it
#   libfar_programs      the examples, linked with either library, and a program in C++
#   libfar_depends       libfar-dev depends on all that its far.pc requires

# There is no /dev/shm in the root.
libfar_nic=mem:dir=/mnt/spaces

libfar_functions() {
	sed -nE 's/^ (far_[a-z_]+)@.*/\1/p' "$vm_top/debian/libfar0.symbols"
}

libfar_spaces() {
	mkdir -p "$root/mnt/spaces"
	inside far info >"$case_dir/out" || wrong "far info failed"
	expect_out '^mem: '
	logged inside far space create packaged --size 16M --nic "$libfar_nic"
	inside far space list --nic "$libfar_nic" >"$case_dir/out"
	expect_out '^packaged '
	logged inside far space check packaged --nic "$libfar_nic"
	logged inside far space delete packaged --nic "$libfar_nic"
}

# libfar_build COMPILER SOURCE OPTION...: into /mnt/program, with what the compiler and
# pkg-config are told behind the source.
libfar_build() {
	local compiler=$1 source=$2 flags
	shift 2
	flags=$(inside pkg-config "${@/#-static/--static}" --cflags --libs far) ||
		wrong "pkg-config does not know far"
	# shellcheck disable=SC2086  # words
	logged inside "$compiler" -Wall -Wextra -pedantic -Werror "$@" "$source" \
		$flags -o /mnt/program
}

# libfar_run TEXT: what was built, which prints TEXT.
libfar_run() {
	inside /mnt/program "$libfar_nic" >"$case_dir/out" 2>"$case_dir/err" ||
		wrong "it fails"
	expect_out "$1"
}

# What a program in C++ sees, and that it finds the functions when it is linked.
libfar_cxx() {
	cat >"$root/mnt/all.cc" <<'CXX'
#include <far/addr.h>
#include <far/far.h>
#include <far/hash.h>
#include <far/space.h>
#include <far/stats.h>

#include <cstdio>

int main()
{
	unsigned without;
	const char *bad;
	int err = far_without_parse("cache", &without, &bad);

	std::puts(err || without != FAR_WITHOUT_CACHE ? "wrong" : "linked");
	return err;
}
CXX
}

libfar_programs() {
	local examples=/usr/share/doc/libfar-dev/examples
	mkdir -p "$root/mnt/spaces"
	libfar_build cc "$examples/kv.c" && libfar_run '^capital of Italy: deleted'
	inside ldd /mnt/program >"$case_dir/out"
	expect_out 'libfar\.so\.0 => /'
	libfar_build cc "$examples/tasks.c" -static && libfar_run '^16 tasks: '
	libfar_cxx
	libfar_build c++ /mnt/all.cc && libfar_run '^linked'
}

# libfar_depends_on FILE: on its package, or on that without a version in its name.
libfar_depends_on() {
	local package depends
	package=$(inside dpkg -S "$1" | sed 's/:.*//')
	depends=$(inside dpkg-query -W -f '${Depends}' libfar-dev)
	grep -qw -- "$package" <<<"$depends" ||
		grep -qw -- "${package//[0-9.]/}" <<<"$depends" ||
		wrong "libfar-dev does not depend on '$package', for $1"
}

libfar_depends() {
	local name
	for name in $(inside pkg-config --print-requires-private far); do
		libfar_depends_on "*/pkgconfig/$name.pc"
	done
	for name in $(inside pkg-config --static --libs far); do
		[[ $name != -l:* ]] ||
			libfar_depends_on "*/${name#-l:}"
	done
}
