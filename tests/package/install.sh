#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The Debian packages: built from a copy of the tree, installed into a copy of
# this machine's root that is an overlay, looked at, and purged. As root.
. "$(dirname "$0")/../vm/lib.sh"
# shellcheck source=/dev/null
. "$(dirname "$0")/lib.sh"
# shellcheck source=/dev/null
. "$(dirname "$0")/libfar.sh"

kernels="5.10 6.1"
((nightly)) && kernels=$KERNEL_VERSIONS

packages="odrp-dkms odrp-mnode odrp-tools far-tools libfar0 libfar-dev"
# What each has to have, besides manual pages; ARCH is this machine's name for a folder
# of libraries.
odrp_dkms="/usr/src/odrp-VERSION/Kbuild /usr/src/odrp-VERSION/dkms.conf
	/lib/modprobe.d/odrp.conf"
odrp_mnode="/usr/sbin/odrp-mnoded /usr/sbin/odrp-hwcheck
	/etc/odrp/mnoded.conf /lib/systemd/system/odrp-mnoded.service"
odrp_tools="/usr/bin/odrpctl /usr/bin/wrc /etc/odrp/swap
	/lib/systemd/system/odrp-swap@.service
	/lib/systemd/system/odrp-swap-metrics.service
	/lib/systemd/system/odrp-swap-metrics.timer
	/lib/systemd/system/init.scope.d/init.scope-odrp.conf
	/lib/systemd/system/systemd-udevd.service.d/systemd-udevd.service-odrp.conf
	/lib/udev/rules.d/61-odrp-storage.rules
	/lib/udev/rules.d/70-odrp.rules
	/usr/lib/sysctl.d/60-odrp.conf
	/usr/share/doc/odrp-tools/examples/odrp0.conf
	/usr/share/doc/odrp-tools/examples/odrp-dashboard.json"
far_tools="/usr/bin/far /usr/share/far/profiles/cx6-200.ini"
libfar0="/usr/lib/ARCH/libfar.so.0"
libfar_dev="/usr/lib/ARCH/libfar.so /usr/lib/ARCH/libfar.a
	/usr/lib/ARCH/pkgconfig/far.pc /usr/include/far/far.h
	/usr/share/doc/libfar-dev/far.md /usr/share/doc/libfar-dev/far-hash.md
	/usr/share/doc/libfar-dev/examples/kv.c"
manuals="man1/far.1 man1/odrpctl.1 man1/wrc.1 man5/odrp-mnoded.conf.5
	man5/odrp-swap.conf.5 man8/odrp-hwcheck.8 man8/odrp-mnoded.8
	man7/libfar.7"

builds() {
	local meson
	source_copy "$work/odrp"
	logged env -C "$work/odrp" \
		DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$(nproc)" \
		dpkg-buildpackage --no-sign || return
	version=$(cd "$work/odrp" && dpkg-parsechangelog -S Version)
	meson=$(sed -nE "s/^  version: '(.*)',/\\1/p" "$vm_top/meson.build")
	[[ $version = "$meson" ]] ||
		wrong "debian/changelog says $version, meson.build $meson"
}

lintian_is_content() {
	logged lintian --allow-root --fail-on error,warning \
		"$work/odrp_${version}_$(dpkg --print-architecture).changes"
}

manuals_are_there() {
	local m
	for_debs dpkg-deb -c >"$work/contents"
	for m in $manuals; do
		grep -q "/usr/share/man/$m\.gz\$" "$work/contents" ||
			wrong "no manual page $m"
	done
	# Nothing without one: each program is named by a page.
	while read -r m; do
		grep -q "/man[18]/$m\.[18]\.gz\$" "$work/contents" ||
			wrong "no manual page for $m"
	done < <(sed -nE 's|.* \./usr/s?bin/([^ /]+)$|\1|p' "$work/contents")
	# And each function, by a page or a link to one.
	while read -r m; do
		grep -Eq "/man3/$m\.3\.gz( -> far_[a-z_]+\.3\.gz)?\$" "$work/contents" ||
			wrong "no manual page for $m"
	done < <(libfar_functions)
}

