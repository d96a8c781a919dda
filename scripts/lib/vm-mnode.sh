# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The host's end of the swap devices: the memory nodes' agents, or nbd-server.
# To be sourced by scripts/vm.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the settings are shared between the parts
#
# Uses run_dir, the opt_* settings and, from vm-run.sh, spawn().
#
# Memory nodes have numbers from 0, each a network of its own, GUEST_NET plus its
# number; or, with --joined, all are in the first one's, behind its NIC, which is a
# switch. What is of one of them alone has "-NUMBER" in its name, but for the first.

AGENT_PORT=7489
GUEST_NET=10.77.0
VM_NAME=vm		# of all compute nodes, with --auth secret

mnode_pid=()
mnode_begin=()

# each_mnode FUNCTION: FUNCTION NUMBER for each, until one fails.
each_mnode() {
	local k
	for ((k = 0; k < opt_mnodes; k++)); do
		"$1" "$k" || return
	done
}

# each_net FUNCTION: the same for each network, by its memory node.
each_net() {
	if ((opt_joined)); then
		"$1" 0
	else
		each_mnode "$1"
	fi
}

# of_mnode K: what the names of memory node K's things have more than the first's.
of_mnode() {
	(($1 == 0)) || echo "-$1"
}

# mnode_net K: the first three numbers of its network.
mnode_net() {
	echo "${GUEST_NET%.*}.$((${GUEST_NET##*.} + $1))"
}

# mnode_ip K
mnode_ip() {
	if ((opt_joined)); then
		echo "$GUEST_NET.$((1 + $1))"
	else
		echo "$(mnode_net "$1").1"
	fi
}

# mnode_mac K NUMBER: a card of its network.
mnode_mac() {
	printf '52:54:00:77:%02x:%02x' "$1" "$2"
}

# wire_socket WHO CNODE MNODE: WHO's end, agent or guest, of a wire.
wire_socket() {
	echo "$run_dir/$1$2$(of_mnode "$3").sock"
}

# joint_socket K J: memory node K's end of the wire to memory node J.
joint_socket() {
	echo "$run_dir/joint$1-$2.sock"
}

# joint_port K J: that end, as a word of its NIC.
joint_port() {
	echo ",dgram=$(joint_socket "$1" "$2"):$(joint_socket "$2" "$1")"
}

# mnode_joints K: its wires to others. All lead to the first one.
mnode_joints() {
	local k=$1 j
	((opt_joined)) || return 0
	if ((k > 0)); then
		joint_port "$k" 0
		return
	fi
	for ((j = 1; j < opt_mnodes; j++)); do
		joint_port 0 "$j"
	done
}

control_socket() {
	echo "$run_dir/control$(of_mnode "$1").sock"
}

mnode_binaries() {
	local dir
	mnoded=${ODRP_MNODED:-}
	mnodectl=${ODRP_CTL:-}
	if [[ -z $mnoded || -z $mnodectl ]]; then
		# These alone: the rest may be under work.
		build_userspace mnode/odrp-mnoded mnode/ctl/odrpctl || return 1
		dir=$(userspace_dir)
		mnoded=${mnoded:-$dir/mnode/odrp-mnoded}
		mnodectl=${mnodectl:-$dir/mnode/ctl/odrpctl}
	fi
	if ((opt_keep)); then
		build_userspace tests/unit/lib/fd-store || return 1
		mnodekeeper=$(userspace_dir)/tests/unit/lib/fd-store
	fi
	for dir in "$mnoded" "$mnodectl"; do
		[[ -x $dir ]] || {
			error "no program '$dir': did the build make it?"
			return 1
		}
	done
}

# The pool when nobody says: every page of each compute node's device, and some
# to keep the chains armed.
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
	elif (($(nproc) >= opt_cnodes * opt_cpus + opt_mnodes)); then
		echo 1000
	else
		echo 100
	fi
}

mnode_nic() {
	local k=$1 nic mac

	mac=$(mnode_mac "$k" 1)
	((!opt_joined)) || mac=$(mnode_mac 0 $((1 + k)))
	nic="soft:ip=$(mnode_ip "$k")/24,mac=$mac,mtu=$opt_mtu,spin_us=$(mnode_spin)"
	((opt_joined && k > 0)) || nic+=$(mnode_wires "$k")
	echo "$nic$(mnode_joints "$k" | tr -d '\n')$opt_nic"
}

# mnode_wires K: to the compute nodes.
mnode_wires() {
	local i
	for ((i = 0; i < opt_cnodes; i++)); do
		printf ',%s=%s' "$opt_wire" "$(wire_socket agent "$i" "$1")"
		[[ $opt_wire != dgram ]] || printf ':%s' "$(wire_socket guest "$i" "$1")"
	done
}

