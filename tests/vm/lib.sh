# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The frame of the tests in virtual machines. To be sourced.
# shellcheck shell=bash
#
# A test file is a TAP program of cases:
#
#	. "$(dirname "$0")/lib.sh"
#	reads_back() {
#		vm --kernel "$1" -- qsort-far
#		expect_status 0
#		expect '.cnodes[0].stats.load_errors == 0'
#	}
#	tap_case "sorts on 6.1" reads_back 6.1
#	tap_end
#
# Without KVM a page that goes out and comes back costs a millisecond of both
# processors, and a boot some ten seconds. So a case has as few pages as show what it
# is about, and one guest for what needs no fresh one. Of --mem 120M programs have some
# 14 MB, of 128M 22: what is twice as much is 32 or 48 MB.
#
# Within a case all expectations are looked at; one that fails, fails the case.
# Lines with "# " are for people. ODRP_NIGHTLY=1 asks for the long version.
#
# ODRP_KERNELS="6.1-debug" runs each case on these kernels instead of those it
# names, once on each: of cases that differ by their kernel the first is run.
# ODRP_BACKEND=frontswap runs those cases only that have their pages by frontswap,
# ODRP_BACKEND=block the others.
# The memory node arms what the software NIC keeps: its NIC translates, and its
# chains have fences. A file that says "chains_only" has what a card of which
# nothing is known gets, chains with WAITs for all, unless a case says otherwise.
# ODRP_TRANSLATE=nic or chain has all cases so; what counts chains may fail then,
# all else is to hold.
#
# ODRP_MNODE_IN=guest runs only what "tap_case_guests" says: the memory node is one more
# guest, with the same kernel, rdma_rxe at both ends and no software NIC. Its card arms
# no chains, so what a case says of chains it says by expect_chains.
#
# ODRP_LIST=1 runs no case: the plan says how many there are.
#
# Time-outs are stretched for slow kernels by scripts/vm; what a case itself
# allows for, it multiplies by $slow.

set -u
vm_top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
for part in common packages kernels build; do
	# shellcheck source=/dev/null
	. "$vm_top/scripts/lib/$part.sh"
done
export PATH=$PATH:/usr/sbin:/sbin

nightly=${ODRP_NIGHTLY:-0}
short=${ODRP_SHORT:-0}
# Whether cases that take long are run: on a debug kernel they are, in the length
# that all others have by day.
long_cases=$nightly
[[ ${ODRP_KERNELS:-} != *-debug* ]] || long_cases=1
# What most cases are run on; a file may have others.
kernels=(6.1)
((nightly)) && read -ra kernels <<<"$KERNEL_VERSIONS"
tap_nr=0
tap_bad=0
tap_cases=()		# that were run with ODRP_KERNELS
case_kernel=		# one of these
slow=1
case_dir=
case_failed=0
mnode_in=${ODRP_MNODE_IN:-host}
between_guests=0

unknown_card=(--param mnode.translate=chain --param mnode.order=wait)
vm_card=()

# Options for a run between two guests that only swaps: rdma_rxe at both ends may take seconds
# for an answer when the host is busy.
vm_patience() {
	echo "--param hot_add.timeout_ms=$((30000 * slow))" \
		"--param hot_add.dead_after_ms=$((60000 * slow))"
}

chains_only() {
	vm_card=("${unknown_card[@]}")
}

