#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Several processes work on the same keys of one table, over the software NIC; what they
# have done is judged as one history. tests/vm/far-net.sh does it in several machines.
# usage: test-sides.sh FAR TEST-CONCURRENT CHECK-HISTORIES
set -u
far=$1
concurrent=$2
check=$3
dir=$(mktemp -d)
server=

cleanup() {
	[[ -n $server ]] && kill "$server" 2>/dev/null
	rm -rf "$dir"
}
trap cleanup EXIT

result() {
	if [[ $1 = 0 ]]; then
		echo "ok $2"
	else
		echo "not ok $2"
		sed 's/^/# /' "$dir"/{serve,out*,said} 2>/dev/null
	fi
}

# side I: one of the two.
side() {
	FAR_TEST_NIC=soft:ip=10.77.0.1$1/24,dgram=$dir/b$1:$dir/a$1 \
	FAR_TEST_NODE=10.77.0.2 FAR_TEST_SPACE=cache FAR_TEST_CLIENTS=1 \
	FAR_TEST_SIDE=$1/2 FAR_TEST_HISTORY=$dir/history$1 \
		timeout 200 "$concurrent" elsewhere >"$dir/out$1" 2>&1 </dev/null
}

echo 1..3
"$far" space serve cache --size 32M \
	--nic "soft:nodes=1,dgram=$dir/a0:$dir/b0,dgram=$dir/a1:$dir/b1" \
	>"$dir/serve" 2>&1 </dev/null &
server=$!
until [[ -s $dir/serve ]] || ! kill -0 $server; do
	sleep 0.1
done
side 0 &
other=$!
side 1 && wait $other
result $? "1 - two processes on the same keys"
"$check" "$dir/history0" "$dir/history1" >"$dir/said" 2>&1
result $? "2 - what they have done is linearizable"
sed 's/^/# /' "$dir/said"

# What one process reads of another's is looked at: without those, its values come from
# nowhere.
! "$check" "$dir/history0" >"$dir/said" 2>&1 && grep -q "^not linearizable" "$dir/said"
result $? "3 - a history with a part missing is not"
