# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The command line of scripts, from a table. To be sourced after common.sh; the
# script has usage(). (scripts/vm has more than this: vm-options.sh.)
# shellcheck shell=bash
# shellcheck disable=SC2034  # the scripts read what is set here
#
#   options_read TABLE ARG...   sets a variable for each option that is there, and
#                               "given" to their names
#   bad_usage TEXT...           one line, and exit status 2
#   is_given --NAME
#   want_one_of --NAME --NAME   not both of two options
#   want_output --NAME FILE     if it is given, it can be written; nothing is left there
#   want_kernel VERSION         of --kernel; after kernels.sh
#
# A word of TABLE is an option without its dashes and what it takes:
#
#   save?          nothing: save=1
#   json=          a value: json=VALUE;  top=list  the same in the variable "list"
#   only+          a value, any number of times: only+=(VALUE)
#   ...            arguments that are no options: rest+=(...)
#   --             what is behind "--" on the command line: rest=(...)

bad_usage() {
	error "$* (see scripts/$ODRP_PROG --help)"
	exit 2
}

# option_word NAME: its word of the table.
option_word() {
	local word
	for word in $options_table; do
		[[ ${word%%[?=+]*} = "$1" ]] && echo "$word" && return
	done
	return 1
}

# option_take NAME WORD VALUE
option_take() {
	local variable=${2#*[?=+]}
	variable=${variable:-$1}
	case $2 in
	*\?*) declare -g "$variable=1" ;;
	*=*) declare -g "$variable=$3" ;;
	*+*) declare -ga "$variable+=(\"\$3\")" ;;
	esac
	[[ $2 = *+* ]] || ! is_given "--$1" ||
		bad_usage "--$1 is there twice: expected once"
	given+=("--$1")
}

options_read() {
	local options_table=$1 name word
	shift
	given=()
	rest=()
	while (($#)); do
		case $1 in
		--help | -h)
			usage
			exit 0
			;;
		--)
			[[ " $options_table " = *' -- '* ]] ||
				bad_usage "'--': not expected"
			shift
			rest=("$@")
			return
			;;
		--?*) ;;
		*)
			[[ " $options_table " = *' ... '* ]] ||
				bad_usage "'$1': expected an option"
			rest+=("$1")
			shift
			continue
			;;
		esac
		name=${1#--}
		name=${name%%=*}
		word=$(option_word "$name") || bad_usage "unknown option '$1'"
		if [[ $word = *\?* ]]; then
			[[ $1 != *=* ]] || bad_usage "'$1': expected no value"
			option_take "$name" "$word" ''
		elif [[ $1 = *=* ]]; then
			option_take "$name" "$word" "${1#*=}"
		else
			(($# >= 2)) || bad_usage "--$name: expected a value"
			option_take "$name" "$word" "$2"
			shift
		fi
		shift
	done
}

is_given() {
	[[ " ${given[*]} " = *" $1 "* ]]
}

want_one_of() {
	! is_given "$1" || ! is_given "$2" ||
		bad_usage "$1 and $2: expected one of them"
}

want_output() {
	! is_given "$1" || can_write "$2" ||
		bad_usage "$1 '$2': expected a file that can be written"
}

want_kernel() {
	[[ " $KERNEL_VERSIONS ${KERNEL_DEBUG_VERSIONS:-} " = *" $1 "* && $1 != *' '* ]] ||
		bad_usage "--kernel '$1': expected one of $KERNEL_VERSIONS" \
			"$KERNEL_DEBUG_VERSIONS"
}
