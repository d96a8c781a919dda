#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# LVM takes the device as a physical volume, with the settings that it comes with.
. "$(dirname "$0")/lib.sh"

read -r -d '' script <<'GUEST'
export LVM_SYSTEM_DIR=/tmp/lvm LVM_SUPPRESS_FD_WARNINGS=1
mkdir -p /tmp/lvm /run/lock/lvm /run/lvm
lvm() {
	/x/lvm "$@" 2>/tmp/err || { echo "FAILED: lvm $*: $(cat /tmp/err)"; exit 1; }
}
lvm pvcreate -y /dev/odrp0
lvm vgcreate far /dev/odrp0
echo 3 >/proc/sys/vm/drop_caches
lvm pvs --noheadings -o pv_name,vg_name | grep -q '/dev/odrp0 *far' ||
	{ echo "FAILED: $(/x/lvm pvs)"; exit 1; }
lvm vgremove -y far
lvm pvremove -y /dev/odrp0
echo all well
GUEST

is_a_volume() {
	vm_script --kernel "$1" --mem 160M --swap 64M --no-swapon \
		--add "$(command -v lvm)" -- "$script"
	expect_status 0
	expect_out 'all well'
	grep -A 5 FAILED "$case_dir/out" >&2
	expect_clean
}

for kernel in "${kernels[@]}"; do
	tap_case_with lvm "a physical volume on $kernel" is_a_volume "$kernel"
done
tap_end
