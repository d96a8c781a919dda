# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The debug kernels: Debian's sources with a configuration of ours, built into
# the cache in the layout of the stock kernels. To be sourced by kernels.sh.
# shellcheck shell=bash
# shellcheck disable=SC2154  # apt_private is apt_private_init()'s
#
#   kernel_debug_fetch_locked VER  make sure that VER (5.10-debug, 6.1-debug) is
#                                  there, built from the newest sources that apt
#                                  has and from today's configuration
#   kernel_is_debug VER            whether VER is one
#   kernel_slowness VER            how many times slower than a stock kernel
#   kernel_mtu VER                 what its packets should be at most
#   kernel_extra_mb VER MB         what it is given besides in a machine of MB
#   kernel_work_mb VER MB          what programs may have of it, if that is less

KERNEL_DEBUG_VERSIONS="5.10-debug 6.1-debug"
KERNEL_DEBUG_CONFIG=${BASH_SOURCE[0]%/*}/kernel-debug
KERNEL_DEBUG_FORMAT=1	# raise it when what lies in the cache changes shape

kernel_is_debug() {
	[[ " $KERNEL_DEBUG_VERSIONS " = *" $1 "* ]]
}

# All that waits for a guest waits this many times longer for one with this
# kernel: time-outs of scripts/vm, of guest/init and of the tests.
kernel_slowness() {
	if kernel_is_debug "$1"; then
		echo 4
	else
		echo 1
	fi
}

# kernel_mtu VER: of a guest's network device. Each packet is allocated some times
# on its way, and a debug kernel keeps the stack of each allocation, which is most
# of what it does: so they are as large as rdma_rxe makes them.
kernel_mtu() {
	if kernel_is_debug "$1"; then
		echo 4500
	else
		echo 2200
	fi
}

# kernel_extra_mb VER MB: a byte of shadow for each eight, the tables of lockdep
# and kmemleak, what KASAN keeps of freed memory, larger objects; and so much more
# that rdma_rxe never finds none where it cannot wait.
kernel_extra_mb() {
	if kernel_is_debug "$1"; then
		echo $(($2 / 8 + 112 + 160))
	else
		echo 0
	fi
}

# kernel_work_mb VER MB: so that there is as little for programs nevertheless. A
# stock kernel and what is on board take 100 MB of it.
kernel_work_mb() {
	if kernel_is_debug "$1"; then
		echo $(($2 > 116 ? $2 - 100 : 16))
	fi
}

kernel_debug_source() {
	echo "linux-source-${1%-debug}"
}

# kernel_debug_config VER: what is asked for, without what is said about it.
kernel_debug_config() {
	grep -hE '^(# )?CONFIG_' "$KERNEL_DEBUG_CONFIG.config" \
		"$KERNEL_DEBUG_CONFIG-${1%-debug}.config"
}

# What the kernel is made from; nothing if the sources are not known.
kernel_debug_key() {
	local version
	version=$(apt_private_version "$(kernel_debug_source "$1")")
	[[ -n $version ]] || return 1
	printf '%s %s %s\n' "$version" "$KERNEL_DEBUG_FORMAT" \
		"$(kernel_debug_config "$1" | sha256sum | cut -c1-16)"
}

# kernel_debug_unpack VER DIR TREE: the sources in TREE; all else in DIR.
kernel_debug_unpack() {
	local ver=$1 dir=$2 tree=$3 source
	source=$(kernel_debug_source "$ver")

	info "fetching $source"
	apt_private_download "$dir" "$source" && mkdir -p "$tree" || return 1
	dpkg-deb --fsys-tarfile "$dir/$source"_*.deb |
		tar -xO "./usr/src/$source.tar.xz" |
		tar -xJ -C "$tree" --strip-components=1 --no-same-owner
	((PIPESTATUS[0] + PIPESTATUS[1] + PIPESTATUS[2] == 0)) || {
		error "$source could not be unpacked"
		return 1
	}
	rm -f "$dir"/*.deb
}

# kernel_debug_ignored TREE: lines of its odrp.config that did not take effect.
kernel_debug_ignored() {
	local line name
	while read -r line; do
		case $line in
		CONFIG_*) grep -qxF -- "$line" "$1/.config" ;;
		*)
			name=${line#'# '}
			! grep -q "^${name%% *}=" "$1/.config"
			;;
		esac || echo "$line"
	done <"$1/odrp.config"
}

# kernel_debug_configure VER TREE KEY: the release names the key, so that what was
# built for another one (modules, archives) is not taken for this one's.
kernel_debug_configure() {
	local ver=$1 tree=$2 ignored
	{
		kernel_debug_config "$ver"
		printf 'CONFIG_LOCALVERSION="-debug-%s"\n' \
			"$(sha256sum <<<"$3" | cut -c1-8)"
	} >"$tree/odrp.config"
	run_quietly "$tree.log" make -C "$tree" \
		KCONFIG_ALLCONFIG=odrp.config allnoconfig || return 1
	ignored=$(kernel_debug_ignored "$tree")
	[[ -z $ignored ]] || {
		error "the configuration asks for what $(kernel_debug_source "$ver") does not have:"
		printf '%s\n' "$ignored" >&2
		return 1
	}
}

# run_quietly LOG COMMAND...: the end of its output when it fails.
run_quietly() {
	local log=$1
	shift
	"$@" >>"$log" 2>&1 && return 0
	error "'$*' failed:"
	tail -n 30 "$log" >&2
	return 1
}

# kernel_debug_follow LOG: make's output to there, and each minute a word about
# how far it is.
kernel_debug_follow() {
	local line steps=0 minutes=0 begin=$SECONDS
	while IFS= read -r line; do
		printf '%s\n' "$line"
		steps=$((steps + 1))
		((SECONDS - begin >= 60 * (minutes + 1))) || continue
		minutes=$(((SECONDS - begin) / 60))
		info "$minutes minutes, $steps steps of some 2000"
	done >>"$1"
}

kernel_debug_make() {
	local tree=$1
	info "building the debug kernel: some ten minutes on two processors"
	make -C "$tree" -j "${ODRP_JOBS:-$(nproc)}" bzImage modules 2>&1 |
		kernel_debug_follow "$tree.log"
	((PIPESTATUS[0] == 0)) || {
		error "the debug kernel could not be built:"
		tail -n 30 "$tree.log" >&2
		return 1
	}
}

# kernel_debug_install TREE ROOT RELEASE: as the packages would have it.
kernel_debug_install() {
	local tree=$1 root=$2 rel=$3
	mkdir -p "$root/boot" || return 1
	cp "$tree/arch/x86/boot/bzImage" "$root/boot/vmlinuz-$rel" &&
		run_quietly "$tree.log" make -C "$tree" INSTALL_MOD_PATH="$root" \
			INSTALL_MOD_STRIP=1 modules_install || return 1
	rm -f "$root/lib/modules/$rel"/{build,source}
}

# What is left of the tree is what a module is built against.
kernel_debug_prune() {
	local tree=$1
	find "$tree" -mindepth 1 -maxdepth 1 -type d ! -name include \
		! -name scripts ! -name arch ! -name tools -exec rm -rf {} + &&
		find "$tree/arch" -mindepth 1 -maxdepth 1 -type d ! -name x86 \
			-exec rm -rf {} + &&
		find "$tree/tools" -type f ! -path '*/objtool/objtool' -delete &&
		find "$tree/arch/x86" -type f ! -name '*.h' ! -name 'Makefile*' \
			! -name 'Kconfig*' ! -name Kbuild -delete &&
		find "$tree" -type f \( -name '*.cmd' -o -name '*.o' -o -name '*.a' \
			-o -name 'vmlinux*' -o -name 'System.map' \) -delete &&
		find "$tree" -type d -empty -delete
}

