#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `wrc cost`, and variants in the other commands, from outside.
#
#   test-cost.sh WRC

set -u
wrc=$1
# shellcheck source=/dev/null
. "$(dirname "$0")/tool-lib.sh"

# lines N: of programs in the last output
lines() {
	n=$(grep -cE '^(load|mapped_store|unmapped_store|invalidate) ' "$dir/out")
	if [ "$n" -ne "$1" ]; then
		echo "$n rows instead of $1:"
		cat "$dir/out"
		failed=1
	fi
}

# row REGEX: is one of the last output's
row() {
	if ! grep -q -- "$1" "$dir/out"; then
		echo "no row $1:"
		cat "$dir/out"
		failed=1
	fi
}

# Each rung by name, in every command that takes programs.
for v in naive store-decision calc-tt-addr recycle-helper paper; do
	expect 0 "$wrc" list --variant $v
	says out unmapped_store
	for p in load mapped_store unmapped_store invalidate; do
		expect 0 "$wrc" show $p --variant $v
		says out "$p, $v, "
		expect 0 "$wrc" run $p --variant $v --count 40
		says out '40 requests, all well'
	done
	expect 0 "$wrc" show load --variant $v --json
	says out "\"variant\": \"$v\""
	expect 0 "$wrc" run load --variant $v --json
	says out "\"variant\": \"$v\""
	expect 0 "$wrc" dis --prog load --variant $v
	says out 'l0@3'
	expect 1 "$wrc" check --prog load --variant $v
	says out refused
	expect 2 "$wrc" image load --variant $v
	expect 2 "$wrc" show load --variant $v --strict
	says err 'relaxed only'
done

# Page exchange: accepted, in both modes.
for mode in strict relaxed; do
	for p in load mapped_store unmapped_store invalidate; do
		expect 0 "$wrc" show $p --variant exchange --$mode
		expect 0 "$wrc" run $p --variant exchange --$mode --count 40
		says out '40 requests, all well'
		expect 0 "$wrc" check --prog $p --variant exchange --$mode
		says out ': ok'
	done
done
expect 0 "$wrc" list --variant exchange
expect 0 "$wrc" dis --prog load --variant exchange
expect 2 "$wrc" image load --variant exchange

# Translation in the NIC: two chains, recycled by the node.
for mode in strict relaxed; do
	for o in wait fence; do
		for p in unmapped_store invalidate; do
			v="--variant keyed --recycle node --order $o --$mode"
			# shellcheck disable=SC2086
			expect 0 "$wrc" show $p $v
			# shellcheck disable=SC2086
			expect 0 "$wrc" run $p $v --count 40
			says out '40 requests, all well'
			# shellcheck disable=SC2086
			expect 0 "$wrc" check --prog $p $v
			says out ': ok'
		done
	done
done
expect 0 "$wrc" list --variant keyed --recycle node
says out invalidate
for p in load mapped_store; do
	expect 2 "$wrc" show $p --variant keyed --recycle node
	says err 'the client does that alone'
	expect 0 "$wrc" cost $p --variant keyed --recycle node
	lines 1
done
expect 2 "$wrc" show invalidate --variant keyed
says err '--recycle=node'

# A ConnectX takes receive entries of at most 512 bytes: those of recycle=node fit.
for p in mapped_store unmapped_store; do
	expect 0 "$wrc" cost $p --variant exchange --recycle node --json
	says out '"recv_bytes": 128'
done
expect 0 "$wrc" cost unmapped_store --variant exchange --json
says out '"recv_bytes": 1024'

expect 0 "$wrc" show load --variant naive --json
says out '"step": 32'
expect 0 "$wrc" show load --variant ours --strict
expect 2 "$wrc" show load --variant fastest
says err "no variant 'fastest'"
for gone in pull lane-ring; do
	expect 2 "$wrc" show load --variant $gone
	says err "no variant '$gone': ours, exchange, keyed"
done
expect 2 "$wrc" cost --ideas
says err ideas

# All programs and rungs; some; one.
expect 0 "$wrc" cost
lines 40
says out 'load           armed  '
says out 'load           armed-known  '
says out 'not run on hardware'
says out 'model us'
says out 'paper us'
expect 0 "$wrc" cost load invalidate
lines 20
expect 0 "$wrc" cost unmapped_store --variant naive
lines 1
says out ' 35.9 '
expect 0 "$wrc" cost --variant ours
lines 4
expect 0 "$wrc" cost --relaxed --variant ours load
lines 1