# The RDMA device rxe9, whose address is 10.78.0.1: both ends of what goes through it are in
# one guest. A script of a guest begins with it, after rxe_modules.
# shellcheck disable=SC2016  # for the guest's shell
rxe_device='
for m in /x/modules/*.ko; do
	insmod $m 2>/dev/null
done
ip link set lo up
ip link add v0 type veth || exit 3
ip link set v0 mtu 2200 up && ip link set veth0 mtu 2200 up || exit 3
ip addr add 10.78.0.1/24 dev v0 || exit 3
rdma link add rxe9 type rxe netdev v0 || exit 3
'

# rxe_modules KERNEL: the modules that rxe_device needs and the archive lacks, into
# $case_dir/modules, which --add takes. Without them the case fails.
rxe_modules() {
	# shellcheck source=scripts/lib/initramfs.sh
	. "$vm_top/scripts/lib/initramfs.sh"
	kernel_fetch "$1" && module_files "$1" "$case_dir/modules" veth ||
		wrong "no module veth"
}

vm_packages() {
	local -a targets
	mapfile -t targets < <(vm_targets)
	packages_install build module vm && build_userspace "${targets[@]}" || {
		echo "Bail out! cannot build user space"
		exit 1
	}
	vm_workload=$(userspace_dir)/tests/workload
	vm_ctl=$(userspace_dir)/mnode/ctl/odrpctl
}

say() {
	printf '# %s\n' "$*"
}

# tap_case NAME FUNCTION [ARG...]
tap_case() {
	if [[ " ${*:3} " = *" frontswap "* ]]; then
		case_by frontswap "$@"
	else
		case_by block "$@"
	fi
}

# tap_case_frontswap NAME FUNCTION [ARG...]: tap_case of what is by frontswap whatever
# its arguments say.
tap_case_frontswap() {
	case_by frontswap "$@"
}

# tap_case_guests NAME FUNCTION [ARG...]: tap_case of what holds as well when the memory node
# is a guest.
tap_case_guests() {
	local between_guests=1
	tap_case "$@"
}

# case_by BACKEND NAME FUNCTION [ARG...]
case_by() {
	[[ ${ODRP_BACKEND:-$1} = "$1" ]] || return 0
	[[ $mnode_in = host ]] || ((between_guests)) || return 0
	if [[ -z ${ODRP_KERNELS:-} ]]; then
		one_case "${@:2}"
		return
	fi
	for case_kernel in $ODRP_KERNELS; do
		slow=$(kernel_slowness "$case_kernel")
		case_on_kernel "$@"
	done
}

# As case_by, on case_kernel.
case_on_kernel() {
	local a backend=$1 name=$2 c
	local -a with=()

	for a in "${@:3}"; do
		if [[ " $KERNEL_VERSIONS " = *" $a "* ]]; then
			with+=("$case_kernel")
		else
			with+=("$a")
		fi
	done
	name="$name: $case_kernel"
	if [[ $backend = frontswap ]] && ! kernel_has_frontswap "$case_kernel"; then
		tap_skip "$name" "has no frontswap for modules"
		return
	fi
	for c in "${tap_cases[@]}"; do
		[[ $c != "$case_kernel ${with[*]}" ]] || {
			tap_skip "$name" "the same as a case above"
			return
		}
	done
	tap_cases+=("$case_kernel ${with[*]}")
	one_case "$name" "${with[@]}"
}

one_case() {
	local name=$1 begin=$SECONDS
	shift
	if [[ ${ODRP_LIST:-0} = 1 ]]; then
		tap_nr=$((tap_nr + 1))
		return
	fi
	[[ -n ${vm_workload:-} ]] || vm_packages
	tap_nr=$((tap_nr + 1))
	case_failed=0
	case_dir=$(mktemp -d) || exit 1
	"$@"
	if ((case_failed)); then
		tap_bad=1
		echo "not ok $tap_nr - $name"
		show_case
	else
		echo "ok $tap_nr - $name"
	fi
	say "$name: $((SECONDS - begin)) s"
	rm -rf "$case_dir"
}

tap_skip() {
	tap_nr=$((tap_nr + 1))
	echo "ok $tap_nr - $1 # SKIP $2"
}

# tap_case_with SET NAME FUNCTION [ARG...]: tap_case, skipped where the packages
# of SET are not installed and cannot be.
tap_case_with() {
	local set=$1 name=$2 missing
	local -a needed
	shift
	if [[ ${ODRP_LIST:-0} = 1 ]]; then
		tap_case "$@"
		return
	fi
	mapfile -t needed < <(packages_of "$set")
	if [[ ${packages_tried:-} != *" $set "* ]]; then
		packages_tried+=" $set "
		packages_install "$set"
	fi
	missing=$(packages_missing "${needed[@]}" | paste -sd' ')
	if [[ -n $missing ]]; then
		tap_skip "$name" "needs packages that cannot be installed: $missing"
	else
		tap_case "$@"
	fi
}

# case_is_for VERSION KERNEL: whether a case that names KERNEL is run on one of that
# version, stock or debug.
case_is_for() {
	local kernel=${ODRP_KERNELS:-$2}
	[[ ${kernel%-debug} = "$1" ]]
}

tap_end() {
	echo "1..$tap_nr"
	exit "$tap_bad"
}

# Standard error is the log that scripts/check shows when a case failed.
show_case() {
	local f
	for f in err out; do
		[[ -s $case_dir/$f ]] || continue
		echo "--- the end of standard ${f/out/output}:" | sed 's/err:/error:/' >&2
		tail -n 25 "$case_dir/$f" >&2
	done
	[[ -s $case_dir/json ]] && jq -c . "$case_dir/json" >&2
	return 0
}

wrong() {
	case_failed=1
	say "$*"
	echo "$*" >&2
}

# amount SECONDS ROUNDS: how much a pressure-far of which something is counted does:
# by day one life of each process of so many rounds, the same on every machine; by
# night and on debug kernels, for so long.
amount() {
	if ((nightly || slow > 1)); then
		echo "--seconds=$(($1 * slow))"
	else
		echo "--lives=1 --rounds=$2"
	fi
}

# The arguments of scripts/vm with case_kernel instead of a stock kernel.
options_for_kernel() {
	vm_options=("$@")
	[[ -n $case_kernel ]] || return 0
	local i
	for ((i = 0; i < $#; i++)); do
		case ${vm_options[i]} in
		--) break ;;
		--kernel) vm_options[i + 1]=$case_kernel ;;
		esac
	done
	# The last one counts.
	vm_options=(--kernel "$case_kernel" "${vm_options[@]}")
}

# vm OPTION... -- COMMAND: one run of scripts/vm with the workloads on board.
vm() {
	local f
	local -a add=("${vm_card[@]}") vm_options
	options_for_kernel "$@"
	[[ -z ${ODRP_TRANSLATE:-} ]] ||
		add+=(--param "mnode.translate=$ODRP_TRANSLATE")
	[[ $mnode_in = host ]] || add=(--mnode-in "$mnode_in")
	for f in qsort-far pattern-far pressure-far; do
		add+=(--add "$vm_workload/$f")
	done
	"$vm_top/scripts/vm" run "${add[@]}" --timeout "${vm_timeout:-400}" \
		--json "$case_dir/json" "${vm_options[@]}" \
		>"$case_dir/out" 2>"$case_dir/err" </dev/null
	vm_status=$?
}

# vm_script OPTION... -- SCRIPT [ARG...]: a shell script in the guest whose own
# memory is never in the swap device, so that it survives whatever becomes of
# that. In it, "swapped COMMAND" runs what may swap, and "within SECONDS COMMAND"
# runs COMMAND again and again until it succeeds; 1 if it does not come to that;
# "kill_mnode" has the host kill the first memory node, "restart_mnode" has it begin
# anew, "end_agent" and "kill_agent" have its agent end while its pages are kept
# (--keep-mnode), and "check_mnode" has it ask for the agent's proof of its pages,
# without which the run fails.
vm_script() {
	local -a options=()
	while [[ $1 != -- ]]; do
		options+=("$1")
		shift
	done
	vm "${options[@]}" -- sh -c \
		'echo $$ >/sys/fs/cgroup/init/cgroup.procs && exec sh -c "$@"' \
		sh "$guest_functions$2" sh "${@:3}"
}

# vm_beside FUNCTION VM_FUNCTION ARG...: one run; while it lasts, FUNCTION is
# called every second with the agent's control socket, if that is on this host.
vm_beside() {
	local beside=$1 watcher control
	shift
	if [[ $mnode_in != host ]]; then
		"$@"
		return
	fi
	mkdir "$case_dir/tmp"
	while [[ -d $case_dir/tmp ]]; do
		control=$(echo "$case_dir"/tmp/odrp-vm.*/control.sock)
		[[ -S $control ]] && "$beside" "$control"
		sleep 1
	done &
	watcher=$!
	TMPDIR=$case_dir/tmp "$@"
	rm -rf "$case_dir/tmp"
	wait "$watcher"
}

