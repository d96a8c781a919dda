# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The host's end of the swap device: the memory node's agent, or nbd-server.
# To be sourced by scripts/vm.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the settings are shared between the parts
#
# Uses run_dir, the opt_* settings and, from vm-run.sh, spawn().

AGENT_IP=10.77.0.1
AGENT_MAC=52:54:00:77:00:01
AGENT_PORT=7489
GUEST_NET=10.77.0

mnode_pid=
mnode_begin=

mnode_binaries() {
	local dir
	mnoded=${ODRP_MNODED:-}
	mnodectl=${ODRP_CTL:-}
	if [[ -z $mnoded || -z $mnodectl ]]; then
		# These alone: the rest may be under work.
		build_userspace mnode/odrp-mnoded mnode/odrpctl || return 1
		dir=$(userspace_dir)
		mnoded=${mnoded:-$dir/mnode/odrp-mnoded}
		mnodectl=${mnodectl:-$dir/mnode/odrpctl}
	fi
	for dir in "$mnoded" "$mnodectl"; do
		[[ -x $dir ]] || {
			error "no program '$dir': did the build make it?"
			return 1
		}
	done
}

# The pool when nobody says: every page of every device, and some to keep the
# chains armed.
mnode_pool() {
	if [[ -n $opt_pool ]]; then
		size_bytes "$opt_pool"
	else
		local bytes=$(($(size_bytes "$opt_swap") * opt_cnodes + (16 << 20)))
		echo $(((bytes + bytes / 16) >> 12 << 12))
	fi
}

# How long the NIC's thread looks for more before it sleeps: being woken costs
# it and the guest some 50 us each. It shares the host with the guests' threads,
# and with vhost has no thread of QEMU's to wait for.
mnode_spin() {
	if [[ $opt_wire != vhost ]]; then
		echo 20
	elif (($(nproc) > opt_cnodes * opt_cpus)); then
		echo 1000
	else
		echo 100
	fi
}

mnode_nic() {
	local i nic="soft:ip=$AGENT_IP/24,mac=$AGENT_MAC,mtu=$opt_mtu"

	nic+=,spin_us=$(mnode_spin)
	for ((i = 0; i < opt_cnodes; i++)); do
		nic+=",$opt_wire=$run_dir/agent$i.sock"
		[[ $opt_wire == dgram ]] && nic+=":$run_dir/guest$i.sock"
	done
	echo "$nic$opt_nic"
}

