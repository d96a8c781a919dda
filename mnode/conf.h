/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Settings of the agent, from mnoded.conf and from the command line. Both use the same
 * names.
 */
#ifndef MNODE_CONF_H
#define MNODE_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONF_NIC_MAX	8192
#define CONF_PATH_MAX	108		/* sun_path */
#define CONF_WHY_MAX	512
#define CONF_KEYS_MAX	256
#define CONF_NAMES_MAX	1024
#define CONF_NODE_KEYS_MAX	8192

#ifndef SYSCONFDIR
#define SYSCONFDIR	"/etc"
#endif
#define CONF_FILE	SYSCONFDIR "/odrp/mnoded.conf"
#define CONF_CONTROL	"/run/odrp/mnoded.sock"
#define CONF_KEYS	SYSCONFDIR "/odrp/keys.d"

/* "auto" chooses by what this NIC is known to do right: keeps_fences and keeps_keys of
 * nic/node.h. */
enum conf_order { CONF_ORDER_AUTO, CONF_ORDER_WAIT, CONF_ORDER_FENCE };
enum conf_translate {
	CONF_TRANSLATE_AUTO,
	CONF_TRANSLATE_CHAIN,
	CONF_TRANSLATE_NIC,
	CONF_TRANSLATE_DIRECT,
};

/* "auto" clears pages for sessions whose slots the NIC does not translate. The values
 * are those of enum lend_scrub. */
enum conf_scrub { CONF_SCRUB_AUTO, CONF_SCRUB_YES, CONF_SCRUB_NO };

enum conf_auth { CONF_AUTH_REQUIRED, CONF_AUTH_NONE };

struct conf_address {
	uint32_t ip;			/* big endian */
	uint16_t port;
};

#define CONF_MAX_SPACES	16
#define CONF_SPACE_MAX	37		/* a name of 36 characters */
#define CONF_MAX_NODES	255		/* memory nodes of a space set */

/* Section [space NAME]. */
struct conf_space {
	char name[CONF_SPACE_MAX];
	uint64_t size;			/* bytes; 0: not set */
	uint64_t chunk;			/* bytes; 0: chosen by size */
	uint32_t clients;
	uint32_t dead_ms;
	uint32_t lost_ms;		/* of a set; 0: nobody is declared lost for silence */
	bool deletable;			/* any client may delete the space */
	char readers[CONF_NAMES_MAX];	/* names that may read the space... */
	char writers[CONF_NAMES_MAX];	/* ... read and write it; both "": anybody may */
	uint16_t nr_nodes;		/* of the space set; 0: the space is in no set */
	uint16_t node;			/* index of this node in nodes; UINT16_MAX: not set */
	uint32_t nodes[CONF_MAX_NODES];	/* IPv4 addresses, big endian; first: the arbiter */
	char node_keys[CONF_NODE_KEYS_MAX];	/* names of secrets; "": none */
};

#define CONF_MAX_CLIENTS 256
#define CONF_CLIENT_MAX	32		/* a name of 31 characters, or an address */

#define CONF_MAX_BANDWIDTH	(UINT64_C(1) << 34)

/* Section [client NAME]; [client *] is for all clients without a section. In the max_
 * fields 0 means no limit. */
struct conf_client {
	char name[CONF_CLIENT_MAX];
	uint64_t max_pages;		/* of all leases together */
	uint64_t guaranteed_pages;	/* kept for this client */
	uint32_t weight;
	uint32_t max_sessions;
	uint32_t max_connections;	/* of all sessions, and to spaces */
	uint32_t max_requests;		/* connection requests in a minute */
	uint64_t max_bandwidth;		/* bytes of pages a second, stored and loaded */
};

/* docs/man/odrp-mnoded.conf.5 explains each setting. */
struct conf {
	char nic[CONF_NIC_MAX];
	char control[CONF_PATH_MAX];
	uint64_t pool;			/* bytes */
	uint64_t reserve;		/* pages; UINT64_MAX: by pool size */
	uint64_t store_pages;		/* set aside; UINT64_MAX: by pool size */
	uint64_t metadata;		/* bytes for all sessions; 0: by pool size */
	uint64_t max_pages;		/* of one session; 0: no limit */
	uint64_t max_slots;		/* of one session */
	uint32_t max_sessions;
	uint16_t queues;		/* of one session */
	uint16_t depth;			/* instances of each chain */
	uint16_t port;
	uint32_t beat_ms, dead_ms, dead_ms_max;
	bool populate;
	uint8_t order;			/* enum conf_order */
	uint8_t translate;		/* enum conf_translate */
	uint8_t scrub;			/* enum conf_scrub */
	uint8_t auth;			/* enum conf_auth */
	char keys[CONF_KEYS_MAX];	/* directory of secrets */
	struct conf_address metrics;	/* port 0: off */
	int log_level;			/* syslog */
	unsigned int nr_spaces;
	struct conf_space spaces[CONF_MAX_SPACES];
	unsigned int nr_clients;
	struct conf_client clients[CONF_MAX_CLIENTS];
	struct conf_client others;	/* section [client *] */
};

/* One setting, for --help and the parsers. */
struct conf_key {
	const char *name;
	const char *value;		/* placeholder in --help, or the words to choose from */
	const char *doc;
	int (*set)(void *conf, const struct conf_key *key,
		   const char *text, char why[CONF_WHY_MAX]);
	size_t off;
	uint64_t min, max;
};

/* Settings of the section [mnode]. The last entry has a NULL name. */
extern const struct conf_key conf_keys[];

void conf_init(struct conf *conf);
/* Sets one setting. -EINVAL: why names the setting, its value and what was expected;
 * -ENOENT: there is no such setting. */
int conf_set(struct conf *conf, const char *name, const char *text,
	     char why[CONF_WHY_MAX]);
/* The same for section [space SPACE]; creates the section if there is none. */
int conf_space_set(struct conf *conf, const char *space, const char *name,
		   const char *text, char why[CONF_WHY_MAX]);
/* The same for section [client CLIENT]. */
int conf_client_set(struct conf *conf, const char *client, const char *name,
		    const char *text, char why[CONF_WHY_MAX]);
/* Reads an INI file. -errno: why names the file and the line. */
int conf_read(struct conf *conf, const char *path, char why[CONF_WHY_MAX]);
/* The value of auth as text for people. */
const char *conf_auth_name(const struct conf *conf);
/* Checks what depends on several settings, after all are set. -EINVAL: see why. */
int conf_check(const struct conf *conf, char why[CONF_WHY_MAX]);

#endif /* MNODE_CONF_H */
