# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Composes what the guest boots into: a base archive per kernel, kept in the
# cache, and a small one per run. To be sourced after kernels.sh.
# shellcheck shell=bash
#
#   initramfs_base VER           the base archive's path: busybox, the modules
#                                that a compute node needs, rdma, /init
#   stage_file FILE ROOT DIR     FILE (or a directory) to ROOT/DIR, and the
#                                shared libraries of programs to where their
#                                loader looks for them
#   module_files VER DIR NAME... kernel modules that are not in the base, for
#                                --add DIR; insmod wants them in the order
#                                of their names, and may know some already
#   initramfs_pack ROOT FILE     ROOT as a cpio archive
#
# Nothing is compressed: under emulation the guest would pay more for
# decompressing than QEMU pays for loading.

# Loaded by /init, or there for those who ask for them (nbd, zram, brd).
GUEST_MODULES="virtio_pci virtio_net virtio_console virtio_blk
	crc32_generic crc32c_generic libcrc32c libsha256 libchacha20poly1305
	crc32-pclmul crc32c-intel rdma_rxe
	rdma_cm ib_uverbs rdma_ucm nbd zram lzo lzo_rle brd loop"

initramfs_pack() {
	(cd "$1" && find . -mindepth 1 -print0 | LC_ALL=C sort -z |
		cpio --quiet -0 -o -H newc -R 0:0) >"$2"
}

# is_dynamic FILE: an ELF file that has something for the loader to do.
is_elf() {
	[[ $(head -c 4 "$1" 2>/dev/null | tr -d '\0') = $'\x7fELF' ]]
}

# stage_libs FILE ROOT: the shared libraries of one program.
stage_libs() {
	local file=$1 root=$2 lib

	is_elf "$file" || return 0
	# ldd fails on static programs and on kernel modules: nothing to do.
	while read -r lib; do
		[[ -e $root$lib ]] && continue
		mkdir -p "$root${lib%/*}"
		cp -L "$lib" "$root$lib" || return 1
		if [[ $lib = */libibverbs.so.* ]]; then
			stage_verbs_provider "$root" || return 1
		fi
	done < <(ldd "$file" 2>/dev/null |
		sed -nE 's/^.*=> (\/[^ ]+) \(0x.*$/\1/p; s/^[[:space:]]*(\/[^ ]+) \(0x.*$/\1/p')
}

# libibverbs loads its providers by name, which ldd does not see: the one for
# the guest's device.
stage_verbs_provider() {
	local root=$1 f
	for f in /etc/libibverbs.d/rxe.driver \
		/usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav*.so; do
		[[ -e $f && ! -e $root$f ]] || continue
		mkdir -p "$root${f%/*}"
		cp -L "$f" "$root$f" || return 1
		stage_libs "$f" "$root" || return 1
	done
}

# stage_missing_libs FILE: prints the libraries that ldd cannot find.
stage_missing_libs() {
	ldd "$1" 2>/dev/null | sed -n 's/^[[:space:]]*\(.*\) => not found$/\1/p'
}

stage_file() {
	local src=$1 root=$2 dir=$3 f missing

	[[ -e $src ]] || {
		error "no such file: '$src'"
		return 1
	}
	mkdir -p "$root/$dir"
	cp -rL "$src" "$root/$dir/" || return 1
	while IFS= read -r -d '' f; do
		missing=$(stage_missing_libs "$f")
		[[ -z $missing ]] || {
			error "'$f' needs libraries that are not here: $missing"
			return 1
		}
		stage_libs "$f" "$root" || return 1
	done < <(find -L "$src" -type f -perm /111 -print0)
}

# module_unpack PATH FILE: a module decompressed; FILE still has PATH's ending.
module_unpack() {
	case $1 in
	*.xz) xz -dc "$1" >"${2%.xz}" ;;
	*.zst) zstd -qdc "$1" >"${2%.zst}" ;;
	*) cp "$1" "$2" ;;
	esac
}

# With all that they depend on, loaded already or not.
module_files() {
	local ver=$1 dir=$2 rest path nr=10
	shift 2
	mkdir -p "$dir" || return 1
	while read -r rest path _; do
		[[ $rest = insmod ]] || continue
		module_unpack "$path" "$dir/$nr-${path##*/}" || return 1
		nr=$((nr + 1))
	done < <(modprobe -d "$(kernel_dir "$ver")/root" \
		-S "$(kernel_release "$ver")" -a --show-depends "$@")
}

