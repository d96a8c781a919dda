# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the tests of the wrc command have in common. To be sourced.
# shellcheck shell=sh
# shellcheck disable=SC2034  # failed is looked at by who sources this

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
failed=0

# expect STATUS COMMAND...: its output is left in $dir/out and $dir/err.
expect() {
	want=$1
	shift
	"$@" >"$dir/out" 2>"$dir/err"
	got=$?
	if [ "$got" -ne "$want" ]; then
		echo "status $got instead of $want: $*"
		cat "$dir/out" "$dir/err"
		failed=1
	fi
}

# says out|err TEXT; says_not the same
says() {
	if ! grep -qF -- "$2" "$dir/$1"; then
		echo "no '$2' in std$1:"
		cat "$dir/$1"
		failed=1
	fi
}

says_not() {
	if grep -qF -- "$2" "$dir/$1"; then
		echo "'$2' in std$1:"
		cat "$dir/$1"
		failed=1
	fi
}
