# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# One run: boots the compute nodes, follows what they say, takes all down. To
# be sourced by scripts/vm.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the settings are shared between the parts
#
# Everything of a run lies in run_dir. All that happens arrives as one line in
# the FIFO "events" ("WHO WORD..."), which one loop reads: a guest's words (see
# guest/init), the end of a guest or of the agent. So there is nothing to poll.

# After which /init must have said something.
BOOT_SECONDS=${ODRP_BOOT_SECONDS:-90}

run_dir=
events_fd=
guest_pid=()
reader_pid=()
run_failed=		# why the run itself failed, if it did
run_timed_out=0
terminal=		# its settings, which QEMU changes for a shell

elapsed_since() {
	awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.2f", b - a }'
}

# spawn WHO COMMAND...: starts COMMAND, its output in WHO.log. Its end appears
# as the event "WHO gone"; it does not outlive this script.
spawn() {
	local who=$1 fifo=$run_dir/$1.out
	shift
	mkfifo "$fifo" || return 1
	{
		cat "$fifo" >>"$run_dir/$who.log"
		echo "$who gone" >&"$events_fd"
	} &
	reader_pid+=("$!")
	setpriv --pdeathsig KILL -- "$@" >"$fifo" 2>&1 </dev/null \
		{events_fd}>&- &
	spawned_pid=$!
}

run_init() {
	run_dir=$(mktemp -d "${TMPDIR:-/tmp}/odrp-vm.XXXXXX") || die "no run directory"
	mkfifo "$run_dir/events"
	exec {events_fd}<>"$run_dir/events"
}

# What goes wrong in the run itself, as opposed to in COMMAND.
run_fail() {
	[[ -n $run_failed ]] || run_failed=$*
}

#
# QEMU
#

# port NAME CHARDEV: one virtio-serial port.
qemu_port() {
	qemu_args+=(-chardev "$2,id=$1" -device "virtserialport,chardev=$1,name=odrp.$1")
}

# kernel_command_line WORD...: with these words for /init.
kernel_command_line() {
	local line
	line="console=ttyS0 rdinit=/init rootfstype=ramfs $*"
	# Warnings and worse on the console, all else in the log at the end.
	# An oops ends the machine.
	line+=" loglevel=5 oops=panic panic=-1"
	line+=" mitigations=off audit=0 8250.nr_uarts=1 cryptomgr.notests"
	line+=" random.trust_cpu=on"
	[[ ${opt_kernel%-debug} = 5.10 ]] && line+=" swapaccount=1"
	if kernel_is_debug "$opt_kernel" && ! ((opt_leaks)); then
		line+=" kmemleak=off"
	fi
	[[ $accel = tcg ]] && line+=" tsc=reliable no_timer_check" &&
		line+="${tsc:+ tsc_early_khz=$tsc}"
	echo "$line"
}

# How the guest's network card is joined: all but dgram need somebody who
# listens.
wire() {
	[[ $opt_mode == odrp ]] && echo "$opt_wire" || echo dgram
}

# Of the machine: --mem, and what its kernel needs besides.
guest_mb() {
	local mb
	mb=$(mem_mb)
	echo $((mb + $(kernel_extra_mb "$opt_kernel" "$mb")))
}

# The options that the cards' kind of wire needs besides.
wire_arguments() {
	[[ $(wire) == vhost ]] || return 0
	qemu_args+=(-object "memory-backend-memfd,id=ram,size=$(guest_mb)M,share=on"
		-machine memory-backend=ram)
}

# Properties of the card for its kind of wire.
wire_properties() {
	if [[ $(wire) == vhost ]]; then
		# Its memory node's NIC takes packets as they come. Without KVM
		# QEMU (7.2.22) dies of a vhost-user card with vectors.
		echo vectors=0
	else
		# The guest's packets leave 15 us after the first of them:
		# without that each of a burst is a call out of the emulator.
		echo tx=timer,x-txtimer=15000
	fi
}

