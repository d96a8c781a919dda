/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The back end soft: configuration, NIC, memory nodes of this process, and table. */
#include "soft.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/rng.h"
#include "../base/why.h"
#include "conf.h"
#include "real.h"
#include "soft_priv.h"

#define DEFAULT_IP	"10.77.0.1/24"
#define WORDS_MAX	8192
#define CONNECT_MS	8000u
#define MIN_CONNECT_MS	100u
#define MAX_CONNECT_MS	60000u

struct soft_conf {
	struct nic_soft_opts opts;
	unsigned nr_nodes, connect_ms;
	/* "": our memory nodes let in everybody, and everybody may call our services */
	char keys[FAR_CONF_WORD_MAX + 1];
	bool asks_ip;		/* the memory node gives us an address */
	struct far_key key;
};

/* Parses a decimal number from min to max. value may be NULL. */
static bool word_number(const char *value, unsigned long min, unsigned long max,
			unsigned *ret)
{
	char *end = NULL;
	unsigned long n = value ? strtoul(value, &end, 10) : 0;

	if (!value || *value < '0' || *value > '9' || *end || n < min || n > max)
		return false;
	*ret = n;
	return true;
}

static int conf_nodes(const char *value, struct soft_conf *conf, char *why, size_t len)
{
	if (!word_number(value, 0, FAR_NODES_MAX, &conf->nr_nodes))
		return far_why(why, len, -EINVAL, "soft: nodes=%s: expected a number of "
			       "memory nodes from 0 to %u", value ? value : "",
			       FAR_NODES_MAX);
	return 0;
}

static int conf_connect(const char *value, struct soft_conf *conf, char *why, size_t len)
{
	if (!word_number(value, MIN_CONNECT_MS, MAX_CONNECT_MS, &conf->connect_ms))
		return far_why(why, len, -EINVAL, "soft: connect_ms=%s: expected "
			       "milliseconds from %u to %u", value ? value : "",
			       MIN_CONNECT_MS, MAX_CONNECT_MS);
	return 0;
}

/* Appends a word for the software NIC to words. */
static int conf_other(const struct far_conf_word *word, char *words, char *why,
		      size_t len)
{
	size_t have = strlen(words);
	int more;

	if (!word->value)
		return far_why(why, len, -EINVAL, "soft: '%s': expected NAME=VALUE, as in "
			       "nodes=1 or udp=ADDRESS:PORT", word->name);
	more = snprintf(words + have, WORDS_MAX - have, "%s%s=%s", have ? "," : "",
			    word->name, word->value);

	return (size_t)more < WORDS_MAX - have ? 0 :
	       far_why(why, len, -EINVAL, "soft: more than %u bytes of words", WORDS_MAX);
}

/* Handles this back end's words in text; puts the others into words, for the NIC. */
static int conf_split(const char *text, struct soft_conf *conf, bool *ret_nodes_given,
		      char *words, char *why, size_t len)
{
	struct far_conf_word word;
	bool has_ip = false;
	int err;

	while ((err = far_conf_next(&text, &word)) > 0) {
		if (!strcmp(word.name, "nodes")) {
			*ret_nodes_given = true;
			err = conf_nodes(word.value, conf, why, len);
		} else if (!strcmp(word.name, "connect_ms")) {
			err = conf_connect(word.value, conf, why, len);
		} else if (!strcmp(word.name, "keys")) {
			err = far_conf_keys(word.value, conf->keys, why, len);
		} else if (!strcmp(word.name, "key")) {
			err = far_key_read(word.value, &conf->key, why, len);
		} else {
			has_ip |= !strcmp(word.name, "ip");
			err = conf_other(&word, words, why, len);
		}
		if (err)
			return err;
	}
	if (err)
		return far_why(why, len, err, "soft: an empty word in its configuration; "
			       "expected nodes=N, ip=ADDRESS/LEN, a port, ...");
	conf->asks_ip = !has_ip;	/* if the ports allow it */
	if (has_ip)
		return 0;
	snprintf(word.name, sizeof(word.name), "ip");
	word.value = DEFAULT_IP;
	return conf_other(&word, words, why, len);
}