# kernel_debug_build VER DIR KEY: all of it in DIR.
kernel_debug_build() {
	local ver=$1 tmp=$2 key=$3 tree=$2/tree rel
	kernel_debug_unpack "$ver" "$tmp" "$tree" &&
		kernel_debug_configure "$ver" "$tree" "$key" &&
		kernel_debug_make "$tree" || return 1
	rel=$(make -s -C "$tree" kernelrelease) &&
		kernel_debug_install "$tree" "$tmp/root" "$rel" &&
		kernel_debug_prune "$tree" &&
		mkdir -p "$tmp/root/usr/src" &&
		mv "$tree" "$tmp/root/usr/src/linux-headers-$rel" || return 1
	echo "$rel" >"$tmp/release"
	rm -f "$tmp/apt.log" "$tree.log"
}

kernel_debug_fetch_locked() {
	local ver=$1 dir tmp key
	local -a apt_private

	dir=$(kernel_dir "$ver")
	apt_private_init "$ver" || return 1
	kernel_lists_daily "$ver" || [[ -s $dir/key ]] || return 1
	key=$(kernel_debug_key "$ver") || {
		error "no $(kernel_debug_source "$ver") on the mirror"
		return 1
	}
	[[ $(cat "$dir/key" 2>/dev/null) = "$key" ]] && return 0
	packages_install kernel || return 1
	tmp=$dir.new
	rm -rf "$tmp" && mkdir -p "$tmp" || return 1
	if ! kernel_debug_build "$ver" "$tmp" "$key"; then
		rm -rf "$tmp"
		return 1
	fi
	echo "$key" >"$tmp/key"
	rm -rf "$dir" && mv "$tmp" "$dir"
}