# qemu_netdev CNODE MNODE
qemu_netdev() {
	local i=$1 k=$2 agent
	agent=$(wire_socket agent "$i" "$k")
	case $opt_mode in
	nbd)
		if [[ -n $nbd_tap ]]; then
			echo "tap,id=n$k,ifname=$nbd_tap,script=no,downscript=no,vhost=off"
		else
			echo "user,id=n$k,net=$GUEST_NET.0/24,host=$GUEST_NET.2"
		fi
		;;
	*)
		case $(wire) in
		vhost) echo "vhost-user,id=n$k,chardev=wire$k" ;;
		stream) echo "stream,id=n$k,server=off,addr.type=unix,addr.path=$agent" ;;
		dgram) echo "dgram,id=n$k,local.type=unix,local.path=$(wire_socket guest "$i" "$k"),remote.type=unix,remote.path=$agent" ;;
		esac
		;;
	esac
}

# qemu_card MNODE: the card that leads there, of the compute node i.
qemu_card() {
	local k=$1 mac
	mac=$(mnode_mac "$k" $((10 + i)))
	[[ $(wire) != vhost ]] || qemu_args+=(
		-chardev "socket,id=wire$k,path=$(wire_socket agent "$i" "$k")")
	qemu_args+=(-netdev "$(qemu_netdev "$i" "$k")"
		-device "virtio-net-pci,$(wire_properties),netdev=n$k,mac=$mac,host_mtu=$opt_mtu,romfile=,disable-legacy=on")
}

# qemu_machine I MB INITRD WORD...: qemu_args for a guest without cards; its files have I in
# their names, and its /init is told WORDs.
qemu_machine() {
	local i=$1 mb=$2 initrd=$3
	shift 3
	mapfile -t qemu_args < <(accel_options "$accel")
	qemu_args+=(-nodefaults -no-user-config -display none -no-reboot
		-M "q35,usb=off,vmport=off"
		-smp "$opt_cpus" -m "$mb"
		-kernel "$image" -initrd "$initrd"
		-append "$(kernel_command_line "$@")"
		-chardev "file,id=console,path=$run_dir/console$i"
		-serial chardev:console
		-device virtio-serial-pci)
	qemu_port ctl "pipe,path=$run_dir/ctl$i"
	qemu_port out "file,path=$run_dir/stdout$i"
	qemu_port err "file,path=$run_dir/stderr$i"
	qemu_port dmesg "file,path=$run_dir/dmesg$i"
	qemu_port cmd "pipe,path=$run_dir/cmd$i"
}

# Sets qemu_args for compute node $1.
qemu_arguments() {
	local i=$1
	qemu_machine "$i" "$(guest_mb)" "$run_dir/initrd" "CNODE_ID=$i"
	wire_arguments
	each_net qemu_card
	if ((opt_shell && i == 0)); then
		qemu_args+=(-chardev "stdio,id=tty,signal=off"
			-device "virtconsole,chardev=tty")
	fi
	qemu_args+=("${opt_qemu[@]}")
}

# Copies what node $1 writes: node 0's to where it belongs, the others' to
# standard error with their number before each line.
start_copiers() {
	local i=$1
	mkfifo "$run_dir/stdout$i" "$run_dir/stderr$i"
	if ((i == 0)); then
		cat "$run_dir/stdout0" {events_fd}>&- &
		reader_pid+=("$!")
		cat "$run_dir/stderr0" >&2 {events_fd}>&- &
	else
		sed -u "s/^/[cnode $i] /" "$run_dir/stdout$i" >&2 {events_fd}>&- &
		reader_pid+=("$!")
		sed -u "s/^/[cnode $i] /" "$run_dir/stderr$i" >&2 {events_fd}>&- &
	fi
	reader_pid+=("$!")
}

# Turns node $1's words into events; what is long goes to a file.
read_control() {
	local i=$1 word rest
	while read -r word rest; do
		if [[ $word = report ]]; then
			printf '%s\n' "$rest" >"$run_dir/report$i"
			rest=
		fi
		printf '%s %s %s\n' "$i" "$word" "$rest" >&"$events_fd"
	done <"$run_dir/ctl$i.out"
	printf '%s gone\n' "$i" >&"$events_fd"
}

# QEMU's messages go to a log. Their end is QEMU's end: who still waits for it
# to open a FIFO need not wait any more.
start_watcher() {
	local i=$1 f
	{
		cat "$run_dir/qemu$i.err" >"$run_dir/qemu$i.log"
		for f in "$run_dir"/{ctl"$i".out,stdout"$i",stderr"$i"}; do
			: <>"$f"
		done
	} {events_fd}>&- &
	reader_pid+=("$!")
}

