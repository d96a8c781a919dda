/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The back end verbs: configuration, device, memory node, registrations, and table. */
#include "verbs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <nic/verbs.h>
#include <own/own.h>
#include <own/words.h>

#include "../base/forks.h"
#include "../base/parse.h"
#include "../base/why.h"
#include "real.h"
#include "verbs_priv.h"

#define DEFAULT_SPIN_US	50
#define DEFAULT_TIMEOUT	16
#define MAX_TIMEOUT	31
#define MAX_SPIN_US	1000000

/* ---- configuration ---- */

static int conf_ip(struct verbs_nic *verbs, const char *value, char *why, size_t len)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)&verbs->from;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&verbs->from;

	if (value && inet_pton(AF_INET, value, &v4->sin_addr) == 1)
		v4->sin_family = AF_INET;
	else if (value && inet_pton(AF_INET6, value, &v6->sin6_addr) == 1)
		v6->sin6_family = AF_INET6;
	else
		return far_why(why, len, -EINVAL, "verbs: ip=%s: expected an address of "
			       "this host", value ? value : "");
	return 0;
}

static int conf_number(const struct far_conf_word *word, uint64_t max, uint64_t *ret_value,
		       char *why, size_t len)
{
	if (word->value && !far_parse_count(word->value, 0, max, ret_value))
		return 0;
	return far_why(why, len, -EINVAL, "verbs: %s=%s: expected a number from 0 to %llu",
		       word->name, word->value ? word->value : "",
		       (unsigned long long)max);
}

static int conf_word(struct verbs_nic *verbs, const struct far_conf_word *word,
		     char *device, char *why, size_t len)
{
	uint64_t n = 0;
	int err;

	if (!strcmp(word->name, "ip"))
		return conf_ip(verbs, word->value, why, len);
	if (!strcmp(word->name, "key"))
		return far_key_read(word->value, &verbs->key, why, len);
	if (!strcmp(word->name, "keys"))
		return far_conf_keys(word->value, verbs->keys, why, len);
	if (!strcmp(word->name, "spin_us")) {
		err = conf_number(word, MAX_SPIN_US, &n, why, len);
		verbs->spin_us = n;
		return err;
	}
	if (!strcmp(word->name, "timeout")) {
		err = conf_number(word, MAX_TIMEOUT, &n, why, len);
		verbs->timeout = n;
		return err;
	}
	if (!strcmp(word->name, "nodes")) {
		err = conf_number(word, 1, &n, why, len);
		verbs->serves = n;
		return err;
	}
	if (word->value || *device || strlen(word->name) >= IBV_SYSFS_NAME_MAX)
		return far_why(why, len, -EINVAL, "verbs: '%s': expected one DEVICE, "
			       "ip=ADDRESS, key=NAME, nodes=N, keys=DIR, spin_us=N or "
			       "timeout=N",
			       word->name);
	memcpy(device, word->name, strlen(word->name) + 1);
	return 0;
}

/* device has IBV_SYSFS_NAME_MAX bytes; it stays unchanged if no device is named. */
static int conf_parse(const char *text, struct verbs_nic *verbs, char *device, char *why,
		      size_t len)
{
	struct far_conf_word word;
	int err;

	verbs->spin_us = DEFAULT_SPIN_US;
	verbs->timeout = DEFAULT_TIMEOUT;
	while ((err = far_conf_next(&text, &word)) > 0) {
		err = conf_word(verbs, &word, device, why, len);
		if (err)
			return err;
	}
	if (err)
		return far_why(why, len, err, "verbs: an empty word in its configuration; "
			       "expected DEVICE, ip=ADDRESS, spin_us=N or timeout=N");
	return 0;
}

/* ---- the device ---- */

/* True if a port is up. *ret_max_msg: longest message, in bytes, that all such ports take. */
static bool device_up(struct ibv_context *ctx, uint32_t *ret_max_msg)
{
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	bool up = false;
	unsigned i;

	*ret_max_msg = FAR_NIC_MAX_LEN;
	if (ibv_query_device(ctx, &attr))
		return false;
	for (i = 1; i <= attr.phys_port_cnt; i++) {
		if (ibv_query_port(ctx, i, &port) || port.state != IBV_PORT_ACTIVE)
			continue;
		up = true;
		if (port.max_msg_sz && port.max_msg_sz < *ret_max_msg)
			*ret_max_msg = port.max_msg_sz;
	}
	return up;
}

