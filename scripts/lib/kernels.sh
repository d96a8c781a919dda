# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Debian's kernels, images and headers, in the cache: stock ones, some that are
# built for debugging (kernel-debug.sh), and the newest one
# (kernel-newest.sh). To be sourced after common.sh and packages.sh.
# shellcheck shell=bash
#
#   kernel_fetch VER      make sure that VER (5.10, 6.1, 6.12, 5.10-debug,
#                         6.1-debug, or newest: headers only) is there
#   kernel_image_fetch VER  as kernel_fetch, with what can be booted
#   kernel_dir VER        its directory in the cache
#   kernel_release VER    what uname -r says in it
#   kernel_vmlinuz VER    the bootable image
#   kernel_modules VER    lib/modules/RELEASE
#   kernel_headers VER    for make -C DIR M=...; works out of the cache
#   kernel_has_frontswap VER  whether it has that for modules
#
# The packages come from the mirror that this machine's apt already uses, and
# apt itself verifies them, with the machine's own keyring: only the state is
# private (its lists and downloads lie in the cache), so the machine's sources
# stay as they are and no root is needed.

# shellcheck source=scripts/lib/kernel-debug.sh
. "${BASH_SOURCE[0]%/*}/kernel-debug.sh"
# shellcheck source=scripts/lib/kernel-newest.sh
. "${BASH_SOURCE[0]%/*}/kernel-newest.sh"

KERNEL_VERSIONS="5.10 6.1 6.12"		# the stock ones
KERNEL_FORMAT=1		# raise it when what lies in the cache changes shape

kernel_check_version() {
	case " $KERNEL_VERSIONS $KERNEL_DEBUG_VERSIONS $KERNEL_NEWEST " in
	*" $1 "*) return 0 ;;
	esac
	error "unknown kernel '$1': expected one of $KERNEL_VERSIONS" \
		"$KERNEL_DEBUG_VERSIONS $KERNEL_NEWEST"
	return 1
}

kernel_has_frontswap() {
	[[ ${1%-debug} = 5.10 ]]
}

kernel_dir() {
	echo "$ODRP_CACHE/kernels/$1"
}

kernel_release() {
	cat "$(kernel_dir "$1")/release"
}

kernel_vmlinuz() {
	if [[ $1 = "$KERNEL_NEWEST" ]]; then
		echo "$(kernel_modules "$1")/vmlinuz"
	else
		echo "$(kernel_dir "$1")/root/boot/vmlinuz-$(kernel_release "$1")"
	fi
}

kernel_modules() {
	echo "$(kernel_dir "$1")/root/lib/modules/$(kernel_release "$1")"
}

kernel_headers() {
	echo "$(kernel_dir "$1")/root/usr/src/linux-headers-$(kernel_release "$1")"
}

# kernel_suites VER: "main SUITE" and "security SUITE" lines, the repository
# by the label that its Release file carries.
kernel_suites() {
	case $1 in
	5.10 | 5.10-debug) printf '%s\n' "main bullseye" "security bullseye-security" ;;
	6.1 | 6.1-debug) printf '%s\n' "main bookworm" "security bookworm-security" ;;
	6.12) printf '%s\n' "main bookworm-backports" "security bookworm-security" ;;
	"$KERNEL_NEWEST") echo "main testing" ;;
	esac
}

kernel_release_pattern() {
	case $1 in
	5.10) echo '5\.10\.0-[0-9]+-amd64' ;;
	6.1) echo '6\.1\.0-[0-9]+-amd64' ;;
	6.12) echo '6\.12\.[0-9]+\+(deb12|bpo)-amd64' ;;
	esac
}

