# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# shellcheck shell=bash
#
# Completion for far, odrpctl, odrp-mnoded, odrp-hwcheck and wrc in bash: commands and
# options. All words are read from --help, so that none is out of date here.

# _odrp_help COMMAND...
_odrp_help() {
	"$@" --help 2>/dev/null </dev/null
}

# _odrp_commands COMMAND...: what may follow as a command. Help has a list, of a word
# behind two spaces, or lines of usage that begin with the command itself.
_odrp_commands() {
	local usage="^(Usage:|usage:|  or:|      ) +$*( \[OPTION\.\.\.\])? "
	_odrp_help "$@" | sed -nE \
		-e 's/^  ([a-z][a-z-]*)(  .*| .*|)$/\1/p' \
		-e "/$usage/{s/$usage//; s/[^a-z|-].*//; s/[|]/\n/g; p}" | grep -vxF -- "$1"
}

_odrp_options() {
	_odrp_help "$@" | grep -oE -- '(^|[ ,[(])--[a-z][a-z0-9-]*=?' | grep -oE -- '--.*'
}

_odrp() {
	local word=${COMP_WORDS[COMP_CWORD]} next i
	local -a command=("${COMP_WORDS[0]}") found=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		next=${COMP_WORDS[i]}
		_odrp_commands "${command[@]}" | grep -qxF -- "$next" && command+=("$next")
	done
	if [[ $word = -* ]]; then
		mapfile -t found < <(_odrp_options "${command[@]}" | sort -u)
	else
		mapfile -t found < <(_odrp_commands "${command[@]}" | sort -u)
	fi
	mapfile -t COMPREPLY < <(compgen -W "${found[*]}" -- "$word")
	# The value comes without a space.
	[[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace 2>/dev/null
}

complete -o default -F _odrp far odrpctl odrp-mnoded odrp-hwcheck wrc
