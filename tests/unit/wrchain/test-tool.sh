#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The wrc command from outside: exit status, output, files.
#
#   test-tool.sh WRC

set -u
wrc=$1
# shellcheck source=/dev/null
. "$(dirname "$0")/tool-lib.sh"

programs='load mapped_store unmapped_store invalidate'

expect 0 "$wrc" list
for p in $programs; do
	says out "$p"
done
expect 0 "$wrc" list --json
says out '"name": "unmapped_store"'

for p in $programs; do
	for mode in strict relaxed; do
		expect 0 "$wrc" show "$p" --$mode
		says out "$mode; request of"
		expect 0 "$wrc" dis --prog "$p" --$mode
		says out 'l0@3'
		expect 0 "$wrc" check --prog "$p" --$mode -K 64
		says out "$p: ok"
		expect 0 "$wrc" run "$p" --$mode --count 50
		says out '50 requests, all well'
		expect 0 "$wrc" image "$p" --$mode -o "$dir/$p-$mode.json"
		expect 0 "$wrc" check "$dir/$p-$mode.json"
		says out ': ok'
	done
done
expect 0 "$wrc" show load --json
says out '"recycle_words"'
expect 0 "$wrc" run load --json -K 8
says out '"answers": 24'

# The listing of a saved image is that of the program.
"$wrc" dis --prog load >"$dir/a"
"$wrc" dis "$dir/load-strict.json" >"$dir/b"
cmp "$dir/a" "$dir/b" || failed=1

# A wrong byte: the queue pair's number in the first WQE.
sed '0,/0000120200000000/s//0000130200000000/' "$dir/load-strict.json" \
	>"$dir/bad.json"
expect 1 "$wrc" check "$dir/bad.json" "$dir/load-strict.json"
says out 'bad.json: refused: form: l0@0 says queue pair 0x13'
says out 'load-strict.json: ok'
expect 1 "$wrc" check --json "$dir/bad.json"
says out '"ok": false'

# WQEs alone, as text and as bytes.
wqe='0000070f 00001202 00000000 00000000 00000000 00000000 00fffffe 00000022'
echo "$wqe" >"$dir/w.hex"
expect 0 "$wrc" dis "$dir/w.hex"
says out 'wait cq 0x22 cqe 16777214'
printf '\000\000\007\017\000\000\022\002\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\377\377\376\000\000\000\042' \
	>"$dir/w.bin"
expect 0 "$wrc" dis "$dir/w.bin"
says out 'wait cq 0x22 cqe 16777214'

# Measured, which says nothing about how fast it is here.
expect 0 "$wrc" bench --count 50 -K 8
says out 'of one-sided WRITE'
expect 2 "$wrc" show load --strict --relaxed
says err "--strict and --relaxed: expected one of them"
expect 0 "$wrc" bench --count 50 --relaxed --json
says out '"name": "load"'
expect 0 "$wrc" bench --count 20 -K 8 --variant keyed --recycle node
says out 'load by key'
expect 2 "$wrc" bench load
says err "'load'"

# What cannot be done is said, with the value.
echo '0000070' >"$dir/odd.hex"
expect 2 "$wrc" dis "$dir/odd.hex"
says err 'odd number'
expect 2 "$wrc" dis "$dir/missing"
says err 'missing'
expect 2 "$wrc" dis
expect 2 "$wrc" show nonsense
says err "no program 'nonsense'"
expect 2 "$wrc" show
expect 2 "$wrc"
expect 2 "$wrc" frobnicate
says err "no command 'frobnicate'"
expect 2 "$wrc" check --prog load -K 6
says err 'not a power of two'
expect 2 "$wrc" check --prog load -K 2048
says err '2048'
expect 2 "$wrc" run load --count -1
says err "'-1'"
# A command that nothing can be told by an option or an argument refuses it.
while read -r what command; do
	# shellcheck disable=SC2086  # several words
	expect 2 "$wrc" $command
	says err "$what"
done <<'USES'
--fit list --fit
--cnodes show load --cnodes 3
--prog list --prog load
--count show load --count 9
--answer-every bench --answer-every 2
--output run load -o x
'extra' list extra
wrc: list --bogus
USES
# One line for what is no image, and for what cannot be written.
mkdir "$dir/folder"
for f in "$dir/missing" "$dir/folder" "$dir/odd.hex"; do
	expect 2 "$wrc" check "$f"
	says err "$f: "
	[ "$(wc -l <"$dir/err")" = 1 ] || { echo "$f: not one line"; failed=1; }
done
expect 2 "$wrc" image load -o "$dir/missing/x"
says err "$dir/missing/x: No such"
echo '{ "wrc_image": 1 }' >"$dir/empty.json"
expect 2 "$wrc" check "$dir/empty.json"
says err "'program' is missing"
sed 's/"depth": 4/"depth": 8/' "$dir/load-strict.json" >"$dir/depth.json"
expect 2 "$wrc" check "$dir/depth.json"
says err 'instead of'
# The recyclers.
for p in load mapped_store unmapped_store invalidate; do
	for s in strict relaxed; do
		expect 0 "$wrc" run $p --recycle node --$s --count 100
		says out '100 requests, all well'
		expect 0 "$wrc" run $p --recycle node --$s --count 100 --answer-every 5
		says out '100 requests, all well'
	done
	expect 0 "$wrc" check --prog $p --recycle node
	expect 0 "$wrc" dis --prog $p --recycle node
	expect 0 "$wrc" show $p --recycle node
	says out 'request of 25 bytes'
done
expect 2 "$wrc" run load --recycle nobody
says err "'nobody'"
for p in load mapped_store unmapped_store invalidate; do
	for s in strict relaxed; do
		expect 0 "$wrc" run $p --recycle node --variant exchange --$s --count 100
		says out '100 requests, all well'
		expect 0 "$wrc" check --prog $p --recycle node --variant exchange --$s
	done
	expect 0 "$wrc" dis --prog $p --recycle node --variant exchange
	expect 0 "$wrc" show $p --recycle node --variant exchange
	says out 'request of 25 bytes'
done
expect 0 "$wrc" list --recycle node --variant exchange
expect 0 "$wrc" show mapped_store --recycle node --variant exchange
says out 'for no answer to the next request'
says out '+4121 end'
says out 'the upper half of tt_addr'
expect 2 "$wrc" run load --recycle node --variant paper
says err 'variant paper'
expect 2 "$wrc" image load --recycle node
# What comes behind a READ.
for p in load mapped_store unmapped_store invalidate; do
	for v in ours exchange; do
		expect 0 "$wrc" run $p --recycle node --variant $v --order fence --count 100
		says out 'order=fence'
		says out '100 requests, all well'
	done
done
expect 0 "$wrc" cost load --order fence
says out 'ours/fence'
expect 2 "$wrc" run load --order fence --variant paper --relaxed
says err 'variant paper'
expect 2 "$wrc" run load --order never
says err "'never': expected wait or fence"
expect 2 "$wrc" image load --order fence
expect 0 "$wrc" --help
says out INSECURE
echo '[' >"$dir/cut.json"
expect 2 "$wrc" check "$dir/cut.json"

exit $failed
