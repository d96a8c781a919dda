# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# scripts/demo --far: a space of an agent of this host, two clients over the
# software NIC, of which one is killed. To be sourced after common.sh and build.sh.
# shellcheck shell=bash
#
#   demo_far KEYS JSON      the whole of it; its exit status. JSON: a file, or ''

# The agent's port, and the clients': of the one that is measured, and of the one that
# is killed.
demo_far_nics() {
	local key="key=$dir/keys/demo" port=$((20000 + RANDOM % 400 * 100))
	local at=127.0.0.1:$port
	agent_port="udp=$at"
	nic="soft:ip=10.77.0.11/24,$key,udp=127.0.0.1:$((port + 1)):$at"
	victim_nic="soft:ip=10.77.0.12/24,$key,udp=127.0.0.1:$((port + 2)):$at"
}

demo_far_agent() {
	local space_mb=$((64 + $1 / 4096))
	cat >"$dir/conf" <<CONF
[mnode]
nic = soft:ip=10.77.0.1/24
	$agent_port
pool = $((space_mb + 64))M
populate = no
control = $dir/control
keys = $dir/keys
log-level = warning

[space demo]
size = ${space_mb}M
CONF
	"$build/mnode/ctl/odrpctl" key new demo --dir "$dir/keys" >/dev/null || return 1
	"$build/mnode/odrp-mnoded" --config "$dir/conf" &
	agent=$!
	until [[ -S $dir/control ]]; do
		kill -0 "$agent" 2>/dev/null || die "the agent has ended"
		sleep 0.1
	done
}

demo_far_status() {
	"$build/mnode/ctl/odrpctl" mnode status --control "$dir/control" --json
}

# demo_far_client NAME NIC OPTION...: in the background; $! is its process.
demo_far_client() {
	local name=$1 nic=$2
	shift 2
	"$build/userspace/tool/far" bench index --nic "$nic" --node 10.77.0.1 \
		--space demo --index hash --workload A --tasks 32 --warm-ms 0 \
		--json "$dir/$name.json" "$@" >/dev/null 2>"$dir/$name.err" &
}

# demo_far_until PID COMMAND...: that succeeds; fails when the process has ended.
demo_far_until() {
	local pid=$1
	shift
	until "$@"; do
		kill -0 "$pid" 2>/dev/null || return 1
		sleep 0.1
	done
}

demo_far_measures() {
	grep -qs '^far: measuring' "$dir/$1.err"
}

demo_far_fenced() {
	demo_far_status | jq -e '.spaces[0].fenced > 0' >/dev/null
}

# Kills a client in the middle of its operations, while the other one is measured.
demo_far_kill() {
	local victim
	demo_far_client victim "$victim_nic" --keys 1000 --seed 2 --ms 600000
	victim=$!
	demo_far_until "$victim" demo_far_measures victim || {
		error "the second client has ended: $(tail -n 1 "$dir/victim.err")"
		return 1
	}
	kill -9 "$victim"
	wait "$victim" 2>/dev/null
	info "one client is killed; the agent fences it, the other one repairs"
	demo_far_until "$agent" demo_far_fenced
}

# What the killed one has left is looked for by whoever has its chunks next; the check
# waits for that, but not for ever.
demo_far_check() {
	"$build/userspace/tool/far" space check demo --nic "$nic" --node 10.77.0.1 \
		--json >"$dir/check.json"
}

demo_far_run() {
	local client
	info "loading $1 keys, then YCSB A for ten seconds"
	# --ops: one window, of ten seconds, whatever a killed client does to it
	demo_far_client client "$nic" --keys "$1" --ms 10000 --ops 1000000000
	client=$!
	demo_far_until "$client" demo_far_measures client &&
		demo_far_status >"$dir/before.json" && demo_far_kill
	local status=$?
	wait "$client" || {
		error "the client has failed: $(tail -n 1 "$dir/client.err")"
		status=1
	}
	demo_far_status >"$dir/after.json" || status=1
	info "checking the space"
	demo_far_check || demo_far_check || demo_far_check || status=1
	return "$status"
}