/* Chooses the named device, or the only device with a port that is up. */
static int device_choose(struct ibv_context **all, int nr, const char *name,
			 struct verbs_nic *verbs, char *why, size_t len)
{
	uint32_t max_msg;
	bool up;
	int i;

	for (i = 0; i < nr; i++) {
		const char *its = ibv_get_device_name(all[i]->device);

		if (*name && strcmp(its, name))
			continue;
		up = device_up(all[i], &max_msg);
		if (!*name && !up)
			continue;
		if (!up)
			return far_why(why, len, -ENETDOWN, "verbs: no port of %s is up",
				       its);
		if (verbs->ctx)
			return far_why(why, len, -EINVAL, "verbs: %s and %s are up: "
				       "expected verbs:DEVICE", verbs_name(verbs), its);
		verbs->ctx = all[i];
		verbs->max_msg = max_msg;
	}
	if (verbs->ctx)
		return 0;
	return *name ? far_why(why, len, -ENODEV, "verbs: no RDMA device '%s' ('far info' "
			       "lists those there are)", name) :
		       far_why(why, len, -ENODEV, "verbs: no RDMA device has a port that "
			       "is up");
}

/* RDMA devices, or one of their objects, cannot be had. Returns err. */
static int rdma_why(char *why, size_t len, int err)
{
	char words[300];

	own_words(words, sizeof(words), OWN_TRIED_RDMA, 0, err);
	return far_why(why, len, err, "verbs: %s", words);
}

/* Checks that there is a device: without one librdmacm prints to standard error. */
static int devices_any(char *why, size_t len)
{
	struct ibv_device **list;
	int nr = 0;

	list = ibv_get_device_list(&nr);
	if (list)
		ibv_free_device_list(list);
	return list && nr ? 0 : rdma_why(why, len, -ENODEV);
}

static int device_find(const char *name, struct verbs_nic *verbs, char *why, size_t len)
{
	struct ibv_context **all;
	int nr = 0, i, err = devices_any(why, len);

	if (err)
		return err;
	errno = 0;
	all = rdma_get_devices(&nr);
	if (!all || !nr) {
		err = verbs_errno(-1);
		if (all)
			rdma_free_devices(all);
		return rdma_why(why, len, err);
	}
	err = device_choose(all, nr, name, verbs, why, len);
	/* librdmacm keeps the devices open until the process ends. */
	for (i = 0; i < nr && !err; i++) {
		err = own_fd_lend(all[i]->cmd_fd);
		if (!err)
			err = own_fd_lend(all[i]->async_fd);
	}
	rdma_free_devices(all);
	return err;
}

/*
 * Makes fork() safe: ibv_fork_init() keeps registered memory in place in the parent. The
 * child inherits the library's open devices, which it can neither use nor open anew.
 */
static int library_begin(char *why, size_t len)
{
	static unsigned forks;
	static bool used;

	if (used && forks != far_forks)
		return far_why(why, len, -EOPNOTSUPP, "verbs: the parent of this process "
			       "has used it before fork(): call exec first");
	forks = far_forks;
	used = true;
	ibv_fork_init();
	return far_forks_watch();
}

static int device_check(struct verbs_nic *verbs, char *why, size_t len)
{
	if (ibv_query_device(verbs->ctx, &verbs->attr))
		return far_why(why, len, -EIO, "verbs: %s does not say what it can",
			       verbs_name(verbs));
	if (verbs->attr.atomic_cap == IBV_ATOMIC_NONE)
		return far_why(why, len, -EOPNOTSUPP, "verbs: %s has no atomics "
			       "(compare-and-swap, fetch-and-add): expected a device "
			       "that has, as RoCE and InfiniBand ones; iWARP has none",
			       verbs_name(verbs));
	return 0;
}

/* ---- a memory node of this process ---- */

/* Its address: ours, if it was given and is one of IPv4, else one that the device has. */
static int node_ip(const struct verbs_nic *verbs, const struct nic_verbs_opts *opts,
		   __be32 *ret_ip)
{
	if (!verbs->from.ss_family)
		return nic_verbs_address(opts, ret_ip);
	if (verbs->from.ss_family != AF_INET)
		return -EAFNOSUPPORT;
	*ret_ip = ((const struct sockaddr_in *)&verbs->from)->sin_addr.s_addr;
	return 0;
}

