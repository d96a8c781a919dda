# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# One application in one machine with one kind of swap. To be sourced by
# scripts/bench-apps, after the other parts.
# shellcheck shell=bash
# shellcheck disable=SC2154  # the settings are the script's

APPS="quicksort kmeans pagerank betweenness redis memcached pgbench"
APP_MODES="chain key direct dynamic static two-sided nbd zram local"

# MB in ODRP's paper.
PAPER_SWAP=12288

# want_words OPTION VALUE EXPECTED: each word of VALUE is one of EXPECTED.
want_words() {
	local word
	[[ -n $2 ]] || bad_usage "$1 '': expected some of ${3// /, }"
	for word in $2; do
		[[ " $3 " = *" $word "* ]] ||
			bad_usage "$1 '$word': expected one of ${3// /, }"
	done
}

# app_paper_mb APP: its working set there.
app_paper_mb() {
	case $1 in
	kmeans) echo 2048 ;;
	pagerank | betweenness) echo 14336 ;;
	pgbench) echo 7168 ;;	# of VoltDB
	*) echo 4096 ;;
	esac
}

app_mb() {
	local mb=$(($(app_paper_mb "$1") / scale))
	[[ $1 != pgbench ]] || mb=$(pgbench_mb $mb)
	echo "$mb"
}

# app_machine_mb APP: the memory of its machine, in which the group has a part.
app_machine_mb() {
	local mb
	mb=$(app_mb "$1")
	case $1 in
	# A copy of the files is in the ramfs, and another until it is unpacked.
	pgbench) echo $((mb * 7 / 2 + 400)) ;;
	*) echo $((mb * 3 / 2 + 160)) ;;
	esac
}

# app_lacks APP: the first package's program that it needs and that is not here.
app_lacks() {
	local program
	local -a needs
	case $1 in
	redis) set -- redis-server redis-benchmark redis-cli ;;
	memcached) set -- memcached memcaslap ;;
	pgbench)
		mapfile -t needs < <(pgbench_programs)
		set -- "$(pgbench_bin)/initdb" "${needs[@]}"
		;;
	*) return 1 ;;
	esac
	for program; do
		command -v "$program" >/dev/null || {
			echo "$program"
			return
		}
	done
	return 1
}

# app_programs APP: what is put into the guest for it, a line each.
app_programs() {
	case $1 in
	quicksort) echo "$programs/qsort-far" ;;
	redis) command -v redis-server redis-benchmark redis-cli ;;
	memcached) command -v memcached memcaslap ;;
	pgbench) command -v unshare && pgbench_make "$(app_mb pgbench)" ;;
	*) echo "$programs/$1-far" ;;
	esac
}

# A server alone is in the group. Values of 1000 bytes, keys at random, so not all are there: all are written, some are
# read, and then each is what was written.
# shellcheck disable=SC2016  # for the guest's shell
redis_guest='
keys=$((mb * 900))
cli() {
	redis-cli -s /tmp/redis "$@"
}
in_group redis-server --port 0 --unixsocket /tmp/redis --save "" >/tmp/redis.log 2>&1 &
until cli ping >/tmp/pong 2>&1; do
	usleep 100000
done
redis-benchmark -s /tmp/redis -t set -r $keys -n $((keys * 3 / 2)) -P 8 -d 1000 -q >/tmp/set 2>&1
redis-benchmark -s /tmp/redis -t get -r $keys -n $((keys / 2)) --csv 2>&1 |
	sed -n "s/^\"GET\",\"\([0-9.]*\)\".*/ops_s=\1/p"
