// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The table of settings, their parsers, and the INI file.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <syslog.h>
#include <odrp/wire.h>
#include <wrc.h>
#include "conf.h"
#include "conf-ini.h"

#define CONF_MIN_SWAP	(UINT64_C(256) << 10)

__attribute__((format(printf, 2, 3)))
static int complain(char *why, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, CONF_WHY_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int parse_number(const char *text, uint64_t *ret_n, const char **ret_end)
{
	unsigned long long n;
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno)
		return -EINVAL;
	*ret_n = n;
	*ret_end = end;
	return 0;
}

static void field_store(void *conf, const struct conf_key *key, size_t size,
			uint64_t n)
{
	char *field = (char *)conf + key->off;

	if (size == 2)
		*(uint16_t *)field = n;
	else if (size == 4)
		*(uint32_t *)field = n;
	else
		*(uint64_t *)field = n;
}

static int set_sized(void *conf, const struct conf_key *key,
		     const char *text, char *why, size_t size)
{
	const char *end;
	uint64_t n;

	if (parse_number(text, &n, &end) || *end || n < key->min ||
	    n > key->max)
		return complain(why, "%s=%.100s: expected a number from %" PRIu64
				" to %" PRIu64, key->name, text, key->min,
				key->max);
	field_store(conf, key, size, n);
	return 0;
}

static int set_u16(void *conf, const struct conf_key *key,
		   const char *text, char *why)
{
	return set_sized(conf, key, text, why, 2);
}

static int set_u32(void *conf, const struct conf_key *key,
		   const char *text, char *why)
{
	return set_sized(conf, key, text, why, 4);
}

static int set_u64(void *conf, const struct conf_key *key,
		   const char *text, char *why)
{
	return set_sized(conf, key, text, why, 8);
}

static int set_pow2(void *conf, const struct conf_key *key,
		    const char *text, char *why)
{
	const char *end;
	uint64_t n;

	if (parse_number(text, &n, &end) || *end || n < key->min ||
	    n > key->max || n & (n - 1))
		return complain(why, "%s=%.100s: expected a power of two from %"
				PRIu64 " to %" PRIu64, key->name, text,
				key->min, key->max);
	field_store(conf, key, 2, n);
	return 0;
}

/* A size in bytes, or with K, M, G or T; a multiple of the page size. */
static int set_size(void *conf, const struct conf_key *key,
		    const char *text, char *why)
{
	static const char units[] = "KMGT";
	const char *end, *unit;
	unsigned int shift = 0;
	uint64_t n;

	if (parse_number(text, &n, &end))
		goto bad;
	if (*end) {
		unit = strchr(units, *end & ~0x20);
		if (!unit || end[1])
			goto bad;
		shift = 10 * (unit - units + 1);
	}
	if (n > UINT64_MAX >> shift)
		goto bad;
	n <<= shift;
	if (n < key->min || n > key->max || n % ODRP_WIRE_PAGE_SIZE)
		goto bad;
	field_store(conf, key, 8, n);
	return 0;
bad:
	return complain(why, "%s=%.100s: expected a size in bytes or with K, M, G "
			"or T, a multiple of 4K, from %" PRIu64 "K to %" PRIu64
			"G", key->name, text, key->min >> 10, key->max >> 30);
}

static int set_text(void *conf, const struct conf_key *key,
		    const char *text, char *why)
{
	if (!*text || strlen(text) >= key->max)
		return complain(why, "%s=%.100s: expected 1 to %" PRIu64
				" characters", key->name, text, key->max - 1);
	memcpy((char *)conf + key->off, text, strlen(text) + 1);
	return 0;
}

/* Accepts a name that is good as the name of a file and for far_host_name_ok(). */
static bool name_ok(const char *name, size_t len, size_t max)
{
	return len && len < max && name[0] != '.' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		      "0123456789-_.") >= len;
}

/* A list of names, with commas, spaces or tabs between them. */
static int set_names(void *conf, const struct conf_key *key, const char *text, char *why)
{
	const char *name;
	size_t len;

	for (name = text; *name; name += len + strspn(name + len, ", \t")) {
		len = strcspn(name, ", \t");
		if (!name_ok(name, len, CONF_CLIENT_MAX))
			return complain(why, "%s=%.100s: '%.*s' is no name: expected 1 to "
					"%d letters, digits, '-', '_' and '.', which do not "
					"begin with '.'", key->name, text, (int)len, name,
					CONF_CLIENT_MAX - 1);
	}
	return set_text(conf, key, text, why);
}

