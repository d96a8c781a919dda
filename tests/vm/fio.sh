#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# fio as the judge of the device as a disk: requests of 4 KB to 128 KB, in
# order and at random, one at a time and 32, by the kernel's three interfaces.
# Every block says where it belongs, and carries a checksum of itself.
. "$(dirname "$0")/lib.sh"
chains_only

# job_file MB: a job file of the list on standard input; each has its own region.
job_file() {
	local mb=$1 at=0 rw bs depth engine
	cat <<-GLOBAL
		[global]
		filename=/dev/odrp0
		direct=1
		thread
		verify=crc32c
		verify_fatal=1
		verify_state_save=0
		randrepeat=0
	GLOBAL
	while read -r rw bs depth engine; do
		printf '[%s-%s-%s-%s]\nstonewall\noffset=%dm\nsize=%dm\n' \
			"$rw" "${bs%%/*}" "$depth" "$engine" "$at" "$mb"
		case $bs in
		*:*) printf 'bssplit=%s\n' "$bs" ;;
		*) printf 'bs=%s\n' "$bs" ;;
		esac
		printf 'rw=%s\niodepth=%s\nioengine=%s\n' "$rw" "$depth" "$engine"
		at=$((at + mb))
	done
}

mixed=4k/50:8k/20:16k/10:64k/10:128k/10

few() {
	cat <<-JOBS
		randwrite 4k 32 libaio
		randwrite 4k 1 psync
		write 16k 4 libaio
		randwrite 64k 8 io_uring
		write 128k 32 io_uring
		randwrite $mixed 16 io_uring
	JOBS
}

all() {
	local rw bs
	for rw in write randwrite; do
		for bs in 4k 8k 16k 32k 64k 128k $mixed; do
			printf "$rw $bs %s\n" "1 psync" "4 libaio" "32 libaio" \
				"32 io_uring"
		done
	done
}

# Written and verified in turn; written again, all at once; then looked at
# again, when all others have been busy beside.
read -r -d '' writing <<'GUEST'
set -e
printf '%s\n' "$1" >/tmp/jobs
grep -v stonewall /tmp/jobs >/tmp/at-once
run() {
	fio --output=/tmp/log "$@" || { cat /tmp/log; exit 1; }
	grep -E "^ *(READ|WRITE|TRIM):" /tmp/log | cut -c1-60
}
run --randseed=1 /tmp/jobs
run --randseed=2 /tmp/at-once
run --randseed=2 --verify_only /tmp/jobs
echo all well
GUEST

# verifies KERNEL LIST MB
verifies() {
	local list pages
	list=$("$2")
	pages=$(($(wc -l <<<"$list") * $3 * 256))
	vm_script --kernel "$1" --mem 512M --swap $((pages / 256))M --no-swapon \
		--param hot_add.queues=2 --add "$(command -v fio)" -- \
		"$writing" "$(echo "$list" | job_file "$3")"
	expect_status 0
	expect_out 'all well'
	expect ".cnodes[0].stats.stores_unmapped == $pages" \
		".cnodes[0].stats.stores_mapped == $pages" \
		".cnodes[0].stats.loads == 3 * $pages"
	expect_clean
}

# Half of the device is discarded, 16 KB at a time, while the other half is
# written; then it is zeros, and then written again.
read -r -d '' trimming <<'GUEST'
set -e
half=$1
fio_on() {
	offset=$1
	shift
	fio --output="/tmp/log.$offset" --filename=/dev/odrp0 --direct=1 --thread \
		--ioengine=libaio --iodepth=16 --offset="$offset"m --size="$half"m \
		--verify_fatal=1 --verify_state_save=0 --name=on-$offset "$@" || {
		cat "/tmp/log.$offset"
		echo "wrong at $offset MB: $*"
		exit 1
	}
}
fio_on 0 --rw=randwrite --bs=4k --verify=crc32c
fio_on $half --rw=randwrite --bs=8k --verify=crc32c &
fio_on 0 --rw=randtrim --bs=16k
wait $!
fio_on 0 --rw=write --bs=64k --verify=pattern --verify_pattern=0 --verify_only
fio_on $half --rw=randwrite --bs=8k --verify=crc32c --verify_only &
fio_on 0 --rw=randwrite --bs=32k --verify=crc32c
wait $!
fio_on $half --rw=randtrim --bs=4k &
fio_on 0 --rw=randwrite --bs=32k --verify=crc32c --verify_only
wait $!
fio_on $half --rw=write --bs=64k --verify=pattern --verify_pattern=0 --verify_only
echo all well
GUEST

# trims KERNEL MB
trims() {
	vm_script --kernel "$1" --mem 512M --swap $((2 * $2))M --no-swapon \
		--add "$(command -v fio)" -- "$trimming" "$2"
	expect_status 0
	expect_out 'all well'
	expect ".cnodes[0].stats.loads_zero == $(($2 * 2 * 256))" \
		'.cnodes[0].stats.invalidates > 1000'
	expect_clean
}

tap_case_with disk "six kinds of job on 6.1" verifies 6.1 few 2
tap_case_with disk "discards on 6.1" trims 6.1 6
if ((nightly)); then
	vm_timeout=1500
	for kernel in 5.10 6.1 6.12; do
		tap_case_with disk "every kind of job on $kernel" verifies $kernel all 4
		tap_case_with disk "more discards on $kernel" trims $kernel 32
	done
fi
tap_end
