#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A memory node that lies: its software NIC changes what packets say before their
# checksum is made (forge_imm= and the others, odrp-mnoded.conf(5)). With
# checksum=crc32c, or protect=aead, nobody is given a wrong byte; what it says may be
# I/O errors, the end of the session, a device that cannot be added, and nothing worse.
# When it has told so many lies it goes on with the truth, and so does a new device.
. "$(dirname "$0")/lib.sh"
chains_only

more=1
# What notices it, and where that is counted.
notices=checksum=crc32c
noticed=checksum_errors
((nightly)) && more=5

# Rounds of: add, use, remove, unload; until one of them was without a fault.
# shellcheck disable=SC2016  # for the guest's shell
functions='
. /etc/odrp/run.conf
control=/sys/class/odrp-control
odrp=/sys/block/odrp0/odrp
sums="unknown_ids reconnects checksum_errors protect_errors load_errors store_errors"
fail() {
	echo "FAILED: round $round: $*"
	cat /tmp/err
	dmesg | tail -n 25
	exit 1
}
sum() {
	for c in $sums; do
		read -r now <$odrp/$c
		eval "sum_$c=\$((\${sum_$c:-0} + now))"
	done
}
clean() {
	for c in $sums; do
		is $odrp/$c 0 || return 1
	done
}
removed() {
	echo 0 >$control/hot_remove
}
remove() {
	within 20 removed 2>/tmp/err || fail "cannot be removed: $(cat $odrp/state)"
	[ ! -e $odrp ] || fail "removed, and still there"
}
reload() {
	within 20 rmmod odrp 2>/tmp/err || fail "not unloaded"
	eval "insmod /lib/odrp.ko $MODULE_PARAMS" || fail "not loaded again"
}
# There, or refused for a reason that the log tells.
add() {
	lines=$(dmesg | wc -l)
	(echo "$HOT_ADD" >$control/hot_add) 2>/tmp/err && return
	[ ! -e $odrp ] || fail "refused, and something is left behind"
	dmesg | tail -n +$((lines + 1)) | grep "odrp" | tail -n 1 >/tmp/why
	[ -s /tmp/why ] || fail "refused without a word"
	cut -d: -f4- /tmp/why >>/tmp/whys
	return 1
}
doubt() {
	swapped doubt-far --device=/dev/odrp0 --size=$size --ops=$ops \
		--seed=$round >/tmp/out 2>/tmp/err
	status=$?
	[ $status = 0 ] || fail "doubt-far: status $status"
}
'

# shellcheck disable=SC2016
read -r -d '' answers <<'GUEST'
size=$1 ops=$2 rounds=$3 round=0
removed
while :; do
	round=$((round + 1))
	[ $round -le $rounds ] || fail "no round without a fault"
	add || continue
	doubt
	echo "$(cat /tmp/out), state $(cat $odrp/state)"
	sum
	clean && break
	remove
	reload
done
for c in $sums; do
	eval "echo $c \$sum_$c"
done
echo "all well after $round"
GUEST

# shellcheck disable=SC2016
read -r -d '' hellos <<'GUEST'
size=1M ops=20 rounds=$1 round=0 refused=0 good=0
removed
while [ $good -lt 5 ]; do
	round=$((round + 1))
	[ $round -le $rounds ] || fail "it lies for ever"
	if add; then
		doubt
		clean && good=$((good + 1)) || good=0
		remove
	else
		good=0 refused=$((refused + 1))
	fi
	[ $((round % 10)) != 0 ] || reload
done
sed "s/[0-9]\+/N/g" /tmp/whys | sort | uniq -c | sort -rn
echo "refused $refused of $round"
add || fail "not added at last"
GUEST

