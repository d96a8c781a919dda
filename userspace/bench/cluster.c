// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A space set and its clients for a benchmark: see cluster.h.
 */
#include "cluster.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <far/space.h>

#include "../core/core.h"
#include "../core/space.h"

static int nics_open_sim(struct cluster *cluster, const struct cluster_conf *conf,
			 char *why, size_t why_len)
{
	struct far_sim_attr attr = {
		.profile = conf->nic + strlen("sim:"),
		.cns = conf->cns,
		.mns = conf->mns,
		.seed = conf->seed,
		.max_space = conf->space_size,
		.scale = conf->scale,
	};
	int err;

	err = far_sim_new(&attr, why, why_len, &cluster->sim);
	if (err)
		return err;
	for (; cluster->nr_nics < conf->cns; cluster->nr_nics++)
		cluster->nic[cluster->nr_nics] =
			far_sim_nic(cluster->sim, cluster->nr_nics);
	return 0;
}

/* Has the threads of each client share queue pairs. */
static int nics_share(struct cluster *cluster, unsigned qps, char *why, size_t why_len)
{
	unsigned i;
	int err = 0;

	for (i = 0; i < cluster->nr_nics && qps && !err; i++)
		err = far_nic_share(cluster->nic[i], qps);
	if (err == -EALREADY) {
		snprintf(why, why_len, "--qps %u: expected without qps= behind --nic", qps);
		return -EINVAL;
	}
	if (err)
		snprintf(why, why_len, "%s", strerror(-err));
	return err;
}

static int nics_open(struct cluster *cluster, const struct cluster_conf *conf,
		     char *why, size_t why_len)
{
	int err;

	if (!strncmp(conf->nic, "sim:", 4))
		return nics_open_sim(cluster, conf, why, why_len);
	for (; cluster->nr_nics < conf->cns; cluster->nr_nics++) {
		err = far_nic_open(conf->nic, why, why_len,
				   &cluster->nic[cluster->nr_nics]);
		if (err)
			return err;
	}
	return 0;
}

static void space_name(char *name, size_t len)
{
	snprintf(name, len, "bench-%ld", (long)getpid());
}

void cluster_remove(const struct cluster_conf *conf)
{
	char space[64], why[200];

	space_name(space, sizeof(space));
	/* Elsewhere it ends with the process; that of --space is somebody's. */
	if (!conf->space && !strncmp(conf->nic, "mem", 3))
		far_space_delete(conf->nic, space, why, sizeof(why));
}

static int space_make(struct cluster *cluster, const struct cluster_conf *conf,
		      const char *const *nodes, char *why, size_t why_len)
{
	struct far_space_attr attr = {
		.size = conf->space_size,
		.nodes = nodes,
		.nr_nodes = conf->mns,
	};
	int err;

	if (conf->space) {
		snprintf(cluster->space, sizeof(cluster->space), "%s", conf->space);
		return 0;
	}
	space_name(cluster->space, sizeof(cluster->space));
	err = far_space_create_on(cluster->nic[0], cluster->space, &attr, why, why_len);
	cluster->has_space = !err;
	return err;
}

static int clients_open(struct cluster *cluster, const struct cluster_conf *conf,
			const char *const *nodes, char *why, size_t why_len)
{
	struct far_conf far_conf = {
		.space = cluster->space,
		.nodes = nodes,
		.nr_nodes = conf->mns,
		.without = conf->without,
		.cache_bytes = conf->cache_bytes,
		.op_ms = conf->op_ms,
	};
	int err;

	for (; cluster->nr_clients < conf->cns; cluster->nr_clients++) {
		far_conf.seed = conf->seed + cluster->nr_clients + 1;
		err = far_open_nic(cluster->nic[cluster->nr_clients], &far_conf, why,
				   why_len, &cluster->far[cluster->nr_clients]);
		if (err)
			return err;
		if (cluster->sim)
			far_scale_epochs(cluster->far[cluster->nr_clients], conf->scale);
	}
	return 0;
}

int cluster_map(struct cluster *cluster, void **base)
{
	const struct far_nic_host_ops *host = cluster->nic[0]->ops->host;
	char node[12];
	unsigned i;
	int err;

	if (!host)
		return -EOPNOTSUPP;
	for (; cluster->nr_maps < cluster->mns; cluster->nr_maps++) {
		snprintf(node, sizeof(node), "%u", cluster->nr_maps);
		err = host->map(cluster->nic[0], node, cluster->space,
				&cluster->map[cluster->nr_maps]);
		if (err)
			return err;
	}
	for (i = 0; i < cluster->mns; i++)
		base[i] = cluster->map[i].addr;
	return 0;
}

int cluster_open(struct cluster *cluster, const struct cluster_conf *conf,
		 char *why, size_t why_len)
{
	char name[CLUSTER_MAX_MNS][12];
	const char *nodes[CLUSTER_MAX_MNS];
	unsigned i;
	int err;

	memset(cluster, 0, sizeof(*cluster));
	cluster->mns = conf->mns;
	if (!conf->cns || conf->cns > CLUSTER_MAX_CNS || !conf->mns ||
	    conf->mns > CLUSTER_MAX_MNS) {
		snprintf(why, why_len, "%u compute and %u memory nodes: 1 to %u of each",
			 conf->cns, conf->mns, CLUSTER_MAX_MNS);
		return -EINVAL;
	}
	for (i = 0; i < conf->mns; i++) {
		snprintf(name[i], sizeof(name[i]), "%u", i);
		nodes[i] = conf->nodes ? conf->nodes[i] : name[i];
	}
	err = nics_open(cluster, conf, why, why_len);
	if (!err)
		err = nics_share(cluster, conf->qps, why, why_len);
	if (!err)
		err = space_make(cluster, conf, nodes, why, why_len);
	if (!err)
		err = clients_open(cluster, conf, nodes, why, why_len);
	if (err)
		cluster_close(cluster);
	return err;
}

void cluster_close(struct cluster *cluster)
{
	char why[200];
	unsigned i;

	while (cluster->nr_clients)
		far_close(cluster->far[--cluster->nr_clients]);
	while (cluster->nr_maps)
		cluster->nic[0]->ops->host->unmap(cluster->nic[0],
						  &cluster->map[--cluster->nr_maps]);
	if (cluster->has_space)
		far_space_delete_on(cluster->nic[0], cluster->space, why, sizeof(why));
	for (i = 0; i < cluster->nr_nics; i++)
		far_nic_unshare(cluster->nic[i]);
	if (cluster->sim)
		far_sim_free(cluster->sim);
	for (i = 0; !cluster->sim && i < cluster->nr_nics; i++)
		cluster->nic[i]->ops->close(cluster->nic[i]);
	memset(cluster, 0, sizeof(*cluster));
}