# The agent's options. A slow kernel has longer to be heard of, unless dead-ms is
# given.
mnode_extra() {
	local p
	((slow > 1)) && [[ " ${opt_param[*]}" != *" mnode.dead-ms="* ]] &&
		printf '%s\n' --dead-ms $((10000 * slow))
	for p in "${opt_param[@]}"; do
		[[ $p = mnode.* ]] || continue
		p=${p#mnode.}
		printf '%s\n' "--${p%%=*}" "${p#*=}"
	done
}

mnode_status() {
	timeout 10 "$mnodectl" mnode status --control "$run_dir/control.sock" \
		--json 2>>"$run_dir/odrpctl.log"
}

mnode_start() {
	local -a extra
	local tries

	mnode_binaries || return 1
	mapfile -t extra < <(mnode_extra)
	mnode_begin=$EPOCHREALTIME
	spawn mnode "$mnoded" --nic "$(mnode_nic)" --pool "$(mnode_pool)" \
		--control "$run_dir/control.sock" "${extra[@]}" || return 1
	mnode_pid=$spawned_pid
	for ((tries = 0; tries < 300; tries++)); do
		if ! kill -0 "$mnode_pid" 2>/dev/null; then
			error "the memory node's agent ended at once:"
			tail -n 20 "$run_dir/mnode.log" >&2
			return 1
		fi
		if [[ -S $run_dir/control.sock ]] && mnode_status >/dev/null; then
			return 0
		fi
		sleep 0.1
	done
	error "the memory node's agent does not answer on its control socket:"
	tail -n 20 "$run_dir/mnode.log" "$run_dir/odrpctl.log" >&2
	return 1
}

# mnode_snapshot FILE: the agent's statistics and the time they cover; "null"
# when there is none to ask.
mnode_snapshot() {
	local wall status
	echo null >"$1"
	[[ -n $mnode_pid ]] || return 0
	wall=$(elapsed_since "$mnode_begin")
	status=$(mnode_status) || return 0
	jq -c --argjson wall "$wall" '{wall_s: $wall} + .' <<<"$status" \
		>"$1" 2>>"$run_dir/odrpctl.log" || echo null >"$1"
}

mnode_stop() {
	local tries status
	[[ -n $mnode_pid ]] || return 0
	kill -TERM "$mnode_pid" 2>/dev/null
	for ((tries = 0; tries < 100; tries++)); do
		kill -0 "$mnode_pid" 2>/dev/null || break
		sleep 0.1
	done
	if ((tries == 100)); then
		warn "the agent did not end within 10 s of SIGTERM: killed"
		kill -KILL "$mnode_pid" 2>/dev/null
	fi
	wait "$mnode_pid" 2>/dev/null
	status=$?
	mnode_pid=
	((status == 0)) || {
		run_fail "the memory node's agent ended with status $status:"
		tail -n 20 "$run_dir/mnode.log" >&2
	}
}

# As a power failure does. (The shell need not report that.)
mnode_kill() {
	[[ -n $mnode_pid ]] || return 0
	info "killing the memory node"
	disown "$mnode_pid"
	kill -KILL "$mnode_pid"
	mnode_pid=
}

# NBD: the best that the distribution offers. A tap device where we may make
# one, QEMU's user networking elsewhere.
nbd_tap=
nbd_pid=

nbd_network() {
	nbd_tap=
	if ((EUID == 0)) && [[ -c /dev/net/tun ]]; then
		nbd_tap=odrp$((BASHPID % 100000))
		# A network of its own, for runs beside this one.
		GUEST_NET=10.77.$((1 + BASHPID % 250))
		AGENT_IP=$GUEST_NET.1
		if ip tuntap add dev "$nbd_tap" mode tap 2>/dev/null &&
		   ip link set "$nbd_tap" mtu "$opt_mtu" up &&
		   ip addr add "$AGENT_IP/24" dev "$nbd_tap"; then
			nbd_listen=$AGENT_IP
			nbd_address=$AGENT_IP
			info "NBD over a tap device ($nbd_tap)"
			return 0
		fi
		ip link del "$nbd_tap" 2>/dev/null
		nbd_tap=
	fi
	nbd_listen=127.0.0.1
	nbd_address=$GUEST_NET.2
	info "NBD over QEMU's user networking (no tap device without root)"
}

nbd_start() {
	local port tries store=/dev/shm
	need_cmd nbd-server nbd-client
	nbd_network || return 1
	[[ -w $store ]] || store=$run_dir
	nbd_store=$(mktemp "$store/odrp-nbd.XXXXXX") || return 1
	truncate -s "$(size_bytes "$opt_swap")" "$nbd_store"
	port=$((20000 + BASHPID % 20000))
	nbd_port=$port
	cat >"$run_dir/nbd.conf" <<CONF
[generic]
	listenaddr = $nbd_listen
	port = $port
[swap]
	exportname = $nbd_store
CONF
	# With -d it stays a child of ours, serves one client and ends. So do
	# not connect to see whether it listens.
	spawn nbd nbd-server -d -C "$run_dir/nbd.conf" || return 1
	nbd_pid=$spawned_pid
	for ((tries = 0; tries < 50; tries++)); do
		[[ -n $(ss -Hltn "src $nbd_listen and sport = :$port") ]] && return 0
		kill -0 "$nbd_pid" 2>/dev/null || break
		sleep 0.1
	done
	error "nbd-server does not listen on $nbd_listen:$port:"
	tail -n 5 "$run_dir/nbd.log" >&2
	return 1
}

nbd_stop() {
	if [[ -n $nbd_pid ]]; then
		kill -TERM "$nbd_pid" 2>/dev/null
		wait "$nbd_pid" 2>/dev/null
		nbd_pid=
	fi
	if [[ -n $nbd_tap ]]; then
		ip link del "$nbd_tap" 2>/dev/null
		nbd_tap=
	fi
	[[ -z ${nbd_store:-} ]] || rm -f "$nbd_store"
}