# mirror_uri main|security: where this machine gets Debian from.
mirror_uri() {
	local want=$1 uri

	# shellcheck disable=SC2016  # apt expands these
	uri=$(apt-get indextargets --format '$(CREATED_BY)|$(RELEASE)|$(REPO_URI)' |
		awk -F'|' -v want="$want" '
			$1 == "Packages" && $2 ~ /^(bookworm|oldstable|stable)/ {
				kind = $2 ~ /-security$/ ? "security" : "main"
				if (kind == want) { print $3; exit }
			}')
	if [[ -z $uri && $want = security ]]; then
		# A machine without the security suite: the same mirror
		# usually carries it beside.
		uri=$(mirror_uri main) || return 1
		uri=${uri%/}-security/
	fi
	if [[ -z $uri ]]; then
		error "apt has no source for Debian bookworm: cannot tell which mirror to use"
		return 1
	fi
	echo "$uri"
}

# Sets apt_private, the options that make apt-get and apt-cache work on the
# private state of kernel $1.
apt_private_init() {
	local ver=$1 dir kind suite uri key options=
	dir=$ODRP_CACHE/apt/$ver

	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial" || return 1
	: >"$dir/status"
	key=/usr/share/keyrings/debian-archive-keyring.gpg
	[[ -r $key ]] && options="[arch=amd64 signed-by=$key]"
	while read -r kind suite; do
		uri=$(mirror_uri "$kind") || return 1
		echo "deb $options $uri $suite main"
	done < <(kernel_suites "$ver") >"$dir/sources.list" || return 1
	[[ -s $dir/sources.list ]] || return 1

	# Suites in the archive stop being re-signed: their signature stays
	# good, only its "valid until" passes.
	apt_private=(-q
		-o "Dir::Etc::sourcelist=$dir/sources.list"
		-o Dir::Etc::sourceparts=/dev/null
		-o "Dir::State=$dir/state" -o "Dir::State::status=$dir/status"
		-o "Dir::Cache=$dir/cache"
		-o APT::Architecture=amd64 -o APT::Sandbox::User=root
		-o Acquire::Languages=none -o Acquire::Check-Valid-Until=false
		-o Acquire::Retries=3)
}

# apt_private_version PACKAGE: its candidate version, or nothing.
apt_private_version() {
	apt-cache "${apt_private[@]}" show --no-all-versions "$1" 2>/dev/null |
		sed -n 's/^Version: //p'
}

# apt_private_download DIR PACKAGE...: into it.
apt_private_download() {
	local dir=$1 log=$1/apt.log status progress_pid
	shift
	progress "$log"
	(cd "$dir" && apt-get "${apt_private[@]}" download "$@") >"$log" 2>&1
	status=$?
	progress_end
	((status)) || return 0
	error "could not be downloaded: $*"
	tail -n 3 "$log" >&2
	return 1
}

# debs_unpack DIR [TAR_OPTION...]: all packages in DIR into DIR/root.
debs_unpack() {
	local dir=$1 deb
	shift
	mkdir -p "$dir/root" || return 1
	for deb in "$dir"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" |
			tar -x -C "$dir/root" --no-same-owner "$@"
		((PIPESTATUS[0] + PIPESTATUS[1] == 0)) || return 1
	done
	rm -f "$dir"/*.deb "$dir/apt.log"
}

# kernel_lists_daily VER: the lists are asked for again once a day, so that a
# test does not begin with a question to the mirror.
kernel_lists_daily() {
	local stamp=$ODRP_CACHE/apt/$1/asked log=$ODRP_CACHE/apt/$1/log

	[[ -n $(find "$stamp" -mtime -1 2>/dev/null) ]] && return 0
	if apt-get "${apt_private[@]}" update >"$log" 2>&1; then
		: >"$stamp"
		return 0
	fi
	warn "apt-get update for kernel $1 failed:"
	tail -n 5 "$log" >&2
	return 1
}

# kernel_packages RELEASE: image, headers and what these include, if image and
# headers are of one version.
kernel_packages() {
	local rel=$1 image=linux-image-$1 headers=linux-headers-$1 v

	v=$(apt_private_version "$image")
	[[ -n $v && $v = "$(apt_private_version "$headers")" ]] || return 1
	echo "$image"
	echo "$headers"
	apt-cache "${apt_private[@]}" show --no-all-versions "$headers" |
		sed -n 's/^Depends: //p' | tr ',|' '\n' |
		sed -nE 's/^ *((linux-headers-[^ ]*-common|linux-kbuild-[^ ]*)) .*$/\1/p;
			s/^ *(linux-headers-[^ ]*-common|linux-kbuild-[^ ]*)$/\1/p' |
		sort -u
}

# kernel_download VER DIR: the packages of the newest release that the mirror
# really has; prints the release.
kernel_download() {
	local ver=$1 dir=$2 rel log=$2/apt.log tried=
	local -a apt_private packages

	apt_private_init "$ver" || return 1
	if ! apt-get "${apt_private[@]}" update >"$log" 2>&1; then
		error "apt-get update for kernel $ver failed:"
		tail -n 10 "$log" >&2
		return 1
	fi
	while read -r rel; do
		tried+=" $rel"
		mapfile -t packages < <(kernel_packages "$rel")
		((${#packages[@]} >= 4)) || continue
		info "fetching Debian's kernel $rel"
		if apt_private_download "$dir" "${packages[@]}"; then
			echo "$rel"
			return 0
		fi
		rm -f "$dir"/*.deb
		warn "$rel is listed but not there, trying the next"
	done < <(apt-cache "${apt_private[@]}" search --names-only \
			"^linux-image-$(kernel_release_pattern "$ver")\$" |
		sed 's/^linux-image-//; s/ .*//' | sort -rV | head -n 5)
	error "no complete kernel $ver on the mirror (tried:${tried:- nothing found})"
	return 1
}

# kernel_unpack DIR RELEASE [BASE]: all packages into DIR/root, without the parts of
# the image that no virtual machine here can use. BASE/lib/modules is where they
# have their modules.
kernel_unpack() {
	local dir=$1 rel=$2 base=${3:-$1/root}

	debs_unpack "$dir" \
		--exclude='./usr/share' --exclude='*/kernel/sound' \
		--exclude='*/kernel/drivers/gpu' \
		--exclude='*/kernel/drivers/media' \
		--exclude='*/kernel/drivers/staging' \
		--exclude='*/kernel/drivers/iio' \
		--exclude='*/kernel/drivers/net/wireless' \
		--exclude='*/lib/modules/*/build' \
		--exclude='*/lib/modules/*/source' || return 1
	[[ -d $base/lib/modules/$rel ]] || {
		error "the package of kernel $rel has no lib/modules/$rel"
		return 1
	}
	PATH=$PATH:/sbin:/usr/sbin depmod -b "$base" "$rel"
}

# The top Makefile of Debian's headers names its other half, and newer ones
# themselves, by an absolute path. All else is relative, so let this be as well.
kernel_fix_headers() {
	local root=$1 rel=$2
	local makefile=$root/usr/src/linux-headers-$rel/Makefile
	# shellcheck disable=SC2016  # make expands these
	local here='$(abspath $(dir $(lastword $(MAKEFILE_LIST)))..)'

	sed -i -E "s~^(include |KBUILD_OUTPUT=)/usr/src/~\\1$here/~" "$makefile"
}

kernel_fetch_locked() {
	local ver=$1 dir tmp rel

	dir=$(kernel_dir "$ver")
	[[ $(cat "$dir/format" 2>/dev/null) = "$KERNEL_FORMAT" ]] && return 0
	need_cmd apt-get apt-cache dpkg-deb tar depmod
	rm -rf "$dir"
	tmp=$dir.new
	rm -rf "$tmp"
	mkdir -p "$tmp" || return 1
	if ! { rel=$(kernel_download "$ver" "$tmp") &&
		kernel_unpack "$tmp" "$rel" &&
		kernel_fix_headers "$tmp/root" "$rel"; }; then
		rm -rf "$tmp"
		return 1
	fi
	echo "$rel" >"$tmp/release"
	echo "$KERNEL_FORMAT" >"$tmp/format"
	mv "$tmp" "$dir"
}

kernel_fetch() {
	if [[ $1 = "$KERNEL_NEWEST" ]]; then
		with_lock "kernel-$1" kernel_newest_fetch_locked
		return
	fi
	kernel_check_version "$1" || return 1
	if kernel_is_debug "$1"; then
		with_lock "kernel-$1" kernel_debug_fetch_locked "$1"
	else
		with_lock "kernel-$1" kernel_fetch_locked "$1"
	fi
}

kernel_image_fetch() {
	kernel_fetch "$1" || return 1
	[[ $1 != "$KERNEL_NEWEST" ]] ||
		with_lock "kernel-$1" kernel_newest_image_locked
}
