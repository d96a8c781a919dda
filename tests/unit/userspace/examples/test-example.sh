#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#	test-example.sh PROGRAM
# An example ends well, prints something, and leaves no space behind. Where no space can
# be made it says why, and fails.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

mkdir "$dir/spaces"
"$1" "mem:dir=$dir/spaces" >"$dir/out"
[[ -s $dir/out ]] || { echo "it printed nothing"; exit 1; }
left=$(find "$dir/spaces" -name '*example*')
[[ -z $left ]] || { echo "it has left $left"; exit 1; }

! "$1" nonsense >"$dir/out" 2>"$dir/err" || { echo "it took any back end"; exit 1; }
grep -q nonsense "$dir/err" || { echo "it does not name the back end"; exit 1; }
