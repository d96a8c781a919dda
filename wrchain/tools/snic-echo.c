// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * snic-echo: the server of rping (rdmacm-utils), on a software NIC.  A check of
 * the wire: the distribution's own client, its verbs library and its kernel at
 * the other end.
 *
 *	client				server
 *	SEND {addr, rkey, size}  ---->	READ the data from there
 *		<----------------  SEND	go on
 *	SEND {addr, rkey, size}  ---->	WRITE the same data there
 *		<----------------  SEND	done
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
#include "snic/snic.h"

#define MAX_PORTS	16
#define MAX_CONNS	64
#define LOG_SQ		3
#define LOG_RQ		2
#define LOG_CQ		6
#define INFO_LEN	16
#define DATA_MAX	(1u << 20)

struct options {
	struct snic_config nic;
	struct snic_faults faults;
	struct snic_port *ports[MAX_PORTS];
	unsigned int nr_ports;
	uint16_t port;
	unsigned long count;		/* connections to serve; 0: for ever */
	bool verbose;
};

/* What rping's client says about its buffer. */
struct info {
	__be64 addr;
	__be32 rkey;
	__be32 size;
};

enum phase { READ_ADV, READING, WRITE_ADV, WRITING };

/* Memory that the NIC uses, per connection. */
struct memory {
	_Alignas(64) uint8_t sq[64 << LOG_SQ];
	_Alignas(64) uint8_t rq[16 << LOG_RQ];
	_Alignas(64) struct wrc_cqe cq[1 << LOG_CQ];
	_Alignas(64) struct wrc_dbr dbr;
	_Alignas(64) struct info recv[1 << LOG_RQ];
	_Alignas(64) uint8_t answer[INFO_LEN];
	_Alignas(4096) uint8_t data[DATA_MAX];
};

struct conn {
	bool used;
	uint32_t id, qpn, cqn, key;
	uint16_t pi, posted;
	enum phase phase;
	uint32_t size;
	unsigned long rounds;
	struct memory *mem;
};

struct server {
	struct options *opt;
	struct snic *nic;
	uint32_t pdn;
	struct conn conns[MAX_CONNS];
	unsigned long done, failed;
};

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	stopped = 1;
}

/* ---- work requests --------------------------------------------------------- */

static void post_send(struct server *s, struct conn *c, uint8_t opcode,
		      const struct info *remote, void *local, uint32_t len)
{
	uint8_t *wqe = c->mem->sq + (c->pi & ((1 << LOG_SQ) - 1)) * 64;
	struct wrc_wqe_ctrl ctrl = {
		.opcode = opcode, .fm_ce_se = WRC_WQE_CE_ALWAYS,
		.index = { c->pi >> 8, c->pi & 0xff },
		.qpn = { c->qpn >> 16, c->qpn >> 8, c->qpn & 0xff },
		.ds = remote ? 3 : 2,
	};
	struct wrc_wqe_data data = {
		.byte_count = cpu_to_be32(len), .lkey = cpu_to_be32(c->key),
		.addr = cpu_to_be64((uintptr_t)local),
	};
	struct wrc_wqe_raddr raddr;
	size_t off = sizeof(ctrl);

	memcpy(wqe, &ctrl, sizeof(ctrl));
	if (remote) {
		raddr = (struct wrc_wqe_raddr) {
			.addr = remote->addr, .rkey = remote->rkey,
		};
		memcpy(wqe + off, &raddr, sizeof(raddr));
		off += sizeof(raddr);
	}
	memcpy(wqe + off, &data, sizeof(data));
	c->pi++;
	c->mem->dbr.snd = cpu_to_be32(c->pi);
	snic_qp_doorbell(s->nic, c->qpn, c->pi);
}

static void post_recv(struct conn *c)
{
	unsigned int slot = c->posted & ((1 << LOG_RQ) - 1);
	struct wrc_wqe_data data = {
		.byte_count = cpu_to_be32(INFO_LEN),
		.lkey = cpu_to_be32(c->key),
		.addr = cpu_to_be64((uintptr_t)&c->mem->recv[slot]),
	};

	memcpy(c->mem->rq + slot * sizeof(data), &data, sizeof(data));
	c->posted++;
	c->mem->dbr.rcv = cpu_to_be32(c->posted);
}

