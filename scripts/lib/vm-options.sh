# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The command line of scripts/vm. To be sourced after common.sh, kernels.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # the settings are shared between the parts

usage() {
	cat <<'USAGE'
usage: scripts/vm run [OPTION]... -- COMMAND [ARG]...
       scripts/vm shell [OPTION]...
       scripts/vm fetch [--kernel VERSION]
       scripts/vm build [--kernel VERSION] [--faults]

run    boots compute nodes with Debian's kernel, gives them a swap device on a
       memory node that runs on this host, runs COMMAND, stops all
shell  the same with a shell on this terminal
fetch  downloads a kernel into the cache, or builds a debug kernel there
build  builds odrp.ko for a kernel; prints its path

Machine:
  --kernel VERSION      5.10, 6.1 (default), 6.12; newest: that of Debian's
                        testing suite; or 5.10-debug or 6.1-debug: built here,
                        with KASAN, lockdep and kmemleak; it gets more memory
                        than --mem says, and all time-outs are four times as
                        long (--timeout, --mnode-kill-after)
  --leaks               a debug kernel also looks for leaked memory at the end,
                        which makes it half as fast
  --mem SIZE            memory of a compute node, 64M at least (default 256M)
  --work SIZE           of that, what COMMAND may have before it swaps (default:
                        all; a debug kernel's: what --mem says, less 100M)
  --cpus N              its processors (default 2)
  --cnodes N            number of compute nodes (default 1); all run COMMAND at
                        once, each with its number in $CNODE_ID
  --mnodes N            number of memory nodes (default 1); each compute node
                        has a card to each of them, and on it a device: odrp0,
                        odrp1 and so on; swap fills them in this order
  --mnode-in WHERE      host (default): the memory node's agent runs on this host
                        and has a software NIC; guest: it runs in one more
                        machine and has the rdma_rxe of that one's kernel
  --joined              all memory nodes in one network, 10.77.0.1, 10.77.0.2
                        and so on: a compute node has one card, to the first,
                        whose NIC is the switch to the others
  --add FILE            put FILE (or a directory) into /x, which is on the
                        command's PATH, with the libraries that it needs; run a
                        program with the name of one of busybox as /x/NAME
  --qemu-arg ARG        one more argument for QEMU

Swap:
  --swap SIZE           size of a swap device (default 256M)
  --pool SIZE           a memory node's memory (default: what its devices
                        need, and 16M)
  --backend NAME        block (default), or frontswap (kernel 5.10, 5.10-debug)
  --param KEY=VALUE     parameter of the module; mnode.KEY=VALUE is an option
                        --KEY VALUE of the agent, with the number of the memory
                        node, from 0, for {K}; hot_add.KEY=VALUE is one more
                        pair in the string that adds the device
  --auth WHAT           secret (default): compute and memory nodes prove to each
                        other who they are, by a secret that is made for the
                        run, /etc/odrp/keys.d/vm in the guest; none: insecure,
                        nobody proves anything
  --faults              load a module whose calls fail as files in debugfs say
                        (docs/testing-tools.md)
  --mtu N               of the guest's network device (default 2200, a RoCE path
                        MTU of 2048; 4500, a debug kernel's default, makes it
                        4096, faster, and keeps 16 MB of the guest's memory for
                        packets instead of 8)
  --wire KIND           how QEMU and the memory node's NIC are joined: vhost
                        (default; in the guest's memory), stream or dgram
                        (sockets of that kind)
  --nic-opt TEXT        more for the agent's software NIC, such as loss=0.01
  --netem TEXT          have the machines' kernels treat what their cards send so,
                        such as "loss 1%" (tc-netem(8))
  --no-swapon           add the devices, but do not swap to them
  --no-odrp             the same machine with neither swap nor memory node
  --nbd                 swap over NBD instead, served by nbd-server on this host

Run:
  --mnode-kill-after S  kill the memory node, the first of several, S seconds
                        after COMMAND started (COMMAND may ask for it, too:
                        echo kill-mnode >/run/ask; check-mnode asks for a count
                        of the agent's pages, and the run fails if it is wrong;
                        with --wire dgram restart-mnode has it begin anew)
  --keep-mnode          whatever becomes of an agent, another one has its pages:
                        COMMAND may ask for end-agent, by SIGTERM, and for
                        kill-agent, by SIGKILL; with --wire dgram
  --reboots             COMMAND ends by rebooting its machine; any other end
                        fails the run. The last statistics are taken when the
                        memory nodes have noticed the loss, or after half a
                        minute
  --init                the same, and COMMAND is process 1, such as systemd
  --json FILE           write statistics there
  --timeout SECONDS     limit for the whole run (default 600)
  --keep-logs DIR       keep consoles and logs there

Standard output is COMMAND's (compute node 0's); everything else goes to
standard error. Exit status: COMMAND's; 124 time-out; 125 the machine or the
set-up failed; 70 the kernel of a compute node logged a bug or a warning.

