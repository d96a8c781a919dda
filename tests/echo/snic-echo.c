// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * snic-echo: the server, or the client, of rping (rdmacm-utils) on a software
 * NIC.  A check of the wire: the distribution's own program, its verbs library
 * and its kernel are at the other end.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "echo.h"

#define MAX_PORTS	16

struct options {
	struct snic_config nic;
	struct snic_faults faults;
	struct snic_port *ports[MAX_PORTS];
	unsigned int nr_ports;
	uint16_t port;
	__be32 server;			/* connect there; 0: listen */
	unsigned long count;		/* connections; 0: for ever */
	unsigned long rounds, size;	/* client */
	unsigned long wait;		/* client: seconds to try */
	bool verbose;
};

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = 1;
}

/* ---- the loop ------------------------------------------------------------------------ */

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec;
}

static void echo_wait(const struct options *o, uint64_t next)
{
	struct pollfd fds[MAX_PORTS];
	uint64_t now = clock_ns();
	struct timespec t = { .tv_sec = 1 };
	unsigned int i;

	for (i = 0; i < o->nr_ports; i++)
		fds[i] = (struct pollfd) {
			.fd = o->ports[i]->fd, .events = POLLIN,
		};
	if (next <= now)
		t.tv_sec = 0;
	else if (next - now < 1000000000u)
		t = (struct timespec) { .tv_nsec = next - now };
	ppoll(fds, o->nr_ports, &t, NULL);
}