guest_start() {
	local i=$1 fd out before=${#reader_pid[@]}
	local -a qemu_args
	mkfifo "$run_dir"/{ctl,cmd}"$i".{in,out} "$run_dir/qemu$i.err"
	start_copiers "$i"
	start_watcher "$i"
	read_control "$i" &
	reader_pid+=("$!")
	guest_readers[i]="${reader_pid[*]:before}"
	qemu_arguments "$i"
	# Held open here so that "go" can be written at any time.
	exec {fd}<>"$run_dir/ctl$i.in"
	guest_fd[i]=$fd
	# Only a shell's console uses these two; all else has its own channel.
	exec {out}>&1
	((opt_shell && i == 0)) || exec {out}>/dev/null
	setpriv --pdeathsig KILL -- qemu-system-x86_64 "${qemu_args[@]}" \
		<&0 >&"$out" 2>"$run_dir/qemu$i.err" {events_fd}>&- &
	guest_pid[i]=$!
	exec {out}>&-
	guest_state[i]=booting
	guest_alive_by[i]=$(usec_after "$BOOT_SECONDS" "$slow")
}

# Machines that have not come as far as /init go down.
guests_kill_stuck() {
	local i now
	now=$(usec_now)
	for ((i = 0; i < opt_cnodes; i++)); do
		[[ ${guest_state[i]} = booting ]] &&
			((now >= guest_alive_by[i])) || continue
		warn "cnode $i does not boot: killed after $((BOOT_SECONDS * slow)) s"
		guest_alive_by[i]=$(usec_after "$BOOT_SECONDS" "$slow")
		disown "${guest_pid[i]}" 2>/dev/null
		kill -KILL "${guest_pid[i]}" 2>/dev/null
	done
}

# guest_start_again I: its machine went down before its /init had said anything,
# which is no fault of anything that is tested here. Once.
guest_start_again() {
	local i=$1 fd=${guest_fd[$1]}
	guest_again[i]=1
	warn "cnode $i went down before its /init said anything: booting it once more"
	tail -n 3 "$run_dir/console$i" 2>/dev/null | tr -d '\r' >&2
	# Whoever reads from the old one ends with it.
	# shellcheck disable=SC2086
	wait ${guest_readers[i]} 2>/dev/null
	exec {fd}>&-
	rm -f "$run_dir"/{ctl,cmd}"$i".{in,out} "$run_dir/qemu$i.err" \
		"$run_dir"/std{out,err}"$i"
	mv "$run_dir/console$i" "$run_dir/first-console$i" 2>/dev/null
	guest_start "$i"
}

# guests_kill SIGNAL: QEMU ends at once at SIGTERM, unless something is wrong.
guests_kill() {
	local i
	for ((i = 0; i < opt_cnodes; i++)); do
		[[ -n ${guest_pid[i]:-} && ${guest_state[i]} != gone ]] || continue
		# The shell need not report it.
		[[ $1 != KILL ]] || disown "${guest_pid[i]}" 2>/dev/null
		kill "-$1" "${guest_pid[i]}" 2>/dev/null
	done
	return 0
}

# The guests' kernels log what hangs; then they are killed.
guests_ask_stacks() {
	local i
	for ((i = 0; i < opt_cnodes; i++)); do
		[[ ${guest_state[i]} = gone ]] ||
			echo stacks 1<>"$run_dir/cmd$i.in"
	done
}

guest_go() {
	echo go >&"${guest_fd[$1]}"
}

guests_in() {
	local i n=0
	for ((i = 0; i < opt_cnodes; i++)); do
		[[ ${guest_state[i]} = "$1" ]] && n=$((n + 1))
	done
	echo "$n"
}

# guests_all STATE: all that are still there are in it.
guests_all() {
	(($(guests_in "$1") + $(guests_in gone) == opt_cnodes)) &&
		(($(guests_in gone) < opt_cnodes))
}

# guests_go STATE NEXT: lets those in STATE go on.
guests_go() {
	local i
	for ((i = 0; i < opt_cnodes; i++)); do
		[[ ${guest_state[i]} = "$1" ]] || continue
		guest_state[i]=$2
		guest_go "$i"
	done
}

# A guest waits twice for the others: with its command, and with taking down.
guests_meet() {
	if guests_all ready; then
		info "up after $(elapsed_since "$run_begin") s"
		[[ $opt_mode != odrp ]] || mnodes_snapshot "$run_dir/mnodes-begin.json"
		[[ $opt_mode != nbd ]] || nbd_snapshot "$run_dir/nbd-begin.json"
		guests_go ready starting
	elif guests_all ended; then
		[[ $opt_mode != odrp ]] || mnodes_snapshot "$run_dir/mnodes.json"
		[[ $opt_mode != nbd ]] || nbd_snapshot "$run_dir/nbd-end.json"
		guests_go ended leaving
	fi
}

#
# Events
#

# on_guest_wish I WISH: what the command has written to /run/ask.
on_guest_wish() {
	case $opt_mode-$2 in
	odrp-kill-mnode) mnode_kill 0 ;;
	odrp-restart-mnode) mnode_restart 0 ;;
	odrp-end-agent) mnode_signal 0 USR1 ;;
	odrp-kill-agent) mnode_signal 0 USR2 ;;
	odrp-check-mnode) mnode_check 0 && mnode_checks=$((mnode_checks + 1)) ;;
	*)
		run_fail "cnode $1 asks for '$2': expected kill-mnode, restart-mnode," \
			"end-agent, kill-agent or check-mnode, and a memory node"
		;;
	esac
}