static int node_make(struct verbs_nic *verbs, char *why, size_t len)
{
	struct nic_verbs_opts opts;
	char reason[NIC_VERBS_WHY_MAX], says[SECRET_WHY_MAX];
	struct nic *dev;
	__be32 ip;
	int err = nic_verbs_parse(verbs_name(verbs), &opts, reason);

	if (!err)
		err = nic_verbs_open(&opts, &dev, reason);
	if (err)
		return far_why(why, len, err, "%s", reason);
	err = node_ip(verbs, &opts, &ip);
	if (err) {
		dev->ops->close(dev);
		return far_why(why, len, err, "verbs: %s has no IPv4 address: expected one "
			       "for its memory node, or ip=ADDRESS", verbs_name(verbs));
	}
	err = far_node_new(dev, ip, verbs->keys, says, sizeof(says),
			   &verbs->nodes.node[0]);
	if (err)
		return far_why(why, len, err, "verbs: a memory node on %s: %s",
			       verbs_name(verbs), says);
	verbs->nodes.nr = 1;
	return 0;
}

/* ---- opening and closing ---- */

static int objects_make(struct verbs_nic *verbs, char *why, size_t len)
{
	int err;

	errno = 0;
	verbs->pd = ibv_alloc_pd(verbs->ctx);
	err = verbs_errno(!verbs->pd);
	if (err)
		goto fail;
	verbs->cq = ibv_create_cq(verbs->ctx, 1, NULL, NULL, 0);
	err = verbs_errno(!verbs->cq);
	if (err)
		goto dealloc_pd;
	err = verbs_cm_start(verbs);
	if (err)
		goto destroy_cq;
	return 0;

destroy_cq:
	ibv_destroy_cq(verbs->cq);
	ibv_dealloc_pd(verbs->pd);
	return rdma_why(why, len, err);
dealloc_pd:
	ibv_dealloc_pd(verbs->pd);
fail:
	return far_why(why, len, err, "verbs: %s: %s", verbs_name(verbs), strerror(-err));
}

static void objects_free(struct verbs_nic *verbs)
{
	verbs_cm_stop(verbs);
	ibv_destroy_cq(verbs->cq);
	ibv_dealloc_pd(verbs->pd);
}

static int verbs_open(const char *conf, char *why, size_t why_len,
		      struct far_nic **ret_nic)
{
	struct verbs_nic *verbs = calloc(1, sizeof(*verbs));
	char device[IBV_SYSFS_NAME_MAX] = "";
	unsigned held;
	int err;

	if (!verbs)
		return -ENOMEM;
	err = conf_parse(conf, verbs, device, why, why_len);
	if (!err)
		err = library_begin(why, why_len);
	held = own_stdio_hold();
	if (!err)
		err = device_find(device, verbs, why, why_len);
	if (!err)
		err = device_check(verbs, why, why_len);
	if (!err)
		err = objects_make(verbs, why, why_len);
	if (!err && verbs->serves) {
		err = node_make(verbs, why, why_len);
		if (err)
			objects_free(verbs);
	} else if (!err && *verbs->keys) {
		err = verbs_server_new(verbs, why, why_len);
		if (err)
			objects_free(verbs);
	}
	own_stdio_let(held);
	if (err) {
		free(verbs);
		return err;
	}
	far_passes_init(&verbs->passes);
	verbs->ops = far_verbs_ops;
	if (verbs->serves) {
		verbs->ops.host = &far_node_host_ops;
		verbs->ops.cut = far_attach_cut;
	}
	verbs->nodes.nic.ops = &verbs->ops;
	verbs->nodes.links = &verbs_links;
	*ret_nic = &verbs->nodes.nic;
	return 0;
}

static void verbs_close(struct far_nic *nic)
{
	struct verbs_nic *verbs = verbs_nic_of(nic);

	if (verbs->nodes.nr)
		far_node_free(verbs->nodes.node[0]);
	if (verbs->server)
		verbs_server_free(verbs->server);
	objects_free(verbs);
	far_passes_fini(&verbs->passes);
	explicit_bzero(&verbs->key, sizeof(verbs->key));
	free(verbs);
}

/* ---- registrations ---- */