static int set_bool(void *conf, const struct conf_key *key,
		    const char *text, char *why)
{
	bool *field = (bool *)((char *)conf + key->off);

	if (!strcasecmp(text, "yes") || !strcmp(text, "1"))
		*field = true;
	else if (!strcasecmp(text, "no") || !strcmp(text, "0"))
		*field = false;
	else
		return complain(why, "%s=%.100s: expected yes or no", key->name,
				text);
	return 0;
}

/* Finds the text among the words of key->value, which "|" separates. */
static int key_find_word(const struct conf_key *key, const char *text, char *why,
			 uint8_t *ret_n)
{
	const char *word = key->value;
	uint8_t n;

	for (n = 0; *word; n++) {
		size_t len = strcspn(word, "|");

		if (strlen(text) == len && !strncmp(text, word, len)) {
			*ret_n = n;
			return 0;
		}
		word += len + !!word[len];
	}
	return complain(why, "%s=%.100s: expected one of %s", key->name, text,
			key->value);
}

/* An enum in a byte; its values have the order of the words. */
static int set_word(void *conf, const struct conf_key *key,
		    const char *text, char *why)
{
	return key_find_word(key, text, why, (uint8_t *)conf + key->off);
}

static int set_address(void *conf, const struct conf_key *key,
		       const char *text, char *why)
{
	struct conf_address *address = (void *)((char *)conf + key->off);
	const char *end, *colon = strrchr(text, ':');
	char ip[INET_ADDRSTRLEN];
	struct in_addr in;
	uint64_t port;

	if (!colon || colon - text >= sizeof(ip))
		goto bad;
	memcpy(ip, text, colon - text);
	ip[colon - text] = 0;
	if (inet_pton(AF_INET, ip, &in) != 1 ||
	    parse_number(colon + 1, &port, &end) || *end || !port || port > UINT16_MAX)
		goto bad;
	*address = (struct conf_address){ in.s_addr, port };
	return 0;
bad:
	return complain(why, "%s=%.100s: expected ADDRESS:PORT, an IPv4 address of this "
			"machine and a number from 1 to 65535", key->name, text);
}

static int set_level(void *conf, const struct conf_key *key,
		     const char *text, char *why)
{
	static const struct {
		const char *name;
		int level;
	} levels[] = {
		{ "error", LOG_ERR }, { "warning", LOG_WARNING },
		{ "notice", LOG_NOTICE }, { "info", LOG_INFO },
		{ "debug", LOG_DEBUG },
	};
	size_t i;

	for (i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
		if (!strcmp(text, levels[i].name)) {
			((struct conf *)conf)->log_level = levels[i].level;
			return 0;
		}
	}
	return complain(why, "%s=%.100s: expected error, warning, notice, info or "
			"debug", key->name, text);
}

/* A power of two. The field is 0 if the setting is absent; 0 cannot be set. */
static int set_chunk(void *conf, const struct conf_key *key, const char *text,
		     char *why)
{
	struct conf_space *space = conf;
	uint64_t before = space->chunk;
	int r = set_size(conf, key, text, why);

	if (!r && space->chunk & (space->chunk - 1)) {
		space->chunk = before;
		r = -EINVAL;
	}
	return r ? complain(why, "%s=%.100s: expected 64K, 128K, ... 32M",
			    key->name, text) : 0;
}

/* Adds the address of `len` characters. -EINVAL: it is not an IPv4 address, the list has
 * it already, or the list is full. */
static int space_add_node(struct conf_space *space, const char *text, size_t len)
{
	char ip[INET_ADDRSTRLEN];
	struct in_addr in;
	unsigned int i;

	if (!len || len >= sizeof(ip) || space->nr_nodes == CONF_MAX_NODES)
		return -EINVAL;
	memcpy(ip, text, len);
	ip[len] = 0;
	if (inet_pton(AF_INET, ip, &in) != 1)
		return -EINVAL;
	for (i = 0; i < space->nr_nodes; i++)
		if (space->nodes[i] == in.s_addr)
			return -EINVAL;
	space->nodes[space->nr_nodes++] = in.s_addr;
	return 0;
}

