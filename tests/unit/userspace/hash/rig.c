/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Space sets and clients for the tests of the hash table. */
#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <far/space.h>

#include "../../../../userspace/core/dir.h"
#include "../../../../userspace/core/type.h"
#include "../../../../userspace/space/format.h"

static const char *const node_names[RIG_MAX_NODES] = { "0", "1", "2", "3" };

static void nics_open(struct rig *rig)
{
	struct far_sim_attr attr = {
		.profile = "cx6-200",
		.cns = rig->conf.clients,
		.mns = rig->conf.nodes,
		.seed = rig->conf.seed,
		.max_space = rig->conf.size,
		.adversary = rig->conf.adversary,
		.break_one_in = rig->conf.break_one_in,
		.scale = 0.01,
	};
	const char *all = rig->conf.spec;
	char spec[64], why[200];
	unsigned i;

	if (rig->conf.sim) {
		if (far_sim_new(&attr, why, sizeof(why), &rig->sim))
			fail_msg("%s", why);
		for (i = 0; i < rig->conf.clients; i++)
			rig->nic[i] = far_sim_nic(rig->sim, i);
		return;
	}
	snprintf(rig->dir, sizeof(rig->dir), "/tmp/far-hash-XXXXXX");
	assert_non_null(mkdtemp(rig->dir));
	if (rig->conf.soft)
		snprintf(spec, sizeof(spec), "soft:nodes=%u", rig->conf.nodes);
	else
		snprintf(spec, sizeof(spec), "mem:dir=%s", rig->dir);
	for (i = 0; i < rig->conf.clients; i++)
		if (far_nic_open(rig->conf.specs[i] ? rig->conf.specs[i] :
				 all ? all : spec, why, sizeof(why), &rig->nic[i]))
			fail_msg("%s", why);
}

static void space_make(struct rig *rig, unsigned node)
{
	const struct far_nic_host_ops *host = rig->nic[0]->ops->host;
	struct far_format format = {
		.name = "s",
		.set = "hash",
		.size = rig->conf.size,
		.chunk_size = 1 << 20,
		.nr_nodes = rig->conf.nodes,
		.node = node,
	};
	char why[200];
	struct far_sb sb;

	if (far_format_plan(&format, why, sizeof(why), &sb))
		fail_msg("%s", why);
	assert_int_equal(host->create(rig->nic[0], node_names[node], "s", format.size,
				      0600, &rig->map[node]), 0);
	far_format_write(rig->map[node].addr, &sb, true);
	assert_int_equal(host->publish(rig->nic[0], &rig->map[node]), 0);
}

/* The memory nodes of a space that exists. */
static void nodes_name(struct rig *rig)
{
	char *pos = rig->names;

	assert_in_range(snprintf(rig->names, sizeof(rig->names), "%s", rig->conf.node), 1,
			sizeof(rig->names) - 1);
	rig->conf.nodes = 0;
	do {
		assert_true(rig->conf.nodes < RIG_MAX_NODES);
		rig->name[rig->conf.nodes++] = strsep(&pos, ",");
	} while (pos);
}

void rig_open(struct rig *rig, const struct rig_conf *conf)
{
	unsigned i;

	memset(rig, 0, sizeof(*rig));
	rig->conf = *conf;
	if (!conf->nodes)
		rig->conf.nodes = RIG_NODES;
	if (!conf->clients)
		rig->conf.clients = 1;
	if (!conf->size)
		rig->conf.size = 64 << 20;
	if (conf->space)
		nodes_name(rig);
	nics_open(rig);
	for (i = 0; i < rig->conf.nodes && !conf->space; i++)
		space_make(rig, i);
	for (i = 0; i < rig->conf.clients; i++)
		rig_join(rig, i);
}

void rig_join(struct rig *rig, unsigned i)
{
	struct far_conf conf = {
		.space = rig->conf.space ? rig->conf.space : "s",
		.nodes = rig->conf.space ? rig->name : node_names,
		.nr_nodes = rig->conf.nodes,
		.without = rig->conf.without,
		.cache_bytes = rig->conf.cache ? rig->conf.cache : 1 << 16,
		.seed = rig->conf.seed + i + 1,
	};
	char why[200];
	int err;

	/* connections may break under it */
	do
		err = far_open_nic(rig->nic[i], &conf, why, sizeof(why), &rig->far[i]);
	while (err == -EIO && rig->conf.adversary & FAR_SIM_BREAK);
	if (err)
		fail_msg("%s", why);
}

void rig_leave(struct rig *rig, unsigned i)
{
	/* what died has left nothing that could be closed */
	if (rig->far[i] && !(rig->sim && far_sim_cn_dead(rig->sim, i)))
		far_close(rig->far[i]);
	rig->far[i] = NULL;
}

void rig_close(struct rig *rig)
{
	const struct far_nic_host_ops *host = rig->nic[0]->ops->host;
	unsigned i;

	for (i = 0; i < rig->conf.clients; i++)
		rig_leave(rig, i);
	for (i = 0; i < rig->conf.nodes && !rig->conf.space; i++) {
		host->unmap(rig->nic[0], &rig->map[i]);
		host->remove(rig->nic[0], node_names[i], "s");
	}
	for (i = 0; i < rig->conf.clients; i++)
		rig->nic[i]->ops->close(rig->nic[i]);
	if (rig->sim)
		far_sim_free(rig->sim);
	else
		rmdir(rig->dir);
}

