// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The layout of public structures, which compiled programs have in them: a change of
 * any line below is a change of the ABI, and of the soname.
 */
#include <stddef.h>

#include <far/hash.h>
#include <far/space.h>
#include <far/stats.h>

#define SIZE(type, bytes) \
	_Static_assert(sizeof(struct type) == (bytes), "size of " #type)
#define AT(type, field, off) \
	_Static_assert(offsetof(struct type, field) == (off), #type "." #field)

SIZE(far_conf, 64);
AT(far_conf, nic, 0);
AT(far_conf, space, 8);
AT(far_conf, nodes, 16);
AT(far_conf, nr_nodes, 24);
AT(far_conf, without, 28);
AT(far_conf, depth, 32);
AT(far_conf, task_stack, 36);
AT(far_conf, cache_bytes, 40);
AT(far_conf, seed, 48);
AT(far_conf, op_ms, 56);

SIZE(far_hash_attr, 8);
AT(far_hash_attr, expected, 0);

SIZE(far_hash_item, 40);
AT(far_hash_item, key, 0);
AT(far_hash_item, key_len, 8);
AT(far_hash_item, value, 16);
AT(far_hash_item, value_len, 24);
AT(far_hash_item, status, 32);

SIZE(far_hash_stats, 72);
AT(far_hash_stats, keys, 0);
AT(far_hash_stats, slots, 8);
AT(far_hash_stats, subtables, 16);
AT(far_hash_stats, global_depth, 24);
AT(far_hash_stats, key_bytes, 32);
AT(far_hash_stats, value_bytes, 40);
AT(far_hash_stats, block_bytes, 48);
AT(far_hash_stats, table_bytes, 56);
AT(far_hash_stats, splits, 64);

SIZE(far_space_attr, 40);
AT(far_space_attr, size, 0);
AT(far_space_attr, nodes, 8);
AT(far_space_attr, nr_nodes, 16);
AT(far_space_attr, max_clients, 20);
AT(far_space_attr, chunk_size, 24);
AT(far_space_attr, mode, 32);

SIZE(far_space_info, 72);
AT(far_space_info, name, 0);
AT(far_space_info, size, 40);
AT(far_space_info, used, 48);
AT(far_space_info, nr_nodes, 56);
AT(far_space_info, clients, 60);
AT(far_space_info, structures, 64);

SIZE(far_space_check, 56);
AT(far_space_check, chunks, 0);
AT(far_space_check, blocks, 8);
AT(far_space_check, used, 16);
AT(far_space_check, free, 24);
AT(far_space_check, retired, 32);
AT(far_space_check, leaked, 40);
AT(far_space_check, problems, 48);

SIZE(far_stats, 272);
AT(far_stats, reads, 0);
AT(far_stats, writes, 8);
AT(far_stats, cas, 16);
AT(far_stats, faa, 24);
AT(far_stats, service, 32);
AT(far_stats, doorbells, 40);
AT(far_stats, payload_bytes, 48);
AT(far_stats, wire_bytes, 56);
AT(far_stats, round_trips, 64);
AT(far_stats, ops, 72);
AT(far_stats, retries, 80);
AT(far_stats, retry_hist, 88);
AT(far_stats, combined, 216);
AT(far_stats, batches, 224);
AT(far_stats, cache_hits, 232);
AT(far_stats, cache_misses, 240);
AT(far_stats, credit_waits, 248);
AT(far_stats, reconnects, 256);
AT(far_stats, repaired, 264);