on_guest_event() {
	local i=$1 word=$2 rest=$3
	case $word in
	alive) guest_state[i]=alive ;;
	ready)
		guest_state[i]=ready
		guests_meet
		;;
	started)
		guest_state[i]=running
		((kill_at == 0)) && [[ -n $opt_kill_after ]] &&
			kill_at=$(usec_after "$opt_kill_after" "$slow")
		;;
	report) ;;
	asks) on_guest_wish "$i" "$rest" ;;
	ended)
		guest_state[i]=ended
		guest_status[i]=$rest
		((!opt_reboots)) ||
			run_fail "cnode $i: COMMAND ended (status $rest): expected a reboot"
		guests_meet
		;;
	teardown)
		warn "cnode $i: taking down failed: $rest"
		printf '%s\n' "cnode $i: $rest" >>"$run_dir/teardown"
		;;
	failed) run_fail "cnode $i: $rest" ;;
	off) guest_state[i]=off ;;
	gone) on_guest_gone "$i" ;;
	*) warn "cnode $i says something unknown: $word $rest" ;;
	esac
}

# may_be_gone I: COMMAND was to reboot the machine, and its kernel came to that.
may_be_gone() {
	((opt_reboots)) && [[ ${guest_state[$1]} = running ]] &&
		grep -q 'reboot: Restarting system' "$run_dir/console$1"
}

on_guest_gone() {
	local i=$1
	wait "${guest_pid[i]}" 2>/dev/null
	case ${guest_state[i]} in
	off) ;;
	booting)
		if ((!run_timed_out && !${guest_again[i]:-0})); then
			guest_start_again "$i"
			return
		fi
		run_fail "cnode $i went down before its /init said anything"
		;;
	*)
		((run_timed_out)) || may_be_gone "$i" ||
			run_fail "cnode $i went down while ${guest_state[i]}"
		;;
	esac
	guest_state[i]=gone
	# The others may have been waiting for this one.
	guests_meet
}

on_mnode_gone() {
	local k=$1 status
	[[ -n ${mnode_pid[k]} ]] || return 0
	# It is another life that has ended.
	! kill -0 "${mnode_pid[k]}" 2>/dev/null || return 0
	wait "${mnode_pid[k]}" 2>/dev/null
	status=$?
	mnode_pid[k]=
	run_fail "the agent of memory node $k ended by itself (status $status)"
	error "the agent of memory node $k ended by itself (status $status):"
	mnode_log "$k"
}

usec_now() {
	echo "${EPOCHREALTIME/[.,]/}"
}