static int set_nodes(void *conf, const struct conf_key *key, const char *text,
		     char *why)
{
	struct conf_space *space = conf;
	const char *at = text;
	size_t len;

	space->nr_nodes = 0;
	do {
		at += strspn(at, " \t");
		len = strcspn(at, ", \t");
		if (space_add_node(space, at, len)) {
			space->nr_nodes = 0;
			return complain(why, "%s=%.100s: '%.*s': expected up to %d IPv4 "
					"addresses with commas between, each once",
					key->name, text, (int)(len < 40 ? len : 40), at,
					CONF_MAX_NODES);
		}
		at += len;
		at += strspn(at, " \t");
	} while (*at == ',' && at++);
	if (!*at)
		return 0;
	space->nr_nodes = 0;
	return complain(why, "%s=%.100s: expected commas between the addresses",
			key->name, text);
}

#define AT(field) .off = offsetof(struct conf, field)
#define SPACE_AT(field) .off = offsetof(struct conf_space, field)
#define CLIENT_AT(field) .off = offsetof(struct conf_client, field)

const struct conf_key conf_keys[] = {
	{ "nic", "NIC", "soft:ip=ADDRESS/PREFIX,dgram=LOCAL:REMOTE,... "
	  "or soft:...,packet=INTERFACE or mlx5:DEVICE[,port=N][,gid=N] "
	  "or, without chains, verbs:DEVICE[,port=N]; auto[:DEVICE[,port=N]] chooses",
	  set_text, AT(nic),
	  .max = CONF_NIC_MAX },
	{ "pool", "SIZE", "memory to lend, with K, M, G or T (1G)",
	  set_size, AT(pool), .min = CONF_MIN_SWAP, .max = WRC_POOL_MAX },
	{ "reserve", "PAGES", "pages in each free ring beyond the "
	  "lease (by the pool's size)",
	  set_u64, AT(reserve), .min = 1, .max = 1ull << 28 },
	{ "store-pages", "PAGES", "pages set aside for stores to receive into "
	  "(by the pool's size)", set_u64, AT(store_pages), .max = 1ull << 28 },
	{ "metadata", "SIZE", "most memory for tables, rings and keys of sessions "
	  "(half the pool)", set_size, AT(metadata), .min = 1 << 20,
	  .max = WRC_POOL_MAX },
	{ "max-pages", "PAGES", "most pages of one session (0: no limit)",
	  set_u64, AT(max_pages), .max = 1ull << 28 },
	{ "max-slots", "SLOTS", "largest swap device, in 4 KB slots (67108864)",
	  set_u64, AT(max_slots), .min = 1,
	  .max = WRC_TT_MAX / sizeof(__be64) },
	{ "max-sessions", "N", "most sessions, that is swap devices, at a time (64)",
	  set_u32, AT(max_sessions), .min = 1, .max = 1024 },
	{ "queues", "N", "most queues of one session (16)",
	  set_u16, AT(queues), .min = 1, .max = 128 },
	{ "depth", "N", "instances of each chain; one request less may be "
	  "outstanding (64)", set_pow2, AT(depth), .min = 4, .max = 512 },
	{ "port", "N", "RDMA CM port (7489)",
	  set_u16, AT(port), .min = 1, .max = 65535 },
	{ "control", "PATH", "control socket (" CONF_CONTROL ")",
	  set_text, AT(control), .max = CONF_PATH_MAX },
	{ "beat-ms", "MS", "time between a compute node's heartbeats (1000)",
	  set_u32, AT(beat_ms), .min = ODRP_WIRE_MIN_BEAT_MS, .max = 60 * 1000 },
	{ "dead-ms", "MS", "silence after which a compute node's pages are "
	  "taken back (90000)", set_u32, AT(dead_ms), .min = 50, .max = 3600 * 1000 },
	{ "dead-ms-max", "MS", "how much silence a compute node may ask to survive "
	  "(900000)", set_u32, AT(dead_ms_max), .min = 50, .max = 24 * 3600 * 1000 },
	{ "populate", "yes|no", "take the pool's memory at the start; a pool larger "
	  "than the memory that is there is refused with either (yes)",
	  set_bool, AT(populate) },
	{ "order", "auto|wait|fence", "how a chain waits for the result of a READ: "
	  "by a WAIT; or by a fence, which no card is documented to keep; auto: by "
	  "a fence where this NIC is known to keep it, from odrp-hwcheck --save "
	  "(auto)", set_word, AT(order) },
	{ "translate", "auto|chain|nic|direct", "what finds the page of a slot: chains; or "
	  "the NIC, by keys of each compute node, which then reads and writes mapped "
	  "pages by itself; direct: the compute node, in slabs of 2 MB of its own, which "
	  "any NIC serves; auto: the NIC where it is known to do so rightly, from "
	  "odrp-hwcheck --save, and direct where a NIC arms no chains (auto)",
	  set_word, AT(translate) },
	{ "scrub", "auto|yes|no", "clear a page before another compute node gets it; "
	  "auto: if chains, not the NIC, find the pages of that one (auto)",
	  set_word, AT(scrub) },
	{ "auth", "required|none", "whether who connects has to prove who he is; none is "
	  "insecure", set_word, AT(auth) },
	{ "keys", "DIR", "directory of secrets, a file for each who may come ("
	  CONF_KEYS ")", set_text, AT(keys), .max = CONF_KEYS_MAX },
	{ "metrics", "ADDRESS:PORT", "serve metrics for Prometheus there, "
	  "http://ADDRESS:PORT/metrics (off)", set_address, AT(metrics) },
	{ "log-level", "LEVEL", "error, warning, notice, info or debug (info)",
	  set_level },
	{ NULL },
};

