#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#	test-uninstalled.sh BUILD SOURCE
# A program is built and run with the library of the build directory, by pkg-config.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

export PKG_CONFIG_PATH=$1/meson-uninstalled
flags=$(pkg-config --cflags --libs far)
# shellcheck disable=SC2086  # words
"${CC:-cc}" "$2" $flags -o "$dir/program"
LD_LIBRARY_PATH=$1/userspace "$dir/program" "mem:dir=$dir"
