// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Parser of --nic soft:ip=10.77.0.1/24,dgram=a.sock:b.sock,...
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "soft.h"

#define DEFAULT_MTU	4500	/* room for a RoCE path MTU of 4096 */
#define DEFAULT_SPIN_US	50
#define WORD_MAX	256

/* The state of the parser.  @key: key of the current word, as the user has written it. */
struct parse {
	struct nic_soft_opts *opts;
	const char *key;
	bool ip_given;
	char *why;
};

/*
 * A word KEY=VALUE.  For set(), as far as it needs them: @off, offset of the field in
 * struct nic_soft_opts; @min, @max, its bounds; @port, kind of the port.
 */
struct word {
	const char *key;
	int (*set)(struct parse *p, const struct word *w, const char *value);
	size_t off;
	uint64_t min, max;
	enum nic_soft_port_kind port;
};

__attribute__((format(printf, 2, 3)))
static int complain(struct parse *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, NIC_SOFT_WHY_MAX, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int parse_number(const char *value, uint64_t max, uint64_t *ret)
{
	unsigned long long n;
	char *end;

	if (*value < '0' || *value > '9')
		return -EINVAL;
	errno = 0;
	n = strtoull(value, &end, 0);
	if (errno || *end || n > max)
		return -EINVAL;
	*ret = n;
	return 0;
}

static void *field(struct parse *p, const struct word *w)
{
	return (char *)p->opts + w->off;
}

static int number(struct parse *p, const struct word *w, const char *value,
		  uint64_t *ret)
{
	uint64_t n;

	if (parse_number(value, w->max, &n) || n < w->min)
		return complain(p, "%s=%s: expected a number from %" PRIu64
				" to %" PRIu64, p->key, value, w->min, w->max);
	*ret = n;
	return 0;
}

static int set_number(struct parse *p, const struct word *w, const char *value)
{
	return number(p, w, value, field(p, w));
}

static int set_number32(struct parse *p, const struct word *w, const char *value)
{
	uint64_t n = 0;
	int r = number(p, w, value, &n);

	if (!r)
		*(uint32_t *)field(p, w) = n;
	return r;
}

static int set_mtu(struct parse *p, const struct word *w, const char *value)
{
	p->opts->mtu_given = true;
	return set_number32(p, w, value);
}

/* The value is in microseconds, the field in nanoseconds. */
static int set_delay(struct parse *p, const struct word *w, const char *value)
{
	uint64_t n = 0;
	int r = number(p, w, value, &n);

	if (!r)
		*(uint64_t *)field(p, w) = n * 1000;
	return r;
}

static int set_probability(struct parse *p, const struct word *w,
			   const char *value)
{
	char *end;
	double d;

	errno = 0;
	d = strtod(value, &end);
	if (errno || end == value || *end || !(d >= 0 && d <= 1))
		return complain(p, "%s=%s: expected a probability from 0 to 1",
				p->key, value);
	*(double *)field(p, w) = d;
	return 0;
}

static int set_strict(struct parse *p, const struct word *w, const char *value)
{
	struct snic_config *cfg = &p->opts->nic;

	(void)w;
	if (strcmp(value, "0") && strcmp(value, "1"))
		return complain(p, "%s=%s: expected 0 or 1", p->key, value);
	cfg->relaxed_index = cfg->relaxed_qpn = *value == '0';
	return 0;
}

static int set_ip(struct parse *p, const struct word *w, const char *value)
{
	struct snic_config *cfg = &p->opts->nic;
	char addr[INET_ADDRSTRLEN];
	const char *slash = strchr(value, '/');
	size_t len = slash ? (size_t)(slash - value) : strlen(value);
	struct in_addr in;
	uint64_t prefix = 24;

	(void)w;
	if (len >= sizeof(addr))
		goto bad;
	memcpy(addr, value, len);
	addr[len] = 0;
	if (inet_pton(AF_INET, addr, &in) != 1 || !in.s_addr)
		goto bad;
	if (slash && (parse_number(slash + 1, 32, &prefix) || !prefix))
		goto bad;
	cfg->ip = in.s_addr;
	cfg->prefix_len = prefix;
	p->ip_given = true;
	return 0;
bad:
	return complain(p, "ip=%s: expected an IPv4 address and prefix, "
			"such as 10.77.0.1/24", value);
}

static int set_mac(struct parse *p, const struct word *w, const char *value)
{
	uint8_t *m = p->opts->nic.mac;
	int n = 0;

	(void)w;
	if (sscanf(value, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &m[0], &m[1],
		   &m[2], &m[3], &m[4], &m[5], &n) != 6 || value[n])
		return complain(p, "mac=%s: expected six bytes, such as "
				"52:54:00:77:00:01", value);
	if (m[0] & 1)
		return complain(p, "mac=%s: expected a unicast address", value);
	p->opts->mac_given = true;
	return 0;
}

/* PATH to port->local; a datagram port has PATH:PATH, the second to port->remote. */
static int set_paths(struct parse *p, const char *value,
		     struct nic_soft_port *port)
{
	const char *colon = strchr(value, ':');
	size_t len = colon ? (size_t)(colon - value) : strlen(value);
	bool two = port->kind == NIC_SOFT_DGRAM;

	if (!len || len >= sizeof(port->local) || two != !!colon ||
	    (two && (!colon[1] || strlen(colon + 1) >= sizeof(port->remote))))
		return complain(p, "%s=%s: expected %s of less than %d bytes",
				p->key, value,
				two ? "LOCAL:REMOTE, two socket paths" :
				      "a socket path without a colon",
				NIC_SOFT_PATH_MAX);
	memcpy(port->local, value, len);
	if (two)
		memcpy(port->remote, colon + 1, strlen(colon + 1));
	return 0;
}

static int set_interface(struct parse *p, const char *value,
			 struct nic_soft_port *port)
{
	size_t len = strlen(value);

	if (!len || len >= IFNAMSIZ || strchr(value, ':'))
		return complain(p, "packet=%s: expected the name of a "
				"network interface", value);
	memcpy(port->local, value, len);
	return 0;
}

/*
 * Parses an IPv4 address, or looks up a host's name; text without letters is no name.
 * -EHOSTUNREACH: there is no such name, or it has no IPv4 address.
 */
static int udp_host(const char *text, __be32 *ret_ip)
{
	const struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_DGRAM };
	struct addrinfo *res;
	struct in_addr in;

	if (inet_pton(AF_INET, text, &in) == 1) {
		*ret_ip = in.s_addr;
		return 0;
	}
	if (!text[strspn(text, "0123456789.")])
		return -EINVAL;
	if (getaddrinfo(text, NULL, &hints, &res))
		return -EHOSTUNREACH;
	*ret_ip = ((struct sockaddr_in *)res->ai_addr)->sin_addr.s_addr;
	freeaddrinfo(res);
	return 0;
}