static const struct conf_key conf_space_keys[] = {
	{ "size", "SIZE", "memory of the space, out of the pool, with K, M, G or T",
	  set_size, SPACE_AT(size), .min = 4 << 20, .max = WRC_POOL_MAX },
	{ "clients", "N", "most clients at a time (256)",
	  set_u32, SPACE_AT(clients), .min = 1, .max = 4094 },
	{ "chunk", "SIZE", "what a client claims at once (by size)",
	  set_chunk, SPACE_AT(chunk), .min = 64 << 10, .max = 32 << 20 },
	{ "dead-ms", "MS", "silence after which a client is fenced (1000)",
	  set_u32, SPACE_AT(dead_ms), .min = 50, .max = 3600 * 1000 },
	{ "deletable", "yes|no", "whether any client may delete it (no)",
	  set_bool, SPACE_AT(deletable) },
	{ "readers", "NAME,...", "who may read it, by their names, besides writers "
	  "(anybody, if there is no writer either)",
	  set_names, SPACE_AT(readers), .max = CONF_NAMES_MAX },
	{ "writers", "NAME,...", "who may read and write it (anybody, if there is no "
	  "reader either)",
	  set_names, SPACE_AT(writers), .max = CONF_NAMES_MAX },
	{ "nodes", "ADDRESS,...", "memory nodes of a set, the first is its arbiter; the "
	  "same on each (none)", set_nodes },
	{ "node", "N", "which of the nodes this one is, from 0 on",
	  set_u16, SPACE_AT(node), .max = CONF_MAX_NODES - 1 },
	{ "node-keys", "NAME,...", "of each node but the arbiter the secret that the two "
	  "have in common; the same on each (none)",
	  set_text, SPACE_AT(node_keys), .max = CONF_NODE_KEYS_MAX },
	{ "lost-ms", "MS", "silence after which a node of the set is declared lost (never)",
	  set_u32, SPACE_AT(lost_ms), .min = 30 * 1000, .max = 24 * 3600 * 1000 },
	{ NULL },
};

static const struct conf_key conf_client_keys[] = {
	{ "max-pages", "PAGES", "most pages of all its leases (0: no limit)",
	  set_u64, CLIENT_AT(max_pages), .max = 1ull << 28 },
	{ "guaranteed-pages", "PAGES", "pages that are kept for it (0)",
	  set_u64, CLIENT_AT(guaranteed_pages), .max = 1ull << 28 },
	{ "weight", "N", "its part of what all want (1)",
	  set_u32, CLIENT_AT(weight), .min = 1, .max = 1000 },
	{ "max-sessions", "N", "most sessions (16; 0: no limit)",
	  set_u32, CLIENT_AT(max_sessions), .max = 1024 },
	{ "max-connections", "N", "most connections of all its sessions (0: no limit)",
	  set_u32, CLIENT_AT(max_connections), .max = 1 << 20 },
	{ "max-requests", "N", "most requests for connections in a minute (0: no limit)",
	  set_u32, CLIENT_AT(max_requests), .max = 1 << 20 },
	{ "max-bandwidth", "SIZE", "most bytes of pages a second, stored and loaded, of "
	  "all its sessions (0: no limit); software NIC only",
	  set_size, CLIENT_AT(max_bandwidth), .max = CONF_MAX_BANDWIDTH },
	{ NULL },
};