# For vm_beside: the agent's proof, again and again.
check_pages() {
	"$vm_ctl" mnode check --control "$1" >"$case_dir/check" 2>&1
	case $? in
	0) echo well ;;
	3) ;;	# nobody to ask: the agent has not begun, or ends
	*)
		echo wrong
		cp "$case_dir/check" "$case_dir/check-bad"
		;;
	esac >>"$case_dir/checks"
}

# expect_checked: check_pages() was well whenever there was somebody to ask, and
# so was check_mnode, at least once.
expect_checked() {
	local bad
	expect '.mnode_checks > 0'
	[[ $mnode_in = host ]] || return 0
	bad=$(grep -c wrong "$case_dir/checks")
	say "odrpctl mnode check: $(grep -c well "$case_dir/checks") times well," \
		"$bad times not, and $(value .mnode_checks) times when asked for"
	if ((bad)); then
		wrong "odrpctl mnode check: $(tail -n 5 "$case_dir/check-bad")"
	fi
}

mnode_status() {
	timeout 5 "$vm_ctl" mnode status --control "$1" --json
}

# shellcheck disable=SC2016  # for the guest's shell
guest_functions='
swapped() {
	sh -c '"'"'echo $$ >$WORK_GROUP/cgroup.procs; exec "$@"'"'"' sh "$@"
}
within() {
	tries=$(($1 * 50 * $(sed -n s/^SLOW=//p /etc/odrp/run.conf)))
	shift
	until "$@"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || return 1
		usleep 20000
	done
}
kill_mnode() {
	echo kill-mnode >/run/ask
}
restart_mnode() {
	echo restart-mnode >/run/ask
}
end_agent() {
	echo end-agent >/run/ask
}
kill_agent() {
	echo kill-agent >/run/ask
}
check_mnode() {
	echo check-mnode >/run/ask
}
is() {
	read -r is <$1 && [ "$is" = "$2" ]
}
'

expect_status() {
	[[ $vm_status = "$1" ]] || wrong "exit status $vm_status, expected $1"
}

# expect JQ_CONDITION...: about the run's statistics.
expect() {
	local c
	for c; do
		jq -e "$c" "$case_dir/json" >/dev/null 2>&1 || wrong "not so: $c ($(
			jq -c "[$(jq_paths "$c")]" "$case_dir/json" 2>&1 |
				cut -c1-400))"
	done
}

# The values that a condition speaks of, for the message.
jq_paths() {
	grep -oE '\.[A-Za-z_][A-Za-z0-9_.]*(\[[0-9]+\][A-Za-z0-9_.]*)*' <<<"$1" |
		paste -sd,
}

# expect_chains JQ_CONDITION...: expect, where the memory node's card arms chains.
expect_chains() {
	[[ $mnode_in != host ]] || expect "$@"
}

expect_out() {
	grep -Eq -- "$1" "$case_dir/out" || wrong "no output like '$1'"
}

value() {
	jq -r "$1" "$case_dir/json" 2>/dev/null
}

# No request failed, nothing was left behind on either side.
expect_clean() {
	expect '.cnodes | all(.devices | length > 0)' \
		'.cnodes | all(.devices | all(.stats.load_errors == 0))' \
		'.cnodes | all(.devices | all(.stats.store_errors == 0))' \
		'.teardown_errors == []'
	expect_pages_back
}

# Every page of every memory node is its own again.
expect_pages_back() {
	expect '.mnodes_end | all(.pages_mapped == 0)' \
		'.mnodes_end | all(.pages_free + .pages_armed == .pages_total)'
}
