#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The far command: spaces from creation to deletion, benchmarks, and what it answers to what is typed wrong.
# usage: test-tool.sh FAR FAR.1
set -u
far=$1
page=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/spaces"
nic=mem:dir=$dir/spaces
nr=0
bad=0

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

# says TEXT COMMAND...: succeeds, with TEXT on its standard output if there is one.
says() {
	local text=$1
	shift
	timeout 60 "$@" >"$dir/out" 2>"$dir/err" </dev/null &&
		[[ -z $text || $(<"$dir/out") = *"$text"* ]]
	result $? "${*##*/}"
}

# server_start FILE ARG...: begins far in the background, and waits until it has said
# something, which goes to FILE; sets server. What another one has said there is no answer.
server_start() {
	rm -f "$1"
	"$far" "${@:2}" >"$1" 2>&1 </dev/null &
	server=$!
	until [[ -s $1 ]] || ! kill -0 $server; do
		sleep 0.1
	done
}

# refused TEXT ARG...: far fails, names the value and says what it expected.
refused() {
	local text=$1
	shift
	timeout 20 "$far" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	[[ $status != 0 && $status -lt 120 && ! -s $dir/out ]] &&
		tr -s ' \n' ' ' <"$dir/err" | grep -qF -- "$text"
	result $? "far $*"
}

# misused TEXT ARG...: as refused, with the exit status of a wrong command line.
misused() {
	refused "$@"
	[[ $(grep -c . "$dir/err") -le 7 && $status = 2 ]]
	result $? "exit status 2: far ${*:2}"
}

# options_of COMMAND...: those that --help names, in its order.
options_of() {
	"$far" "$@" --help | sed -nE 's/^ +--([a-z-]+).*/\1/p' | grep -vx usage
}

# described COMMAND...: the manual page has these options, in the same order.
described() {
	options_of "$@" >"$dir/out"
	sed -n "/^\.SS far $*\$/,/^\.S[SH]/p" "$page" |
		sed -nE '/^\.TP/{n;s/\\-/-/g;s/^\.BI? --([a-z-]+).*/\1/p}' >"$dir/err"
	cmp -s "$dir/out" "$dir/err" && [[ -s $dir/out ]]
	result $? "far.1 has the options of far $*"
}

# interrupted ARG...: by a signal in the middle, far ends with its number and leaves nothing.
interrupted() {
	"$far" bench "$@" --nic "$nic" >"$dir/out" 2>"$dir/err" </dev/null &
	local pid=$!
	until [[ -n $(find "$dir/spaces" -name "*-$pid*") ]]; do
		kill -0 $pid 2>/dev/null || break
		sleep 0.1
	done
	kill -TERM $pid
	wait $pid
	[[ $? = 143 && -z $(find "$dir/spaces" -name "*-$pid*") ]]
	result $? "interrupted: far bench $*"
}

echo 1..272
says "" "$far" space create demo --size 64M --nic "$nic"
says "demo" "$far" space list --nic "$nic"
says "" "$far" space check demo --nic "$nic"
says '"problems":0' "$far" space check demo --nic "$nic" --json
says "" "$far" space stat demo --nic "$nic"
says '"errors": 0' "$far" bench index --nic "$nic" --keys 1000 --ops 1000 --warm-ms 0 \
	--workload A --load insert --json -
says '"tier": "model"' "$far" bench index --nic sim:cx6-200 --keys 1000 --ops 10000 \
	--warm-ms 0 --threads 4 --json -
says '"steady": true' "$far" bench index --nic sim:cx6-200 --keys 1000 --ms 1 \
	--warm-ms 1 --scale 0.002 --threads 4 --json -
says "mem" "$far" info
says "\"name\":\"verbs\"" "$far" info --json
refused "exists already: expected another name, or \"far space delete demo\"" \
	space create demo --size 64M --nic "$nic"
says "" "$far" space delete demo --nic "$nic"
refused "\"far space list\" shows those" space stat demo --nic "$nic"
misused "no command 'spaces'" spaces
misused "'3'" space create x --size 3 --nic "$nic"
refused "there is no such directory" space create x --size 8M --nic mem:dir=/nowhere
misused "absolute path" space create x --size 8M --nic mem:dir=here
misused "--index tree: expected hash" bench index --index tree
misused "--workload Z: expected A, B" bench index --workload Z
misused "--keys 0: expected a number from 1" bench index --keys 0
misused "--threads 9..3: expected N or N..M" bench index --threads 9..3
misused "--without cashe: expected throttle" bench index --without cashe
# 0 bytes would be the default of 64 MiB
misused "--cache 0: expected a size" bench index --cache 0
misused "--nic: sim: profile 'nowhere' is not there" bench index --nic sim:nowhere --keys 10
misused "--profile: sim: profile 'nowhere' is not there" bench model --profile nowhere
misused "--value-size 300: values of btree have 8 to 256 bytes" \
	bench index --index btree --value-size 300