static const struct conf_client client_default = {
	.name = "*", .weight = 1, .max_sessions = 16,
};

void conf_init(struct conf *conf)
{
	*conf = (struct conf){
		.control = CONF_CONTROL,
		.keys = CONF_KEYS,
		.auth = CONF_AUTH_REQUIRED,
		.pool = 1ull << 30,
		.reserve = UINT64_MAX,
		.store_pages = UINT64_MAX,
		.max_slots = 1ull << 26,
		.max_sessions = 64,
		.queues = 16,
		.depth = 64,
		.port = ODRP_WIRE_PORT,
		.beat_ms = 1000,
		.dead_ms = 90 * 1000, .dead_ms_max = 900 * 1000,
		.populate = true,
		.log_level = LOG_INFO,
		.others = client_default,
	};
}

/* else_why: ends the message about a setting that the table does not have (-ENOENT). */
static int keys_set(const struct conf_key *key, void *conf, const char *name,
		    const char *text, char *why, const char *else_why)
{
	for (; key->name; key++)
		if (!strcmp(key->name, name))
			return key->set(conf, key, text, why);
	complain(why, "%.100s: no such setting%s", name, else_why);
	return -ENOENT;
}

int conf_set(struct conf *conf, const char *name, const char *text,
	     char why[CONF_WHY_MAX])
{
	return keys_set(conf_keys, conf, name, text, why, "");
}

const char *conf_auth_name(const struct conf *conf)
{
	return conf->auth == CONF_AUTH_NONE ? "none (INSECURE)" : "required";
}

static int space_find(struct conf *conf, const char *name,
		      struct conf_space **ret_space, char *why)
{
	struct conf_space *space = conf->spaces;
	unsigned int i;

	for (i = 0; i < conf->nr_spaces; i++, space++) {
		if (!strcmp(space->name, name)) {
			*ret_space = space;
			return 0;
		}
	}
	if (!name_ok(name, strlen(name), CONF_SPACE_MAX))
		return complain(why, "section [space %.100s]: expected a name of 1 to %d "
				"letters, digits, '-', '_' and '.', which does not begin "
				"with '.'", name, CONF_SPACE_MAX - 1);
	if (conf->nr_spaces == CONF_MAX_SPACES)
		return complain(why, "section [space %s]: expected at most %d spaces",
				name, CONF_MAX_SPACES);
	conf->nr_spaces++;
	*space = (struct conf_space){
		.clients = 256, .dead_ms = 1000, .node = UINT16_MAX,
	};
	memcpy(space->name, name, strlen(name) + 1);
	*ret_space = space;
	return 0;
}

int conf_space_set(struct conf *conf, const char *space_name, const char *name,
		   const char *text, char why[CONF_WHY_MAX])
{
	struct conf_space *space = NULL;
	int r = space_find(conf, space_name, &space, why);

	return r ? r : keys_set(conf_space_keys, space, name, text, why,
				" of a space; expected size, clients, chunk, dead-ms, "
				"deletable, readers, writers, nodes, node, node-keys or "
				"lost-ms");
}

static int client_find(struct conf *conf, const char *name,
		       struct conf_client **ret_client, char *why)
{
	struct conf_client *client = conf->clients;
	unsigned int i;

	if (!strcmp(name, "*")) {
		*ret_client = &conf->others;
		return 0;
	}
	for (i = 0; i < conf->nr_clients; i++, client++) {
		if (!strcmp(client->name, name)) {
			*ret_client = client;
			return 0;
		}
	}
	if (!name_ok(name, strlen(name), CONF_CLIENT_MAX))
		return complain(why, "section [client %.100s]: expected *, or a name of 1 to "
				"%d letters, digits, '-', '_' and '.', which does not begin "
				"with '.'", name, CONF_CLIENT_MAX - 1);
	if (conf->nr_clients == CONF_MAX_CLIENTS)
		return complain(why, "section [client %s]: expected at most %d clients",
				name, CONF_MAX_CLIENTS);
	conf->nr_clients++;
	*client = client_default;
	memcpy(client->name, name, strlen(name) + 1);
	*ret_client = client;
	return 0;
}

