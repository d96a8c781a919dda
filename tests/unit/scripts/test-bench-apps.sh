#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# scripts/lib/apps.sh without machines: numbers of a point, medians of rounds, and what is
# said of an application whose program is not here.
set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for part in apps-pgbench apps; do
	# shellcheck source=/dev/null
	. "$top/scripts/lib/$part.sh"
done
nr=0
bad=0

# is NAME FOUND EXPECTED
is() {
	nr=$((nr + 1))
	if [[ $2 = "$3" ]]; then
		echo "ok $nr - $1"
	else
		echo "not ok $nr - $1"
		printf '# expected %s\n# found %s\n' "$3" "$2"
		bad=1
	fi
}

# of_point MODE FILTER: of a run of ten seconds with 300 pages used in the middle.
of_point() {
	jq -c --arg app quicksort --arg mode "$1" --argjson local 50 --argjson mb 16 \
		--argjson swap 48 --arg verified yes --argjson app_s 8 --argjson rate null \
		--argjson seconds 10 --argjson used_s 3000 --argjson used_peak 500 \
		"$point_filter | $2" "$dir/run"
}

cat >"$dir/run" <<'JSON'
{"status": 0, "accel": "tcg",
 "mnode_begin": {"wall_s": 5, "agent_cpu_s": 1, "use": {"held_page_s": 100, "peak_held": 0}},
 "mnode": {"wall_s": 25, "agent_cpu_s": 1.5, "use": {"held_page_s": 8100, "peak_held": 600}},
 "cnodes": [{"vmstat": {"pswpin": 2000, "pswpout": 3000}, "stats": {"moved": 7}}]}
JSON
is "pages held, averaged" "$(of_point direct '[.held, .used_held]')" '[400,0.75]'
is "all of a static device is held" "$(of_point static '[.held, .used_held]')" '[600,0.5]'
# 0.5 s of 20 s, so 0.2 s of 8 s, for 5,000 pages
is "the processor for a page" "$(of_point direct .cpu_us)" 40
is "the application's own time" "$(of_point direct .seconds)" 8

cat >"$dir/run" <<'JSON'
{"status": 0, "mnode": null, "mnode_begin": null,
 "nbd": {"cpu_s": 1, "server": {"held_page_s": 1000, "seconds": 5}},
 "cnodes": [{"elapsed_s": 20, "vmstat": {"pswpin": 2000, "pswpout": 3000}, "stats": null}]}
JSON
is "no more is used than held" "$(of_point two-sided '[.held, .used_held]')" '[200,1]'
is "the processor of a server" "$(of_point two-sided .cpu_us)" 80
is "nbd-server says nothing of pages" "$(of_point nbd '[.held, .used_held]')" '[null,null]'
is "all local has no swap" "$(of_point local '[.used, .used_held]')" '[null,null]'

echo '{"status": 125}' >"$dir/run"
is "a machine that failed" "$(of_point direct '[.status, .held, .cpu_us]')" '[125,null,null]'

rounds() {
	printf '{"app":"a","mode":"%s","local":50,"status":%s,"seconds":%s,"verified":"yes"}\n' "$@" |
		jq -sc "$rounds_filter | .points | map([.mode, .status, .seconds, .rounds])"
}
is "the median of three" "$(rounds x 0 5 x 0 9 x 0 6)" '[["x",0,6,3]]'
is "of two, and by mode" "$(rounds x 0 5 y 0 1 x 0 6)" '[["x",0,5.5,2],["y",0,1,1]]'
is "what failed once has failed" "$(rounds x 0 5 x 124 null)" '[["x",124,5,2]]'

is "a program that is not here" "$(PATH=/nowhere app_lacks memcached)" memcached
is "PostgreSQL that is not here" "$(pgbench_bin() { echo /nowhere; } && app_lacks pgbench)" \
	/nowhere/initdb
app_lacks quicksort >/dev/null
is "quicksort needs no package" $? 1

printf 'qsort-far total_s=2.50 verified=yes\nwatch-far seconds=3.00 used_peak=7\n' >"$dir/out"
is "the last of a word" "$(word "$dir/out" total_s) $(word "$dir/out" ops_s)" "2.50 null"

scale=32
is "working sets" "$(app_mb quicksort) $(app_mb kmeans) $(app_mb pagerank)" "128 64 448"
is "a database has whole units" "$(app_mb pgbench) $(scale=256 && app_mb pgbench)" "224 32"
is "a machine has room for a database" \
	"$(scale=256 && app_machine_mb pgbench) $(scale=256 && app_machine_mb redis)" "512 184"
is "a server is in the group, and pgbench is not" \
	"$(app_command pgbench | grep -c in_group) $(app_command pgbench | grep in_group |
		grep -c /postgres)" "1 1"

echo "1..$nr"
exit "$bad"