n=$(cli eval "local n = 0 local first
	for _, k in ipairs(redis.call(\"keys\", \"key:*\")) do
		local v = redis.call(\"get\", k)
		first = first or v
		if v ~= first or #v ~= 1000 then return -1 end
		n = n + 1
	end
	return n" 0)
cli shutdown >/dev/null 2>&1
wait
[ "$n" -gt $((keys / 2)) ] && echo verified=yes || echo verified=no'

# Values of 3000 bytes, as many sets as gets; a part of the answers is compared.
# shellcheck disable=SC2016  # for the guest's shell
memcached_guest='
items=$((mb * 300))
in_group memcached -u root -l 127.0.0.1 -t 1 -m $((mb * 2)) >/tmp/memcached.log 2>&1 &
usleep 500000
printf "key\n24 24 1\nvalue\n3000 3000 1\ncmd\n0 0.5\n1 0.5\n" >/tmp/memcaslap.conf
memcaslap -s 127.0.0.1:11211 -T 1 -c $((items / 1024 + 1)) -w 1k -x $((items * 3)) -v 0.05 \
	-F /tmp/memcaslap.conf >/tmp/memcaslap.out 2>&1
kill $!
wait
sed -n "s/.* TPS: \([0-9]*\) .*/ops_s=\1/p" /tmp/memcaslap.out
grep -q "^verify_failed: 0$" /tmp/memcaslap.out && echo verified=yes || echo verified=no'

# app_command APP: what the guest's shell runs; in_group runs a program in the group.
app_command() {
	local mb
	mb=$(app_mb "$1")
	case $1 in
	quicksort) echo "in_group qsort-far --size=${mb}M" ;;
	redis) echo "mb=$mb$redis_guest" ;;
	memcached) echo "mb=$mb$memcached_guest" ;;
	pgbench) echo "mb=$mb$pgbench_guest" ;;
	*) echo "in_group $1-far --size=${mb}M" ;;
	esac
}

apps_build() {
	local app
	local -a targets=(mnode/odrp-mnoded mnode/ctl/odrpctl tests/workload/watch-far
		tests/workload/copy-far)
	programs=$(userspace_dir)/tests/workload
	for app in $apps; do
		[[ $app = redis || $app = memcached || $app = pgbench ]] ||
			targets+=("tests/workload/$(basename "$(app_programs "$app")")")
	done
	build_userspace "${targets[@]}"
}

