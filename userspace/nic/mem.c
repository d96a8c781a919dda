/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The back end mem: configuration and table. */
#include "mem.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf.h"
#include "mem_priv.h"
#include "real.h"

static int conf_dir(struct mem_nic *mem, const char *path, char *why, size_t why_len)
{
	struct stat st;

	if (!path || path[0] != '/' || strlen(path) >= sizeof(mem->dir)) {
		snprintf(why, why_len, "mem: dir='%s' is not the absolute path of a "
			 "directory", path ? path : "");
		return -EINVAL;
	}
	if (stat(path, &st) || !S_ISDIR(st.st_mode)) {
		snprintf(why, why_len, "mem: dir=%s: there is no such directory", path);
		return -ENODEV;
	}
	snprintf(mem->dir, sizeof(mem->dir), "%s", path);
	mem->dir_is_default = 0;
	return 0;
}

static int conf_parse(struct mem_nic *mem, const char *conf, char *why, size_t why_len)
{
	struct far_conf_word word;
	int err;

	snprintf(mem->dir, sizeof(mem->dir), "/dev/shm/far-%u", geteuid());
	mem->dir_is_default = 1;
	while ((err = far_conf_next(&conf, &word)) > 0) {
		if (strcmp(word.name, "dir")) {
			snprintf(why, why_len, "mem: '%.64s' is unknown; it knows "
				 "dir=PATH", word.name);
			return -EINVAL;
		}
		err = conf_dir(mem, word.value, why, why_len);
		if (err)
			return err;
	}
	if (err)
		snprintf(why, why_len, "mem: an empty word in its configuration; it "
			 "knows dir=PATH");
	return err;
}

static int mem_open(const char *conf, char *why, size_t why_len,
		    struct far_nic **ret_nic)
{
	struct mem_nic *mem = calloc(1, sizeof(*mem));
	int err;

	if (!mem)
		return -ENOMEM;
	err = conf_parse(mem, conf, why, why_len);
	if (err)
		goto free_mem;
	err = mem_mrs_init(&mem->mrs);
	if (err)
		goto free_mem;
	mem->nic.ops = &far_mem_ops;
	*ret_nic = &mem->nic;
	return 0;

free_mem:
	free(mem);
	return err;
}

static void mem_close(struct far_nic *nic)
{
	struct mem_nic *mem = mem_nic_of(nic);

	mem_mrs_fini(&mem->mrs);
	free(mem);
}

const struct far_nic_ops far_mem_ops = {
	.name = "mem",
	.summary = "memory shared by threads and processes of this host",
	/* UNCACHED: operations wait in memory until poll() executes them. */
	.caps = FAR_NIC_CAP_PEER_DEATH | FAR_NIC_CAP_BOUNDS | FAR_NIC_CAP_LASTING |
		FAR_NIC_CAP_UNCACHED | FAR_NIC_CAP_IMM | FAR_NIC_CAP_HEARS,
	.host = &mem_host_ops,
	.call = &mem_call_ops,
	.open = mem_open,
	.close = mem_close,
	.mr_reg = mem_mr_reg,
	.mr_dereg = mem_mr_dereg,
	.attach = mem_attach,
	.detach = mem_detach,
	.claim = mem_claim,
	.unclaim = mem_unclaim,
	.fence = mem_fence,
	.qset_new = mem_qset_new,
	.qset_free = mem_qset_free,
	.connect = mem_connect,
	.post = mem_post,
	.poll = mem_poll,
	.now = far_real_now,
	.spend = far_real_spend,
	.wait = mem_wait,
	.wake = mem_wake,
	.fd_arm = mem_fd_arm,
	.fd_disarm = mem_fd_disarm,
	.thread_start = far_real_thread_start,
	.thread_join = far_real_thread_join,
	.stats = mem_qset_stats,
};