# What the agent arms, where nothing is known of the card and where all is.
expect 0 "$wrc" cost --variant armed
lines 4
row '^load  *armed .* 5\.21 '
row '^invalidate  *armed .* 11\.33 '
expect 0 "$wrc" cost --variant armed-known
lines 4
row '^load  *armed-known .* 3\.29 '
row '^unmapped_store armed-known .* 9\.51 '
expect 0 "$wrc" cost --json unmapped_store --variant armed
says out '"variant": "armed",'
expect 0 "$wrc" cost --json unmapped_store --variant armed-known
says out '"variant": "armed-known",'
expect 0 "$wrc" cost mapped_store --variant armed-known --cnodes 1,8
lines 2
for v in armed armed-known; do
	for how in '--recycle client' '--recycle node' '--order wait'; do
		# shellcheck disable=SC2086
		expect 2 "$wrc" cost --variant $v $how
		says err "'${how#* }' with variant $v"
	done
	for command in 'show load' 'run load' list bench; do
		# shellcheck disable=SC2086
		expect 2 "$wrc" $command --variant $v
		says err "variant '$v' is for cost only: expected ours, exchange"
	done
done

# What the model says and what the paper says have their own keys.
expect 0 "$wrc" cost --json unmapped_store --variant paper
for key in model_latency_us paper_latency_us model_saturation_mops wrs_path \
	waits send_ens atomics sges wqe_bytes pcie_in_bytes pcie_out_bytes \
	dependent_fetches page_copies model_demand_ns; do
	says out "\"$key\":"
done
says_not out '"latency_us"'
expect 0 "$wrc" cost --json load --variant ours
says_not out paper_latency_us

expect 0 "$wrc" cost --fit
says out 'load / one-sided throughput'
says out 'parameters of the model'
says out 'QP_CACHE'
expect 0 "$wrc" cost --fit --json
says out '"error_percent"'
says out '"fitted": true'
says out '"fitted": false'

expect 0 "$wrc" cost --sweep
says out 'FETCH         0.5'
says out 'FETCH         2.0'
# All parameters of what is armed move something, on the NIC that is known, too.
row '^KSM  *2\.0  *5\.21  *3\.67  *4\.83 '
row '^UMR  *2\.0 .* 5\.84  *10\.64  *9\.40$'
row '^CPL  *2\.0  *71\.0 pcie in  *97\.9 pcie in '
expect 0 "$wrc" cost --sweep --json
says out '"parameter": "RTT"'
for key in load_armed_us load_known_us load_paper_chain_us mapped_known_us \
	unmapped_known_us load_share_percent load_known_share_percent \
	mapped_known_mops unmapped_mops unmapped_known_mops unmapped_known_saturates; do
	says out "\"model_$key\":"
done

# Tables with programs of their own take no others.
for table in sweep fit; do
	for how in '--variant keyed' '--recycle client' '--order fence' \
		'--depth 8' '--cnodes 8' '--queues 2' '--count 3' '--prog load'; do
		# shellcheck disable=SC2086
		expect 2 "$wrc" cost --$table $how
		says err "${how% *} '${how#* }' with --$table, which has programs"
		says err 'expected --param, --strict, --relaxed or --json'
	done
	expect 2 "$wrc" cost --$table --recycle node --variant keyed
	says err "--recycle 'node' with --$table"
	expect 2 "$wrc" cost --$table load
	says err "program 'load' with --$table, which has programs of its own: expected none"
	expect 0 "$wrc" cost --$table --relaxed --param RTT=1000
done
expect 0 "$wrc" cost --sweep --fit --json
says out '"sweep":'

# A parameter that somebody knows better: 4.83 us and 100 ns less.
expect 0 "$wrc" cost load --variant paper --param RTT=2184.1 --param LINK=100
says out ' 4.73 '
expect 0 "$wrc" cost --sweep --param BATCH=4
expect 0 "$wrc" cost --fit --json --param FETCH=100
says out '"value": 100'
for bad in RTT RTT= =1 RT=1 RTTX=1 RTT=x RTT=0 RTT=-1 RTT=1x RTT=nan RTT=inf; do
	expect 2 "$wrc" cost --param $bad
	says err "'$bad'"
done

# One client to a thousand; the paper's and our own unless asked otherwise.
expect 0 "$wrc" cost --cnodes 1,10,100,1000
lines 48
says out 'READ 4 KB'
says out 'loop queue'
expect 0 "$wrc" cost --cnodes 1,1000 --queues 1,4,16 load --variant naive
lines 6
expect 0 "$wrc" cost --queues 2 load -K 8 --json
says out '"outstanding": 7'
says out '"model_busiest"'

expect 2 "$wrc" cost nonsense
says err "no program 'nonsense'"
for bad in 0 1001 -1 '1,' '1,,2' x 1x '1 2' ''; do
	expect 2 "$wrc" cost --cnodes "$bad"
	says err 'list of numbers from 1 to 1000'
done
expect 2 "$wrc" cost --queues 2000
says err '2000'

exit $failed