/* ---- the protocol ------------------------------------------------------------ */

static void protocol_error(struct server *s, struct conn *c, const char *what,
			   unsigned int value)
{
	fprintf(stderr, "snic-echo: connection %08x: %s: %u\n", c->id, what,
		value);
	s->failed++;
	snic_cm_disconnect(s->nic, c->id);
}

static void received(struct server *s, struct conn *c,
		     const struct wrc_cqe *cqe)
{
	unsigned int slot = be16_to_cpu(cqe->wqe_counter) & ((1 << LOG_RQ) - 1);
	struct info info = c->mem->recv[slot];
	uint32_t len = be32_to_cpu(cqe->byte_cnt);

	post_recv(c);
	if (len != INFO_LEN) {
		protocol_error(s, c, "a message of 16 bytes expected, got", len);
		return;
	}
	c->size = be32_to_cpu(info.size);
	if (!c->size || c->size > DATA_MAX) {
		protocol_error(s, c, "unusable size", c->size);
		return;
	}
	if (c->phase == READ_ADV) {
		c->phase = READING;
		post_send(s, c, WRC_WQE_READ, &info, c->mem->data, c->size);
	} else if (c->phase == WRITE_ADV) {
		c->phase = WRITING;
		post_send(s, c, WRC_WQE_WRITE, &info, c->mem->data, c->size);
	} else {
		protocol_error(s, c, "message in phase", c->phase);
	}
}

static void sent(struct server *s, struct conn *c, const struct wrc_cqe *cqe)
{
	uint8_t opcode = be32_to_cpu(cqe->sop_qpn) >> 24;

	if (opcode == WRC_WQE_READ) {
		c->phase = WRITE_ADV;
	} else if (opcode == WRC_WQE_WRITE) {
		c->phase = READ_ADV;
		c->rounds++;
	} else {
		return;
	}
	post_send(s, c, WRC_WQE_SEND, NULL, c->mem->answer, INFO_LEN);
}

static void completed(struct server *s, struct conn *c,
		      const struct wrc_cqe *cqe)
{
	struct wrc_cqe_err err;

	switch (cqe->op_own >> 4) {
	case WRC_CQE_REQ:
		sent(s, c, cqe);
		break;
	case WRC_CQE_RESP_SEND:
		received(s, c, cqe);
		break;
	default:
		memcpy(&err, cqe, sizeof(err));
		if (err.syndrome == WRC_SYND_WR_FLUSH)
			break;
		protocol_error(s, c, "completion with syndrome", err.syndrome);
		break;
	}
}

/* ---- connections ---------------------------------------------------------------- */

static int open_qp(struct server *s, struct conn *c)
{
	struct snic_cq_attr cq = { .log_size = LOG_CQ };
	struct snic_qp_attr qp = { .log_sq = LOG_SQ, .log_rq = LOG_RQ,
				   .log_rq_stride = 4 };
	int ret;

	c->mem = aligned_alloc(4096, sizeof(*c->mem));
	if (!c->mem)
		return -ENOMEM;
	memset(c->mem, 0, sizeof(*c->mem));
	ret = snic_mkey_reg(s->nic, s->pdn, c->mem, sizeof(*c->mem),
			    (uintptr_t)c->mem, SNIC_LOCAL_WRITE, &c->key);
	if (ret)
		goto free_mem;
	cq.buf = c->mem->cq;
	ret = snic_cq_create(s->nic, &cq, &c->cqn);
	if (ret)
		goto dereg_key;
	qp.pdn = s->pdn;
	qp.scqn = qp.rcqn = c->cqn;
	qp.sq = c->mem->sq;
	qp.rq = c->mem->rq;
	qp.dbr = &c->mem->dbr;
	ret = snic_qp_create(s->nic, &qp, &c->qpn);
	if (ret)
		goto destroy_cq;
	while (c->posted < 1 << LOG_RQ)
		post_recv(c);
	return 0;

destroy_cq:
	snic_cq_destroy(s->nic, c->cqn);
dereg_key:
	snic_mkey_dereg(s->nic, c->key);
free_mem:
	free(c->mem);
	return ret;
}

