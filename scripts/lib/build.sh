# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Builds user space and the kernel module outside of the source tree. To be
# sourced after common.sh and kernels.sh.
# shellcheck shell=bash
#
#   userspace_dir             the build directory of user space
#   build_userspace [TARGET]...  meson setup once, then ninja
#   vm_targets                what the tests in virtual machines run of it
#   build_module VER [ARG]... odrp.ko for kernel VER, made with these arguments
#                             of make as well; prints its path
#   keep_module VER DIR [ARG]...  what has been built in DIR, with these and with
#                             others that change no code, is what build_module finds

# One build directory per source tree, ODRP_BUILD/build if that is set.
userspace_dir() {
	if [[ -n ${ODRP_BUILD:-} ]]; then
		echo "$ODRP_BUILD/build"
	else
		echo "$ODRP_CACHE/build/$(path_key "$ODRP_ROOT")"
	fi
}

path_key() {
	printf '%s-%s' "${1##*/}" "$(printf '%s' "$1" | sha256sum | cut -c1-8)"
}

# run_logged LOG COMMAND...: says from time to time how far it is, and the end of its
# output when it does not work.
run_logged() {
	local log=$1 status progress_pid
	shift
	progress "$log"
	"$@" >"$log" 2>&1
	status=$?
	progress_end
	((status)) || return 0
	error "'$*' failed:"
	tail -n 40 "$log" >&2
	return 1
}

vm_targets() {
	grep -v '^#' "$ODRP_ROOT/tests/vm/targets"
}

build_userspace_locked() {
	local dir=$1
	shift
	mkdir -p "$dir" || return 1
	if [[ ! -f $dir/build.ninja ]]; then
		info "configuring user space in $dir"
		run_logged "$dir/setup.log" meson setup \
			--buildtype=debugoptimized "$dir" "$ODRP_ROOT" || return 1
	fi
	run_logged "$dir/ninja.log" ninja -C "$dir" \
		${ODRP_JOBS:+-j "$ODRP_JOBS"} "$@"
}

build_userspace() {
	local dir
	dir=$(userspace_dir)
	need_cmd meson ninja
	with_lock "build-$(path_key "$dir")" build_userspace_locked "$dir" "$@"
}

# What the module is made from. Kbuild files may name no others.
module_sources() {
	(cd "$ODRP_ROOT" && find Kbuild kmod include wrchain/core -type f \
		\( -name Kbuild -o -name '*.[chS]' -o -name 'Kconfig' \) |
		LC_ALL=C sort)
}

# module_key VER [ARG]...
module_key() {
	{
		kernel_release "$1"
		printf '%s\n' "${@:2}"
		gcc -dumpfullversion
		module_sources | (cd "$ODRP_ROOT" && xargs -r sha256sum)
	} | sha256sum | cut -c1-16
}

# build_module_locked VER DIR [ARG]...
build_module_locked() {
	local ver=$1 dir=$2 jobs
	local -a args
	shift 2
	[[ -s $dir/odrp.ko ]] && return 0

	info "building odrp.ko for $(kernel_release "$ver")${*:+ ($*)}"
	rm -rf "$dir.new" && mkdir -p "$dir.new" || return 1
	(cd "$ODRP_ROOT" && module_sources | xargs cp --parents -t "$dir.new") ||
		return 1
	jobs=${ODRP_JOBS:-$(nproc)}
	mapfile -t args < <(kernel_make_args "$ver")
	# 5.10 asks for the compiler it was built with, which Debian 12 lacks.
	run_logged "$dir.new/make.log" make -C "$(kernel_headers "$ver")" \
		M="$dir.new" CC=gcc -j "$jobs" "${args[@]}" "$@" modules || return 1
	grep -E 'warning:|WARNING:' "$dir.new/make.log" >&2
	[[ -s $dir.new/odrp.ko ]] || {
		error "the module was built, but there is no odrp.ko (see Kbuild)"
		return 1
	}
	rm -rf "$dir" && mv "$dir.new" "$dir" || return 1
	prune_modules "$ver" "$dir"
}

# Old builds of the same kernel: the ten youngest stay.
prune_modules() {
	local old
	# shellcheck disable=SC2012
	ls -dt "$ODRP_CACHE/modules/$1"-* 2>/dev/null | tail -n +11 |
		while read -r old; do
			[[ $old = "$2" ]] || rm -rf "$old"
		done
}

build_module() {
	local ver=$1 dir
	[[ -f $ODRP_ROOT/Kbuild ]] || {
		error "no Kbuild in $ODRP_ROOT: nothing to build a module from"
		return 1
	}
	need_cmd make gcc
	dir=$ODRP_CACHE/modules/$ver-$(module_key "$@")
	with_lock "module-$ver" build_module_locked "$ver" "$dir" "${@:2}" ||
		return 1
	echo "$dir/odrp.ko"
}

# keep_module_locked VER DIR FROM
keep_module_locked() {
	[[ ! -s $2/odrp.ko ]] || return 0
	mkdir -p "${2%/*}" && rm -rf "$2" && mv "$3" "$2" && prune_modules "$1" "$2"
}

keep_module() {
	local ver=$1 from=$2
	shift 2
	with_lock "module-$ver" keep_module_locked "$ver" \
		"$ODRP_CACHE/modules/$ver-$(module_key "$ver" "$@")" "$from"
}
