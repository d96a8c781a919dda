#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The far command against spaces of odrp-mnoded, over datagram sockets: a benchmark,
# clients that are killed or stopped, a space that is full, and what goes wrong when a
# connection begins.
# usage: test-space-tool.sh MNODED ODRPCTL FAR REMOTE
set -u
mnoded=$1
odrpctl=$2
far=$3
remote=$4
dir=$(mktemp -d)
nr=0
bad=0
agent=
client=
ctl=("$odrpctl" mnode --control "$dir/ctl")

cleanup() {
	[[ -n $agent ]] && kill "$agent" 2>/dev/null
	[[ -n $client ]] && kill "$client" 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT

result() {
	nr=$((nr + 1))
	if [[ $1 = 0 ]]; then
		echo "ok $nr - $2"
	else
		echo "not ok $nr - $2"
		sed 's/^/# /' "$dir/out" "$dir/err"
		bad=1
	fi
}

# nic N [KEY]: the NIC of client number N, which has a port of the agent to itself, and
# a secret, that of a writer if it has no other.
nic() {
	echo "soft:ip=10.77.0.1$1/24,dgram=$dir/c$1:$dir/m$1,key=${2:-$dir/keys/writer}"
}

# Nobody's NIC.
nic_without() {
	echo "soft:ip=10.77.0.1$1/24,dgram=$dir/c$1:$dir/m$1"
}

make_keys() {
	for name in writer reader guest; do
		"$odrpctl" key new "$name" --dir "$dir/keys" >/dev/null
	done
	# His name, and another secret.
	"$odrpctl" key new writer --dir "$dir/other" >/dev/null
}

# says TEXT COMMAND...: succeeds, with TEXT on its standard output if there is one.
says() {
	local text=$1
	shift
	timeout 120 "$@" >"$dir/out" 2>"$dir/err" </dev/null &&
		[[ -z $text || $(<"$dir/out") = *"$text"* ]]
	result $? "${text:-${*: -3}}"
}

# refused TEXT COMMAND...: fails with TEXT.
refused() {
	local text=$1 status
	shift
	timeout 120 "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	[[ $status != 0 && $status -lt 120 && $(<"$dir/err") = *"$text"* ]]
	result $? "refused: $text"
}

# space FIELD: a number of the space "cache" as the agent says it.
space() {
	"${ctl[@]}" status --json | sed -nE "s/.*\"name\": ?\"cache\"[^}]*\"$1\": ?([0-9]+).*/\1/p"
}

# becomes FIELD N: waits until it does, or the agent or the client $client has ended.
becomes() {
	until [[ $(space "$1") = "$2" ]]; do
		kill -0 "$agent" || break
		[[ $2 = 0 || $1 = fenced ]] || kill -0 "$client" || break
		sleep 0.1
	done
	[[ $(space "$1") = "$2" ]]
	result $? "$1 of the space becomes $2"
}

# conf_write MS: dead-ms of its first space.
conf_write() {
	cat >"$dir/conf" <<EOF
[mnode]
nic = soft:ip=10.77.0.1/24
 dgram=$dir/m0:$dir/c0
 dgram=$dir/m1:$dir/c1
 dgram=$dir/m2:$dir/c2
pool = 64M
control = $dir/ctl
log-level = info
auth = required
keys = $dir/keys
[space cache]
size = 32M
clients = 2
dead-ms = $1
readers = reader
writers = nobody, writer
[space small]
size = 4M
chunk = 1M
dead-ms = 60000
deletable = yes
EOF
}

agent_run() {
	"$mnoded" --config "$dir/conf" 2>"$dir/log" &
	agent=$!
	until [[ -S $dir/ctl ]] || ! kill -0 $agent; do
		sleep 0.1
	done
}

start_agent() {
	conf_write "$1"
	agent_run
}

# bench_on N ARG...: a benchmark of client N that goes on, in the background.
bench_on() {
	local nic
	nic=$(nic "$1")
	"$far" bench index --nic "$nic" --node 10.77.0.1 --index hash --workload A \
		--warm-ms 0 --ms 600000 "${@:2}" >"$dir/on$1" 2>&1 </dev/null &
	client=$!
}

# measures: waits until client 0 does, or has ended: it has loaded its keys.
measures() {
	until grep -q "^far: measuring" "$dir/on0" || ! kill -0 "$client"; do
		sleep 0.1
	done
}

echo 1..59
make_keys
start_agent 60000
says '"errors": 0' "$far" bench index --nic "$(nic 0)" --node 10.77.0.1 --space cache \
	--index hash --workload A --keys 300 --ops 600 --warm-ms 0 --json -
says "every page is in exactly one place" "${ctl[@]}" check
grep -q ' 7168 pages.* to lend, 9216 in spaces' "$dir/log"
result $? "what is in spaces is not to lend"
says "cache" "${ctl[@]}" status
[[ $(space structures) = 1 ]]
result $? "one structure in the space"
says "problems   0" "$far" space check cache --nic "$(nic 0)" --node 10.77.0.1
# The example that takes a key and an address.
says "run 1" "$remote" "$(nic_without 1)" "$dir/keys/writer" 10.77.0.1 cache
says "run 2" "$remote" "$(nic_without 1)" "$dir/keys/writer" 10.77.0.1 cache
refused "lets in only who has a secret" "$remote" "$(nic_without 1)" - 10.77.0.1 cache
refused "there is no such space" "$remote" "$(nic_without 1)" "$dir/keys/writer" \
	10.77.0.1 cash

# A client is killed in the middle, and its successor repairs what it has left.
bench_on 0 --space cache --keys 300
becomes clients 1
says 'odrp_mnode_space_clients{space="cache"} 1' "${ctl[@]}" metrics
kill -9 $client
wait $client 2>/dev/null
becomes fenced 1
says '"errors": 0' "$far" bench index --nic "$(nic 1)" --node 10.77.0.1 --space cache \
	--index hash --workload A --keys 300 --ops 600 --warm-ms 0 --json -
says "problems   0" "$far" space check cache --nic "$(nic 1)" --node 10.77.0.1

# What goes wrong when a connection begins.
refused 'space "cash" at node "10.77.0.1": there is no such space' \
	"$far" space check cash --nic "$(nic 0)" --node 10.77.0.1
refused 'space "cache" at node "10.77.0.7": no such node' \
	"$far" space check cache --nic "$(nic 0)" --node 10.77.0.7
refused "the space is full" "$far" bench index --nic "$(nic 0)" \
	--node 10.77.0.1 --space small --keys 100000 --warm-ms 0 --ops 1
says "" "$far" space check small --nic "$(nic 0)" --node 10.77.0.1

# A client comes without a secret, with another one, or has no right.
refused "only who has a secret" "$far" space list --nic "$(nic_without 0)" --node 10.77.0.1
refused "does not know this name with this secret" \
	"$far" space list --nic "$(nic 0 "$dir/other/writer")" --node 10.77.0.1
refused "No such file" "$far" space list --nic "$(nic 0 "$dir/keys/none")" \
	--node 10.77.0.1
says "cache" "$far" space list --nic "$(nic 0 "$dir/keys/guest")" --node 10.77.0.1
refused "no rights" "$far" space check cache --nic "$(nic 0 "$dir/keys/guest")" \
	--node 10.77.0.1
refused "no rights" "$far" bench index --nic "$(nic 0 "$dir/keys/reader")" --node 10.77.0.1 \
	--space cache --index hash --workload A --keys 300 --ops 600 --warm-ms 0
mv "$dir/keys/guest" "$dir/other/guest"
refused "is known by the name 'guests'" "${ctl[@]}" revoke guests
refused "has a secret still" "${ctl[@]}" revoke reader
says "" "${ctl[@]}" revoke guest
refused "does not know this name with this secret" \
	"$far" space list --nic "$(nic 0 "$dir/other/guest")" --node 10.77.0.1
[[ $("${ctl[@]}" status) = *"auth"*"required"* ]]
result $? "status says that secrets are required"

# Questions from afar.
says "small" "$far" space list --nic "$(nic 0)" --node 10.77.0.1
says '"name":"cache"' "$far" space list --nic "$(nic 0)" --node 10.77.0.1 --json
says "33554432" "$far" space stat cache --nic "$(nic 0)" --node 10.77.0.1
says '"structures":' "$far" space stat cache --nic "$(nic 0)" --node 10.77.0.1 --json
refused 'space "cash" at node "10.77.0.1": there is no such space' \
	"$far" space stat cash --nic "$(nic 0)" --node 10.77.0.1
refused 'node "10.77.0.7": no such node' \
	"$far" space list --nic "$(nic 0)" --node 10.77.0.7
refused 'cannot be deleted: no such node' \
	"$far" space delete cache --nic "$(nic 0)" --node 10.77.0.7
refused "settings do not say deletable = yes" \
	"$far" space delete cache --nic "$(nic 0)" --node 10.77.0.1
refused "soft expected" "$far" space list --nic "mem:dir=$dir" --node 10.77.0.1
refused "one memory node expected" "$far" space list --nic "$(nic 0)" --node a --node b
says "" "$far" space delete small --nic "$(nic 0)" --node 10.77.0.1
refused "there is no such space" \
	"$far" space delete small --nic "$(nic 0)" --node 10.77.0.1
says "every page is in exactly one place" "${ctl[@]}" check

# More clients than a space takes.
bench_on 0 --space cache --keys 300
becomes clients 1
first=$client
bench_on 1 --space cache --keys 300
becomes clients 2
refused "no client number is free; there are: 2" \
	"$far" space check cache --nic "$(nic 2)" --node 10.77.0.1
kill $first $client
wait $first $client 2>/dev/null
becomes clients 0

# The agent's end is an error of its clients, and its next life has an empty space.
says "" "${ctl[@]}" delete-space cache
refused "no space has the name 'cache'" "${ctl[@]}" delete-space cache
refused "there is no such space" "$far" space check cache --nic "$(nic 0)" --node 10.77.0.1
kill $agent
wait $agent
start_agent 60000
[[ $(space structures) = 0 ]]
result $? "another life of the agent has an empty space"

# The agent begins anew while a client works: that one is told, and the next one has a
# space that is empty.
bench_on 0 --space cache --keys 300
measures
kill $agent
wait $agent
start_agent 60000
wait $client
status=$?
cp "$dir/on0" "$dir/out"
# How long the agent takes to begin decides what the client meets first: an agent that has
# begun anew, a queue pair that the restart has ended, or nobody.
[[ $status = 1 ]] && grep -q "open a new one\|Host is down" "$dir/out"
result $? "a client is told that its memory node is another one"
says "problems   0" "$far" space check cache --nic "$(nic 0)" --node 10.77.0.1
[[ $(space structures) = 0 ]]
result $? "nothing of before is in the space"

# A client that was only stopped is told that it was fenced.
kill $agent
wait $agent
start_agent 2000
bench_on 0 --space cache --keys 300
becomes clients 1
measures
kill -STOP $client
becomes fenced 1
kill -CONT $client
wait $client
status=$?
cp "$dir/on0" "$dir/out"
[[ $status = 1 && $(<"$dir/out") = *"this client was fenced"* ]]
result $? "a client that was stopped is told that it was fenced"

# An agent for swap alone.
kill $agent
wait $agent
sed -i '/^\[space cache\]/,$d' "$dir/conf"
agent_run
refused 'node "10.77.0.1": it serves no spaces' \
	"$far" space list --nic "$(nic 0)" --node 10.77.0.1
refused 'space "cache" at node "10.77.0.1": it serves no spaces' \
	"$far" space check cache --nic "$(nic 0)" --node 10.77.0.1
exit $bad