static void nic_print_stats(struct snic *nic)
{
	struct snic_stats st;

	snic_get_stats(nic, &st);
#define PRINT(name)						\
	if (st.name)						\
		printf("%s %llu\n", #name, (unsigned long long)st.name);
	SNIC_COUNTERS(PRINT)
#undef PRINT
}

/* Lets the peer's last words be answered. */
static void echo_linger(struct echo *e, const struct options *o)
{
	uint64_t end = clock_ns() + 300000000u, next;

	while (clock_ns() < end) {
		snic_step(e->nic, clock_ns(), &next);
		echo_serve(e);
		echo_wait(o, next < end ? next : end);
	}
}

static int echo_begin(struct echo *e, const struct options *o)
{
	uint32_t listener;
	unsigned long i;
	int ret;

	if (!o->server) {
		ret = snic_cm_listen(e->nic, o->port, &listener);
		if (ret)
			return ret;
		printf("listening on port %u\n", o->port);
		fflush(stdout);
		return 0;
	}
	for (i = 0; i < o->count; i++) {
		ret = echo_connect(e, o->server, o->port);
		if (ret)
			return ret;
	}
	return 0;
}

/* The server may not be there yet. */
static int echo_try_again(struct echo *e, const struct options *o, uint64_t end)
{
	int ret;

	if (clock_ns() >= end) {
		e->done += e->refused;
		e->failed += e->refused;
		e->refused = 0;
	}
	for (; e->refused; e->refused--) {
		ret = echo_connect(e, o->server, o->port);
		if (ret == -EHOSTUNREACH)
			return 0;
		if (ret)
			return ret;
	}
	return 0;
}

static int echo_run(struct echo *e, const struct options *o)
{
	uint64_t end = clock_ns() + o->wait * 1000000000, next;
	int ret;

	ret = snic_step(e->nic, clock_ns(), &next);
	if (!ret)
		ret = echo_begin(e, o);
	while (!ret && !stopped && (!o->count || e->done < o->count)) {
		ret = snic_step(e->nic, clock_ns(), &next);
		if (!ret && !echo_serve(e))
			echo_wait(o, next);
		if (!ret && e->refused)
			ret = echo_try_again(e, o, end);
	}
	if (ret)
		return ret;
	echo_linger(e, o);
	nic_print_stats(e->nic);
	return e->failed ? -EPROTO : 0;
}

/* ---- options ---------------------------------------------------------------------------- */

static const struct argp_option argp_options[] = {
	{ "dgram", 'd', "LOCAL:REMOTE", 0,
	  "AF_UNIX datagram sockets, as of QEMU's -netdev dgram", 0 },
	{ "packet", 'i', "INTERFACE", 0, "A packet socket on an interface", 0 },
	{ "ip", 'a', "A.B.C.D/LEN", 0, "Address (10.77.0.1/24)", 0 },
	{ "mac", 'm', "MAC", 0, "Its MAC (52:54:00:77:00:01)", 0 },
	{ "mtu", 'M', "BYTES", 0, "IP MTU (4500)", 0 },
	{ "port", 'p', "PORT", 0, "RDMA CM port (7174, as rping)", 0 },
	{ "connect", 'C', "A.B.C.D", 0,
	  "Be the client of rping -s there, instead of the server", 0 },
	{ "count", 'n', "N", 0, "End after N connections (client: 1)", 0 },
	{ "rounds", 'R', "N", 0, "Client: rounds on each connection (10)", 0 },
	{ "wait", 'w', "SECONDS", 0,
	  "Client: try for so long to get a connection (0)", 0 },
	{ "size", 'S', "BYTES", 0, "Client: bytes of a round (64)", 0 },
	{ "loss", 'l', "P", 0, "Lose frames with this probability", 0 },
	{ "reorder", 'r', "P", 0, "Reorder frames with this probability", 0 },
	{ "corrupt", 'c', "P", 0, "Flip a bit with this probability", 0 },
	{ "duplicate", 'D', "P", 0, "Duplicate with this probability", 0 },
	{ "seed", 's', "N", 0,
	  "Seed of ids and faults (the clock's)", 0 },
	{ "verbose", 'v', NULL, 0, "Tell of every connection event", 0 },
	{ 0 },
};

static unsigned long parse_number(struct argp_state *state, const char *what,
				  const char *arg, unsigned long max)
{
	unsigned long v;
	char *end;

	errno = 0;
	v = strtoul(arg, &end, 0);
	if (errno || !*arg || *end || v > max)
		argp_error(state, "%s '%s': a number up to %lu expected", what,
			   arg, max);
	return v;
}

static double parse_probability(struct argp_state *state, const char *arg)
{
	char *end;
	double v = strtod(arg, &end);

	if (!*arg || *end || !(v >= 0 && v <= 1))
		argp_error(state, "'%s': a probability from 0 to 1 expected",
			   arg);
	return v;
}

static void parse_ip(struct argp_state *state, const char *arg,
		     struct snic_config *cfg)
{
	char buf[32];
	const char *slash = strchr(arg, '/');
	int n = slash ? slash - arg : 0;

	snprintf(buf, sizeof(buf), "%.*s", n, arg);
	if (!slash || inet_pton(AF_INET, buf, &cfg->ip) != 1)
		argp_error(state, "address '%s': A.B.C.D/LEN expected", arg);
	else
		cfg->prefix_len = parse_number(state, "prefix", slash + 1, 32);
}

static void parse_mac(struct argp_state *state, const char *arg, uint8_t *mac)
{
	int used = 0;

	if (sscanf(arg, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0],
		   &mac[1], &mac[2], &mac[3], &mac[4], &mac[5], &used) != 6 ||
	    arg[used] || mac[0] & 1)
		argp_error(state, "MAC '%s': six pairs of hex digits of one "
			   "station expected", arg);
}

static int open_dgram(const char *arg, struct snic_port **ret_port)
{
	const char *colon = strchr(arg, ':');
	char *local;
	int ret;

	if (!colon)
		return -EINVAL;
	local = strndup(arg, colon - arg);
	if (!local)
		return -ENOMEM;
	ret = snic_port_dgram_open(local, colon + 1, ret_port);
	free(local);
	return ret;
}