int conf_client_set(struct conf *conf, const char *client_name, const char *name,
		    const char *text, char why[CONF_WHY_MAX])
{
	struct conf_client *client = NULL;
	int r = client_find(conf, client_name, &client, why);

	return r ? r : keys_set(conf_client_keys, client, name, text, why,
				" of a client; expected max-pages, guaranteed-pages, "
				"weight, max-sessions, max-connections, max-requests or "
				"max-bandwidth");
}

struct reading {
	struct conf *conf;
	bool nic_begun;
};

/* libinih reports a continuation line as one more setting of the same name: the line adds
 * words to the NIC. */
static int nic_append(struct conf *conf, const char *value, char *why)
{
	char *nic = conf->nic;
	size_t len = strlen(nic);

	if (len + 1 + strlen(value) >= CONF_NIC_MAX)
		return complain(why, "nic=...%.100s: expected less than %d "
				"characters in all", value, CONF_NIC_MAX);
	nic[len] = ',';
	memcpy(nic + len + 1, value, strlen(value) + 1);
	return 0;
}

static int set_line(struct reading *rd, const char *name, const char *value,
		    char *why)
{
	if (strcmp(name, "nic"))
		return conf_set(rd->conf, name, value, why);
	if (rd->nic_begun)
		return nic_append(rd->conf, value, why);
	rd->nic_begun = true;
	return conf_set(rd->conf, name, value, why);
}

static int set_space_line(struct conf *conf, const char *space_name, const char *name,
			  const char *value, char *why)
{
	struct conf_space *space;

	/* Create a space without settings, too: check_spaces() then asks for its size. */
	if (!name)
		return space_find(conf, space_name, &space, why);
	return conf_space_set(conf, space_name, name, value, why);
}

static int set_client_line(struct conf *conf, const char *client_name,
			   const char *name, const char *value, char *why)
{
	struct conf_client *client;

	if (!name)
		return client_find(conf, client_name, &client, why);
	return conf_client_set(conf, client_name, name, value, why);
}

static int on_line(void *arg, const char *section, const char *name,
		   const char *value, char why[CONF_INI_WHY_MAX])
{
	struct reading *rd = arg;

	if (!strcmp(section, "mnode"))
		return name ? set_line(rd, name, value, why) : 0;
	if (!strncmp(section, "space ", 6))
		return set_space_line(rd->conf, section + 6, name, value, why);
	if (!strncmp(section, "client ", 7))
		return set_client_line(rd->conf, section + 7, name, value, why);
	if (*section)
		return complain(why, "section [%.100s]: expected [mnode], [space NAME] or "
				"[client NAME]", section);
	return complain(why, "%.100s: in no section: expected [mnode], [space NAME] or "
			"[client NAME] in a line above", name);
}

int conf_read(struct conf *conf, const char *path, char why[CONF_WHY_MAX])
{
	struct reading rd = { .conf = conf };

	_Static_assert(CONF_WHY_MAX >= CONF_INI_WHY_MAX, "room for what is wrong");
	return conf_ini_read(path, "nic", on_line, &rd, why);
}

/* Checks values that were set; the default of store-pages leaves enough pages. */
static int check_stock(const struct conf *conf, uint64_t pages, char *why)
{
	uint64_t reserve = conf->reserve == UINT64_MAX ? 0 : conf->reserve;

	if (conf->store_pages == UINT64_MAX)
		return 0;
	if (conf->store_pages < 8)
		return complain(why, "store-pages=%" PRIu64 ": expected at "
				"least 8, for the stores of one queue",
				conf->store_pages);
	if (conf->store_pages >= pages - reserve)
		return complain(why, "store-pages=%" PRIu64 ": expected less "
				"than the pool's %" PRIu64 " pages without "
				"one reserve", conf->store_pages, pages);
	return 0;
}

static int check_client(const struct conf_client *client, char *why)
{
	if (!client->max_pages || client->guaranteed_pages <= client->max_pages)
		return 0;
	return complain(why, "client %s: guaranteed-pages=%" PRIu64 ": expected at most "
			"max-pages=%" PRIu64, client->name, client->guaranteed_pages,
			client->max_pages);
}

/* manager_set_clients() compares the guaranteed pages with the pool. */
static int check_clients(const struct conf *conf, char *why)
{
	unsigned int i;
	int r = 0;

	if (conf->others.guaranteed_pages)
		return complain(why, "client *: guaranteed-pages=%" PRIu64 ": expected a "
				"section for each who is guaranteed some",
				conf->others.guaranteed_pages);
	for (i = 0; !r && i < conf->nr_clients; i++)
		r = check_client(&conf->clients[i], why);
	return r;
}