static void close_qp(struct server *s, struct conn *c)
{
	snic_qp_destroy(s->nic, c->qpn);
	snic_cq_destroy(s->nic, c->cqn);
	snic_mkey_dereg(s->nic, c->key);
	free(c->mem);
	memset(c, 0, sizeof(*c));
}

static struct conn *find_conn(struct server *s, uint32_t id)
{
	unsigned int i;

	for (i = 0; i < MAX_CONNS; i++)
		if (s->conns[i].used && s->conns[i].id == id)
			return &s->conns[i];
	return NULL;
}

static void on_request(struct server *s, const struct snic_cm_event *ev)
{
	struct snic_cm_param param = { .rnr_retry = 7, .min_rnr_timer = 12 };
	struct conn *c = s->conns;
	int ret;

	while (c < s->conns + MAX_CONNS && c->used)
		c++;
	if (c == s->conns + MAX_CONNS) {
		snic_cm_reject(s->nic, ev->id, NULL, 0);
		return;
	}
	ret = open_qp(s, c);
	if (!ret) {
		param.qpn = c->qpn;
		ret = snic_cm_accept(s->nic, ev->id, &param);
		if (ret)
			close_qp(s, c);
	}
	if (ret) {
		fprintf(stderr, "snic-echo: cannot accept: %s\n",
			strerror(-ret));
		snic_cm_reject(s->nic, ev->id, NULL, 0);
		s->failed++;
		return;
	}
	c->used = true;
	c->id = ev->id;
}

static void on_end(struct server *s, const struct snic_cm_event *ev)
{
	struct conn *c = find_conn(s, ev->id);

	snic_cm_release(s->nic, ev->id);
	if (!c)
		return;
	printf("connection %08x: %lu rounds of %u bytes\n", c->id, c->rounds,
	       c->size);
	fflush(stdout);
	if (ev->type != SNIC_CM_DISCONNECTED)
		s->failed++;
	s->done++;
	close_qp(s, c);
}

static void on_event(struct server *s, const struct snic_cm_event *ev)
{
	static const char *const names[] = {
		[SNIC_CM_REQUEST] = "request",
		[SNIC_CM_ESTABLISHED] = "established",
		[SNIC_CM_REJECTED] = "rejected",
		[SNIC_CM_UNREACHABLE] = "unreachable",
		[SNIC_CM_DISCONNECTED] = "disconnected",
	};

	if (s->opt->verbose)
		fprintf(stderr, "snic-echo: %08x: %s (reason %u)\n", ev->id,
			names[ev->type], ev->reason);
	if (ev->type == SNIC_CM_REQUEST)
		on_request(s, ev);
	else if (ev->type != SNIC_CM_ESTABLISHED)
		on_end(s, ev);
}

/* ---- the loop ------------------------------------------------------------------------ */

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + t.tv_nsec;
}

/* Handles all that is there; true: there was something. */
static bool serve(struct server *s)
{
	struct snic_cm_event ev;
	struct wrc_cqe cqe;
	bool any = false;
	unsigned int i;

	while (!snic_cm_poll(s->nic, &ev)) {
		on_event(s, &ev);
		any = true;
	}
	for (i = 0; i < MAX_CONNS; i++)
		while (s->conns[i].used &&
		       !snic_cq_poll(s->nic, s->conns[i].cqn, &cqe)) {
			completed(s, &s->conns[i], &cqe);
			any = true;
		}
	return any;
}

static void wait_for(struct server *s, uint64_t next)
{
	struct pollfd fds[MAX_PORTS];
	uint64_t now = clock_ns();
	struct timespec t = { .tv_sec = 1 };
	unsigned int i;

	for (i = 0; i < s->opt->nr_ports; i++)
		fds[i] = (struct pollfd) {
			.fd = s->opt->ports[i]->fd, .events = POLLIN,
		};
	if (next <= now)
		t.tv_sec = 0;
	else if (next - now < 1000000000u)
		t = (struct timespec) { .tv_nsec = next - now };
	ppoll(fds, s->opt->nr_ports, &t, NULL);
}