# The guest's part: sets up swap, and runs the application in a group with so much memory.
# shellcheck disable=SC2016  # for the guest's shell
app_guest='
set -e
mode=$1 mb=$2 limit=$3 command=$4
case $mode in
static)
	for m in /x/modules/*.ko; do
		insmod $m 2>/dev/null || true	# some are there already
	done
	mke2fs -b 4096 -m 0 /dev/odrp0 >/dev/null 2>&1
	mkdir /mnt
	mount -t ext4 /dev/odrp0 /mnt
	dd if=/dev/zero of=/mnt/swap bs=1M count=$((mb * 15 / 16 - 1)) oflag=direct 2>/dev/null
	mkswap /mnt/swap >/dev/null
	swapon /mnt/swap
	;;
two-sided)
	mkswap /dev/nbd0 >/dev/null
	swapon -d /dev/nbd0
	;;
zram)
	modprobe zram
	echo ${mb}M >/sys/block/zram0/disksize
	mkswap /dev/zram0 >/dev/null
	swapon /dev/zram0
	;;
esac
group=/sys/fs/cgroup/app
mkdir $group
[ $limit = 0 ] || echo ${limit}K >$group/memory.max
printf "#!/bin/sh\necho \$\$ >$group/cgroup.procs\nexec \"\$@\"\n" >/x/in_group
chmod +x /x/in_group
status=0
watch-far sh -c "$command" || status=$?
if [ $mode = static ]; then
	swapoff /mnt/swap
	umount /mnt
fi
exit $status'

# mode_options MODE: of scripts/vm, in vm_args.
mode_options() {
	# Under emulation a load takes some 300 us.
	local ours=(--param poll_us=300)
	vm_args=()
	case $1 in
	chain) vm_args=("${ours[@]}" --param mnode.translate=chain) ;;
	key) vm_args=("${ours[@]}" --param mnode.translate=nic) ;;
	direct) vm_args=("${ours[@]}" --param mnode.translate=direct) ;;
	dynamic) vm_args=("${ours[@]}" --param mnode.translate=direct --param move_mbps=0) ;;
	static)
		module_files "$kernel" "$dir/modules" ext4 || exit 1
		vm_args=("${ours[@]}" --param mnode.translate=direct --no-swapon
			--add "$dir/modules")
		;;
	two-sided) vm_args=(--nbd --no-swapon) ;;
	nbd) vm_args=(--nbd) ;;
	zram | local) vm_args=(--no-odrp) ;;
	esac
}

# word FILE KEY: the last KEY=VALUE that a program printed; or null.
word() {
	local value
	value=$(tr ' ' '\n' <"$1" | sed -n "s/^$2=//p" | tail -n 1)
	echo "${value:-null}"
}

# The numbers of a point. held: of the agent, averaged from when all was up until the end;
# where all of the device is held from the start, the most; of copy-far, its own count.
# shellcheck disable=SC2016  # jq's variables
point_filter='
def rate($a; $b): if $b != null and $b > 0 then $a / $b else null end;
. as $r | (.mnode // {}) as $m | (.mnode_begin // {}) as $b |
(if $m == {} then null else $m.wall_s - $b.wall_s end) as $wall |
{app: $app, mode: $mode, local: $local, mb: $mb, swap_mb: $swap, status: $r.status,
 seconds: ($app_s // $seconds), rate: $rate, verified: $verified,
 used: (if $mode == "local" then null else rate($used_s; $seconds) end), used_peak: $used_peak,
 held: (if $mode == "static" then $m.use.peak_held
	elif $mode == "two-sided" then rate($r.nbd.server.held_page_s; $r.nbd.server.seconds)
	elif $m != {} then rate($m.use.held_page_s - $b.use.held_page_s; $wall)
	else null end),
 cpu: (if $m != {} then rate(100 * ($m.agent_cpu_s - $b.agent_cpu_s); $wall)
	elif $r.nbd then rate(100 * $r.nbd.cpu_s; $r.cnodes[0].elapsed_s) else null end),
 swap_in: $r.cnodes[0].vmstat.pswpin, swap_out: $r.cnodes[0].vmstat.pswpout,
 moved: $r.cnodes[0].stats.moved, stores_unmapped: $r.cnodes[0].stats.stores_unmapped,
 accel: $r.accel} |
.used_held = (rate(.used; .held) | if . == null then . else [., 1] | min end) |
.cpu_us = (if .cpu == null then null
	else rate(10000 * .cpu * .seconds; .swap_in + .swap_out) end)'

# The medians of the rounds; what failed once has failed.
rounds_filter='
def median: map(select(. != null)) | sort | length as $n |
	if $n == 0 then null
	elif $n % 2 == 1 then .[($n - 1) / 2] else (.[$n / 2 - 1] + .[$n / 2]) / 2 end;
{points: [group_by([.app, .mode, .local])[] | . as $all | (.[0] | to_entries | map(
	.key as $k | if (.value | type) == "number" or .value == null
	then .value = ($all | map(.[$k]) | median) else . end) | from_entries) |
	.status = ($all | map(.status) | max) | .rounds = ($all | length)]}'

# point APP MODE LOCAL ROUND: a line on standard output, and
# $dir/APP-MODE-LOCAL-ROUND.point, unless it is there.
point() {
	local app=$1 mode=$2 part=$3 mb swap limit run status
	local -a vm_args adds
	[[ $mode != local ]] || part=100
	[[ ! -e $dir/$app-$mode-$part-$4.point ]] || return 0
	mb=$(app_mb "$app")
	swap=$((PAPER_SWAP / scale))
	limit=$((mb * 1024 * part / 100))
	[[ $mode != local ]] || limit=0
	run=$dir/$app-$mode-$part-$4
	mode_options "$mode"
	mapfile -t adds < <(app_programs "$app" | sed 's/^/--add=/')
	info "$app of $mb MB, $part % local, $mode"
	ODRP_NBD_SERVER=$([[ $mode != two-sided ]] || echo "$programs/copy-far") \
	attended "$top/scripts/vm" run --kernel "$kernel" --cpus 1 \
		--mem "$(app_machine_mb "$app")M" --swap "${swap}M" --timeout 900 \
		--json "$run.json" --add "$programs/watch-far" "${adds[@]}" \
		"${vm_args[@]}" -- sh -c "$app_guest" sh "$mode" "$swap" "$limit" \
		"$(app_command "$app")" >"$run.out" </dev/null
	status=$?
	((status == 0)) || warn "$app, $mode: exit status $status: $(tail -n 1 "$run.out")"
	[[ -s $run.json ]] || echo '{"status": 125}' >"$run.json"
	jq -c --arg app "$app" --arg mode "$mode" --argjson local "$part" --argjson mb "$mb" \
		--argjson swap "$swap" --arg verified "$(word "$run.out" verified)" \
		--argjson app_s "$(word "$run.out" total_s)" \
		--argjson rate "$(word "$run.out" ops_s)" \
		--argjson seconds "$(word "$run.out" seconds)" \
		--argjson used_s "$(word "$run.out" used_page_s)" \
		--argjson used_peak "$(word "$run.out" used_peak)" "$point_filter" \
		"$run.json" >"$run.point" || die "$app, $mode: no numbers"
	jq -r '"\(.app) \(.mode) local \(.local) % seconds \(.seconds) used/held \(
		.used_held // "-") cpu \(.cpu_us // "-") us/page in \(.swap_in // "-") out \(
		.swap_out // "-") verified \(.verified)"' "$run.point"
}