# stage_modules VER ROOT: GUEST_MODULES with all that they depend on,
# decompressed, and the tables that modprobe reads.
stage_modules() {
	local ver=$1 root=$2 rel tree name path rest
	rel=$(kernel_release "$ver")
	tree=$(kernel_dir "$ver")/root

	local dest=$root/lib/modules/$rel
	mkdir -p "$dest"
	for name in $GUEST_MODULES; do
		modprobe -d "$tree" -S "$rel" --show-depends "$name" 2>/dev/null ||
			echo "missing $name"
	done | sort -u >"$root/modules.list"
	while read -r rest path _; do
		case $rest in
		missing)
			# Names differ between versions for the optional ones;
			# newer kernels have the others in themselves.
			case $path in
			lzo | lzo_rle) continue ;;
			crc32_generic | crc32c_generic | libcrc32c | libsha256) continue ;;
			crc32-pclmul | crc32c-intel) continue ;;
			esac
			error "kernel $rel has no module $path"
			return 1
			;;
		insmod) ;;
		*) continue ;;
		esac
		rest=$dest/${path#*/lib/modules/"$rel"/}
		mkdir -p "${rest%/*}"
		module_unpack "$path" "$rest" || return 1
	done <"$root/modules.list"
	rm -f "$root/modules.list"
	cp "$tree/lib/modules/$rel"/modules.{builtin,builtin.modinfo,order} "$dest/" || return 1
	depmod -b "$root" "$rel" || return 1
	# Only the text tables are read in the guest.
	rm -f "$dest"/*.bin "$dest/modules.order"
}

stage_busybox() {
	local root=$1 busybox applet
	busybox=$(command -v busybox)

	mkdir -p "$root"/{bin,sbin,usr/bin,usr/sbin} || return 1
	cp "$busybox" "$root/bin/busybox" || return 1
	while read -r applet; do
		[[ $applet = bin/busybox ]] || ln -sf /bin/busybox "$root/$applet"
	done < <("$busybox" --list-full)
	ldd "$root/bin/busybox" >/dev/null 2>&1 &&
		stage_libs "$root/bin/busybox" "$root"
	return 0
}

initramfs_base_build() {
	local ver=$1 out=$2 root rdma ethtool rc=0
	[[ -s $out ]] && return 0

	rdma=$(command -v rdma) || {
		error "the command 'rdma' (package iproute2) is missing"
		return 1
	}
	ethtool=$(command -v ethtool) || {
		error "the command 'ethtool' is missing"
		return 1
	}
	root=$(mktemp -d) || return 1
	mkdir -p "$root"/{dev,proc,sys,run,tmp,root,etc/odrp,x,lib,lib64} &&
		stage_busybox "$root" &&
		stage_modules "$ver" "$root" &&
		stage_file "$rdma" "$root" usr/sbin &&
		stage_file "$ethtool" "$root" usr/sbin &&
		install -m 755 "$ODRP_ROOT/scripts/guest/init" "$root/init" &&
		echo "root::0:0:root:/root:/bin/sh" >"$root/etc/passwd" &&
		echo "root:x:0:" >"$root/etc/group" &&
		mkdir -p "${out%/*}" &&
		initramfs_pack "$root" "$out.new" &&
		mv "$out.new" "$out" || rc=1
	rm -rf "$root"
	return "$rc"
}

# The path names what the archive was made from, so that it is made anew when
# the script, the tools or the kernel change.
initramfs_base() {
	local ver=$1 key out
	local PATH=$PATH:/sbin:/usr/sbin

	key=$({
		cat "$ODRP_ROOT/scripts/guest/init" "${BASH_SOURCE[0]}"
		dpkg-query -W busybox-static iproute2 ethtool libc6 2>/dev/null
		kernel_release "$ver"
	} | sha256sum | cut -c1-16)
	out=$ODRP_CACHE/initramfs/$ver-$key.cpio
	with_lock "initramfs-$ver" initramfs_base_build "$ver" "$out" || return 1
	echo "$out"
}