int verbs_mr_new(struct verbs_nic *verbs, struct ibv_pd *pd, void *addr, size_t len,
		 uint32_t *ret_lkey)
{
	struct verbs_mr *mr;
	int err;

	if (!len)
		return -EINVAL;
	mr = malloc(sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	errno = 0;
	mr->mr = ibv_reg_mr(pd, addr, len, IBV_ACCESS_LOCAL_WRITE);
	err = verbs_errno(!mr->mr);
	if (err) {
		free(mr);
		return err;
	}
	pthread_mutex_lock(&verbs->lock);
	mr->next = verbs->mrs;
	verbs->mrs = mr;
	pthread_mutex_unlock(&verbs->lock);
	*ret_lkey = mr->mr->lkey;
	return 0;
}

/* With the lock. The registration of the operation's memory; NULL: there is none. */
static const struct verbs_mr *mr_of(const struct verbs_nic *verbs, const struct far_wr *wr)
{
	const struct verbs_mr *mr = verbs->mrs;

	while (mr && mr->mr->lkey != wr->lkey)
		mr = mr->next;
	return mr;
}

static bool mr_holds(const struct verbs_mr *mr, const struct far_wr *wr)
{
	uintptr_t at = (uintptr_t)wr->local, start = (uintptr_t)mr->mr->addr;

	return at >= start && at - start <= mr->mr->length &&
	       wr->len <= mr->mr->length - (at - start);
}

bool verbs_mrs_hold(struct verbs_nic *verbs, const struct far_wr *wr, unsigned nr)
{
	const struct verbs_mr *mr = NULL;
	bool held = true;
	unsigned i;

	pthread_mutex_lock(&verbs->lock);
	for (i = 0; i < nr && held; i++) {
		/* Mostly all are in the same memory. */
		if (!mr || wr[i].lkey != mr->mr->lkey)
			mr = mr_of(verbs, &wr[i]);
		held = mr && mr_holds(mr, &wr[i]);
	}
	pthread_mutex_unlock(&verbs->lock);
	return held;
}

static int mr_reg(struct far_nic *nic, void *addr, size_t len, uint32_t *ret_lkey)
{
	struct verbs_nic *verbs = verbs_nic_of(nic);

	return verbs_mr_new(verbs, verbs->pd, addr, len, ret_lkey);
}

static void mr_dereg(struct far_nic *nic, uint32_t lkey)
{
	struct verbs_nic *verbs = verbs_nic_of(nic);
	struct verbs_mr **at = &verbs->mrs, *mr;

	pthread_mutex_lock(&verbs->lock);
	while (*at && (*at)->mr->lkey != lkey)
		at = &(*at)->next;
	mr = *at;
	if (mr)
		*at = mr->next;
	pthread_mutex_unlock(&verbs->lock);
	if (!mr)
		return;
	ibv_dereg_mr(mr->mr);
	free(mr);
}

const struct far_nic_ops far_verbs_ops = {
	.name = "verbs",
	.summary = "an RDMA device, over libibverbs and librdmacm",
	.caps = FAR_NIC_CAP_PEER_DEATH | FAR_NIC_CAP_BOUNDS | FAR_NIC_CAP_LOCKS |
		FAR_NIC_CAP_IMM | FAR_NIC_CAP_DATAGRAMS,
	.call = &verbs_call_ops,
	.open = verbs_open,
	.close = verbs_close,
	.mr_reg = mr_reg,
	.mr_dereg = mr_dereg,
	.attach = far_attach,
	.detach = far_detach,
	.look = far_attach_look,
	.erase = far_attach_erase,
	.claim = far_attach_claim,
	.unclaim = far_attach_unclaim,
	.fence = far_attach_fence,
	.qset_new = verbs_qset_new,
	.qset_free = verbs_qset_free,
	.connect = verbs_qset_connect,
	.post = verbs_qset_post,
	.poll = verbs_qset_poll,
	.now = far_real_now,
	.spend = far_real_spend,
	.wait = verbs_qset_wait,
	.wake = verbs_qset_wake,
	.fd_arm = verbs_qset_fd_arm,
	.fd_disarm = verbs_qset_fd_disarm,
	.thread_start = far_real_thread_start,
	.thread_join = far_real_thread_join,
	.address = verbs_qset_address,
	.stats = verbs_qset_stats,
	.explain = verbs_qset_explain,
};