static void print_stats(struct snic *nic)
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
static void linger(struct server *s)
{
	uint64_t end = clock_ns() + 300000000u, next;

	while (clock_ns() < end) {
		snic_step(s->nic, clock_ns(), &next);
		serve(s);
		wait_for(s, next < end ? next : end);
	}
}

static int run(struct server *s)
{
	uint32_t listener;
	uint64_t next;
	int ret;

	ret = snic_pd_alloc(s->nic, &s->pdn);
	if (!ret)
		ret = snic_cm_listen(s->nic, s->opt->port, &listener);
	if (ret)
		return ret;
	printf("listening on port %u\n", s->opt->port);
	fflush(stdout);
	while (!stopped && (!s->opt->count || s->done < s->opt->count)) {
		ret = snic_step(s->nic, clock_ns(), &next);
		if (ret)
			return ret;
		if (!serve(s))
			wait_for(s, next);
	}
	linger(s);
	print_stats(s->nic);
	return s->failed ? -EPROTO : 0;
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
	{ "count", 'n', "N", 0, "Serve N connections, then end", 0 },
	{ "loss", 'l', "P", 0, "Lose frames with this probability", 0 },
	{ "reorder", 'r', "P", 0, "Reorder frames with this probability", 0 },
	{ "corrupt", 'c', "P", 0, "Flip a bit with this probability", 0 },
	{ "duplicate", 'D', "P", 0, "Duplicate with this probability", 0 },
	{ "seed", 's', "N", 0, "Seed of the faults (1)", 0 },
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
	char *slash;

	if (strlen(arg) >= sizeof(buf))
		argp_error(state, "address '%s': A.B.C.D/LEN expected", arg);
	strcpy(buf, arg);
	slash = strchr(buf, '/');
	if (slash)
		*slash++ = 0;
	if (!slash || inet_pton(AF_INET, buf, &cfg->ip) != 1)
		argp_error(state, "address '%s': A.B.C.D/LEN expected", arg);
	else
		cfg->prefix_len = parse_number(state, "prefix", slash, 32);
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

static void add_port(struct argp_state *state, struct options *o, int key,
		     const char *arg)
{
	char *colon, buf[256];
	int ret;

	if (o->nr_ports == MAX_PORTS)
		argp_error(state, "at most %d ports", MAX_PORTS);
	if (key == 'i') {
		ret = snic_port_packet_open(arg, &o->ports[o->nr_ports]);
	} else {
		colon = strlen(arg) < sizeof(buf) ?
			strchr(strcpy(buf, arg), ':') : NULL;
		if (!colon) {
			argp_error(state, "sockets '%s': LOCAL:REMOTE expected",
				   arg);
			return;
		}
		*colon++ = 0;
		ret = snic_port_dgram_open(buf, colon, &o->ports[o->nr_ports]);
	}
	if (ret)
		argp_failure(state, 1, -ret, "cannot open port '%s'", arg);
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
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static bool any_fault(const struct snic_faults *f)
{
	return f->loss || f->reorder || f->corrupt || f->duplicate;
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		argp_options, parse_option, NULL,
		"The server of rping, on a software NIC.", NULL, NULL, NULL,
	};
	struct options opt = {
		.nic = {
			.mac = { 0x52, 0x54, 0, 0x77, 0, 1 },
			.ip = htonl(0x0a4d0001), .prefix_len = 24,
			.mtu = 4500, .seed = 1,
		},
		.port = 7174,
	};
	struct server server = { .opt = &opt };
	struct sigaction act = { .sa_handler = on_signal };
	unsigned int i;
	int ret;

	argp_parse(&argp, argc, argv, 0, NULL, &opt);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	ret = snic_new(&opt.nic, &server.nic);
	for (i = 0; !ret && i < opt.nr_ports; i++)
		ret = snic_port_add(server.nic, opt.ports[i]);
	if (!ret && any_fault(&opt.faults))
		ret = snic_set_faults(server.nic, &opt.faults);
	if (!ret)
		ret = run(&server);
	if (ret)
		fprintf(stderr, "snic-echo: %s\n", strerror(-ret));
	snic_free(server.nic);
	for (i = 0; i < opt.nr_ports; i++)
		opt.ports[i]->ops->close(opt.ports[i]);
	return ret ? 1 : 0;
}