misused "--span 16: expected with --index btree, and not hash" bench index --span 16
misused "--scale 0.5: expected with --nic sim:PROFILE" bench index --scale 0.5
misused "--workload E: hash keeps no order of keys; expected art or btree" bench index --workload E
misused "--advise: expected without --index" bench index --advise --index hash
misused "--advise: expected without --json" bench index --advise --json -
misused "--theta 0.5: expected with --redundant" bench micro --theta 0.5
misused "--depth 'x': a number from 1 to 1024 expected" bench micro --depth x
misused "--batch '1025': a number from 1 to 1024 expected" bench micro --batch 1025
misused "--ops '16777217T': a number from 1" bench micro --ops 16777217T
misused "--op 'send': read, write, cas or faa expected" bench micro --op send
misused "--policy 'mine': shared-qp" bench micro --policy mine
misused "--throttle '2': a number from 0.0001 to 1 expected" bench micro --throttle=2
misused "the name of a space expected" space create --size 64M --nic "$nic"
misused "--clients '0': a number from 1 to 4094 expected" space create x --clients 0
misused "--mode '9': permissions" space create x --size 8M --mode 9
misused "mode 0666: only this user reaches the spaces of mem" \
	space create x --size 8M --mode 0666
says "" "$far" space create x --size 8M --mode 0666 --nic "$nic"
[[ $(stat -c %a "$dir/spaces/x@0") = 666 ]]
result $? "mode 0666 in a directory"
says "" "$far" space delete x --nic "$nic"
# A space that is damaged is seen, and can be deleted.
for damage in "superblock" "truncate -s 5000" "truncate -s 12288"; do
	"$far" space create x --size 8M --nic "$nic"
	if [[ $damage = truncate* ]]; then
		$damage "$dir/spaces/x@0"
	else
		printf 'damage!!' | dd conv=notrunc status=none of="$dir/spaces/x@0"
	fi
	says "damaged" "$far" space list --nic "$nic"
	refused "is damaged" space stat x --nic "$nic"
	refused "is damaged" space check x --nic "$nic"
	says "" "$far" space delete x --nic "$nic"
done
[[ -z $(ls "$dir/spaces") ]]
result $? "nothing is left of damaged spaces"
# A problem comes with a sentence about what can be done.
"$far" space create x --size 8M --nic "$nic"
page_off=$(od -An -tu8 -j88 -N8 "$dir/spaces/x@0")
printf '\356\356' | dd conv=notrunc status=none bs=1 seek=$((page_off)) of="$dir/spaces/x@0"
"$far" space check x --nic "$nic" >"$dir/out" 2>"$dir/err"
[[ $? = 1 ]] && grep -q "there is no repair" "$dir/err" && ! grep -q "problems   0" "$dir/out"
result $? "a check says what can be done about a problem"
says "" "$far" space delete x --nic "$nic"
misused "--node '': the address of a memory node expected" \
	space create x --size 8M --node "" --nic "$nic"
misused "--node '': the address" bench micro --space s --node ""
misused "--node '': the address" bench index --space s --node ""
misused "--node ADDR expected" space list --nic soft
misused "--node ADDR expected" space stat x --nic soft
misused "--node ADDR expected" space delete x --nic soft
misused "--node ADDR expected" space check x --nic soft
misused "chunk size 3145728: expected a power of two" \
	space create x --size 8M --chunk 3M --nic "$nic"
refused "as long as the process" space create s --size 64M --nic sim:cx6-200
refused "as long as the process" space create s --size 64M --nic soft
refused "mem, soft or verbs expected" space serve s --size 64M --nic sim:cx6-200
misused "no back end 'bogus'; there are: mem, soft, verbs, sim" space list --nic bogus
misused "no back end 'bogus'; there are: mem" space create x --size 8M --nic bogus:x
misused "no back end 'bogus'; there are: mem" bench index --nic bogus
misused "no back end 'bogus'; there are: mem" bench micro --nic bogus
misused "nodes=x: expected a number" bench index --nic soft:nodes=x --keys 10
misused "nodse: unknown; expected nodes, key, keys, connect_ms, ip," space list --nic soft:nodse=1

says '"errors": 0' "$far" bench index --nic soft --keys 500 --ops 500 --warm-ms 0 \
	--workload A --json -
says "soft:nodes=2" "$far" bench micro --nic soft:nodes=2 --mns 2 --threads 2 --ops 500 \
	--json -