# usec_after SECONDS [TIMES]: that point in time.
usec_after() {
	awk -v now="$(usec_now)" -v s="$1" -v times="${2:-1}" \
		'BEGIN { printf "%.0f", now + s * times * 1e6 }'
}

# The time until the next thing to do by the clock, in seconds.
next_wait() {
	local at=$deadline now left i
	((kill_at > 0 && kill_at < at)) && at=$kill_at
	for ((i = 0; i < opt_cnodes; i++)); do
		[[ ${guest_state[i]} = booting ]] &&
			((guest_alive_by[i] < at)) && at=${guest_alive_by[i]}
	done
	now=$(usec_now)
	left=$((at - now))
	((left > 0)) || left=1000
	printf '%d.%06d' $((left / 1000000)) $((left % 1000000))
}

on_clock() {
	local now
	now=$(usec_now)
	if ((kill_at > 0 && now >= kill_at)); then
		kill_at=-1
		mnode_kill 0
	fi
	guests_kill_stuck
	((now >= deadline)) || return 0
	case $run_timed_out in
	0)
		error "time-out after $((opt_timeout * slow)) s"
		guests_ask_stacks
		deadline=$(usec_after 2)
		;;
	1)
		guests_kill TERM
		deadline=$(usec_after 3)
		;;
	*)
		guests_kill KILL
		deadline=$(usec_after 3)
		;;
	esac
	run_timed_out=$((run_timed_out + 1))
}

run_loop() {
	local who word rest
	while (($(guests_in gone) < opt_cnodes)); do
		if read -r -t "$(next_wait)" -u "$events_fd" who word rest; then
			case $who in
			mnode) on_mnode_gone 0 ;;
			mnode-*) on_mnode_gone "${who#*-}" ;;
			nbd) ;;	# it ends with its client
			*) on_guest_event "$who" "$word" "$rest" ;;
			esac
		fi
		on_clock
	done
}

#
# The end
#

# guest_names: what the names of each guest's files have.
guest_names() {
	seq 0 $((opt_cnodes - 1))
	[[ $opt_mnode_in != guest ]] || echo "$MGUEST"
}

# Lines in the kernels' logs that mean a fault; true if there are any.
kernel_bugs() {
	local i f found=1
	for i in $(guest_names); do
		for f in console dmesg; do
			[[ -s $run_dir/$f$i ]] || continue
			kernel_log_bugs "$opt_kernel" "$run_dir/$f$i"
		done >"$run_dir/bugs"
		[[ -s $run_dir/bugs ]] || continue
		found=0
		error "the kernel of $([[ $i = "$MGUEST" ]] || echo cnode )$i logged:"
		sort -u "$run_dir/bugs" | head -n 10 >&2
	done
	return "$found"
}

show_logs() {
	local i f
	for i in $(guest_names); do
		for f in console$i qemu$i.log; do
			[[ -s $run_dir/$f ]] || continue
			printf '%s\n' "--- the end of $f:" >&2
			tail -n "$1" "$run_dir/$f" | tr -d '\r' >&2
		done
	done
}

# The first of the nodes' statuses that is not 0.
command_status() {
	local i
	for ((i = 0; i < opt_cnodes; i++)); do
		if ((${guest_status[i]:-0} != 0)); then
			echo "${guest_status[i]}"
			return
		fi
	done
	echo 0
}

