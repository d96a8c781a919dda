#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Memory and swap are both full: who asks for more is killed, nobody else is,
# what the others have stays what it was, and the device can be taken down.
. "$(dirname "$0")/lib.sh"

# A file in memory is there from before to after, and processes that look at
# all they have come and go.
read -r -d '' script <<'GUEST'
bystanders() {
	while [ ! -e /tmp/enough ]; do
		swapped pressure-far --size=16M --processes=2 --lives=1 \
			--seed=$1 >>/tmp/log || return 1
	done
}

mkdir /sys/fs/cgroup/few
echo 16M >/sys/fs/cgroup/few/memory.max
echo 24M >/sys/fs/cgroup/few/memory.swap.max
swapped dd if=/dev/urandom of=/tmp/kept bs=1M count=8 2>/dev/null
sha1sum /tmp/kept >/tmp/sum
round=0
while [ $round -lt $1 ]; do
	rm -f /tmp/enough
	bystanders $round 2>/tmp/err &
	bystanders=$!

	# More than the machine and the device have.
	swapped pattern-far --size=400M --repeat=1 >/tmp/hog 2>&1
	status=$?
	echo "the machine is full: status $status"
	[ $status = 137 ] || exit 1

	# More than its group may have of either.
	sh -c 'echo $$ >/sys/fs/cgroup/few/cgroup.procs
		exec pattern-far --size=80M --repeat=1' >/tmp/hog 2>&1
	status=$?
	echo "the group is full: status $status"
	[ $status = 137 ] || exit 2

	touch /tmp/enough
	wait $bystanders || { cat /tmp/err; exit 3; }
	cat /tmp/log
	swapped sha1sum -c /tmp/sum || exit 4
	round=$((round + 1))
done
grep -q "^oom_kill $1$" /sys/fs/cgroup/few/memory.events || exit 5
dmesg | grep -oE 'Free swap += [0-9]+kB|swap: usage [0-9]+kB' | sort | uniq -c
dmesg | grep -oE 'Killed process [0-9]+ \([^)]*\)' | sed 's/[0-9]* (/(/' |
	sort | uniq -c
swapped pressure-far --size=48M --processes=3 --lives=1 --rounds=1 || exit 6
echo all well
GUEST

# only_the_greedy KERNEL ROUNDS OPTION...
only_the_greedy() {
	vm_script --kernel "$1" --mem 150M --swap 48M "${@:3}" -- "$script" "$2"
	expect_status 0
	expect_out 'all well'
	# Both kinds of kill, and the device full at one of them: as the machine says
	# of itself, or as the group says that is the machine for programs.
	expect ".cnodes[0].vmstat.oom_kill == 2 * $2"
	expect_out 'Free swap += [0-9]{1,3}kB|swap: usage 4[89][0-9]{3}kB'
	expect_out "^ *$((2 * $2)) Killed process \(pattern-far\)"
	expect_clean
	say "$(grep -E '^ |^pressure' "$case_dir/out" | tail -n 5 | paste -sd,)"
}

rounds=1
((nightly)) && rounds=8
tap_case "the greedy one is killed, 6.1" only_the_greedy 6.1 1
if ((long_cases)); then
	vm_timeout=1500
	for kernel in 5.10 6.1 6.12; do
		tap_case "again and again, $kernel" only_the_greedy $kernel $rounds
	done
	tap_case "again and again, frontswap on 5.10" \
		only_the_greedy 5.10 $rounds --backend frontswap
fi
tap_end
