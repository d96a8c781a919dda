// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory of another machine: counts its runs, on all machines together, in a table of a
 * space that odrp-mnoded or "far space serve" has there.
 *
 *	remote NIC KEY NODE SPACE
 *
 *	NIC	how to reach the memory node: "soft:udp=0.0.0.0:0:192.0.2.1:7490", the
 *		address of its port, or "verbs", an RDMA device
 *	KEY	the name, or the path, of the secret that both have ("odrpctl key new");
 *		"-": none, for a memory node that lets everybody in
 *	NODE	the address of the memory node behind that port, its "ip=": 10.77.0.1
 *	SPACE	the name of the space
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <far/far.h>
#include <far/hash.h>

/* One more run. Two that run at the same time may count as one. */
static int count_run(struct far_task *task, struct far_hash *hash, uint64_t *ret_runs)
{
	static const char key[] = "runs";
	uint64_t runs = 0;
	size_t len;
	int err;

	err = far_hash_get(task, hash, key, strlen(key), &runs, sizeof(runs), &len);
	if (err && err != -ENOENT)
		return err;
	runs++;
	err = far_hash_put(task, hash, key, strlen(key), &runs, sizeof(runs));
	*ret_runs = runs;
	return err;
}

static int use_space(struct far_task *task)
{
	struct far_hash *hash;
	uint64_t runs;
	int err;

	err = far_hash_create(task, "example-remote", NULL, &hash);
	if (err == -EEXIST)
		err = far_hash_open(task, "example-remote", &hash);
	if (err)
		return err;
	err = count_run(task, hash, &runs);
	far_hash_close(hash);
	if (!err)
		printf("run %" PRIu64 "\n", runs);
	return err;
}

/* The words of the back end and, behind them, who we are. */
static int nic_words(const char *nic, const char *key, char *words, size_t size)
{
	int has_words = !!strchr(nic, ':');
	int len;

	if (!strcmp(key, "-"))
		len = snprintf(words, size, "%s", nic);
	else
		len = snprintf(words, size, "%s%ckey=%s", nic, has_words ? ',' : ':', key);
	return len < 0 || (size_t)len >= size ? -ENAMETOOLONG : 0;
}

int main(int argc, char **argv)
{
	const char *node[1];
	char words[500], why[300];
	struct far_conf conf = { .nic = words, .nodes = node, .nr_nodes = 1 };
	struct far_task *task;
	struct far *far;
	int err;

	if (argc != 5 || nic_words(argv[1], argv[2], words, sizeof(words))) {
		fprintf(stderr, "usage: remote NIC KEY NODE SPACE\n");
		return 2;
	}
	node[0] = argv[3];
	conf.space = argv[4];
	if (far_open(&conf, why, sizeof(why), &far)) {
		fprintf(stderr, "remote: %s\n", why);
		return 1;
	}
	err = far_enter(far, &task);
	if (!err) {
		err = use_space(task);
		far_leave(task);
	}
	if (err)
		fprintf(stderr, "remote: %s\n", far_strerror(err));
	far_close(far);
	return err ? 1 : 0;
}
