#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# RPC between two processes over verbs, on the rdma_rxe of stock kernels: a service is called
# from many threads, by who may call it, and all callers of a server that is killed end.
# With ODRP_MNODE_IN=guest the same between two guests.
. "$(dirname "$0")/lib.sh"

# shellcheck disable=SC2016  # for the guest's shell
called=$rxe_device'
nic=verbs:rxe9,spin_us=0 far=/x/far
serve() {
	$far rpc serve --nic $1 bench >/tmp/serve 2>&1 &
	server=$!
	within 30 grep -q "serving bench" /tmp/serve || { cat /tmp/serve; exit 4; }
}
serve $nic
peer="--nic $nic --node 10.78.0.1"
$far rpc ping $peer --count 2 bench || exit 5
$far rpc ping $peer nobody && exit 6
$far bench rpc $peer --service bench --threads 4 --outstanding 8 --ops 400 || exit 7
read -r before <$sent
$far bench rpc $peer --service bench --threads 4 --ops 100000000 >/tmp/killed 2>&1 &
bench=$!
within 30 grep -q . /proc/$bench/stat && usleep 1000000
kill -9 $server
within 20 test ! -e /proc/$bench || exit 8
cat /tmp/killed

serve $nic
$far rpc ping $peer --count 1 bench || exit 9
kill $server
wait $server || exit 10
cat /tmp/serve'

# called KERNEL
called() {
	rxe_modules "$1"
	vm_script --kernel "$1" --no-odrp --mem 300M --add "$case_dir/modules" \
		--add "$vm_far_tool" -- "$called"
	expect_status 0
	expect_out ' 0 errors'
	expect_out '[1-4] errors'
	expect_out 'requests in'
	say "$(grep -E 'op/s|us' "$case_dir/out" | paste -sd';')"
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
	expect_out '[1-4] errors|^far bench rpc: .*: Connection refused'
	say "$(grep -E 'op/s|us' "$case_dir/out" | paste -sd';')"
}

vm_far_tool=$(userspace_dir)/userspace/tool/far
if [[ $mnode_in = guest ]]; then
	tap_case_guests "far rpc between two guests, 6.1" called_apart 6.1
fi
for kernel in "${kernels[@]}"; do
	tap_case "far rpc on rdma_rxe, $kernel" called "$kernel"
done
tap_end
