#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# RPC between two processes over verbs, on the rdma_rxe of stock kernels: a service is called
# from many threads, by who may call it, and all callers of a server that is killed end. The
# same by datagrams, and what the conformance suite asks of those. With ODRP_MNODE_IN=guest
# calls over connections between two guests.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
called=$rxe_device'
nic=verbs:rxe9,spin_us=0 far=/x/far
serve() {
	$far rpc serve --nic "$@" bench >/tmp/serve 2>&1 &
	server=$!
	within 30 grep -q "serving bench" /tmp/serve || { cat /tmp/serve; exit 4; }
}
serve $nic
peer="--nic $nic --node 10.78.0.1"
$far rpc ping $peer --count 2 bench || exit 5
$far rpc ping $peer nobody && exit 6
bench="bench rpc $peer --service bench"
$far $bench --threads 4 --outstanding 8 --ops 400 || exit 7
$far $bench --variant datagram 2>&1 && exit 11
# The server dies while it is called: more packets have come than connections need.
received() {
	cat /sys/class/infiniband/rxe9/ports/1/hw_counters/rcvd_pkts
}
calling() {
	[ $(received) -gt $((begin + 300)) ]
}
killed() {
	begin=$(received)
	$far $bench "$@" --threads 4 --ops 100000000 >/tmp/killed 2>&1 &
	calls=$!
	within 60 calling || exit 17
	kill -9 $server
	within 60 test ! -e /proc/$calls || exit 8
	cat /tmp/killed
	grep -q " [1-4] errors" /tmp/killed || exit 18
}
killed

serve $nic
$far rpc ping $peer --count 1 bench || exit 9
kill $server
wait $server || exit 10
cat /tmp/serve
serve $nic --workload index --keys 500
$far bench rpc $peer --service bench --workload index --ops 400 || exit 11
kill $server
wait $server || exit 17

serve $nic --threads 2 --datagrams
$far $bench --variant datagram --threads 4 --outstanding 8 --ops 400 || exit 12
$far $bench --variant datagram --ops 40 --size 2000 || exit 13
$far $bench --variant datagram --ops 40 --size 2048 2>&1 && exit 14
$far $bench --ops 40 || exit 15
kill $server
wait $server || exit 16
cat /tmp/serve
serve $nic --datagrams
killed --variant datagram

export FAR_TEST_NIC=$nic
export FAR_TEST_HOST=soft:nodes=2,ip=10.78.0.9/24,mtu=2200,packet=veth0
CMOCKA_TEST_FILTER="test_datagram_*" exec test-far-nic-suite verbs 2>&1'

# called KERNEL
called() {
	rxe_modules "$1"
	vm_script --kernel "$1" --no-odrp --mem 300M --add "$case_dir/modules" \
		--add "$vm_far_tool" --add "$vm_far_suite" -- "$called"
	expect_status 0
	expect_out ' 0 errors'
	expect_out 'requests in'
	expect_out '500 keys at the server; 0 wrong'
	expect_out 'bench. at .10.78.0.1. has no datagrams'
	expect_out '2048 bytes and their head are longer than a packet'
	expect_out ', datagram$'
	expect_out 'requests sent again'
	expect_out '[1-9][0-9]* requests by datagrams'
	expect_out 'OK . test_datagram_rpc'
	((case_failed)) && grep -B3 FAILED "$case_dir/out" >&2
	say "$(grep -E 'op/s|us' "$case_dir/out" | paste -sd';')"
	say "$(grep -c '^\[ *OK \]' "$case_dir/out") tests of datagrams"
}

# The server's guest does what the other one asks for, a word at a time.
# shellcheck disable=SC2016
apart='
nic=verbs:rxe0,spin_us=0 far=/x/far
peer="--nic $nic --node 10.77.0.11"
if [ "$CNODE_ID" = 1 ]; then
	while :; do
		case $(nc -l -p 99 </dev/null) in
		serve)
			$far rpc serve --nic $nic bench >/tmp/serve 2>&1 &
			server=$!
			;;
		kill) kill -9 $server ;;
		end)
			kill $server
			wait $server || exit 10
			exit 0
			;;
		esac
	done
fi
told() {
	echo $1 | nc -w 5 10.77.0.11 99
}
tell() {
	within 60 told $1 || exit 4
}
# has_sent NR: packets since there were $before.
sent=/sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts
has_sent() {
	read -r now <$sent && [ $now -ge $((before + $1)) ]
}
answers() {
	$far rpc ping $peer --count 1 bench 2>&1
}
tell serve
within 60 answers || exit 5
$far rpc ping $peer nobody && exit 6
$far bench rpc $peer --service bench --threads 4 --outstanding 8 --ops 400 || exit 7
read -r before <$sent
$far bench rpc $peer --service bench --threads 4 --ops 100000000 >/tmp/killed 2>&1 &
bench=$!
within 60 has_sent 200 || exit 11
tell kill
within 20 test ! -e /proc/$bench || exit 8
cat /tmp/killed
tell serve
within 60 answers || exit 9
tell end'

# called_apart KERNEL: the memory node of the run has nothing to do.
called_apart() {
	vm_script --kernel "$1" --cnodes 2 --auth none --no-swapon --mem 300M --swap 16M \
		--add "$vm_far_tool" -- "$apart"
	expect_status 0
	expect_out ' 0 errors'
	# Errors of calls, or of a connection that was made meanwhile.
	expect_out '[1-4] errors|^far bench rpc: .*: nobody there offers'
	say "$(grep -E 'op/s|us' "$case_dir/out" | paste -sd';')"
}

vm_far_tool=$(userspace_dir)/userspace/tool/far
vm_far_suite=$(userspace_dir)/tests/unit/userspace/nic/test-far-nic-suite
if [[ $mnode_in = guest ]]; then
	tap_case_guests "far rpc between two guests, 6.1" called_apart 6.1
fi
for kernel in "${kernels[@]}"; do
	tap_case "far rpc on rdma_rxe, $kernel" called "$kernel"
done
tap_end
