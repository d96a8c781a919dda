# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# PostgreSQL with pgbench, in the place of VoltDB with TPC-C. To be sourced by
# scripts/bench-apps, before apps.sh.
# shellcheck shell=bash
# shellcheck disable=SC2154  # the settings are the script's
#
# The host makes the database, once; each machine gets a copy. Its files are in the ramfs
# of the machine, outside of the group, in the place of a disk. What is in the group, and
# what is swapped, is PostgreSQL's cache, which is as large as the database: all pages are
# read into it, and then clients change rows at random.
#
# PostgreSQL does not run as root, and a file has to be its own. In a user namespace that
# calls root 1000, both are so on the host and in the machine, whose busybox has another
# unshare of its own.

# MB of a database of pgbench for each unit of its scale.
PGBENCH_UNIT=16

pgbench_bin() {
	local dir
	dir=$(printf '%s\n' /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
	echo "$dir"
}

# pgbench_programs: what the guest needs, a line each.
pgbench_programs() {
	local program
	for program in postgres pgbench psql; do
		echo "$(pgbench_bin)/$program"
	done
}

# pgbench_mb MB: the next size that a database can have.
pgbench_mb() {
	echo $((($1 + PGBENCH_UNIT - 1) / PGBENCH_UNIT * PGBENCH_UNIT))
}

# pgbench_tree DIR: PostgreSQL as far as the server needs it, in DIR/usr: it looks for its
# other files from where it is itself.
pgbench_tree() {
	local version lib share
	version=$(basename "$(dirname "$(pgbench_bin)")")
	lib=usr/lib/postgresql/$version
	share=usr/share/postgresql/$version
	mkdir -p "$1/$lib/bin" "$1/$lib/lib" "$1/$share" || return 1
	mapfile -t programs_of_it < <(pgbench_programs)
	cp -L "${programs_of_it[@]}" "$1/$lib/bin/" &&
		cp -L "/$lib/lib/pg_prewarm.so" "$1/$lib/lib/" &&
		cp -rL "/$share/timezonesets" "$1/$share/"
}

# pgbench_data DIR MB: a database of so many MB, in DIR/data.
pgbench_data() {
	local bin data=$1/data
	bin=$(pgbench_bin)
	unshare -U --map-user=1000 sh -ec '
		bin=$1 data=$2 scale=$3
		$bin/initdb -D $data -U postgres -A trust -E SQL_ASCII --no-locale \
			--wal-segsize=1 --no-sync
		cat >>$data/postgresql.conf <<-CONF
			listen_addresses = ""
			unix_socket_directories = "/tmp"
			fsync = off
			synchronous_commit = off
			full_page_writes = off
			wal_level = minimal
			max_wal_senders = 0
			min_wal_size = 2MB
			max_wal_size = 8MB
			autovacuum = off
			max_connections = 8
			max_parallel_workers = 0
			huge_pages = off
			timezone = "GMT"
			log_timezone = "GMT"
		CONF
		sed -i "s/\"/'\''/g" $data/postgresql.conf
		$bin/postgres -D $data -k $data &
		server=$!
		tries=300
		until $bin/pg_isready -q -h $data; do
			[ $((tries -= 1)) -gt 0 ]
			sleep 0.1
		done
		$bin/pgbench -h $data -U postgres -i -q -s $scale postgres
		$bin/psql -h $data -U postgres -c "create extension pg_prewarm" postgres
		kill -INT $server
		wait' sh "$bin" "$data" $(($2 / PGBENCH_UNIT)) >"$1/log" 2>&1 || {
		error "PostgreSQL made no database: $(tail -n 1 "$1/log")"
		return 1
	}
}

# pgbench_make MB: both, below $dir, unless they are there. Prints where.
pgbench_make() {
	local at=$dir/pgbench-$1
	if [[ ! -d $at ]]; then
		mkdir "$at" && pgbench_tree "$at" && pgbench_data "$at" "$1" || return 1
	fi
	echo "$at"
}

# The balances of all accounts are the sum of what was booked, or an update is lost.
# shellcheck disable=SC2016,SC2034  # for the guest's shell; apps.sh uses it
pgbench_guest='
cd /x/pgbench-$mb
chmod 700 data
bin=$(echo $PWD/usr/lib/postgresql/*/bin)
sql() {
	$bin/psql -h /tmp -U postgres -Atc "$1" postgres
}
in_group /x/unshare -U --map-user=1000 $bin/postgres -D $PWD/data \
	-c shared_buffers=${mb}MB >/tmp/postgres.log 2>&1 &
server=$!
until sql "select 1" >/tmp/up 2>&1; do
	kill -0 $server || { cat /tmp/postgres.log; exit 1; }
	usleep 100000
done
sql "select pg_prewarm(oid) from pg_class where relname like '\''pgbench_accounts%'\''" >/tmp/warm
n=$((mb * 10))
$bin/pgbench -h /tmp -U postgres -n -c 4 -t $((n / 4)) postgres 2>&1 |
	sed -n "s/^tps = \([0-9.]*\) .*/ops_s=\1/p"
same=$(sql "select count(*) = $((n / 4 * 4)) and
	sum(delta) = (select sum(abalance) from pgbench_accounts) from pgbench_history")
kill -INT $server
wait
[ "$same" = t ] && echo verified=yes || echo verified=no'
