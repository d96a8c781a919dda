// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Parser of --nic soft:ip=10.77.0.1/24,dgram=a.sock:b.sock,...
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "soft.h"

#define DEFAULT_MTU	4500	/* room for a RoCE path MTU of 4096 */
#define DEFAULT_SPIN_US	50
#define WORD_MAX	256

struct parse {
	struct nic_soft_opts *opts;
	bool ip_given;
	char *why;
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

static int set_number(struct parse *p, const char *key, const char *value,
		      uint64_t min, uint64_t max, uint64_t *ret)
{
	uint64_t n;

	if (parse_number(value, max, &n) || n < min)
		return complain(p, "%s=%s: expected a number from %" PRIu64
				" to %" PRIu64, key, value, min, max);
	*ret = n;
	return 0;
}

static int set_probability(struct parse *p, const char *key,
			   const char *value, double *ret)
{
	char *end;
	double d;

	errno = 0;
	d = strtod(value, &end);
	if (errno || end == value || *end || !(d >= 0 && d <= 1))
		return complain(p, "%s=%s: expected a probability from 0 to 1",
				key, value);
	*ret = d;
	return 0;
}

static int set_bool(struct parse *p, const char *key, const char *value,
		    bool *ret)
{
	if (strcmp(value, "0") && strcmp(value, "1"))
		return complain(p, "%s=%s: expected 0 or 1", key, value);
	*ret = *value == '1';
	return 0;
}

static int set_ip(struct parse *p, const char *value)
{
	struct snic_config *cfg = &p->opts->nic;
	char addr[INET_ADDRSTRLEN];
	const char *slash = strchr(value, '/');
	size_t len = slash ? (size_t)(slash - value) : strlen(value);
	struct in_addr in;
	uint64_t prefix = 24;

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

static int set_mac(struct parse *p, const char *value)
{
	uint8_t *m = p->opts->nic.mac;
	int n = 0;

	if (sscanf(value, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &m[0], &m[1],
		   &m[2], &m[3], &m[4], &m[5], &n) != 6 || value[n])
		return complain(p, "mac=%s: expected six bytes, such as "
				"52:54:00:77:00:01", value);
	if (m[0] & 1)
		return complain(p, "mac=%s: expected a unicast address", value);
	p->opts->mac_given = true;
	return 0;
}

/* PATH, or PATH:PATH into remote too. */
static int set_paths(struct parse *p, const char *key, const char *value,
		     struct nic_soft_port *port)
{
	const char *colon = strchr(value, ':');
	size_t len = colon ? (size_t)(colon - value) : strlen(value);
	bool two = port->kind == NIC_SOFT_DGRAM;

	if (!len || len >= sizeof(port->local) || two != !!colon ||
	    (two && (!colon[1] || strlen(colon + 1) >= sizeof(port->remote))))
		return complain(p, "%s=%s: expected %s of less than %d bytes",
				key, value,
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

/* ADDRESS:PORT, of len bytes. */
static int parse_udp_addr(const char *s, size_t len, char *text,
			  struct snic_udp_addr *ret_addr)
{
	const char *colon = memchr(s, ':', len);
	struct in_addr in;
	uint64_t n;

	if (!colon || len >= NIC_SOFT_PATH_MAX)
		return -EINVAL;
	memcpy(text, s, len);
	text[colon - s] = 0;
	if (inet_pton(AF_INET, text, &in) != 1 ||
	    parse_number(text + (colon - s) + 1, 65535, &n) || !n)
		return -EINVAL;
	text[colon - s] = ':';
	*ret_addr = (struct snic_udp_addr) { .ip = in.s_addr, .port = n };
	return 0;
}

static int set_udp(struct parse *p, const char *value, struct nic_soft_port *port)
{
	const char *colon = strchr(value, ':');
	size_t len;

	colon = colon ? strchr(colon + 1, ':') : NULL;
	len = colon ? (size_t)(colon - value) : 0;
	if (!colon ||
	    parse_udp_addr(value, len, port->local, &port->udp[0]) ||
	    parse_udp_addr(colon + 1, strlen(colon + 1), port->remote,
			   &port->udp[1]) ||
	    !port->udp[1].ip)
		return complain(p, "udp=%s: expected ADDRESS:PORT:ADDRESS:PORT, "
				"here and there, such as "
				"192.0.2.1:4789:192.0.2.2:4789", value);
	return 0;
}

static int set_port(struct parse *p, const char *key,
		    enum nic_soft_port_kind kind, const char *value)
{
	struct nic_soft_port *port;
	int r;

	if (p->opts->nr_ports == NIC_SOFT_MAX_PORTS)
		return complain(p, "%s=%s: more than %d ports", key, value,
				NIC_SOFT_MAX_PORTS);
	port = &p->opts->ports[p->opts->nr_ports];
	memset(port, 0, sizeof(*port));
	port->kind = kind;
	if (kind == NIC_SOFT_PACKET)
		r = set_interface(p, value, port);
	else if (kind == NIC_SOFT_UDP)
		r = set_udp(p, value, port);
	else
		r = set_paths(p, key, value, port);
	if (!r)
		p->opts->nr_ports++;
	return r;
}

static int set_fetch(struct parse *p, const char *value)
{
	if (!strcmp(value, "late"))
		p->opts->nic.fetch = SNIC_FETCH_LATE;
	else if (!strcmp(value, "early"))
		p->opts->nic.fetch = SNIC_FETCH_EARLY;
	else
		return complain(p, "fetch=%s: expected late or early", value);
	return 0;
}

/* A key of forged packets.  `old` was its name before, and goes in the next version. */
static double *forge_of(struct snic_forge *f, const char *key)
{
	const struct {
		const char *key, *old;
		double *p;
	} keys[] = {
		{ "forge_imm", "lie_imm", &f->imm },
		{ "forge_data", "lie_data", &f->data },
		{ "forge_length", "lie_length", &f->length },
		{ "forge_target", "lie_target", &f->target },
		{ "forge_replay", "lie_again", &f->replay },
		{ "forge_late", "lie_late", &f->late },
		{ "forge_opcode", "lie_opcode", &f->opcode },
		{ "forge_hello", "lie_hello", &f->hello },
	};
	unsigned int i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!strcmp(key, keys[i].key) || !strcmp(key, keys[i].old))
			return keys[i].p;
	return NULL;
}

static int set_word(struct parse *p, const char *key, const char *value)
{
	struct nic_soft_opts *o = p->opts;
	struct snic_faults *f = &o->faults;
	uint64_t n = 0;
	bool b = false;
	int r;

	if (!strcmp(key, "ip"))
		return set_ip(p, value);
	if (!strcmp(key, "mac"))
		return set_mac(p, value);
	if (!strcmp(key, "dgram"))
		return set_port(p, key, NIC_SOFT_DGRAM, value);
	if (!strcmp(key, "stream"))
		return set_port(p, key, NIC_SOFT_STREAM, value);
	if (!strcmp(key, "vhost"))
		return set_port(p, key, NIC_SOFT_VHOST, value);
	if (!strcmp(key, "udp"))
		return set_port(p, key, NIC_SOFT_UDP, value);
	if (!strcmp(key, "packet"))
		return set_port(p, key, NIC_SOFT_PACKET, value);
	if (!strcmp(key, "fetch"))
		return set_fetch(p, value);
	if (!strcmp(key, "loss"))
		return set_probability(p, key, value, &f->loss);
	if (!strcmp(key, "reorder"))
		return set_probability(p, key, value, &f->reorder);
	if (!strcmp(key, "duplicate"))
		return set_probability(p, key, value, &f->duplicate);
	if (!strcmp(key, "corrupt"))
		return set_probability(p, key, value, &f->corrupt);
	if (forge_of(&o->forge, key))
		return set_probability(p, key, value, forge_of(&o->forge, key));
	if (!strcmp(key, "forge_max") || !strcmp(key, "lies"))
		return set_number(p, key, value, 0, UINT64_MAX, &o->forge.most);
	if (!strcmp(key, "forge_after") || !strcmp(key, "truths"))
		return set_number(p, key, value, 0, UINT64_MAX,
				  &o->forge.after);
	if (!strcmp(key, "seed"))
		return set_number(p, key, value, 0, UINT64_MAX, &o->nic.seed);
	if (!strcmp(key, "mtu")) {
		r = set_number(p, key, value, 576, 65535, &n);
		if (!r)
			o->nic.mtu = n;
		o->mtu_given = true;
		return r;
	}
	if (!strcmp(key, "delay_us")) {
		r = set_number(p, key, value, 0, 10 * 1000 * 1000, &n);
		if (!r)
			f->delay_ns = n * 1000;
		return r;
	}
	if (!strcmp(key, "spin_us")) {
		r = set_number(p, key, value, 0, 1000 * 1000, &n);
		if (!r)
			o->spin_us = n;
		return r;
	}
	if (!strcmp(key, "strict")) {
		r = set_bool(p, key, value, &b);
		if (!r)
			o->nic.relaxed_index = o->nic.relaxed_qpn = !b;
		return r;
	}
	return complain(p, "%s: unknown; expected ip, mac, mtu, vhost, stream, "
			"dgram, udp, packet, fetch, strict, seed, spin_us, loss, "
			"reorder, duplicate, corrupt, delay_us, forge_after, forge_max, "
			"forge_imm, forge_data, forge_length, forge_target, forge_replay, "
			"forge_late, forge_opcode or forge_hello", key);
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
	return set_word(p, buf, eq + 1);
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
				"udp=ADDRESS:PORT:ADDRESS:PORT or "
				"packet=INTERFACE");
	*ret_opts = opts;
	return 0;
}
