# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A guest whose process 1 is systemd, with udev: this machine's own, and as little
# of them as comes up and goes down again. To be sourced after common.sh.
# shellcheck shell=bash
#
#   systemd_stage DIR     programs, units and rules, as they lie below /
#
# Of the units those without which nothing starts or stops, and the targets that
# a service may name: no console, no log but the kernel's, no file systems.

SYSTEMD_PROGRAMS="/lib/systemd/systemd /lib/systemd/systemd-shutdown
	/lib/systemd/system-generators/systemd-fstab-generator
	/bin/systemctl /bin/udevadm"

SYSTEMD_UNITS="basic.target sysinit.target multi-user.target local-fs.target
	swap.target remote-fs.target network.target network-online.target
	paths.target sockets.target timers.target slices.target shutdown.target
	umount.target final.target reboot.target systemd-reboot.service
	systemd-udevd.service systemd-udevd-control.socket
	systemd-udevd-kernel.socket systemd-udev-trigger.service"

# Wanted by sysinit.target, as their packages have it.
SYSTEMD_AT_BOOT="systemd-udevd.service systemd-udev-trigger.service"

UDEV_RULES="50-udev-default.rules 60-block.rules 99-systemd.rules"

systemd_stage() {
	local dir=$1 units=/lib/systemd/system f

	mkdir -p "$dir"{/bin,/lib/systemd/system-generators,/lib/udev/rules.d,/var} \
		"$dir$units/sysinit.target.d" || return 1
	for f in $SYSTEMD_PROGRAMS; do
		cp -L "$f" "$dir$f" || return 1
	done
	# By that name it is something else.
	cp -L /bin/udevadm "$dir/lib/systemd/systemd-udevd" || return 1
	for f in $SYSTEMD_UNITS; do
		cp -L "$units/$f" "$dir$units/" || return 1
	done
	# What goes into an archive has no links.
	printf '[Unit]\nWants=%s\n' "$SYSTEMD_AT_BOOT" \
		>"$dir$units/sysinit.target.d/at-boot.conf"
	for f in $UDEV_RULES; do
		cp "/lib/udev/rules.d/$f" "$dir/lib/udev/rules.d/" || return 1
	done
}