refused "nodes=x: expected a number" bench micro --nic soft:nodes=x
misused "--node: expected with --space" bench micro --nic soft --node 0
misused "--node: expected with --space" bench index --nic soft --node 0
misused "--load image: expected insert" bench index --nic soft --space s --load image
refused "expected read" bench micro --nic soft --space s --op write

# A space in another process.
near=soft:ip=10.77.0.9/24,dgram=$dir/b:$dir/a
server_start "$dir/serve" space serve cache --size 64M --nic "soft:nodes=1,dgram=$dir/a:$dir/b"
says '"errors": 0' "$far" bench index --nic "$near" --space cache --node 10.77.0.2 \
	--keys 300 --ops 300 --warm-ms 0 --workload A --json -
says "" "$far" bench micro --nic "$near" --space cache --node 10.77.0.2 --ops 500
refused "another process uses this port" space serve more --size 64M \
	--nic "soft:nodes=1,dgram=$dir/a:$dir/b"
refused "cannot reach memory" bench micro --nic "$near" --space cash --node 10.77.0.2
kill $server
wait $server
result $? "far space serve"

# Addresses of memory nodes: one that cannot be is refused unasked, and of one that does
# not answer it is said who was asked and for how long; on a terminal, also meanwhile.
silent="space list --nic soft --node 10.77.0.9"
script -qec "'$far' $silent" /dev/null >"$dir/terminal" 2>&1 </dev/null &
terminal=$!
refused "node \"10.77.0\": expected an IPv4 address" space list --nic soft --node 10.77.0
# shellcheck disable=SC2086  # words
refused 'node "10.77.0.9": no such node, or it does not answer (after ' $silent
[[ $(wc -l <"$dir/err") = 1 ]]
result $? "nothing is said meanwhile in a file"
wait $terminal
grep -q 'far: asking memory node 10.77.0.9: [0-9]* s' "$dir/terminal" &&
	grep -qF 'does not answer (after ' "$dir/terminal"
result $? "on a terminal it is said who is asked"
says "far " "$far" --version
says "far " "$far" space list --version
misused "'extra'" bench model extra
misused "--size '-1': a number from 1 to 1048576" bench micro --size -1
misused "--threads '0': a number from 1 to 2048" bench micro --threads 0
misused "--threads '': a number from 1" bench micro --threads 1..
misused "threads 9: expected at most as many" bench micro --threads 9..3
misused "batch 9: expected 1 to the depth" bench micro --batch 9
misused "size 16: expected 8 bytes for cas and faa" bench micro --size 16 --op cas
misused "--change-ms: expected with --threads N..M" bench micro --change-ms 5
misused "--nic 'sim': a profile expected" bench micro --nic sim
misused "--json '/nowhere/x': a file that can be written" bench micro --json /nowhere/x
misused "--json '/': a file that can be written" bench index --json /
misused "--theta nan: expected a number from 0 to 5" bench index --theta nan
misused "--theta 7: expected a number from 0 to 5" bench index --theta 7
misused "--cns 0: expected a number from 1 to 64" bench index --cns 0
misused "--mns 65: expected a number from 1 to 64" bench index --mns 65
misused "--keys 10000000000: 1 nodes of" bench index --keys 10000000000
misused "--variant foo: hash has race" bench index --variant foo
misused "--key-size 8: string keys have 24" bench index --key-type string --key-size 8
misused "--change-ms: expected with --threads N..M" bench index --change-ms 5
misused "--nic 'sim:': a profile expected" bench index --nic sim:
misused "--figure '99': 3, 4, 13" bench model --figure 99
misused "--fit and --sweep: one of them" bench model --fit --sweep
misused "'a/b': a name of 1 to 36 letters" space create a/b --size 8M
misused "'a b': a name of 1 to 36 letters" space create 'a b' --size 8M
misused "--size SIZE expected" space create x
misused "--node 'a': another node expected" space create x --size 8M --node a --node a
misused "no name expected" space list extra
misused "spin_ns=-1: expected a number from 0" bench micro --nic sim:cx6-200,spin_ns=-1
misused "--nic: foo: no parameter" bench micro --nic sim:cx6-200,foo=1
misused "profile '/' is not there" bench micro --nic sim:/
refused "the space is full" bench index --nic "$nic" --space-size 4M
says "memory nodes: 2" "$far" bench index --nic sim:cx6-200 --keys 1000 --ops 10000 --mns 2
says "Mop/s (model)" "$far" bench micro --nic sim:cx6-200 --ops 1000 --mns 2
interrupted micro --ops 1T
interrupted index --keys 1000 --ms 100000
"$far" info >/dev/full 2>"$dir/err"
[[ $? = 1 && $(<"$dir/err") = *"cannot write to the standard output"* ]]
result $? "a standard output that is full"
"$far" info >&- 2>"$dir/err"
[[ $? = 1 ]]
result $? "a standard output that is closed"
# Calls over the software NIC, between two processes.
port=$((20000 + RANDOM % 12000))
server_start "$dir/serve" rpc serve --nic "soft:udp=127.0.0.1:$port" bench
peer=(--nic "soft:udp=127.0.0.1:0:127.0.0.1:$port" --node 10.77.0.1)
says " us" "$far" rpc ping "${peer[@]}" --count 2 bench
says " 0 errors" "$far" bench rpc "${peer[@]}" --service bench --ops 100
refused 'service "nobody" at "10.77.0.1": no program serves it there' rpc ping "${peer[@]}" nobody
asks=(bench rpc "${peer[@]}" --workload index)
refused 'service "bench": expected an index' "${asks[@]}" --service bench
kill $server
wait $server
[[ $? = 0 && $(<"$dir/serve") = *"requests in"*"messages"* ]]
result $? "rpc serve ends with its counts"
misused "--node and --service expected together" bench rpc "${peer[@]}"
for command in "rpc serve" "rpc ping" "bench rpc --node 1 --service"; do
	# shellcheck disable=SC2086  # words
	misused "service 'a/b': 1 to 32 letters, digits, '-', '_' and '.' expected" $command a/b