/* The addresses of our memory nodes follow our own: all must lie in our segment. */
static int conf_check(const struct soft_conf *conf, char *why, size_t len)
{
	uint32_t ip = be32_to_cpu(conf->opts.nic.ip);
	uint32_t hosts = UINT32_MAX >> (conf->opts.nic.prefix_len - 1) >> 1;

	if (!conf->nr_nodes && !conf->opts.nr_ports)
		return far_why(why, len, -EINVAL, "soft: nodes=0 and no port: expected a "
			       "memory node in this process, or a port to one elsewhere");
	if ((ip & hosts) + conf->nr_nodes >= hosts)
		return far_why(why, len, -EINVAL, "soft: ip: expected an address with %u "
			       "more behind it in its segment, for memory nodes",
			       conf->nr_nodes);
	return 0;
}

/* Passes on what the NIC's parser says; adds our words to its list of known words. */
static int conf_complain(const char *reason, int err, char *why, size_t len)
{
	const char *unknown = "unknown; expected ", *at = strstr(reason, unknown);

	if (!at)
		return far_why(why, len, err, "soft: %s", reason);
	at += strlen(unknown);
	return far_why(why, len, err, "soft: %.*snodes, key, keys, connect_ms, %s",
		       (int)(at - reason), reason, at);
}

static int conf_parse(const char *text, struct soft_conf *conf, char *why, size_t len)
{
	char words[WORDS_MAX] = "", reason[NIC_SOFT_WHY_MAX];
	bool nodes_given = false;
	int err = conf_split(text, conf, &nodes_given, words, why, len);

	if (err)
		return err;
	err = nic_soft_parse_joined(words, &conf->opts, reason);
	if (err)
		return conf_complain(reason, err, why, len);
	/* Injected faults differ from run to run, unless a seed is given. */
	if (!conf->opts.nic.seed)
		conf->opts.nic.seed = far_rng_any_seed();
	if (!nodes_given)
		conf->nr_nodes = conf->opts.nr_ports ? 0 : 1;
	if (conf->opts.nr_ports + conf->nr_nodes > NIC_SOFT_MAX_PORTS)
		return far_why(why, len, -EINVAL, "soft: %u ports and %u memory nodes: "
			       "expected at most %u together", conf->opts.nr_ports,
			       conf->nr_nodes, NIC_SOFT_MAX_PORTS);
	conf->asks_ip &= !conf->nr_nodes && conf->opts.nr_ports == 1 &&
			 conf->opts.ports[0].kind == NIC_SOFT_UDP &&
			 *conf->opts.ports[0].remote;
	return conf_check(conf, why, len);
}

/* Makes a memory node with the next address, and a port of our NIC that leads to it. */
static int node_add(struct soft_nic *soft, struct soft_conf *conf, char *why, size_t len)
{
	__be32 ip = cpu_to_be32(be32_to_cpu(conf->opts.nic.ip) + soft->nodes.nr + 1);
	struct snic_port *ours, *its;
	int err = snic_port_pair_open(&ours, &its);

	if (err)
		return err;
	conf->opts.ports[conf->opts.nr_ports++] = (struct nic_soft_port) {
		.kind = NIC_SOFT_JOINED, .joined = ours,
	};
	err = soft_node_new(&conf->opts, ip, its, conf->keys, why, len,
			    &soft->nodes.node[soft->nodes.nr]);
	if (!err)
		soft->nodes.nr++;
	return err;
}

/* Closes our ends of the cables, when no NIC has been made to own them. */
static void joined_close(const struct nic_soft_opts *opts)
{
	unsigned i;

	for (i = 0; i < opts->nr_ports; i++)
		if (opts->ports[i].kind == NIC_SOFT_JOINED)
			opts->ports[i].joined->ops->close(opts->ports[i].joined);
}

static void nodes_free(struct soft_nic *soft)
{
	while (soft->nodes.nr)
		far_node_free(soft->nodes.node[--soft->nodes.nr]);
}