/* Parses the len bytes ADDRESS:PORT at s, and copies them to text. */
static int parse_udp_addr(const char *s, size_t len, char *text,
			  struct snic_udp_addr *ret_addr)
{
	const char *colon = memchr(s, ':', len);
	uint64_t n;
	__be32 ip;
	int r;

	if (!colon || len >= NIC_SOFT_PATH_MAX)
		return -EINVAL;
	memcpy(text, s, len);
	text[colon - s] = 0;
	if (parse_number(text + (colon - s) + 1, 65535, &n))
		return -EINVAL;
	r = udp_host(text, &ip);
	if (r)
		return r;
	text[colon - s] = ':';
	*ret_addr = (struct snic_udp_addr) { .ip = ip, .port = n };
	return 0;
}

/* Parses one or both ends.  Without a remote end, our own port must not be 0. */
static int set_udp_ends(const char *value, struct nic_soft_port *port)
{
	const char *colon = strchr(value, ':');
	const char *there = colon ? strchr(colon + 1, ':') : NULL;
	size_t len = there ? (size_t)(there - value) : strlen(value);
	int r = parse_udp_addr(value, len, port->local, &port->udp[0]);

	if (r || !there)
		return r ? r : port->udp[0].port ? 0 : -EINVAL;
	r = parse_udp_addr(there + 1, strlen(there + 1), port->remote, &port->udp[1]);
	if (r)
		return r;
	return port->udp[1].ip && port->udp[1].port ? 0 : -EINVAL;
}

