#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# odrp-hwcheck --save from its first line to its last, on a fake card. Argument: that
# program.

tool=$1
status=0
dir=$(mktemp -d)
kept=$dir/a/fake0.json
trap 'rm -rf "$dir"' EXIT

# ends STATUS [FAKE=WORD] ARG...: how it ends; what it prints is in out and err.
ends() {
	want=$1
	shift
	case $1 in
	FAKE=*) word=$1; shift ;;
	*) word=FAKE= ;;
	esac
	env "$word" "$tool" "$@" >"$dir/out" 2>"$dir/err"
	got=$?
	[ "$got" -eq "$want" ] && return
	echo "$word $*: exit status $got, expected $want:"
	cat "$dir/out" "$dir/err"
	status=1
}

# has FILE TEXT
has() {
	grep -qF -- "$2" "$1" && return
	echo "expected '$2' in: $(cat "$1")"
	status=1
}

nothing_known() {
	has "$kept" '"order_fence":false'
	has "$kept" '"translate_nic":false'
}

# What is printed is what is kept.
ends 0 --json "--save=$dir/a/" --wr-ordering="per_mkey(0)" fake0
cmp "$dir/out" "$kept" || status=1
for text in '"guid":"0200:00ff:fe00:ab01"' '"firmware":"0.0.fake"' \
	'"pci_wr_ordering":"per_mkey"' '"order_fence":true' '"translate_nic":true' '"strict":true' \
	'"result":"Every program'; do
	has "$kept" "$text"
done
if grep '"error"' "$kept"; then
	status=1
fi
cp "$kept" "$dir/good"

# A card whose writes come in any order: nothing is compared.
ends 1 "--save=$kept" --wr-ordering=force_relax fake0
nothing_known
has "$kept" '"pci_wr_ordering":"force_relax"'
has "$dir/out" 'PCI_WR_ORDERING is force_relax: '
ends 64 --wr-ordering=2 fake0
has "$dir/err" '--wr-ordering=2: expected per_mkey or force_relax'

# Killed in the middle: what was known is known no more.
ends 9 FAKE=dies "--save=$kept" fake0
nothing_known
has "$kept" '"pci_wr_ordering":"unknown"'
has "$kept" 'The check has not come to its end.'

# One that cannot be compared.
cp "$dir/good" "$kept"
ends 1 FAKE=down "--save=$kept"
has "$dir/out" 'Nothing could be compared.'
nothing_known
has "$kept" '"result":"Nothing could be compared."'

# No such card: nothing is touched, and nothing made.
cp "$dir/good" "$kept"
ends 77 "--save=$dir/b/" no_such_card
cmp "$dir/good" "$kept" || status=1
[ ! -e "$dir/b" ] || { echo "there is $dir/b"; status=1; }
ends 1 "--save=$kept/c/" fake0
has "$dir/err" "odrp-hwcheck: $kept/c/fake0.json: cannot be saved: Not a directory"
[ ! -s "$dir/out" ] || { echo "checked for nothing"; status=1; }

# Not asked to, it keeps nothing.
ends 9 FAKE=dies fake0
cmp "$dir/good" "$kept" || status=1
exit $status
