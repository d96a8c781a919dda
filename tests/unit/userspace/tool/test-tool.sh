#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The far command: spaces from creation to deletion, benchmarks, and what it answers to what is typed wrong.
# usage: test-tool.sh FAR
set -u
far=$1
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

# refused TEXT ARG...: far fails, names the value and says what it expected.
refused() {
	local text=$1 status
	shift
	timeout 20 "$far" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	[[ $status != 0 && $status -lt 120 && ! -s $dir/out ]] &&
		tr -s ' \n' ' ' <"$dir/err" | grep -qF -- "$text"
	result $? "far $*"
}

echo 1..44
says "" "$far" space create demo --size 64M --nic "$nic"
says "demo" "$far" space list --nic "$nic"
says "" "$far" space check demo --nic "$nic"
says '"problems":0' "$far" space check demo --nic "$nic" --json
says "" "$far" space stat demo --nic "$nic"
says '"errors": 0' "$far" bench index --nic "$nic" --keys 1000 --ops 1000 --warm-ms 0 \
	--workload A --load insert --json -
says '"tier": "model"' "$far" bench index --nic sim:cx6-200 --keys 1000 --ms 1 \
	--warm-ms 0 --threads 4 --json -
says "mem" "$far" info
refused "exists" space create demo --size 64M --nic "$nic"
says "" "$far" space delete demo --nic "$nic"
refused "no" space stat demo --nic "$nic"
refused "no command 'spaces'" spaces
refused "'3'" space create x --size 3 --nic "$nic"
refused "there is no such directory" space create x --size 8M --nic mem:dir=/nowhere
refused "absolute path" space create x --size 8M --nic mem:dir=here
refused "--index tree: expected hash" bench index --index tree
refused "--workload Z: expected A, B" bench index --workload Z
refused "--keys 0: expected a number from 1" bench index --keys 0
refused "--threads 9..3: expected N or N..M" bench index --threads 9..3
refused "--without cashe: expected throttle" bench index --without cashe
refused "nowhere" bench index --nic sim:nowhere --keys 10
refused "--depth 'x': a number from 1 to 1024 expected" bench micro --depth x
refused "--batch '1025': a number from 1 to 1024 expected" bench micro --batch 1025
refused "--ops '16777217T': a number from 1" bench micro --ops 16777217T
refused "--op 'send': read, write, cas or faa expected" bench micro --op send
refused "--policy 'mine': shared-qp" bench micro --policy mine
refused "--throttle '2': 0.0001 to 1 expected" bench micro --throttle=2
refused "the name of a space expected" space create --size 64M --nic "$nic"
refused "--clients '0': a number from 1 to 4094 expected" space create x --clients 0
refused "--mode '9': permissions" space create x --size 8M --mode 9
refused "chunk size 3145728: expected a power of two" \
	space create x --size 8M --chunk 3M --nic "$nic"
refused "no back end 'bogus'; there are: mem, soft, sim" space list --nic bogus
refused "'extra'" bench model extra

says '"errors": 0' "$far" bench index --nic soft --keys 500 --ops 500 --warm-ms 0 \
	--workload A --json -
says "soft:nodes=2" "$far" bench micro --nic soft:nodes=2 --mns 2 --threads 2 --ops 500 \
	--json -
refused "nodes=x: expected a number" bench micro --nic soft:nodes=x
refused "--node: expected with --space" bench micro --nic soft --node 0
refused "--node: expected with --space" bench index --nic soft --node 0
refused "--load image: expected insert" bench index --nic soft --space s --load image
refused "expected read" bench micro --nic soft --space s --op write

# A space in another process.
near=soft:ip=10.77.0.9/24,dgram=$dir/b:$dir/a
"$far" space serve cache --size 64M --nic "soft:nodes=1,dgram=$dir/a:$dir/b" \
	>"$dir/serve" 2>&1 </dev/null &
server=$!
until [[ -s $dir/serve ]] || ! kill -0 $server; do
	sleep 0.1
done
says '"errors": 0' "$far" bench index --nic "$near" --space cache --node 10.77.0.2 \
	--keys 300 --ops 300 --warm-ms 0 --workload A --json -
says "" "$far" bench micro --nic "$near" --space cache --node 10.77.0.2 --ops 500
refused "cannot reach memory" bench micro --nic "$near" --space cash --node 10.77.0.2
kill $server
wait $server
result $? "far space serve"
exit $bad