Environment: ODRP_CACHE (cache directory, default ~/.cache/odrp), ODRP_BUILD
(where user space is built), ODRP_ACCEL (kvm or tcg), ODRP_MNODED and
ODRP_CTL (an agent and a control program to use as they are), ODRP_NBD_SERVER (a
program instead of nbd-server: it is given ADDRESS PORT BYTES), ODRP_QUIET=1.
USAGE
}

options_default() {
	opt_kernel=6.1
	opt_mem=256M
	opt_work=
	opt_cpus=2
	opt_swap=256M
	opt_pool=
	opt_backend=block
	opt_cnodes=1
	opt_mnodes=1
	opt_joined=0
	opt_mnode_in=host
	opt_mode=odrp
	opt_swapon=1
	opt_module=()
	opt_kill_after=
	opt_reboots=0
	opt_keep=0
	opt_init=0
	opt_json=
	opt_timeout=600
	opt_keep_logs=
	opt_shell=0
	opt_nic=
	opt_netem=
	opt_add=()
	opt_param=()
	opt_qemu=()
	opt_wire=vhost
	opt_mtu=
	opt_leaks=0
	opt_auth=secret
	opt_command=()
}

bad_usage() {
	error "$@"
	echo "Try 'scripts/vm --help'." >&2
	exit 125
}

want_count() {
	[[ $2 =~ ^[1-9][0-9]{0,3}$ && $2 -le $3 ]] ||
		bad_usage "$1 '$2': expected a number from 1 to $3"
}

# want_seconds NAME VALUE: more than 0.
want_seconds() {
	[[ $2 =~ ^[0-9]{1,6}(\.[0-9]{1,3})?$ && $2 =~ [1-9] ]] ||
		bad_usage "$1 '$2': expected a number of seconds, more than 0"
}

# Where the run writes to.  A directory is made, after all else is known to be right.
options_check_outputs() {
	[[ -z $opt_json ]] || can_write "$opt_json" ||
		bad_usage "--json '$opt_json': expected a file that can be written"
	[[ -z $opt_keep_logs ]] || {
		mkdir -p -- "$opt_keep_logs" && [[ -w $opt_keep_logs ]]
	} 2>/dev/null || bad_usage "--keep-logs '$opt_keep_logs': expected a" \
		"directory that can be written"
}

# module_parameters: their names, as the module's sources declare them.
module_parameters() {
	sed -n 's/^BOUNDED_PARAM(\([a-z_]*\),.*/\1/p' "$ODRP_ROOT"/kmod/param.c
}

# want_param KEY=VALUE: of the module, unless it says of whom.
want_param() {
	local key=${1%%=*}
	[[ $1 =~ ^[a-z_.A-Z0-9-]+= ]] || bad_usage "--param '$1': expected KEY=VALUE"
	case $key in
	mnode.* | hot_add.*) return ;;
	esac
	module_parameters | grep -qx -- "$key" ||
		bad_usage "--param '$1': the module has no such parameter: expected $(
			module_parameters | paste -sd, - | sed 's/,/, /g')," \
			"or mnode.KEY=VALUE or hot_add.KEY=VALUE"
}

# Only one thing can take the memory node's place.
want_mode() {
	[[ $opt_mode = odrp || $opt_mode = "$1" ]] ||
		bad_usage "--nbd and --no-odrp: expected one of them"
	opt_mode=$1
}

want_text() {
	[[ -n $2 ]] || bad_usage "$1 '': expected a name"
}

want_size() {
	size_bytes "$2" >/dev/null ||
		bad_usage "$1 '$2': expected a size such as 268435456, 256M or 1G"
}