static int dev_open(struct soft_nic *soft, struct soft_conf *conf, char *why, size_t len)
{
	char reason[NIC_SOFT_WHY_MAX];
	int err = 0;

	while (soft->nodes.nr < conf->nr_nodes && !err)
		err = node_add(soft, conf, why, len);
	if (err) {
		joined_close(&conf->opts);
		goto free_nodes;
	}
	if (conf->asks_ip)
		err = nic_soft_ask_address(&conf->opts, conf->connect_ms, reason);
	if (!err)
		err = nic_soft_open(&conf->opts, &soft->dev, reason);
	if (err) {
		far_why(why, len, err, "soft: %s", reason);
		goto free_nodes;
	}
	err = soft->dev->ops->pd_alloc(soft->dev, &soft->pdn);
	if (!err)
		err = soft->dev->ops->cq_create(soft->dev, 0, &soft->cqn);
	if (err)
		goto close_dev;
	soft->ip = conf->opts.nic.ip;
	soft->key = conf->key;
	soft->connect_ns = conf->connect_ms * UINT64_C(1000000);
	return 0;

close_dev:
	soft->dev->ops->close(soft->dev);
free_nodes:
	nodes_free(soft);
	return err;
}

static void soft_close(struct far_nic *nic)
{
	struct soft_nic *soft = soft_nic_of(nic);

	if (soft->server)
		soft_server_free(soft->server);
	soft->dev->ops->close(soft->dev);
	nodes_free(soft);
	far_passes_fini(&soft->passes);
	pthread_mutex_destroy(&soft->lock);
	explicit_bzero(&soft->key, sizeof(soft->key));
	free(soft);
}

static int soft_open(const char *text, char *why, size_t why_len,
		     struct far_nic **ret_nic)
{
	struct soft_nic *soft = calloc(1, sizeof(*soft));
	struct soft_conf conf = { .connect_ms = CONNECT_MS };
	int err;

	if (!soft)
		return -ENOMEM;
	err = conf_parse(text, &conf, why, why_len);
	if (!err)
		err = dev_open(soft, &conf, why, why_len);
	if (err) {
		free(soft);
		return err;
	}
	pthread_mutex_init(&soft->lock, NULL);
	far_passes_init(&soft->passes);
	soft->nodes.nic.ops = &far_soft_ops;
	soft->nodes.links = &soft_links;
	if (*conf.keys)
		err = soft_server_new(soft, conf.keys, why, why_len);
	if (err) {
		soft_close(&soft->nodes.nic);
		return err;
	}
	*ret_nic = &soft->nodes.nic;
	return 0;
}

static int soft_mr_reg(struct far_nic *nic, void *addr, size_t len, uint32_t *ret_lkey)
{
	struct soft_nic *soft = soft_nic_of(nic);

	return soft->dev->ops->mr_reg(soft->dev, soft->pdn, addr, len, (uintptr_t)addr,
				      NIC_LOCAL_WRITE, ret_lkey);
}

static void soft_mr_dereg(struct far_nic *nic, uint32_t lkey)
{
	struct soft_nic *soft = soft_nic_of(nic);

	soft->dev->ops->mr_dereg(soft->dev, lkey);
}

const struct far_nic_ops far_soft_ops = {
	.name = "soft",
	.summary = "the software NIC, RoCEv2 over Ethernet frames: no hardware needed",
	/* UNCACHED: the NIC reads work requests from shared memory and has no cache of them. */
	.caps = FAR_NIC_CAP_PEER_DEATH | FAR_NIC_CAP_BOUNDS | FAR_NIC_CAP_UNCACHED |
		FAR_NIC_CAP_IMM,
	.host = &far_node_host_ops,
	.call = &soft_call_ops,
	.open = soft_open,
	.close = soft_close,
	.mr_reg = soft_mr_reg,
	.mr_dereg = soft_mr_dereg,
	.attach = far_attach,
	.detach = far_detach,
	.look = far_attach_look,
	.erase = far_attach_erase,
	.claim = far_attach_claim,
	.unclaim = far_attach_unclaim,
	.fence = far_attach_fence,
	.cut = far_attach_cut,
	.qset_new = soft_qset_new,
	.qset_free = soft_qset_free,
	.connect = soft_qset_connect,
	.post = soft_qset_post,
	.push = soft_qset_push,
	.poll = soft_qset_poll,
	.now = far_real_now,
	.spend = far_real_spend,
	.wait = soft_qset_wait,
	.wake = soft_qset_wake,
	.fd_arm = soft_qset_fd_arm,
	.fd_disarm = soft_qset_fd_disarm,
	.thread_start = far_real_thread_start,
	.thread_join = far_real_thread_join,
	.stats = soft_qset_stats,
};
