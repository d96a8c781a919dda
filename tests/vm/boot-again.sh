#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A machine that goes down, or hangs, before its /init has said anything is booted
# once more, and only once.
. "$(dirname "$0")/lib.sh"

# A QEMU whose first $1 kernels find no /init, or, with $2, do not begin.
broken_qemu() {
	local how='"${@/rdinit=\/init/rdinit=\/none}"'
	[[ -z ${2:-} ]] || how='"$@" -S'
	mkdir "$case_dir/bin"
	cat >"$case_dir/bin/qemu-system-x86_64" <<-STUB
		#!/bin/bash
		echo >>"$case_dir/boots"
		if ((\$(wc -l <"$case_dir/boots") <= $1)); then
			set -- $how
		fi
		exec $(command -v qemu-system-x86_64) "\$@"
	STUB
	chmod +x "$case_dir/bin/qemu-system-x86_64"
}

# goes_down TIMES: the machine goes down in the first TIMES of its boots.
goes_down() {
	broken_qemu "$1"
	PATH=$case_dir/bin:$PATH vm --kernel 6.1 --mem 128M --swap 64M -- \
		pattern-far --size=4M --repeat=0
	[[ $(wc -l <"$case_dir/boots") = 2 ]] || wrong "not booted twice"
	grep -q 'cnode 0 went down .*: booting it once more' "$case_dir/err" ||
		wrong "it was not said"
}

down_once() {
	goes_down 1
	expect_status 0
}

# 70: the console has the panic of a kernel that finds no /init. 125: it has none, since that
# boot hung before, which an emulated machine does now and then; the machine was killed.
down_twice() {
	goes_down 2
	[[ $vm_status = 70 || $vm_status = 125 ]] ||
		wrong "exit status $vm_status, expected 70 or 125"
}

hangs() {
	broken_qemu 1 stopped
	PATH=$case_dir/bin:$PATH ODRP_BOOT_SECONDS=40 vm --kernel 6.1 \
		--mem 128M --swap 64M -- pattern-far --size=4M --repeat=0
	expect_status 0
	grep -q 'cnode 0 does not boot: killed after' "$case_dir/err" ||
		wrong "it was not said"
}

# What the kernel says when it finds no /init is a panic: not the run's.
tap_case "down once: all is well" down_once
tap_case "down twice: the run fails" down_twice
((nightly)) && tap_case "does not begin: killed, and all is well" hangs
tap_end
