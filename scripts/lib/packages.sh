# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Installs, by name, what each kind of work needs on Debian 12. To be sourced.
# shellcheck shell=bash
#
#   packages_install SET...     sets: build, module, vm, far, search, disk, lvm, stress,
#                               init, bench, figures, peers, lint, package, kernel
#
# Asks dpkg first, so that a machine that has everything pays some 20 ms and
# needs neither root nor a network.

# packages_of SET: the names, one per line.
packages_of() {
	case $1 in
	build)
		# User space with its tests.
		printf '%s\n' gcc libc6-dev make pkg-config meson ninja-build \
			libcmocka-dev libdeflate-dev libjson-c-dev libinih-dev libxxhash-dev \
			libsystemd-dev nettle-dev libibverbs-dev librdmacm-dev \
			libboost-context-dev libuv1-dev python3
		;;
	module)
		# The kernel module.
		printf '%s\n' gcc libc6-dev make flex bison bc libelf-dev pahole \
			dpkg-dev xz-utils zstd kmod
		;;
	search)
		# Models, and the headers of the newest kernel.
		printf '%s\n' spin patchelf
		;;
	vm)
		# QEMU, what goes into the guest, and what composes it. kmod,
		# xz and zstd read the kernel's modules; iproute2 brings rdma.
		printf '%s\n' qemu-system-x86 busybox-static cpio zstd \
			xz-utils kmod iproute2 ethtool jq procps util-linux ca-certificates \
			debian-archive-keyring binutils
		;;
	far)
		# The demonstration of far memory, beside what was built.
		printf '%s\n' jq
		;;
	disk)
		# What tests the device as a disk, inside the guest.
		printf '%s\n' fio e2fsprogs
		;;
	lvm)
		# What tests the device as a physical volume.
		printf '%s\n' lvm2
		;;
	stress)
		# And as swap, in the nightly tests.
		printf '%s\n' stress-ng memtester
		;;
	init)
		# What a machine boots with; their files go into the guest.
		printf '%s\n' systemd udev
		;;
	bench)
		# The comparisons: swap over NBD, RDMA's own tools, and figures.
		printf '%s\n' nbd-server nbd-client rdma-core ibverbs-utils \
			ibverbs-providers rdmacm-utils perftest jq
		;;
	figures)
		# The program that scripts/figures draws with.
		printf '%s\n' gnuplot-nox
		;;
	peers)
		# The stores that bench-peers runs beside libfar, and the calls of
		# bench-rpc.
		printf '%s\n' redis-server memcached libhiredis-dev libmemcached-dev \
			liblmdb-dev libucx-dev jq
		;;
	lint)
		printf '%s\n' shellcheck sparse codespell mandoc
		;;
	package)
		# Debian packages of this tree.
		printf '%s\n' build-essential debhelper dh-dkms dkms lintian
		;;
	kernel)
		# The debug kernels, built from source.
		printf '%s\n' gcc libc6-dev make flex bison bc libelf-dev \
			binutils xz-utils lz4 kmod perl-base debian-archive-keyring
		;;
	*)
		error "no package set '$1' (there are: build, module, vm, far, search, disk, lvm, stress, init, bench, figures, peers, lint, package, kernel)"
		return 1
		;;
	esac
}

# packages_missing NAME...: those of them that are not installed.
packages_missing() {
	# shellcheck disable=SC2016  # dpkg-query expands these
	comm -23 <(printf '%s\n' "$@" | sort -u) \
		<(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
			sed -n 's/^installed //p' | sort -u)
}

apt_quietly() {
	DEBIAN_FRONTEND=noninteractive apt-get -q -y \
		-o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@"
}

# try_install LOG PACKAGE...
try_install() {
	local log=$1 status progress_pid
	shift
	progress "$log"
	apt_quietly install --no-install-recommends "$@" >"$log" 2>&1
	status=$?
	progress_end
	return "$status"
}

packages_install() {
	local set list=''
	local -a missing

	for set; do
		list+=" $(packages_of "$set")" || return 1
	done
	# shellcheck disable=SC2086
	mapfile -t missing < <(packages_missing $list)
	((${#missing[@]})) || return 0

	if ((EUID != 0)); then
		error "these packages are missing, and only root can install them: ${missing[*]}"
		return 1
	fi
	# Somebody else may be installing them.
	with_lock packages packages_install_locked "${missing[@]}"
}

packages_install_locked() {
	local log
	local -a missing

	mapfile -t missing < <(packages_missing "$@")
	((${#missing[@]})) || return 0
	info "installing ${missing[*]}"
	log=$(mktemp)
	# The package lists may be absent (a fresh image) or out of date: one
	# update, then once more.
	if ! try_install "$log" "${missing[@]}"; then
		if ! apt_quietly update >"$log" 2>&1 ||
		   ! try_install "$log" "${missing[@]}"; then
			error "apt-get could not install: ${missing[*]}"
			tail -n 15 "$log" >&2
			rm -f "$log"
			return 1
		fi
	fi
	rm -f "$log"
}
