# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Which accelerator QEMU may use, and how a kernel is best handed to it. To be
# sourced after kernels.sh and initramfs.sh.
# shellcheck shell=bash
#
#   accel_choose VER      prints "kvm" or "tcg"
#   accel_options ACCEL   QEMU's options for it, one per line
#   boot_image VER        the uncompressed kernel, for QEMU's PVH entry
#   tsc_khz               the rate of this host's time stamp counter, or nothing

# boot_image VER: Debian compresses its kernels with xz or zstd; under
# emulation the guest needs seconds for that, the host a fraction of one. The
# layout is the x86 boot protocol's: payload_offset and payload_length in the
# setup header, the payload followed by its unpacked length (4 bytes).
boot_image_extract() {
	local bz=$1 out=$2 sects off len start tool
	[[ -s $out ]] && return 0

	sects=$(od -An -tu1 -j $((0x1f1)) -N1 "$bz")
	off=$(od -An -tu4 -j $((0x248)) -N4 "$bz")
	len=$(od -An -tu4 -j $((0x24c)) -N4 "$bz")
	start=$(((sects + 1) * 512 + off))
	case $(od -An -tx1 -j "$start" -N4 "$bz" | tr -d ' ') in
	fd377a58) tool="xz -dc" ;;
	28b52ffd) tool="zstd -qdc" ;;
	1f8b08*) tool="gzip -dc" ;;
	*)
		error "cannot tell how '$bz' is compressed"
		return 1
		;;
	esac
	tail -c +$((start + 1)) "$bz" | head -c $((len - 4)) | $tool >"$out.new" ||
		return 1
	mv "$out.new" "$out"
}

boot_image() {
	local ver=$1 out
	# A debug kernel is booted as it is: see kernel-debug.config.
	if kernel_is_debug "$ver"; then
		kernel_vmlinuz "$ver"
		return 0
	fi
	out=$(kernel_dir "$ver")/vmlinux
	with_lock "kernel-$ver" boot_image_extract \
		"$(kernel_vmlinuz "$ver")" "$out" || return 1
	echo "$out"
}

# Hidden from emulated processors: string instructions "that are fast", for here
# they are not; and cmpxchg16b, behind which QEMU 7.2 leaves flags that
# nobody set (tests/workload/flags-kept.c), of which guests die. Kernels do without.
accel_options() {
	case $1 in
	kvm) printf '%s\n' -accel kvm -cpu host ;;
	tcg) printf '%s\n' -accel tcg,thread=multi -cpu "${ODRP_TCG_CPU:-max,-erms,-fsrm,-cx16}" ;;
	esac
}

# tsc_khz: see tsc-khz.c. Without a compiler, what this kernel found out.
tsc_khz() {
	local file
	file=$ODRP_CACHE/tsc-$(cat /proc/sys/kernel/random/boot_id)
	if [[ ! -s $file ]]; then
		tsc_measure >"$file.$BASHPID" || tsc_from_log >"$file.$BASHPID"
		mv "$file.$BASHPID" "$file"
	fi
	cat "$file"
}

tsc_measure() {
	local program rc=0
	command -v gcc >/dev/null || return 1
	program=$(mktemp) || return 1
	gcc -O2 -o "$program" "$ODRP_ROOT/scripts/lib/tsc-khz.c" 2>/dev/null &&
		"$program" || rc=1
	rm -f "$program"
	return "$rc"
}

tsc_from_log() {
	dmesg 2>/dev/null |
		sed -nE 's/.*tsc: (Detected|Refined TSC clocksource calibration:) ([0-9]+)\.([0-9]{3}) MHz.*/\2\3/p' |
		tail -n 1
}

# A kernel of ours that boots under KVM to its init and says so, within 20 s,
# is the proof; a readable /dev/kvm is not (nested virtualization may hang).
kvm_probe() {
	local ver=$1 dir rc=0
	dir=$(mktemp -d) || return 1
	mkdir -p "$dir/root/etc/odrp"
	echo PROBE=1 >"$dir/root/etc/odrp/run.conf"
	initramfs_pack "$dir/root" "$dir/run.cpio"
	cat "$(initramfs_base "$ver")" "$dir/run.cpio" >"$dir/initrd"
	timeout -s KILL 20 qemu-system-x86_64 -nodefaults -no-user-config \
		-display none -no-reboot -M q35 -accel kvm -cpu host -m 256 \
		-kernel "$(boot_image "$ver")" -initrd "$dir/initrd" \
		-append "rdinit=/init rootfstype=ramfs panic=-1" \
		-device virtio-serial-pci \
		-chardev "file,id=ctl,path=$dir/ctl" \
		-device virtserialport,chardev=ctl,name=odrp.ctl \
		>/dev/null 2>&1 </dev/null || rc=1
	grep -q '^probe$' "$dir/ctl" 2>/dev/null || rc=1
	rm -rf "$dir"
	return "$rc"
}

# The answer holds until the machine is booted anew.
accel_choose() {
	local ver=$1 file
	if [[ -n ${ODRP_ACCEL:-} ]]; then
		case $ODRP_ACCEL in
		kvm | tcg) echo "$ODRP_ACCEL" ;;
		*)
			error "ODRP_ACCEL is '$ODRP_ACCEL': expected kvm or tcg"
			return 1
			;;
		esac
		return 0
	fi
	if [[ ! -w /dev/kvm ]]; then
		echo tcg
		return 0
	fi
	file=$ODRP_CACHE/accel-$(cat /proc/sys/kernel/random/boot_id)
	if [[ ! -s $file ]]; then
		info "probing whether KVM works here"
		if kvm_probe "$ver"; then
			echo kvm >"$file"
		else
			echo tcg >"$file"
		fi
		info "using $(cat "$file")"
	fi
	cat "$file"
}
