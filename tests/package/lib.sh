# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A root to install packages into: this machine's, under an overlay whose upper
# half is memory, in a mount namespace of its own. To be sourced after
# tests/vm/lib.sh; starts the program that sources it once more.
# shellcheck shell=bash
#
#   $work                a directory for all cases
#   source_copy DIR      what git has of the tree (without git: all of it)
#   root_mount           makes $root; prints why not
#   root_add_kernel VER  a kernel of scripts/lib/kernels.sh with its headers
#   root_list            what has been added to it, but for logs and caches
#   inside COMMAND...    in the root
#   boot_plan            what systemd would start there, and in which order
#   logged COMMAND...    its output is shown if it fails, and the case fails

# The directory is removed out here, where nothing is mounted in it.
if [[ -z ${ODRP_PACKAGE_WORK:-} ]]; then
	own=()
	if ((EUID == 0)) && unshare --mount true 2>/dev/null; then
		own=(unshare --mount --propagation private)
	fi
	ODRP_PACKAGE_WORK=$(mktemp -d /var/tmp/odrp-package.XXXXXX) || exit 1
	export ODRP_PACKAGE_WORK ODRP_PACKAGE_ROOT=${#own[@]}
	trap 'rm -rf --one-file-system "$ODRP_PACKAGE_WORK"' EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	"${own[@]}" "$0" "$@" &
	wait $!
	exit
fi
work=$ODRP_PACKAGE_WORK
root=$work/root

vm_packages() {
	packages_install build module package || {
		echo "Bail out! packages are missing"
		exit 1
	}
}

logged() {
	"$@" >"$case_dir/log" 2>&1 </dev/null && return 0
	cat "$case_dir/log" >>"$case_dir/err"
	wrong "failed: $*"
	return 1
}

for_debs() {
	local deb
	for deb in "$work"/*.deb; do
		"$@" "$deb"
	done
}

source_copy() {
	mkdir -p "$1"
	(
		cd "$vm_top" || exit
		if [[ -e .git ]]; then
			git -c safe.directory='*' ls-files -z -co --exclude-standard
		else
			find . -type f -print0
		fi | xargs -0 cp --parents -t "$1"
	)
}

# The parts of /dev that programs open without being asked.
root_mount_dev() {
	local f
	mount -t tmpfs none "$root/dev" || return
	for f in null zero full random urandom tty; do
		: >"$root/dev/$f"
		mount --bind "/dev/$f" "$root/dev/$f" || return
	done
	ln -s /proc/self/fd "$root/dev/fd"
}

root_overlay() {
	mkdir -p "$work/upper" "$root"
	mount -t tmpfs none "$work/upper" &&
		mkdir "$work/upper/new" "$work/upper/work" &&
		mount -t overlay overlay -o \
		"lowerdir=/,upperdir=$work/upper/new,workdir=$work/upper/work" "$root"
}

# The real lib/modules is hidden, so that no kernel of this machine is built
# for; so is what runs here.
root_cover() {
	local dir
	mount --bind /proc "$root/proc" || return
	for dir in run tmp mnt lib/modules; do
		mkdir -p "$root/$dir" && mount -t tmpfs none "$root/$dir" ||
			return
	done
	root_mount_dev || return
	# Only for systemd's own test mode, which may do without.
	mount -t sysfs none "$root/sys" &&
		mount -t cgroup2 none "$root/sys/fs/cgroup"
	return 0
}

root_mount() {
	if ((ODRP_PACKAGE_ROOT == 0)); then
		echo "needs root, and a mount namespace"
	elif ! root_overlay 2>"$work/why"; then
		echo "no overlay file system: $(head -n 1 "$work/why")"
	elif ! root_cover 2>"$work/why"; then
		echo "cannot mount: $(head -n 1 "$work/why")"
	else
		return 0
	fi
	return 1
}

root_add_kernel() {
	local ver=$1 rel cc
	logged kernel_fetch "$ver" || return
	rel=$(kernel_release "$ver")
	mkdir -p "$root/mnt/$ver" "$root/lib/modules/$rel"
	mount --bind "$(kernel_dir "$ver")/root" "$root/mnt/$ver" &&
		mount -o remount,ro,bind "$root/mnt/$ver" || exit
	cp "$(kernel_modules "$ver")"/modules.* "$root/lib/modules/$rel/"
	ln -s "/mnt/$ver/usr/src/linux-headers-$rel" \
		"$root/lib/modules/$rel/build"
	# The compiler it was built with, where Debian 12 lacks that.
	cc=$(sed -nE 's/.*(gcc-[0-9]+).*/\1/p' \
		"$(kernel_headers "$ver")/.kernelvariables" | head -n 1)
	[[ -z $cc ]] || command -v "$cc" >/dev/null ||
		ln -s "$(command -v gcc)" "$root/usr/local/bin/$cc"
}

inside() {
	# A directory of the host's for temporary files is not there.
	DEBIAN_FRONTEND=noninteractive LC_ALL=C env -u TMPDIR chroot "$root" "$@"
}

# What systemd would do at boot: all units with their dependencies, as text.
# Its test mode does not want to be root.
boot_plan() {
	inside setpriv --reuid=65534 --regid=65534 --clear-groups \
		env -i HOME=/nonexistent PATH="$PATH" \
		/lib/systemd/systemd --test --system --unit=multi-user.target
}

# The own books of dpkg, dkms, depmod and ldconfig change; what lies there must not.
# A directory counts if the machine itself has none there.
root_list() {
	local found
	(
		cd "$work/upper/new" &&
			find . -not -path './var/lib/dpkg/*' \
				-not -path './var/log/*' \
				-not -path './var/cache/*' \
				-not -path './var/lib/dkms/mok.*' \
				-not -path ./etc/ld.so.cache |
			while read -r found; do
				[[ -d $found && -d /$found ]] || echo "$found"
			done
		cd "$root/lib/modules" && find . -not -name 'modules.*'
	) | LC_ALL=C sort
}