# Without secrets, or most of what is forged would end in handshakes.
# lies LIES MTU OPTION... -- SCRIPT ARG...
lies() {
	local nic=$1
	local -a options=()
	shift
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	vm_script "${options[@]}" --auth none --add "$vm_workload/doubt-far" --mem 256M \
		--mtu 4500 --swap 16M --pool 128M --no-swapon --nic-opt "$nic" \
		--param "hot_add.$notices" \
		--param hot_add.timeout_ms=$((300 * slow)) \
		--param hot_add.dead_after_ms=$((2000 * slow)) \
		--param connect_ms=$((3000 * slow)) \
		--param mnode.beat-ms=200 --param mnode.dead-ms=$((1000 * slow)) \
		-- "$functions$2" "${@:3}"
	expect_status 0
	expect '.mnode.nic.fault_forged > 20' '.teardown_errors == []'
	expect_pages_back
	say "$(grep -vE '^ ' "$case_dir/out")"
}

# answers_that KERNEL LIES NUMBER OPTION...
answers_that() {
	lies "forge_after=30,forge_max=$(($3 * more)),forge_$2" --kernel "$1" "${@:4}" -- \
		"$answers" 4M $((100 * more)) 12
	expect_out 'all well'
	expect ".cnodes[0].stats.$noticed == 0"
}

not_what_was_asked() {
	answers_that "$1" "$2" "$3"
	grep -q '^unknown_ids 0' "$case_dir/out" && wrong "no unknown ids"
}

# A page comes right, and once more, as another, while it is looked at: by its
# reader, on another processor than the one that takes packets.
late() {
	answers_that "$1" late=0.5 1500 --param poll_us=1000
	grep -q "^$noticed 0" "$case_dir/out" && wrong "none was late"
}

# by_tags FUNCTION ARG...: with encryption in place of checksums.
by_tags() {
	local notices=protect=aead noticed=protect_errors
	"$@"
}

# Also when its request has become another, whose page it may then spoil, which is
# noticed; but it is not that one's answer.
twice() {
	answers_that "$1" replay=0.9 1000
	grep -q '^unknown_ids 0' "$case_dir/out" && wrong "no unknown ids"
	grep -Eq '^store_errors [1-9]' "$case_dir/out" &&
		wrong "a store failed"
}

# first_words KERNEL OPTION...
first_words() {
	vm_timeout=800 lies "forge_after=5,forge_max=$((40 * more)),forge_hello=0.5" \
		--kernel "$@" -- "$hellos" $((100 * more))
	grep -q '^refused 0' "$case_dir/out" && wrong "none was refused"
}

every=imm=0.01,forge_replay=0.05,forge_data=0.02,forge_length=0.01,forge_target=0.01
every+=,forge_opcode=0.01,forge_hello=0.05

tap_case "pages that change when they have come, 6.1" late 6.1
tap_case "answers that come twice, 6.1" twice 6.1
tap_case "answers that are wrong in every way, 6.1" not_what_was_asked 6.1 \
	$every 80
tap_case "first words that are nonsense, 6.1" first_words 6.1
if ((nightly)); then
	for kernel in 5.10 6.1 6.12; do
		[[ $kernel = 6.1 ]] ||
			tap_case "late, $kernel" late $kernel
		[[ $kernel = 6.1 ]] ||
			tap_case "twice, $kernel" twice $kernel
		tap_case "unknown ids, $kernel" not_what_was_asked $kernel \
			imm=0.02,forge_replay=0.1 60
		tap_case "late, protect=aead, $kernel" by_tags late $kernel
		for lie in data=0.03 length=0.03 target=0.03 opcode=0.03; do
			tap_case "${lie%=*}, $kernel" answers_that $kernel $lie 40
		done
		[[ $kernel = 6.1 ]] ||
			tap_case "first words, $kernel" first_words $kernel
	done
	# What READs bring, of pages and of the rkeys themselves.
	keyed=(--param mnode.translate=nic)
	tap_case "data, translate=nic" answers_that 6.1 data=0.03 40 "${keyed[@]}"
	tap_case "first words, translate=nic" first_words 6.1 "${keyed[@]}"
fi
tap_end