done
misused "mem: 'x' is unknown; it knows dir=PATH" rpc serve --nic mem:x bench
misused "mem: 'x' is unknown; it knows dir=PATH" rpc ping --nic mem:x bench
misused "--qps 2: expected without qps= behind --nic" bench index --qps 2 --nic mem:qps=3
says "too few requests for a rate (measured)" "$far" bench rpc --nic "$nic" --ops 1
# Calls by datagrams, which not all back ends have.
datagrams=(bench rpc --variant datagram --ops 2000)
says "0 requests sent again" "$far" "${datagrams[@]}" --nic sim:cx6-200
misused "mem has no datagrams: --nic verbs or sim expected" "${datagrams[@]}" --nic "$nic"
misused "soft has no datagrams: --nic verbs or sim expected" "${datagrams[@]}" "${peer[@]}" \
	--service bench
misused "--datagrams: the back end mem has no datagrams" rpc serve --nic "$nic" --datagrams bench
# An index of another process; this one does not know its keys.
server_start "$dir/tree" rpc serve --nic "soft:udp=127.0.0.1:$port" --workload index \
	--keys 700 tree
says "700 keys at the server; 0 wrong" "$far" "${asks[@]}" --service tree --ops 300
says " 0 errors" "$far" bench rpc "${peer[@]}" --service tree --ops 100
kill $server
wait $server
[[ $? = 0 && $(<"$dir/tree") = *"medians, measured)"* ]]
result $? "rpc serve --workload index ends with its times"
misused "--keys 5: expected without --node" "${asks[@]}" --service tree --keys 5
misused "--keys: expected with --workload index" rpc serve --keys 5 tree
misused "--workload index: expected without --node" bench rpc --variant datagram \
	--workload index --nic verbs:x --node 1 --service tree
misused "--datagrams: expected without --workload index" rpc serve --nic verbs:x \
	--datagrams --workload index tree
misused "--workload 'x': echo or index expected" rpc serve --workload x tree
# An ordered index behind RPC.
index=(bench rpc --workload index --keys 500 --ops 200 --threads 2)
says "medians, measured); 0 wrong" "$far" "${index[@]}" --nic "$nic"
says '"wrong": 0' "$far" "${index[@]}" --nic sim:cx6-100 --get-ns 900 --scan-ns 9000 --json -
misused "no time passes in sim for a tree; --get-ns" "${index[@]}" --nic sim:cx6-100
misused "--get-ns and --scan-ns: expected with --nic sim" "${index[@]}" --get-ns 900
misused "--keys, --get-ns, --scan-ns: expected with --workload index" bench rpc --keys 5
misused "--workload 'x': echo or index expected" bench rpc --workload x
says '"errors": 0' "$far" bench index --nic "$nic" --keys 1000 --ops 1000 --warm-ms 0 \
	--threads 3 --qps 2 --json -
misused "--qps 0: expected a number from 1 to 256" bench index --qps 0
for command in "space create" "space serve" "space list" "space delete" "space stat" "space check" \
	"rpc ping" "rpc serve" "bench micro" "bench index" "bench rpc" "bench model"; do
	# shellcheck disable=SC2086  # two words
	described $command
done
exit $bad
