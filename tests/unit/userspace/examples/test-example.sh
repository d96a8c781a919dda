#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#	test-example.sh FAR NAME PROGRAM
# An example ends well, prints something, and leaves no space behind, also where a run
# before was killed. Where no space can be made it says why, and fails.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

mkdir "$dir/spaces"
nic=mem:dir=$dir/spaces
"$3" "$nic" >"$dir/out"
[[ -s $dir/out ]] || { echo "it printed nothing"; exit 1; }
left=$(find "$dir/spaces" -name '*example*')
[[ -z $left ]] || { echo "it has left $left"; exit 1; }

# what a run that is killed before it has made its table leaves
"$1" space create "example-$2" --size 64M --nic "$nic"
"$3" "$nic" >"$dir/out" || { echo "it fails behind one that was killed"; exit 1; }
# and behind that: killed at any time, with its table there or not
for ((i = 1; i <= 5; i++)); do
	timeout --signal=KILL "0.0$i" "$3" "$nic" >"$dir/out" 2>&1 || true
done
"$3" "$nic" >"$dir/out" || { echo "it fails behind some that were killed"; exit 1; }
left=$(find "$dir/spaces" -name '*example*')
[[ -z $left ]] || { echo "it has left $left"; exit 1; }

! "$3" nonsense >"$dir/out" 2>"$dir/err" || { echo "it took any back end"; exit 1; }
grep -q nonsense "$dir/err" || { echo "it does not name the back end"; exit 1; }
