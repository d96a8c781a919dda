#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A compute node dies without a word. Its pages are back after
# the heartbeat's time-out, and another one is not disturbed.
. "$(dirname "$0")/lib.sh"

# Node 1 has its pages out and is switched off; node 0 swaps on until it is
# sure that the agent must have noticed (it does after 10 s without a beat).
read -r -d '' script <<'GUEST'
if [ "$CNODE_ID" = 1 ]; then
	swapped pattern-far --size=$1 --repeat=100 >/tmp/log &
	until grep -q verify1 /tmp/log; do
		usleep 100000
	done
	echo b >/proc/sysrq-trigger
	sleep 60
	exit 1
fi
while ping -c 1 -W 2 10.77.0.11 >/dev/null; do
	swapped pressure-far --size=64M --processes=3 --seconds=4 || exit 1
	check_mnode
done
echo "the other one is gone"
swapped pressure-far --size=64M --processes=3 --seconds=8
GUEST

dies() {
	# So slow a guest writes some twenty pages in a second.
	# shellcheck disable=SC2046  # options
	vm_timeout=600 vm_beside check_pages vm_script --cnodes 2 --mem 142M \
		--swap 192M $([[ $mnode_in = host ]] || vm_patience) -- "$script" $((slow > 1 ? 50 : 72))M
	# One machine went down: that is what the status says.
	expect_status 125
	expect '.cnodes[0].status == 0' '.cnodes[1] == null' \
		'.cnodes[0].stats.load_errors == 0' \
		'.cnodes[0].stats.store_errors == 0' \
		'.teardown_errors == []' \
		'.mnode.pages_mapped <= 64 * 256' \
		'.mnode_end.pages_mapped == 0' \
		'.mnode_end.pages_free + .mnode_end.pages_armed == .mnode_end.pages_total'
	expect_checked
}

tap_case_guests "pages are back, the other node swaps on" dies
tap_end