static unsigned int nr_names(const char *list)
{
	unsigned int nr = 0;

	for (; *list; list += strspn(list, ", \t"), nr++)
		list += strcspn(list, ", \t");
	return nr;
}

/* No secret has a longer name; a node with an empty name would be asked without proof. */
static bool key_names_ok(const char *list)
{
	size_t len;

	for (; *list; list += strspn(list, ", \t")) {
		len = strcspn(list, ", \t");
		if (!len || len >= CONF_CLIENT_MAX)
			return false;
		list += len;
	}
	return true;
}

/* Checks that a space of a set has its own index and the secrets of the nodes. */
static int check_set(const struct conf_space *space, char *why)
{
	bool given = space->node != UINT16_MAX;
	unsigned int nr_keys = nr_names(space->node_keys);

	if (!key_names_ok(space->node_keys))
		return complain(why, "space %s: node-keys=%.100s: expected names of 1 to %d "
				"characters", space->name, space->node_keys,
				CONF_CLIENT_MAX - 1);
	if (nr_keys && nr_keys + 1 != space->nr_nodes)
		return complain(why, "space %s: node-keys=%.100s: expected a name for each "
				"of the nodes but the first: %u", space->name,
				space->node_keys,
				space->nr_nodes ? space->nr_nodes - 1 : 0);
	/* Without them a part that was lost never begins anew by itself. */
	if (space->lost_ms && !nr_keys)
		return complain(why, "space %s: lost-ms: expected node-keys", space->name);
	if (!space->nr_nodes)
		return given ? complain(why, "space %s: node=%u: expected nodes as well",
					space->name, space->node) : 0;
	if (!given)
		return complain(why, "space %s: expected node, which of the %u nodes this "
				"one is, from 0 on", space->name, space->nr_nodes);
	if (space->node >= space->nr_nodes)
		return complain(why, "space %s: node=%u: expected a number from 0 to %u, "
				"there are %u nodes", space->name, space->node,
				space->nr_nodes - 1, space->nr_nodes);
	return 0;
}

/* The spaces must leave the smallest pool to swap. *ret_pages: pages left to swap. */
static int check_spaces(const struct conf *conf, uint64_t *ret_pages, char *why)
{
	uint64_t left = conf->pool;
	unsigned int i;

	for (i = 0; i < conf->nr_spaces; i++) {
		const struct conf_space *space = &conf->spaces[i];

		if (check_set(space, why))
			return -EINVAL;
		if (space->nr_nodes > 1 && !*space->node_keys &&
		    conf->auth == CONF_AUTH_REQUIRED)
			return complain(why, "space %s: nodes=...: expected node-keys as "
					"well, or auth=none", space->name);
		if (!space->size)
			return complain(why, "space %s: expected its size, as in size = "
					"1G", space->name);
		if (space->size + CONF_MIN_SWAP > left)
			return complain(why, "space %s: size=%" PRIu64 "K: expected at "
					"most %" PRIu64 "K: of the pool %" PRIu64 "K are "
					"other spaces', and 256K are for swap",
					space->name, space->size >> 10,
					left > CONF_MIN_SWAP ?
					(left - CONF_MIN_SWAP) >> 10 : 0,
					(conf->pool - left) >> 10);
		left -= space->size;
	}
	*ret_pages = left / ODRP_WIRE_PAGE_SIZE;
	return 0;
}

int conf_check(const struct conf *conf, char why[CONF_WHY_MAX])
{
	uint64_t pages = 0;
	int r;

	if (!*conf->nic)
		return complain(why, "no NIC: say --nic soft:ip=...,dgram=..., "
				"soft:ip=...,packet=INTERFACE, mlx5:DEVICE, verbs:DEVICE or auto");
	if (conf->dead_ms < 2 * conf->beat_ms)
		return complain(why, "dead-ms=%u: expected at least twice "
				"beat-ms=%u", conf->dead_ms, conf->beat_ms);
	r = check_spaces(conf, &pages, why);
	if (!r)
		r = check_clients(conf, why);
	if (r)
		return r;
	if (conf->reserve != UINT64_MAX && conf->reserve >= pages)
		return complain(why, "reserve=%" PRIu64 ": expected less than "
				"the pool's %" PRIu64 " pages", conf->reserve,
				pages);
	return check_stock(conf, pages, why);
}