static int set_udp(struct parse *p, const char *value, struct nic_soft_port *port)
{
	int r = set_udp_ends(value, port);

	if (r == -EHOSTUNREACH)
		return complain(p, "udp=%s: a name in it has no IPv4 address", value);
	if (r)
		return complain(p, "udp=%s: expected ADDRESS:PORT for all who send "
				"there, or ADDRESS:PORT:ADDRESS:PORT, here and there, "
				"such as 192.0.2.1:4789:192.0.2.2:4789", value);
	return 0;
}

static int set_port(struct parse *p, const struct word *w, const char *value)
{
	struct nic_soft_port *port;
	int r;

	if (p->opts->nr_ports == NIC_SOFT_MAX_PORTS)
		return complain(p, "%s=%s: more than %d ports", p->key, value,
				NIC_SOFT_MAX_PORTS);
	port = &p->opts->ports[p->opts->nr_ports];
	memset(port, 0, sizeof(*port));
	port->kind = w->port;
	if (w->port == NIC_SOFT_PACKET)
		r = set_interface(p, value, port);
	else if (w->port == NIC_SOFT_UDP)
		r = set_udp(p, value, port);
	else
		r = set_paths(p, value, port);
	if (!r)
		p->opts->nr_ports++;
	return r;
}

static int set_fetch(struct parse *p, const struct word *w, const char *value)
{
	(void)w;
	if (!strcmp(value, "late"))
		p->opts->nic.fetch = SNIC_FETCH_LATE;
	else if (!strcmp(value, "early"))
		p->opts->nic.fetch = SNIC_FETCH_EARLY;
	else
		return complain(p, "fetch=%s: expected late or early", value);
	return 0;
}

/* The offset of a field; does not compile unless the field has the size of type. */
#define OFF(type, f)							\
	(offsetof(struct nic_soft_opts, f) + 0 * sizeof(char[			\
	 sizeof(((struct nic_soft_opts *)0)->f) == sizeof(type) ? 1 : -1]))
#define PORT(kind)	.set = set_port, .port = NIC_SOFT_ ## kind
#define CHANCE(f)	.set = set_probability, .off = OFF(double, f)
#define COUNT(f)	.set = set_number, .off = OFF(uint64_t, f), .max = UINT64_MAX

static const struct word soft_words[] = {
	{ "ip", .set = set_ip },
	{ "mac", .set = set_mac },
	{ "mtu", .set = set_mtu, .off = OFF(uint32_t, nic.mtu), .min = 576, .max = 65535 },
	{ "vhost", PORT(VHOST) },
	{ "stream", PORT(STREAM) },
	{ "dgram", PORT(DGRAM) },
	{ "udp", PORT(UDP) },
	{ "packet", PORT(PACKET) },
	{ "fetch", .set = set_fetch },
	{ "strict", .set = set_strict },
	{ "seed", COUNT(nic.seed) },
	{ "spin_us", .set = set_number32, .off = OFF(uint32_t, spin_us),
	  .max = 1000 * 1000 },
	{ "loss", CHANCE(faults.loss) },
	{ "reorder", CHANCE(faults.reorder) },
	{ "duplicate", CHANCE(faults.duplicate) },
	{ "corrupt", CHANCE(faults.corrupt) },
	{ "delay_us", .set = set_delay, .off = OFF(uint64_t, faults.delay_ns),
	  .max = 10 * 1000 * 1000 },
	{ "forge_after", COUNT(forge.after) },
	{ "forge_max", COUNT(forge.most) },
	{ "forge_imm", CHANCE(forge.imm) },
	{ "forge_data", CHANCE(forge.data) },
	{ "forge_length", CHANCE(forge.length) },
	{ "forge_target", CHANCE(forge.target) },
	{ "forge_replay", CHANCE(forge.replay) },
	{ "forge_late", CHANCE(forge.late) },
	{ "forge_opcode", CHANCE(forge.opcode) },
	{ "forge_hello", CHANCE(forge.hello) },
};

#define NR_WORDS (sizeof(soft_words) / sizeof(soft_words[0]))

static int complain_unknown(struct parse *p)
{
	size_t len = 0;
	char all[NIC_SOFT_WHY_MAX];

	for (size_t i = 0; i < NR_WORDS && len < sizeof(all); i++)
		len += snprintf(all + len, sizeof(all) - len, "%s%s",
				!i ? "" : i < NR_WORDS - 1 ? ", " : " or ",
				soft_words[i].key);
	return complain(p, "%s: unknown; expected %s", p->key, all);
}

