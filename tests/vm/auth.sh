#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Identities: a device with the right key works, and is resumed by it; with a wrong one,
# with none, or with a name that the memory node does not know any more it is refused in
# one line. A secret that is replaced counts from the next handshake on.
. "$(dirname "$0")/lib.sh"

# Enough pages are the guest's sign that it is time.
revoke() {
	local mapped pid
	mapped=$(mnode_status "$1" | jq .pages_mapped)
	((${mapped:-0} > 2000)) && [[ -f ${1%/*}/keys.d/vm ]] || return 0
	rm "${1%/*}/keys.d/vm"
	pid=$(pgrep -f "odrp-mnoded.*$1") && kill -HUP "$pid"
}

# shellcheck disable=SC2016  # for the guest's shell
functions='
. /etc/odrp/run.conf
node=10.77.0.1
control=/sys/class/odrp-control
odrp=/sys/block/odrp0/odrp
plain=${HOT_ADD%% key=*}
plain=${plain%% size=*}
fail() {
	echo "FAILED: $*"
	dmesg | tail -n 25
	exit 1
}
load() {
	odrpctl key load vm --dir $1 || fail "key load $1"
}
# A second, small device; and what the log has had to say.
add() {
	echo "mark $*" >/dev/kmsg
	(echo "$plain size=4M queues=1 depth=4 id=1 $*" >$control/hot_add) 2>/tmp/err
	status=$?
	said=$(dmesg | sed -n "/mark/h;/mark/!H;\${x;p}" | grep "odrp.*: ")
}
# refused PATTERN WORDS: in two lines at most, one of which says that it is not added.
refused() {
	pattern=$1
	shift
	add "$@"
	[ $status != 0 ] || fail "added: $*"
	[ "$(echo "$said" | grep -vc "not added")" = 1 ] || fail "$*: $said"
	echo "$said" | grep -q "$pattern" || fail "$*: $said"
	echo "$*: $said"
}
is_revoked() {
	add key=vm
	[ $status != 0 ] && return
	echo 1 >$control/hot_remove
	usleep 500000
	return 1
}
reads() {
	dd if=/dev/odrp0 bs=64k count=16 iflag=direct 2>/dev/null | cmp - /tmp/a
}
cut() {
	arp -s $node 02:00:00:00:00:01 || fail "arp"
	dd if=/tmp/a of=/dev/odrp0 bs=4k count=1 oflag=direct 2>/dev/null &
	within 30 is $odrp/state lost || fail "not lost"
	arp -d $node
}
dd if=/dev/urandom of=/tmp/a bs=64k count=16 2>/dev/null
dd if=/tmp/a of=/dev/odrp0 bs=64k oflag=direct 2>/dev/null || fail "store"
is $odrp/auth hmac-sha256 || fail "auth is $(cat $odrp/auth)"
cat $odrp/key 2>/dev/null && fail "the key can be read"
'

# The wrong secret for the same name is in the way until it is replaced.
# shellcheck disable=SC2016
read -r -d '' keys <<'GUEST'
reads || fail "read"
odrpctl swap status odrp0 | grep -q "auth  *hmac-sha256$" || fail "swap status"
refused "no key logon odrp:other" key=other
refused "key= is missing: .*auth=none, which is insecure"
refused "not proved who asks" auth=none
refused "expected one of them" auth=none key=vm
odrpctl key new vm --dir /tmp/wrong >/dev/null
load /tmp/wrong
refused "refuses key .vm." key=vm
echo vm >$odrp/key || fail "the secret is not replaced"
echo other >$odrp/key 2>/dev/null && fail "another name"
cut
usleep 1500000
is $odrp/state lost || fail "resumed by a wrong secret: $(cat $odrp/state)"
load /etc/odrp/keys.d
echo vm >$odrp/key || fail "the secret is not replaced again"
within 60 is $odrp/state live || fail "not resumed: $(cat $odrp/state)"
wait
reads || fail "read after that"
is $odrp/reconnects 1 || fail "reconnects $(cat $odrp/reconnects)"
add key=vm
[ $status = 0 ] || fail "not added with the right key: $said"
echo 1 >$control/hot_remove
dd if=/dev/zero of=/dev/odrp0 bs=64k seek=16 count=144 oflag=direct 2>/dev/null
within 60 is_revoked || fail "not revoked"
refused "refuses key .vm." key=vm
reads || fail "read after the name was removed"
dmesg | grep -qF "$(sed 's/.* //' /etc/odrp/keys.d/vm)" && fail "a secret in the log"
echo all well
GUEST

# node KERNEL OPTION... -- SCRIPT
node() {
	local -a options=()
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	vm_script --kernel "${options[@]}" --mem 256M --swap 64M --no-swapon \
		--param hot_add.timeout_ms=$((1000 * slow)) \
		--param hot_add.dead_after_ms=$((90000 * slow)) \
		--param mnode.dead-ms=$((90000 * slow)) -- "$functions$2"
	say "$(cut -c1-200 "$case_dir/out")"
	expect_status 0
	expect_out 'all well'
	expect '.cnodes[0].stats.load_errors == 0' '.cnodes[0].stats.store_errors == 0' \
		'.teardown_errors == []'
}

is_who_it_is() {
	vm_beside revoke node "$1" -- "$keys"
	expect_pages_back
}

tap_case "who has the secret, and who has not, 6.1" is_who_it_is 6.1
if ((nightly)); then
	for kernel in 5.10 6.12; do
		tap_case "who has the secret, and who has not, $kernel" \
			is_who_it_is $kernel
	done
fi
tap_end
