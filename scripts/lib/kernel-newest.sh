# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The newest kernel that Debian's testing suite has: its headers, to build the
# module against, and its image, for who boots it. To be sourced by kernels.sh.
# shellcheck shell=bash
# shellcheck disable=SC2154  # apt_private is apt_private_init()'s
#
#   kernel_newest_fetch_locked  make sure that the newest headers are there
#   kernel_newest_image_locked  make sure that their kernel is there, too; after that
#                               it is as others are
#   kernel_make_args VER        what make needs beside M= and CC=, one per line

KERNEL_NEWEST=newest
KERNEL_NEWEST_FORMAT=1	# raise it when what lies in the cache changes shape

# They were configured for a newer compiler and a newer pahole than this machine
# has; what these lack is left away. An attribute that the compiler does not know
# is one of the kernel's headers: ours have none.
kernel_make_args() {
	[[ $1 = "$KERNEL_NEWEST" ]] || return 0
	printf '%s\n' CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT= \
		CONFIG_DEBUG_INFO_BTF_MODULES= KCFLAGS=-Wno-attributes
}

# RELEASE of the newest headers.
kernel_newest_release() {
	apt-cache "${apt_private[@]}" show --no-all-versions linux-headers-amd64 |
		sed -nE 's/^Depends:.*linux-headers-([^ ,]*-amd64) .*/\1/p'
}

# The headers, what they are used with, and the C library of that.
kernel_newest_packages() {
	local common=${1%-amd64}
	printf '%s\n' "linux-headers-$1" "linux-headers-$common-common" \
		"linux-kbuild-$common" libc6 libelf1t64 zlib1g libzstd1
}

# kernel_newest_tools ROOT LIB: the programs in it run with the libraries that
# will be in LIB.
kernel_newest_tools() {
	local f
	find "$1"/usr/lib/linux-kbuild-* -type f -perm -u+x |
		while read -r f; do
			patchelf --print-interpreter "$f" >/dev/null 2>&1 || continue
			patchelf --set-interpreter "$2/ld-linux-x86-64.so.2" \
				--set-rpath "$2" "$f" || return 1
		done
}

# kernel_newest_works DIR: a tool of the headers in DIR runs. It does not once DIR has
# moved, since each names its interpreter by an absolute path.
kernel_newest_works() {
	local f status
	for f in "$1"/root/usr/lib/linux-kbuild-*/scripts/basic/fixdep; do
		status=0
		"$f" >/dev/null 2>&1 || status=$?
		((status != 126 && status != 127)) && return 0
	done
	return 1
}

# kernel_newest_unpack DIR RELEASE
kernel_newest_unpack() {
	local -a packages
	mapfile -t packages < <(kernel_newest_packages "$2")
	info "fetching Debian's headers of $2"
	apt_private_download "$1" "${packages[@]}" &&
		debs_unpack "$1" --exclude='./usr/share'
}

kernel_newest_fetch_locked() {
	local dir tmp rel key
	local -a apt_private

	dir=$(kernel_dir "$KERNEL_NEWEST")
	need_cmd apt-get apt-cache dpkg-deb tar patchelf || return 1
	apt_private_init "$KERNEL_NEWEST" || return 1
	kernel_lists_daily "$KERNEL_NEWEST" || [[ -s $dir/key ]] || return 1
	rel=$(kernel_newest_release)
	[[ -n $rel ]] || {
		error "the mirror's testing suite has no linux-headers-amd64"
		return 1
	}
	key="$rel $KERNEL_NEWEST_FORMAT"
	[[ $(cat "$dir/key" 2>/dev/null) = "$key" ]] && kernel_newest_works "$dir" &&
		return 0
	tmp=$dir.new
	rm -rf "$tmp" && mkdir -p "$tmp" || return 1
	if ! { kernel_newest_unpack "$tmp" "$rel" &&
		kernel_fix_headers "$tmp/root" "$rel" &&
		kernel_newest_tools "$tmp/root" \
			"$dir/root/usr/lib/x86_64-linux-gnu"; }; then
		rm -rf "$tmp"
		return 1
	fi
	echo "$rel" >"$tmp/release"
	echo "$key" >"$tmp/key"
	rm -rf "$dir" && mv "$tmp" "$dir" || return 1
	kernel_newest_works "$dir" || {
		error "the tools of the headers of $rel do not run on this machine:" \
			"$(ls -l "$dir"/root/usr/lib/x86_64-linux-gnu/ld-linux-* \
				"$dir"/root/usr/lib/linux-kbuild-*/scripts/basic/fixdep 2>&1)"
		return 1
	}
}

# The kernel itself and its modules, of the same release as the headers.
kernel_newest_image_locked() {
	local dir tmp rel image
	local -a apt_private

	dir=$(kernel_dir "$KERNEL_NEWEST")
	rel=$(cat "$dir/release") || return 1
	image=$dir/root/usr/lib/modules/$rel/vmlinuz
	[[ ! -s $image ]] || return 0
	apt_private_init "$KERNEL_NEWEST" || return 1
	tmp=$dir.image
	rm -rf "$tmp" && mkdir -p "$tmp" || return 1
	info "fetching Debian's kernel $rel"
	if apt_private_download "$tmp" "linux-binary-$rel" "linux-modules-$rel" \
		"linux-base-$rel" &&
		kernel_unpack "$tmp" "$rel" "$tmp/root/usr"; then
		cp -r "$tmp/root/usr/lib/modules/$rel/." "${image%/*}/" &&
			ln -sfn usr/lib "$dir/root/lib" || rm -f "$image"
	fi
	rm -rf "$tmp"
	[[ -s $image ]]
}