write_json() {
	local i reports=()
	for ((i = 0; i < opt_cnodes; i++)); do
		[[ -s $run_dir/report$i ]] || echo null >"$run_dir/report$i"
		reports+=("$run_dir/report$i")
	done
	[[ -s $run_dir/mnodes.json ]] || echo null >"$run_dir/mnodes.json"
	[[ -s $run_dir/mnodes-begin.json ]] || echo null >"$run_dir/mnodes-begin.json"
	[[ -s $run_dir/mnodes-end.json ]] || echo null >"$run_dir/mnodes-end.json"
	cat "${reports[@]}" | jq -s \
		--arg kernel "$(kernel_release "$opt_kernel")" \
		--arg backend "$opt_backend" --arg mode "$opt_mode" \
		--arg accel "$accel" --argjson status "$1" \
		--argjson mnode_checks "$mnode_checks" \
		--argjson nbd "$(nbd_json)" \
		--slurpfile mnodes "$run_dir/mnodes.json" \
		--slurpfile mnodes_begin "$run_dir/mnodes-begin.json" \
		--slurpfile mnodes_end "$run_dir/mnodes-end.json" \
		--rawfile teardown <(cat "$run_dir/teardown" 2>/dev/null) '
		{elapsed_s: ([.[] | .elapsed_s? // 0] | max),
		 kernel: $kernel, backend: $backend, mode: $mode,
		 accel: $accel, status: $status,
		 cnodes: ., mnode: $mnodes[0][0], mnode_end: $mnodes_end[0][0],
		 mnode_begin: $mnodes_begin[0][0],
		 mnodes: $mnodes[0], mnodes_end: $mnodes_end[0],
		 mnode_checks: $mnode_checks, nbd: $nbd,
		 teardown_errors: ($teardown | split("\n") | map(select(. != "")))}' \
		>"$opt_json" || error "cannot write '$opt_json'"
}

run_status() {
	local status
	status=$(command_status)
	if kernel_bugs; then
		echo 70
	elif ((run_timed_out)); then
		echo 124
	elif [[ -n $run_failed ]]; then
		error "$run_failed"
		echo 125
	elif [[ -s $run_dir/teardown ]] && ((status == 0)); then
		echo 125
	else
		echo "$status"
	fi
}

# On every way out.
run_cleanup() {
	local status=$? p
	trap - EXIT INT TERM
	[[ -z $terminal ]] || stty "$terminal" 2>/dev/null
	if [[ -n $run_dir ]]; then
		guests_kill KILL
		mnodes_stop
		nbd_stop
		for p in "${reader_pid[@]}"; do
			kill "$p" 2>/dev/null
		done
		wait 2>/dev/null
		rm -f "$run_dir"/initrd* "$run_dir"/disk*
		keep_logs "$status"
	fi
	exit "$status"
}

keep_logs() {
	find "$run_dir" \( -type p -o -type s \) -delete
	if [[ -n $opt_keep_logs ]]; then
		mkdir -p "$opt_keep_logs" && cp -r "$run_dir/." "$opt_keep_logs/"
		rm -rf "$run_dir"
		return
	fi
	case $1 in
	70 | 124 | 125)
		info "logs are in $run_dir"
		;;
	*) rm -rf "$run_dir" ;;
	esac
}

vm_run() {
	local i status
	local accel image tsc slow kill_at=0 mnode_checks=0 deadline run_begin
	local -a guest_state guest_status guest_fd
	local -a guest_readers guest_again guest_alive_by

	ODRP_DIE_STATUS=125
	[[ -z $opt_json ]] || rm -f "$opt_json"
	run_init
	((opt_shell)) && [[ -t 0 ]] && terminal=$(stty -g)
	trap run_cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM

	kernel_image_fetch "$opt_kernel" && image=$(boot_image "$opt_kernel") &&
		accel=$(accel_choose "$opt_kernel") || exit 125
	tsc=$(tsc_khz)
	slow=$(kernel_slowness "$opt_kernel")
	# nbd-server's address goes into the archive.
	[[ $opt_mode != nbd ]] || nbd_start || exit 125
	# Nor is a secret.
	[[ $opt_mode != odrp ]] || { mnode_binaries && secret_make; } || exit 125
	run_archive || exit 125
	[[ $opt_mode != odrp ]] || mnodes_start || exit 125
	run_begin=$EPOCHREALTIME
	deadline=$(usec_after "$opt_timeout" "$slow")
	for ((i = 0; i < opt_cnodes; i++)); do
		guest_start "$i"
	done
	run_loop
	((opt_reboots)) && each_mnode mnode_wait_alone
	if [[ $opt_mode = odrp ]]; then
		each_mnode mnode_wait_settled
		mnodes_snapshot "$run_dir/mnodes-end.json"
	fi
	mnodes_stop
	nbd_stop
	for i in "${reader_pid[@]}"; do
		wait "$i" 2>/dev/null
	done

	status=$(run_status)
	case $status in
	70 | 125) show_logs 40 ;;
	124) show_logs 80 ;;
	esac
	[[ -z $opt_json ]] || write_json "$status"
	exit "$status"
}