static int set_word(struct parse *p, const char *value)
{
	for (size_t i = 0; i < NR_WORDS; i++)
		if (!strcmp(p->key, soft_words[i].key))
			return soft_words[i].set(p, &soft_words[i], value);
	return complain_unknown(p);
}

static int parse_word(struct parse *p, const char *word, size_t len)
{
	char buf[WORD_MAX], *eq;

	if (len >= sizeof(buf))
		return complain(p, "%.40s...: word longer than %d bytes", word,
				WORD_MAX - 1);
	memcpy(buf, word, len);
	buf[len] = 0;
	eq = strchr(buf, '=');
	if (!eq || eq == buf || !eq[1])
		return complain(p, "'%s': expected KEY=VALUE", buf);
	*eq = 0;
	p->key = buf;
	return set_word(p, eq + 1);
}

static void derive_mac(struct snic_config *cfg)
{
	cfg->mac[0] = 0x02;	/* locally administered */
	cfg->mac[1] = 0x4f;
	memcpy(cfg->mac + 2, &cfg->ip, 4);
}

int nic_soft_parse_joined(const char *words, struct nic_soft_opts *ret_opts,
			  char why[NIC_SOFT_WHY_MAX])
{
	struct nic_soft_opts opts = {
		.nic = { .mtu = DEFAULT_MTU, .prefix_len = 24 },
		.spin_us = DEFAULT_SPIN_US,
	};
	struct parse p = { .opts = &opts, .why = why };
	int r;

	while (*words) {
		size_t len = strcspn(words, ",");

		r = parse_word(&p, words, len);
		if (r)
			return r;
		words += len;
		if (*words == ',' && !*++words)
			return complain(&p, "ends with a comma");
	}
	if (!p.ip_given)
		return complain(&p, "needs ip=ADDRESS/PREFIX");
	if (!opts.mac_given)
		derive_mac(&opts.nic);
	*ret_opts = opts;
	return 0;
}

/* Why the other end gave no address, as the rest of a sentence. */
static const char *no_address(int r)
{
	switch (r) {
	case -EUSERS:
		return "the memory node there has no place for one more client, or for "
		       "one more from this machine: expected fewer, or a wait of 10 s "
		       "when some have just ended";
	case -EADDRNOTAVAIL:
		return "the memory node there has no address that is not taken: expected "
		       "another port here, or ip=ADDRESS/PREFIX";
	default:
		return "nobody there gives an address: expected a memory node with "
		       "udp=ADDRESS:PORT there, or ip=ADDRESS/PREFIX here";
	}
}

int nic_soft_ask_address(struct nic_soft_opts *opts, unsigned int timeout_ms,
			 char why[NIC_SOFT_WHY_MAX])
{
	struct nic_soft_port *p = &opts->ports[0];
	struct snic_port *port;
	__be32 ip;
	int r = snic_port_udp_open(&p->udp[0], &p->udp[1], &port);

	if (r) {
		snprintf(why, NIC_SOFT_WHY_MAX, "udp=%.90s:%.90s: %s", p->local,
			 p->remote, strerror(-r));
		return r;
	}
	r = snic_port_ask_address(port, timeout_ms, &ip);
	if (r) {
		snprintf(why, NIC_SOFT_WHY_MAX, "udp=%.90s:%.90s: %s", p->local,
			 p->remote, no_address(r));
		port->ops->close(port);
		return r;
	}
	*p = (struct nic_soft_port){ .kind = NIC_SOFT_JOINED, .joined = port };
	opts->nic.ip = ip;
	opts->nic.prefix_len = 0;	/* all are at the other end of the cable */
	if (!opts->mac_given)
		derive_mac(&opts->nic);
	return 0;
}

int nic_soft_parse(const char *words, struct nic_soft_opts *ret_opts,
		   char why[NIC_SOFT_WHY_MAX])
{
	struct nic_soft_opts opts;
	struct parse p = { .why = why };
	int r = nic_soft_parse_joined(words, &opts, why);

	if (r)
		return r;
	if (!opts.nr_ports)
		return complain(&p, "needs a port: vhost=PATH, "
				"stream=PATH, dgram=LOCAL:REMOTE, "
				"udp=ADDRESS:PORT[:ADDRESS:PORT] or "
				"packet=INTERFACE");
	*ret_opts = opts;
	return 0;
}