# What came of it, as JSON: the client's, the agent's, the check's.
demo_far_results() {
	jq -n --slurpfile c "$dir/client.json" --slurpfile b "$dir/before.json" \
		--slurpfile a "$dir/after.json" --slurpfile k "$dir/check.json" \
		--argjson ok "$1" '
		(($a[0].wall_s | tonumber) - ($b[0].wall_s | tonumber)) as $s |
		{ok: ($ok == 0 and $c[0].errors == 0 and $k[0].problems == 0),
		 client: $c[0], check: $k[0], space: $a[0].spaces[0],
		 agent_cpu: (($a[0].agent_cpu_s - $b[0].agent_cpu_s) / $s),
		 nic_cpu: (($a[0].nic_cpu_s - $b[0].nic_cpu_s) / $s)}'
}

demo_far_table() {
	echo
	jq -r 'def pct: "\(. * 1000 | round / 10) %";
		["operations", .client.ops],
		["operations a second", (.client.mops * 1e6 | round)],
		["latency: median", "\(.client.p50_us) us"],
		["latency: 99 %", "\(.client.p99_us) us"],
		["latency: 99.9 %", "\(.client.p999_us) us"],
		["verbs per operation", .client.verbs_per_op],
		["round trips per operation", .client.round_trips_per_op],
		["operations that failed", .client.errors],
		["clients killed and fenced", .space.fenced],
		["blocks in use", .check.used],
		["problems that the check found", .check.problems],
		["far memory in use", "\(.space.used / 1048576 | round) MB"],
		["agent, of one CPU", (.agent_cpu | pct)],
		["software NIC, of one CPU", (.nic_cpu | pct)] | @tsv' "$1" |
		while IFS=$'\t' read -r title value; do
			printf '%-36s %15s\n' "$title" "$value"
		done
	echo
}

# demo_far_conclusion STATUS KEYS
demo_far_conclusion() {
	if (($1)); then
		echo "It did not work: what went wrong is said above the table, or by the"
		echo "operations that failed and the problems that the check found."
	else
		cat <<-TEXT
			What was shown: a program kept $2 keys in a hash table that is not in its own
			memory, but in that of another process, here an agent on this host. It read and
			changed them by one-sided operations. Another client of the same table was
			killed in the middle of one; the agent let nothing more of it through, and the
			first client repaired what it had left. The check then found every block sound.

			Is that good? An operation took about $(jq .client.round_trips_per_op "$dir/far.json") round trips, none failed, and the agent's
			own processor did $(jq '.agent_cpu * 1000 | round / 10' "$dir/far.json") % of one CPU's work meanwhile. The times are those of a NIC
			in software that shares this machine with the client: they say nothing of a
			card. "far bench index --nic sim:cx6-200" computes what a model of one does.
		TEXT
	fi
	cat <<-'TEXT'

		What to try next:
		    scripts/demo                  a machine that swaps to far memory
		    scripts/demo --far --keys 5000000
		    docs/far.md                   libfar: what it guarantees, and how to use it
		    userspace/examples            whole programs
	TEXT
}

demo_far() {
	local build status agent agent_port nic victim_nic
	build=$(userspace_dir)
	demo_far_nics
	demo_far_agent "$1"
	demo_far_run "$1"
	status=$?
	kill "$agent"
	wait "$agent"
	if demo_far_results "$status" >"$dir/far.json"; then
		demo_far_table "$dir/far.json"
	else
		status=1
	fi
	[[ -z $2 ]] || cp "$dir/far.json" "$2" || die "cannot write '$2'"
	((status == 0)) && jq -e .ok "$dir/far.json" >/dev/null
	status=$?
	demo_far_conclusion "$status" "$1"
	return "$status"
}