# Prints what options_parse does with the options that take a value.
options_value() {
	local name=$1 value=$2
	case $name in
	--kernel)
		kernel_check_version "$value" || exit 125
		opt_kernel=$value
		;;
	--mem)
		want_size "$name" "$value"
		(($(size_bytes "$value") >= 64 << 20)) ||
			bad_usage "--mem '$value': expected at least 64M"
		opt_mem=$value
		;;
	--work)
		want_size "$name" "$value"
		(($(size_bytes "$value") >= 4 << 20)) ||
			bad_usage "--work '$value': expected at least 4M"
		opt_work=$value
		;;
	--cpus) want_count "$name" "$value" 64; opt_cpus=$value ;;
	--swap) want_size "$name" "$value"; opt_swap=$value ;;
	--pool) want_size "$name" "$value"; opt_pool=$value ;;
	--cnodes) want_count "$name" "$value" 32; opt_cnodes=$value ;;
	--mnodes) want_count "$name" "$value" 8; opt_mnodes=$value ;;
	--mnode-in)
		[[ $value =~ ^(host|guest)$ ]] ||
			bad_usage "--mnode-in '$value': expected host or guest"
		opt_mnode_in=$value
		;;
	--backend)
		case $value in
		block | frontswap) opt_backend=$value ;;
		*) bad_usage "--backend '$value': expected block or frontswap" ;;
		esac
		;;
	--add)
		[[ -e $value ]] || bad_usage "--add '$value': no such file"
		opt_add+=("$value")
		;;
	--param)
		want_param "$value"
		opt_param+=("$value")
		;;
	--auth)
		[[ $value =~ ^(secret|none)$ ]] ||
			bad_usage "--auth '$value': expected secret or none"
		opt_auth=$value
		;;
	--nic-opt) opt_nic+=,$value ;;
	--netem)
		want_text "$name" "$value"
		opt_netem=$value
		;;
	--mnode-kill-after) want_seconds "$name" "$value"; opt_kill_after=$value ;;
	--json) want_text "$name" "$value"; opt_json=$value ;;
	--timeout) want_seconds "$name" "$value"; opt_timeout=$value ;;
	--keep-logs) want_text "$name" "$value"; opt_keep_logs=$value ;;
	--qemu-arg) opt_qemu+=("$value") ;;
	--mtu)
		[[ $value =~ ^[1-9][0-9]{2,3}$ && $value -ge 576 ]] ||
			bad_usage "--mtu '$value': expected a number from 576 to 9999"
		opt_mtu=$value
		;;
	--wire)
		[[ $value =~ ^(vhost|stream|dgram)$ ]] ||
			bad_usage "--wire '$value': expected vhost, stream or dgram"
		opt_wire=$value
		;;
	*) return 1 ;;
	esac
}

options_parse() {
	while (($#)); do
		case $1 in
		--help | -h)
			usage
			exit 0
			;;
		--no-odrp) want_mode none ;;
		--nbd) want_mode nbd ;;
		--no-swapon) opt_swapon=0 ;;
		--keep-mnode) opt_keep=1 ;;
		--leaks) opt_leaks=1 ;;
		--joined) opt_joined=1 ;;
		--reboots) opt_reboots=1 ;;
		--init) opt_init=1 opt_reboots=1 ;;
		--faults) opt_module=(ODRP_FAULTS=1) ;;
		--)
			shift
			opt_command=("$@")
			break
			;;
		--*=*)
			options_value "${1%%=*}" "${1#*=}" ||
				bad_usage "unknown option '$1'"
			;;
		--*)
			(($# >= 2)) || bad_usage "'$1' is unknown, or lacks its value"
			options_value "$1" "$2" || bad_usage "unknown option '$1'"
			shift
			;;
		*)
			bad_usage "unexpected argument '$1' (the command follows '--')"
			;;
		esac
		shift
	done
	[[ -n $opt_mtu ]] || opt_mtu=$(kernel_mtu "$opt_kernel")
}

# What is added is unpacked into memory, which may hold as much again.
options_check_additions() {
	local bytes
	((${#opt_add[@]})) || return 0
	bytes=$(du -scbL -- "${opt_add[@]}" | sed -n '$s/\t.*//p')
	((bytes <= $(size_bytes "$opt_mem") / 2)) ||
		bad_usage "--add: $((bytes >> 20)) MB do not fit a machine of --mem" \
			"$opt_mem: expected at most half of that"
}

# Refuses the options that a memory node in a machine does not have.
options_check_mnode_in() {
	local instead="expected --mnode-in host"
	[[ $opt_mnode_in = guest ]] || return 0
	[[ $opt_mode = odrp ]] ||
		bad_usage "--mnode-in guest: there is no memory node in this run"
	((opt_mnodes == 1)) || bad_usage "--mnodes $opt_mnodes: $instead"
	[[ -z $opt_nic ]] || bad_usage "--nic-opt '${opt_nic#,}': $instead"
	# The wires of both are QEMU's.
	opt_wire=dgram
}

options_check_run() {
	((${#opt_command[@]})) || bad_usage "no COMMAND (it follows '--')"
	options_check_additions
	options_check_mnode_in
	if [[ $opt_mode = nbd ]] && ((opt_cnodes > 1)); then
		bad_usage "--nbd works with one compute node only"
	fi
	if [[ $opt_mode != odrp ]] && ((opt_mnodes > 1)); then
		bad_usage "--mnodes: there is no memory node in this run"
	fi
	if [[ -n $opt_kill_after && $opt_mode != odrp ]]; then
		bad_usage "--mnode-kill-after: there is no memory node in this run"
	fi
	if ((opt_keep)) && [[ $opt_mode != odrp ]]; then
		bad_usage "--keep-mnode: there is no memory node in this run"
	fi
	if ((opt_keep)) && [[ $opt_wire != dgram ]]; then
		bad_usage "--keep-mnode: expected with --wire dgram, and not $opt_wire"
	fi
	if [[ $opt_backend = frontswap ]] && ! kernel_has_frontswap "$opt_kernel"; then
		bad_usage "--backend frontswap: kernel $opt_kernel has none for" \
			"modules: expected block"
	fi
	options_check_outputs
}
