# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A memory node that is a guest, too (--mnode-in guest): its agent has the stock kernel's
# rdma_rxe, and no software NIC is anywhere. To be sourced by scripts/vm.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the settings are shared between the parts
#
# The machine is one process for the rest of scripts/vm, as an agent on the host is: to kill
# it is a power failure. Its /init runs the agent and answers questions on its odrp.ctl.

MGUEST=mnode			# in the names of its files
MGUEST_CONFIG=/etc/odrp/mnoded.conf
MGUEST_ANSWER_SECONDS=60
# A question before its /init listens is lost. Any answer will do then: a slow machine may
# take longer for one than the time after which the next question is put.
MGUEST_BOOT_ANSWER_SECONDS=2
# Memory of the machine besides the pool, which the agent pins.
MGUEST_MB=200

mguest_said=

mguest_mb() {
	local mb=$((($(mnode_pool) >> 20) + MGUEST_MB))
	echo $((mb + $(kernel_extra_mb "$opt_kernel" "$mb")))
}

# The agent's command line, for the guest's shell.
mguest_command() {
	local -a extra keeper=()
	mapfile -t extra < <(mnode_extra 0)
	((!opt_keep)) || keeper=("/x/${mnodekeeper##*/}" /run)
	sh_quote "${keeper[@]}" "/x/${mnoded##*/}" --nic verbs:rxe0 --pool "$(mnode_pool)" --control /run/control "${extra[@]}"
}

# Adds the agent, odrpctl and the settings to the archive that the compute nodes boot into.
mguest_archive() {
	local p root=$run_dir/root
	mkdir -p "$root/etc/odrp" "$root/x"
	for p in "${opt_param[@]}"; do
		[[ $p != mnode.config=* ]] ||
			cp "${p#*=}" "$root$MGUEST_CONFIG" || return 1
	done
	((!opt_keep)) || stage_file "$mnodekeeper" "$root" x || return 1
	stage_file "$mnoded" "$root" x && stage_file "$mnodectl" "$root" x &&
		initramfs_pack "$root" "$run_dir/mguest.cpio" &&
		cat "$run_dir/initrd" "$run_dir/mguest.cpio" >"$run_dir/initrd-mguest" ||
		return 1
	rm -rf "$root" "$run_dir/mguest.cpio"
}

# mguest_wire CNODE ID: the memory node's end of its wire, as QEMU's netdev ID.
mguest_wire() {
	echo "dgram,id=$2,local.type=unix,local.path=$(wire_socket agent "$1" 0),remote.type=unix,remote.path=$(wire_socket guest "$1" 0)"
}

# The wires of several compute nodes meet in QEMU's hub, where packets may overtake others.
mguest_cards() {
	local i
	if ((opt_cnodes == 1)); then
		qemu_args+=(-netdev "$(mguest_wire 0 n0)")
	else
		for ((i = 0; i < opt_cnodes; i++)); do
			qemu_args+=(-netdev "$(mguest_wire "$i" "wire$i")"
				-netdev "hubport,id=hub$i,hubid=0,netdev=wire$i")
		done
		qemu_args+=(-netdev hubport,id=n0,hubid=0)
	fi
	qemu_args+=(-device "virtio-net-pci,$(wire_properties),netdev=n0,mac=$(mnode_mac 0 1),host_mtu=$opt_mtu,romfile=,disable-legacy=on")
}

mguest_clean() {
	rm -f "$run_dir"/{ctl,cmd}$MGUEST.{in,out} "$run_dir"/std{out,err}$MGUEST
}

mguest_start() {
	local tries said MGUEST_ANSWER_SECONDS=$MGUEST_BOOT_ANSWER_SECONDS mguest_answer='*'
	local -a qemu_args
	mkfifo "$run_dir"/{ctl,cmd}$MGUEST.{in,out}
	qemu_machine $MGUEST "$(mguest_mb)" "$run_dir/initrd-mguest" MNODE=1
	mguest_cards
	mnode_begin[0]=$EPOCHREALTIME
	spawn mnode qemu-system-x86_64 "${qemu_args[@]}" || return 1
	mnode_pid[0]=$spawned_pid
	for ((tries = 0; tries < BOOT_SECONDS * slow; tries++)); do
		kill -0 "${mnode_pid[0]}" 2>/dev/null || break
		said=$(mguest_ask status --json 2>&1 >/dev/null) && return 0
		[[ -z $said || $said = "no answer"* ]] || break
		sleep 0.2
	done
	error "the agent of the memory node's machine does not answer: $said"
	mnode_log 0
	return 1
}

# mguest_ask VERB [OPTION]...: prints the agent's answer, or one to an earlier question if
# mguest_answer is "*"; the status is odrpctl's.
mguest_ask() {
	local id=$RANDOM$RANDOM fd word rest status
	local answer=${mguest_answer:-$id}
	exec {fd}<>"$run_dir/ctl$MGUEST.out"
	echo "$id $*" 1<>"$run_dir/ctl$MGUEST.in"
	while read -r -t "$MGUEST_ANSWER_SECONDS" -u "$fd" word rest; do
		# shellcheck disable=SC2254  # a pattern
		case "$word $rest" in
		"answer "$answer\ *)
			exec {fd}<&-
			rest=${rest#* }
			status=${rest%% *}
			echo "${rest#"$status"}"
			return "$status"
			;;
		failed*)
			exec {fd}<&-
			echo "$rest" >&2
			return 1
			;;
		esac
	done
	exec {fd}<&-
	echo "no answer to $1 within $MGUEST_ANSWER_SECONDS s" >&2
	return 1
}

# Sets mguest_said if the agent did not end well.
mguest_stop() {
	local status
	mguest_ask stop >/dev/null 2>&1
	status=$?
	mguest_said="status $status"
	return "$status"
}

mguest_log() {
	tail -n 20 "$run_dir"/std{out,err}$MGUEST >&2
}