# mnode_extra K: the agent's options. Unless dead-ms is given a compute node has less
# time than by default, since tests wait for its end, and on a slow kernel more; unless
# dead-ms-max is, no compute node gets more by asking.
mnode_extra() {
	local p
	if [[ $opt_auth = secret && $opt_mnode_in = guest ]]; then
		printf '%s\n' --keys /etc/odrp/keys.d
	elif [[ $opt_auth = secret ]]; then
		printf '%s\n' --keys "$run_dir/keys.d"
	else
		printf '%s\n' --auth none
	fi
	[[ " ${opt_param[*]}" = *" mnode.dead-ms="* ]] ||
		printf '%s\n' --dead-ms $((10000 * slow))
	[[ " ${opt_param[*]}" = *" mnode.dead-ms-max="* ]] ||
		printf '%s\n' --dead-ms-max 50
	for p in "${opt_param[@]}"; do
		[[ $p = mnode.* ]] || continue
		p=${p#mnode.}
		p=${p//\{K\}/$1}
		[[ $opt_mnode_in != guest || $p != config=* ]] ||
			p=config=$MGUEST_CONFIG
		printf '%s\n' "--${p%%=*}" "${p#*=}"
	done
}

# secret_make: before agents and machines.
secret_make() {
	[[ $opt_auth = secret ]] || return 0
	"$mnodectl" key new "$VM_NAME" --dir "$run_dir/keys.d" >/dev/null
}

mnode_status() {
	if [[ $opt_mnode_in = guest ]]; then
		mguest_ask status --json 2>>"$run_dir/odrpctl.log"
		return
	fi
	timeout 10 "$mnodectl" mnode status --control "$(control_socket "$1")" \
		--json 2>>"$run_dir/odrpctl.log"
}

mnode_log() {
	tail -n 20 "$run_dir/mnode$(of_mnode "$1").log" >&2
	[[ $opt_mnode_in != guest ]] || mguest_log
}

mnode_start() {
	local k=$1 tries control
	local -a extra keeper=()

	if [[ $opt_mnode_in = guest ]]; then
		mguest_start
		return
	fi
	((!opt_keep)) || keeper=("$mnodekeeper" "$run_dir")
	control=$(control_socket "$k")
	mapfile -t extra < <(mnode_extra "$k")
	mnode_begin[k]=$EPOCHREALTIME
	spawn "mnode$(of_mnode "$k")" "${keeper[@]}" "$mnoded" --nic "$(mnode_nic "$k")" \
		--pool "$(mnode_pool)" --control "$control" "${extra[@]}" || return 1
	mnode_pid[k]=$spawned_pid
	for ((tries = 0; tries < 300; tries++)); do
		if ! kill -0 "${mnode_pid[k]}" 2>/dev/null; then
			error "the agent of memory node $k ended at once:"
			mnode_log "$k"
			return 1
		fi
		if [[ -S $control ]] && mnode_status "$k" >/dev/null; then
			return 0
		fi
		sleep 0.1
	done
	error "the agent of memory node $k does not answer on its control socket:"
	mnode_log "$k"
	tail -n 20 "$run_dir/odrpctl.log" >&2
	return 1
}

mnodes_start() {
	each_mnode mnode_start
}

# mnode_check K: the agent's proof that each page is in one place; else the run
# fails.
mnode_check() {
	local said
	local -a ask=(timeout $((60 * slow)) "$mnodectl" mnode check
		--control "$(control_socket "$1")")
	[[ $opt_mnode_in != guest ]] || ask=(mguest_ask check)
	said=$("${ask[@]}" 2>&1) ||
		run_fail "memory node $1: odrpctl mnode check: $said"
}

# Wake-ups of the agent of a guest; null of one on this host.
mnode_woken() {
	local woken=
	[[ $opt_mnode_in != guest ]] || woken=$(mguest_ask woken)
	echo "${woken:-null}"
}

# mnode_statistics K: an agent's, and the time they cover; "null" when there is
# none to ask.
mnode_statistics() {
	local status
	if [[ -n ${mnode_pid[$1]:-} ]] && status=$(mnode_status "$1"); then
		jq -c --argjson wall "$(elapsed_since "${mnode_begin[$1]}")" \
			--argjson woken "$(mnode_woken)" \
			'{wall_s: $wall, woken: $woken} + .' <<<"$status"
	else
		echo null
	fi
}

# mnodes_snapshot FILE: an array of all.
mnodes_snapshot() {
	each_mnode mnode_statistics | jq -sc . >"$1" 2>>"$run_dir/odrpctl.log"
}

# mnode_wait_alone K: until it has no session, for at most half a minute.
mnode_wait_alone() {
	local tries
	[[ -n ${mnode_pid[$1]:-} ]] || return 0
	for ((tries = 0; tries < 300 * slow; tries++)); do
		mnode_status "$1" | jq -e '.sessions == []' >/dev/null && break
		sleep 0.1
	done
}

# mnode_wait_settled K: until none of its sessions is being taken down, which it
# does in pieces, for at most ten seconds: what such a session held is neither
# free nor in use.
mnode_wait_settled() {
	local tries
	[[ -n ${mnode_pid[$1]:-} ]] || return 0
	for ((tries = 0; tries < 100 * slow; tries++)); do
		mnode_status "$1" |
			jq -e '.sessions | all(.state != "dying")' >/dev/null && break
		sleep 0.1
	done
}

mnode_stop() {
	local k=$1 pid=${mnode_pid[$1]} tries status
	[[ -n $pid ]] || return 0
	if [[ $opt_mnode_in = guest ]]; then
		mguest_stop || run_fail "the agent of memory node $k: $mguest_said"
	else
		kill -TERM "$pid" 2>/dev/null
	fi
	for ((tries = 0; tries < 100; tries++)); do
		kill -0 "$pid" 2>/dev/null || break
		sleep 0.1
	done
	if ((tries == 100)); then
		warn "the agent did not end within 10 s of SIGTERM: killed"
		kill -KILL "$pid" 2>/dev/null
	fi
	wait "$pid" 2>/dev/null
	status=$?
	mnode_pid[k]=
	((status == 0)) || {
		run_fail "the agent of memory node $k ended with status $status:"
		mnode_log "$k"
	}
}

mnodes_stop() {
	local k
	for k in "${!mnode_pid[@]}"; do
		mnode_stop "$k"
	done
}

# As a power failure does. (The shell need not report that.)
mnode_kill() {
	local k=$1 pid=${mnode_pid[$1]}
	[[ -n $pid ]] || return 0
	info "killing memory node $k"
	disown "$pid"
	kill -KILL "$pid"
	mnode_pid[k]=
}

# mnode_signal K SIGNAL: to who keeps its agent's pages (--keep-mnode).
mnode_signal() {
	if ((opt_keep)) && [[ $opt_mnode_in = guest ]]; then
		mguest_ask signal "$2" >/dev/null ||
			run_fail "the agent of memory node $1 got no SIG$2"
	elif ((opt_keep)); then
		kill "-$2" "${mnode_pid[$1]}"
	else
		run_fail "nobody keeps the pages of memory node $1: expected --keep-mnode"
	fi
}

# The agent anew, with nothing of before. Its cards must be of a wire that it can
# come back to (--wire dgram).
mnode_restart() {
	local k=$1
	mnode_kill "$k"
	rm -f "$run_dir/mnode$(of_mnode "$k").out" "$(control_socket "$k")"
	[[ $opt_mnode_in != guest ]] || mguest_clean
	mnode_start "$k" || run_fail "memory node $k does not begin anew"
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
		if ip tuntap add dev "$nbd_tap" mode tap 2>/dev/null &&
		   ip link set "$nbd_tap" mtu "$opt_mtu" up &&
		   ip addr add "$GUEST_NET.1/24" dev "$nbd_tap"; then
			nbd_listen=$GUEST_NET.1
			nbd_address=$GUEST_NET.1
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

# nbd_serve PORT: nbd-server, or what was named to stand in for it.
nbd_serve() {
	if [[ -n ${ODRP_NBD_SERVER:-} ]]; then
		spawn nbd "$ODRP_NBD_SERVER" "$nbd_listen" "$1" "$(size_bytes "$opt_swap")"
		return
	fi
	cat >"$run_dir/nbd.conf" <<CONF
[generic]
	listenaddr = $nbd_listen
	port = $1
[swap]
	exportname = $nbd_store
CONF
	# With -d it stays a child of ours, serves one client and ends. So do
	# not connect to see whether it listens.
	spawn nbd nbd-server -d -C "$run_dir/nbd.conf"
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
	nbd_serve "$port" || return 1
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

# nbd_snapshot FILE: the server's processor time until now.
nbd_snapshot() {
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "{\"cpu_s\": %.2f}\n",
		($12 + $13) / hz }' "/proc/$nbd_pid/stat" >"$1" 2>/dev/null ||
		echo null >"$1"
}

# nbd_json: that while COMMAND ran, and what a server in nbd-server's place has said.
nbd_json() {
	[[ -s $run_dir/nbd-begin.json && -s $run_dir/nbd-end.json ]] || {
		echo null
		return
	}
	{
		cat "$run_dir/nbd-begin.json" "$run_dir/nbd-end.json"
		tail -n 1 "$run_dir/nbd.log" 2>/dev/null | grep '^{'
	} | jq -cs '{cpu_s: (.[1].cpu_s - .[0].cpu_s), server: .[2]}'
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
