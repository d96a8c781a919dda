#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The software NIC against others' tools: rping of rdmacm-utils, over the
# rdma_rxe of each stock kernel, with a server of ours (snic-echo) on this host.
. "$(dirname "$0")/lib.sh"
. "$vm_top/scripts/lib/vm-mnode.sh"	# the addresses

# serve OPTION...: snic-echo, as soon as the machine has its sockets; nothing when
# it comes to its end before.
serve() {
	local dir
	while [[ -d $case_dir/tmp ]]; do
		dir=$(echo "$case_dir"/tmp/odrp-vm.*)
		if [[ -S $dir/guest0.sock ]]; then
			exec "$(userspace_dir)/tests/echo/snic-echo" \
				--dgram "$dir/agent0.sock:$dir/guest0.sock" "$@"
		fi
		sleep 0.05
	done
}

# answers KERNEL COUNT SERVER_OPTION...
answers() {
	local kernel=$1 count=$2 server sent
	shift 2
	mkdir "$case_dir/tmp"
	serve "$@" >"$case_dir/server" 2>&1 &
	server=$!
	# rping ends a thread with pthread_exit(), which loads libgcc_s.
	TMPDIR=$case_dir/tmp vm --kernel "$kernel" --no-odrp --mem 256M \
		--add "$(command -v rping)" \
		--add "$(gcc -print-file-name=libgcc_s.so.1)" -- sh -c "
			export LD_LIBRARY_PATH=/x
			rping -c -a 10.77.0.1 -p 7174 -V -S 64 -C $count &&
			rping -c -a 10.77.0.1 -p 7174 -V -S 60000 -C $count"
	rm -rf "$case_dir/tmp"
	kill "$server" 2>/dev/null
	wait "$server"
	expect_status 0
	sent=$(sed -n 's/^writes //p' "$case_dir/server")
	((${sent:-0} >= 2 * count)) || wrong "the server wrote ${sent:-0} times"
	((case_failed)) && sed 's/^/server: /' "$case_dir/server" >&2
	say "$(grep -E '^(rx_frames|tx_frames|retransmits|timeouts|fault_lost) ' \
		"$case_dir/server" | paste -sd' ')"
}

# call OPTION...: snic-echo, as the client, as soon as the machine listens.
# rping's server takes two requests for one connection: a request that was sent
# earlier, refused, and repeated meanwhile would be the second.
call() {
	while [[ -d $case_dir/tmp ]]; do
		grep -qs '^listening$' "$case_dir/out" && serve --connect "$@"
		sleep 0.05
	done
	echo "rping did not listen"
	return 1
}

# shellcheck disable=SC2016  # for the guest's shell
rping_server='
listens() {
	rdma resource show cm_id | grep -q "state LISTEN"
}
LD_LIBRARY_PATH=/x rping -s -a $1 -p 7174 -V -S 40000 -C $2 &
within 20 listens && echo listening
wait $!'

# asks KERNEL COUNT: the machine serves, and we are the client.
asks() {
	local kernel=$1 count=$2 client
	mkdir "$case_dir/tmp"
	call "$GUEST_NET.10" --mtu 2200 --rounds "$count" --size 40000 \
		>"$case_dir/client" 2>&1 &
	client=$!
	TMPDIR=$case_dir/tmp vm_script --kernel "$kernel" --no-odrp --mem 256M \
		--add "$(command -v rping)" \
		--add "$(gcc -print-file-name=libgcc_s.so.1)" -- \
		"$rping_server" "$GUEST_NET.10" "$count"
	rm -rf "$case_dir/tmp"
	expect_status 0
	wait "$client" || wrong "the client failed with status $?"
	((case_failed)) && sed 's/^/client: /' "$case_dir/client" >&2
	say "$(grep '^connection' "$case_dir/client")"
}

packages_install bench || exit 1
# By day each is on the kernels that the others are not.
clients=(6.12)
servers=(5.10)
((nightly)) && clients=(5.10 6.1 6.12) servers=(5.10 6.1 6.12)
for kernel in "${clients[@]}"; do
	tap_case "rping on $kernel" answers "$kernel" 100
done
for kernel in "${servers[@]}"; do
	tap_case "rping's server on $kernel" asks "$kernel" 50
done
tap_case "rping on 6.1, 2 % of all packets lost" answers 6.1 20 --loss=0.02
tap_end