struct far_task *rig_enter(struct rig *rig, unsigned client)
{
	struct far_task *task;

	assert_int_equal(far_enter(rig->far[client], &task), 0);
	return task;
}

struct found {
	struct far_walk walk;
	struct { uint64_t addr, len; } *block;
	size_t nr, max;
	unsigned problems;
};

static int found_block(struct far_walk *walk, uint64_t addr, uint64_t size)
{
	struct found *found = (struct found *)walk;

	if (found->nr == found->max) {
		found->max = found->max ? 2 * found->max : 1024;
		found->block = realloc(found->block, found->max * sizeof(*found->block));
		assert_non_null(found->block);
	}
	found->block[found->nr].addr = addr;
	found->block[found->nr++].len = size;
	return 0;
}

static void found_problem(struct far_walk *walk, const char *text)
{
	struct found *found = (struct found *)walk;

	print_error("%s\n", text);
	found->problems++;
}

static int by_addr(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int walk_once(struct far_task *task, struct found *found)
{
	const struct far_type *type;
	struct far_dir_view dir;
	int err = far_dir_read(task, &dir);

	found->nr = 0;
	if (err)
		return err;
	assert_int_equal(dir.torn, 0);
	for (unsigned i = 0; !err && i < dir.nr; i++) {
		if (!far_dir_is_good(&dir.entry[i]))
			continue;
		type = far_type_find(dir.entry[i].type);
		assert_non_null(type);
		err = type->walk(task, &dir.entry[i], &found->walk);
	}
	far_dir_free(&dir);
	return err;
}

static void rig_walk(struct far_task *task, struct found *found)
{
	size_t i;
	int err;

	/* connections may break under it */
	do
		err = walk_once(task, found);
	while (err == -EIO);
	assert_int_equal(err, 0);
	if (found->nr)
		qsort(found->block, found->nr, sizeof(*found->block), by_addr);
	for (i = 1; i < found->nr; i++)
		if (found->block[i - 1].addr + found->block[i - 1].len >
		    found->block[i].addr)
			found_problem(&found->walk, "two blocks overlap");
}

uint64_t rig_problems(struct rig *rig, struct far_task *task)
{
	struct found found = { .walk = { found_block, found_problem } };

	(void)rig;
	rig_walk(task, &found);
	free(found.block);
	return found.problems;
}

uint64_t rig_check(struct rig *rig, struct far_task *task, uint64_t *ret_bytes)
{
	struct found found = { .walk = { found_block, found_problem } };
	uint64_t bytes = 0;
	size_t i;

	(void)rig;
	rig_walk(task, &found);
	assert_int_equal(found.problems, 0);
	for (i = 0; i < found.nr; i++)
		bytes += found.block[i].len;
	free(found.block);
	if (ret_bytes)
		*ret_bytes = bytes;
	return found.nr;
}

static void space_problem(void *arg, const char *problem)
{
	(void)arg;
	print_error("%s\n", problem);
}

uint64_t rig_space_problems(struct rig *rig, unsigned client)
{
	struct far_space_check check;
	int err;

	do
		err = far_space_check(rig->far[client], space_problem, NULL, &check);
	while (err == -EIO);
	assert_int_equal(err, 0);
	return check.problems + check.leaked;
}

struct far_stats rig_counted(struct rig *rig, unsigned client)
{
	static struct far_stats last[RIG_CLIENTS];
	struct far_stats now, diff;
	uint64_t *a = (uint64_t *)&diff, *b = (uint64_t *)&last[client];
	size_t i;

	far_stats_get(rig->far[client], &now);
	diff = now;
	for (i = 0; i < sizeof(diff) / sizeof(*a); i++)
		a[i] -= b[i];
	last[client] = now;
	return diff;
}

/* Operations without a deadline of their own have that much time; 0: as a rule. */
static void hurry(struct rig *rig, uint64_t late_ns)
{
	unsigned i;

	for (i = 0; i < rig->conf.clients; i++)
		rig->far[i]->op_ns = late_ns ? late_ns : far_op_ns(&(struct far_conf){ 0 });
}

void rig_run(struct rig *rig, struct program *program, const struct rig_work *work)
{
	unsigned nr = rig->conf.clients * work->threads, i;
	struct far_thread **thread = calloc(nr, sizeof(struct far_thread *));
	struct rig_worker *worker = calloc(nr, sizeof(*worker));

	hurry(rig, work->late_ns);
	for (i = 0; i < nr; i++) {
		worker[i] = (struct rig_worker) {
			program, i / work->threads, i % work->threads,
		};
		assert_int_equal(far_thread_start(rig->far[worker[i].client], work->tasks,
						  work->work, &worker[i], &thread[i]), 0);
	}
	if (work->kill_at)
		far_sim_kill_cn_at(rig->sim, 0, work->kill_at);
	for (i = 0; i < nr; i++)
		far_thread_join(thread[i]);
	/* who has lived until here lives on */
	if (work->kill_at)
		far_sim_kill_cn_at(rig->sim, 0, 0);
	free(thread);
	free(worker);
	hurry(rig, 0);
}

uint64_t rig_posted(const struct rig *rig)
{
	struct far_sim_cn_stats stats;

	if (!rig->sim)
		return 0;
	far_sim_stats(rig->sim, 0, &stats);
	return stats.ops;
}
