# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the guests of one run boot into: the base archive, and on top of it the
# run's settings, the module and the files that were asked for. To be sourced by
# scripts/vm.
# shellcheck shell=bash
# shellcheck disable=SC2154  # the settings are shared between the parts

# The module's parameters, quoted for the kernel and then for the guest's shell.
module_params() {
	local p
	slow_default connect_ms 5000
	for p in "${opt_param[@]}"; do
		case $p in
		mnode.* | hot_add.*) continue ;;
		*' '*) p="${p%%=*}=\"${p#*=}\"" ;;
		esac
		printf '%s ' "$(sh_quote "$p")"
	done
}

# slow_default KEY MS: a time-out of the module that nobody has set, for a slow
# kernel.
slow_default() {
	((slow > 1)) && [[ " ${opt_param[*]}" != *" $1="* ]] || return 0
	printf '%s=%d ' "${1#hot_add.}" $(($2 * slow))
}

# vm_default KEY MS: as slow_default, but on each kernel: a session is given up earlier
# than by default, since tests wait for that.
vm_default() {
	[[ " ${opt_param[*]}" != *" $1="* ]] || return 0
	printf ' %s=%d' "${1#hot_add.}" $(($2 * slow))
}

# hot_add_string K: what adds the device on memory node K.
hot_add_string() {
	local p
	slow_default hot_add.timeout_ms 5000
	printf 'addr=%s port=%s size=%s queues=%s' \
		"$(mnode_ip "$1")" "$AGENT_PORT" \
		"$(size_bytes "$opt_swap")" "$(hot_add_queues)"
	vm_default hot_add.dead_after_ms 4000
	for p in "${opt_param[@]}"; do
		case $p in
		hot_add.queues=*) ;;
		hot_add.*) printf ' %s' "${p#hot_add.}" ;;
		esac
	done
	[[ $opt_backend = block ]] || printf ' backend=%s' "$opt_backend"
	if [[ $opt_auth = secret ]]; then
		printf ' key=%s\n' "$VM_NAME"
	else
		printf ' auth=none\n'
	fi
}

hot_add_queues() {
	local p queues=1
	for p in "${opt_param[@]}"; do
		[[ $p = hot_add.queues=* ]] && queues=${p#*=}
	done
	echo "$queues"
}

# What programs may have, in MB, if that is less than all.
work_mb() {
	if [[ -n $opt_work ]]; then
		echo $(($(size_bytes "$opt_work") >> 20))
	else
		kernel_work_mb "$opt_kernel" "$(mem_mb)"
	fi
}

mem_mb() {
	echo $(($(size_bytes "$opt_mem") >> 20))
}

run_config() {
	cat <<CONF
MODE=$opt_mode
BACKEND=$opt_backend
SWAPON=$opt_swapon
SHELL_MODE=$opt_shell
INIT=$opt_init
SLOW=$slow
LEAKS=$opt_leaks
WORK_MB=$(work_mb)
MTU=$opt_mtu
GUEST_NETS=$(sh_quote "$(each_net mnode_net)")
KEY_NAME=$([[ $opt_auth != secret ]] || echo "$VM_NAME")
MODULE_PARAMS=$(sh_quote "$(module_params)")
HOT_ADD=$(sh_quote "$(each_mnode hot_add_string)")
NETEM=$(sh_quote "$opt_netem")
MNODE_COMMAND=$([[ $opt_mnode_in != guest ]] || sh_quote "$(mguest_command)")
NBD_SERVER=$(sh_quote "${nbd_address:-} ${nbd_port:-}")
CONF
}

# stage_shim FILE DIR: only kernels with frontswap for modules have it.
stage_shim() {
	[[ $opt_backend = frontswap ]] || return 0
	objcopy --strip-debug "$1" "$2/odrp_frontswap.ko"
}

# stage_drain DIR: see drain.c.
stage_drain() {
	kernel_is_debug "$opt_kernel" || return 0
	gcc -O2 -static -o "$1/drain" "$ODRP_ROOT/scripts/lib/drain.c"
}

# stage_secret ROOT: the compute node's copy, and what gives it to the kernel.
stage_secret() {
	[[ $opt_auth = secret ]] || return 0
	mkdir -p "$1/etc/odrp/keys.d" &&
		cp -p "$run_dir/keys.d/$VM_NAME" "$1/etc/odrp/keys.d/" &&
		stage_file "$mnodectl" "$1" x
}

# stage_netem ROOT: what network_bad() of guest/init runs.
stage_netem() {
	[[ -n $opt_netem ]] || return 0
	module_files "$opt_kernel" "$1/lib/netem" sch_netem &&
		stage_file "$(command -v tc)" "$1" x
}

run_archive() {
	local root=$run_dir/root base f

	mkdir -p "$root/etc/odrp" "$root/lib" "$root/x"
	run_config >"$root/etc/odrp/run.conf"
	printf 'exec %s\n' "$(sh_quote "${opt_command[@]}")" \
		>"$root/etc/odrp/command"
	stage_drain "$root/lib" && stage_netem "$root" || return 1
	for f in "${opt_add[@]}"; do
		stage_file "$f" "$root" x || return 1
	done
	if [[ $opt_mode = odrp ]]; then
		f=$(build_module "$opt_kernel" "${opt_module[@]}") || return 1
		objcopy --strip-debug "$f" "$root/lib/odrp.ko" || return 1
		stage_shim "${f%/*}/odrp_frontswap.ko" "$root/lib" || return 1
		stage_secret "$root" || return 1
	elif [[ $opt_mode = nbd ]]; then
		stage_file "$(PATH=$PATH:/usr/sbin:/sbin command -v nbd-client)" \
			"$root" usr/sbin || return 1
	fi
	base=$(initramfs_base "$opt_kernel") || return 1
	initramfs_pack "$root" "$run_dir/run.cpio" &&
		cat "$base" "$run_dir/run.cpio" >"$run_dir/initrd" || return 1
	rm -rf "$root" "$run_dir/run.cpio"
	[[ $opt_mnode_in != guest ]] || mguest_archive
}