# The running kernel is one of those installed, and without headers: whoever
# builds for it alone builds nothing.
installs() {
	local ver
	for ver in $kernels; do
		root_add_kernel "$ver"
	done
	mkdir -p "$root/lib/modules/$(uname -r)"
	root_list >"$work/before"
	cp "$work"/*.deb "$root/mnt/"
	logged inside sh -c 'dpkg -i /mnt/*.deb'
	rm -f "$root"/mnt/*.deb
	# shellcheck disable=SC2086
	logged inside dpkg -V $packages
}

files_are_there() {
	local package name list arch
	arch=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
	for package in $packages; do
		name=${package//-/_}
		list=$(inside dpkg -L "$package")
		for name in ${!name}; do
			name=${name//VERSION/$version}
			grep -qx "${name/ARCH/$arch}" <<<"$list" ||
				wrong "$package has no ${name/ARCH/$arch}"
		done
	done
}

# Links of README.md, and of the documents that it names, lead to files of the packages.
links_lead_somewhere() {
	local doc=$root/usr/share/doc/odrp-tools from to
	while IFS=: read -r from to; do
		to=${to%%#*}	# a part of the document
		[[ -z $to || $to = *://* || -e ${from%/*}/$to ]] ||
			wrong "${from#"$doc/"}: no $to"
	done < <(grep -Hro '](\([^() ]*\))' "$doc" --include='*.md' |
		sed -E 's/:\]\((.*)\)$/:\1/')
}

# has_module RELEASE NAME
has_module() {
	local ko
	ko=$(echo "$root/lib/modules/$1/updates/dkms/$2.ko"*)
	[[ -f $ko ]] &&
		[[ $(modinfo -F vermagic "$ko") = "$1 "* ]]
}

# Made with ODRP_FAULTS=1, as only a test may be.
fails_on_purpose() {
	[[ -n $(modinfo -F faults "$root/lib/modules/$1/updates/dkms/odrp.ko"*) ]]
}

exports_frontswap() {
	grep -qw frontswap_register_ops "$(kernel_headers "$1")/Module.symvers"
}

modules_are_built() {
	local ver rel
	for ver in $kernels; do
		rel=$(kernel_release "$ver")
		has_module "$rel" odrp || wrong "no odrp.ko for $rel"
		fails_on_purpose "$rel" &&
			wrong "odrp.ko for $rel fails on purpose"
		if exports_frontswap "$ver"; then
			has_module "$rel" odrp_frontswap ||
				wrong "no odrp_frontswap.ko for $rel"
		elif has_module "$rel" odrp_frontswap; then
			wrong "odrp_frontswap.ko for $rel, without frontswap"
		fi
		grep -q ' odrp-control\|/odrp.ko' \
			"$root/lib/modules/$rel/modules.dep" ||
			wrong "modprobe does not know odrp.ko on $rel"
	done
}

# Whatever systemd has to say of this machine's own units is not meant.
units_are_valid() {
	inside systemd-analyze verify --man=no odrp-mnoded.service \
		odrp-swap@odrp0.service odrp-swap-metrics.service \
		odrp-swap-metrics.timer >"$case_dir/out" 2>&1
	! grep -i odrp "$case_dir/out" >&2 || wrong "systemd objects to a unit"
	logged inside systemctl enable odrp-mnoded.service odrp-swap@odrp0.service
	[[ -L $root/etc/systemd/system/multi-user.target.wants/odrp-swap@odrp0.service ]] ||
		wrong "odrp-swap@odrp0 cannot be enabled"
}

# plan_has UNIT LINE: in what systemd makes of a unit.
plan_has() {
	sed -n "/^\t*-> Unit $1:/,/^\t*-> Unit /p" "$work/plan" |
		grep -q "^[[:blank:]]*$2" || wrong "$1 is not '$2'"
}

# At shutdown the same in reverse.
boot_order() {
	local target
	if grep -ih 'ordering cycle' "$work"/plan{,.err} >&2; then
		wrong "units wait for each other"
	fi
	for target in network network-online rdma-hw; do
		plan_has odrp-swap@odrp0.service "After: $target.target"
	done
	plan_has odrp-swap@odrp0.service "Before: remote-fs.target"
	plan_has odrp-swap@odrp0.service "Conflicts: shutdown.target"
	plan_has odrp-swap@odrp0.service "Before: shutdown.target"
	plan_has multi-user.target "Wants: odrp-swap@odrp0.service"
	plan_has odrp-mnoded.service "After: network-online.target"
}

# Each program starts, with the libraries that its package depends on, and
# takes the settings that its package has.
programs_run() {
	local p
	for p in odrp-mnoded odrp-hwcheck odrpctl far; do
		inside "$p" --version | grep -q " $version\$" ||
			wrong "$p does not say that it is $version"
	done
	inside wrc list >"$case_dir/out" || wrong "wrc list failed"
	cp "$root/usr/share/doc/odrp-tools/examples/odrp0.conf" \
		"$root/etc/odrp/swap/" || wrong "no example"
	inside odrpctl swap up odrp0 >"$case_dir/out" 2>&1 </dev/null
	# It gets as far as the module, which cannot be loaded here.
	expect_out 'modprobe odrp'
	inside odrpctl swap down odrp0 || wrong "there was something to take down"
}

# A later version over it: what was there goes, what somebody has set stays, and
# once more is no matter.
upgrades() {
	local next=$version.1 next_dir=$work/next ver rel

	source_copy "$next_dir/odrp"
	sed -i "1s/($version)/($next)/" "$next_dir/odrp/debian/changelog"
	sed -i "s/^  version: '$version',/  version: '$next',/" \
		"$next_dir/odrp/meson.build"
	logged env -C "$next_dir/odrp" \
		DEB_BUILD_OPTIONS="nocheck noautodbgsym parallel=$(nproc)" \
		dpkg-buildpackage --no-sign -b || return
	echo '#set' >>"$root/etc/odrp/mnoded.conf"
	for _ in 1 2; do
		cp "$next_dir"/*.deb "$root/mnt/"
		logged inside sh -c 'dpkg -i /mnt/*.deb'
		rm -f "$root"/mnt/*.deb
	done
	grep -qx '#set' "$root/etc/odrp/mnoded.conf" || wrong "a setting is lost"
	inside dkms status -m odrp >"$case_dir/out"
	! grep -v "^odrp/$next, " "$case_dir/out" >&2 || wrong "dkms has others, too"
	[[ ! -e $root/usr/src/odrp-$version ]] || wrong "the old source is there"
	for ver in $kernels; do
		rel=$(kernel_release "$ver")
		grep -q "^odrp/$next, $rel, .*: installed" "$case_dir/out" ||
			wrong "not built for $rel"
		has_module "$rel" odrp || wrong "no odrp.ko for $rel"
	done
	version=$next
	files_are_there
	sed -i '/^#set$/d' "$root/etc/odrp/mnoded.conf"
}

removal_keeps_settings() {
	local kept=$root/var/lib/odrp/hwcheck/mlx5_0.json
	echo '#changed' >>"$root/etc/odrp/mnoded.conf"
	# As odrp-hwcheck --save does.
	mkdir -p "${kept%/*}"
	echo '{}' >"$kept"
	logged inside dpkg -r odrp-mnode odrp-tools
	[[ -f $root/etc/odrp/mnoded.conf && -f $root/etc/odrp/swap/odrp0.conf ]] ||
		wrong "settings are gone before a purge"
	[[ -f $kept ]] || wrong "a card's report is gone before a purge"
}

purge_leaves_nothing() {
	# shellcheck disable=SC2086
	logged inside dpkg -P $packages
	root_list >"$work/after"
	diff "$work/before" "$work/after" >&2 ||
		wrong "not as it was before the installation"
}

in_root() {
	tap_case "installs" installs
	tap_case "files are where they belong" files_are_there
	tap_case "links lead somewhere" links_lead_somewhere
	tap_case "dkms: modules for each kernel (${kernels// /, })" \
		modules_are_built
	tap_case "units are valid" units_are_valid
	if boot_plan >"$work/plan" 2>"$work/plan.err" &&
	   grep -q -- '-> Unit odrp-swap@odrp0.service' "$work/plan"; then
		tap_case "order at boot" boot_order
	else
		tap_skip "order at boot" "$(tail -n 1 "$work/plan.err")"
	fi
	tap_case "programs run" programs_run
	tap_case "far memory on this host" libfar_spaces
	tap_case "programs are built with libfar, and run" libfar_programs
	tap_case "what the static libfar needs is installed with it" libfar_depends
	((nightly)) && tap_case "upgrade" upgrades
	tap_case "removal keeps settings" removal_keeps_settings
	tap_case "purge leaves nothing" purge_leaves_nothing
}

tap_case "builds" builds
tap_case "lintian" lintian_is_content
tap_case "manual pages" manuals_are_there
if root_mount >"$work/why-not"; then
	in_root
else
	tap_skip "installs" "$(cat "$work/why-not")"
fi
tap_end