static void add_port(struct argp_state *state, struct options *o, int key,
		     const char *arg)
{
	struct snic_port **port = &o->ports[o->nr_ports];
	int ret;

	if (o->nr_ports == MAX_PORTS)
		argp_error(state, "at most %d ports", MAX_PORTS);
	ret = key == 'i' ? snic_port_packet_open(arg, port) :
		open_dgram(arg, port);
	if (ret)
		argp_failure(state, 1, -ret, "cannot open port '%s': "
			     "%s expected", arg,
			     key == 'i' ? "INTERFACE" : "LOCAL:REMOTE");
	o->nr_ports++;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'd': case 'i':
		add_port(state, o, key, arg);
		break;
	case 'a':
		parse_ip(state, arg, &o->nic);
		break;
	case 'm':
		parse_mac(state, arg, o->nic.mac);
		break;
	case 'M':
		o->nic.mtu = parse_number(state, "MTU", arg, 65535);
		break;
	case 'p':
		o->port = parse_number(state, "port", arg, 65535);
		break;
	case 'C':
		if (inet_pton(AF_INET, arg, &o->server) != 1)
			argp_error(state, "server '%s': A.B.C.D expected", arg);
		break;
	case 'R':
		o->rounds = parse_number(state, "rounds", arg, 1000000000);
		break;
	case 'w':
		o->wait = parse_number(state, "wait", arg, 1000000);
		break;
	case 'S':
		o->size = parse_number(state, "size", arg, 1 << 20);
		break;
	case 'n':
		o->count = parse_number(state, "count", arg, -1ul);
		break;
	case 'l':
		o->faults.loss = parse_probability(state, arg);
		break;
	case 'r':
		o->faults.reorder = parse_probability(state, arg);
		break;
	case 'c':
		o->faults.corrupt = parse_probability(state, arg);
		break;
	case 'D':
		o->faults.duplicate = parse_probability(state, arg);
		break;
	case 's':
		o->nic.seed = parse_number(state, "seed", arg, -1ul);
		break;
	case 'v':
		o->verbose = true;
		break;
	case ARGP_KEY_END:
		if (!o->nr_ports)
			argp_error(state, "no port: --dgram or --packet");
		if (o->server && !o->count)
			o->count = 1;
		if (o->server && (!o->rounds || !o->size))
			argp_error(state, "rounds and size: 1 or more");
		if (o->server && o->count > ECHO_MAX_CONNS)
			argp_error(state, "at most %d connections",
				   ECHO_MAX_CONNS);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static bool faults_any(const struct snic_faults *f)
{
	return f->loss || f->reorder || f->corrupt || f->duplicate;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		argp_options, parse_option, NULL,
		"rping (rdmacm-utils) on a software NIC.", NULL, NULL, NULL,
	};
	struct options opt = {
		.nic = {
			.mac = { 0x52, 0x54, 0, 0x77, 0, 1 },
			.ip = htonl(0x0a4d0001), .prefix_len = 24,
			.mtu = 4500, .seed = clock_ns(),
		},
		.port = 7174, .rounds = 10, .size = 64,
	};
	struct echo echo = { 0 };
	struct sigaction act = { .sa_handler = on_signal };
	unsigned int i;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &opt);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	echo.verbose = opt.verbose;
	echo.rounds = opt.rounds;
	echo.size = opt.size;
	ret = snic_new(&opt.nic, &echo.nic);
	for (i = 0; !ret && i < opt.nr_ports; i++)
		ret = snic_port_add(echo.nic, opt.ports[i]);
	if (!ret && faults_any(&opt.faults))
		ret = snic_set_faults(echo.nic, &opt.faults);
	if (!ret)
		ret = echo_init(&echo);
	if (!ret)
		ret = echo_run(&echo, &opt);
	if (ret)
		fprintf(stderr, "snic-echo: %s\n", strerror(-ret));
	echo_fini(&echo);
	snic_free(echo.nic);
	for (i = 0; i < opt.nr_ports; i++)
		opt.ports[i]->ops->close(opt.ports[i]);
	return ret ? 1 : 0;
}
