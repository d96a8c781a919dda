/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * check-histories FILE...: whether what several processes have done to one map, each in
 * a file of history_export(), is linearizable as a whole. Their clock is one; each
 * operation of a file is another process's than those of the other files. They have to
 * have met: a file of which no operation is concurrent with one of another file, on the
 * same key, proves nothing.
 */
#include "../../lib/history.h"

#include <stdlib.h>

struct files {
	struct history_log *log;
	unsigned nr;
};

static int files_read(struct files *files, char **name)
{
	unsigned i;
	FILE *in;
	int err;

	for (i = 0; i < files->nr; i++) {
		in = fopen(name[i], "r");
		err = in ? history_import(in, &files->log[i].op, &files->log[i].nr) : -1;
		if (in)
			fclose(in);
		if (!err)
			continue;
		fprintf(stderr, "%s: no history\n", name[i]);
		return -1;
	}
	return 0;
}

static int concurrent(const struct history_op *a, const struct history_op *b)
{
	return a->key == b->key && a->invoked < b->returned && b->invoked < a->returned;
}

static int is_met(const struct files *files, unsigned mine, const struct history_op *op)
{
	const struct history_log *log;
	unsigned other;
	size_t i;

	for (other = 0; other < files->nr; other++) {
		log = &files->log[other];
		for (i = 0; other != mine && i < log->nr; i++)
			if (concurrent(op, &log->op[i]))
				return 1;
	}
	return 0;
}

/* Operations of a file that are concurrent with one of another file. */
static size_t file_met(const struct files *files, unsigned mine)
{
	const struct history_log *log = &files->log[mine];
	size_t met = 0, i;

	for (i = 0; i < log->nr; i++)
		met += is_met(files, mine, &log->op[i]);
	return met;
}

static int judge(const struct files *files, char **name)
{
	struct history_verdict verdict;
	struct history_op *all;
	size_t nr, met;
	unsigned i;
	int err;

	all = history_merge(files->log, files->nr, &nr);
	if (!all)
		return -1;
	err = history_check(all, nr, HISTORY_ABSENT, &verdict);
	free(all);
	if (err) {
		printf("not linearizable: %s\n", verdict.why);
		return err;
	}
	for (i = 0; i < files->nr; i++) {
		met = file_met(files, i);
		printf("%s: %zu operations, %zu at the same time as others'\n", name[i],
		       files->log[i].nr, met);
		if (files->nr > 1 && !met)
			return -1;
	}
	printf("%zu operations of %u processes are linearizable\n", nr, files->nr);
	return 0;
}

int main(int argc, char **argv)
{
	struct files files = { calloc(argc, sizeof(struct history_log)), argc - 1 };
	int err;
	unsigned i;

	if (argc < 2) {
		fprintf(stderr, "usage: %s FILE...\n", argv[0]);
		return 2;
	}
	err = files_read(&files, argv + 1) || judge(&files, argv + 1);
	for (i = 0; i < files.nr; i++)
		free(files.log[i].op);
	free(files.log);
	return !!err;
}
