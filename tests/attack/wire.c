// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An attacker on a wire: says what say.h has to the software NIC of a memory node, by
 * its port for datagrams (udp=ADDRESS:PORT), while real machines work. He goes on until
 * he is told to end, and then says what he has done.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include "say.h"
#include "snic/net/net-priv.h"
#include "bed/agent.h"

#define VXLAN_HLEN	8
#define ROUND		50	/* frames of a kind, then of the next one */

struct options {
	struct sockaddr_in to;
	struct attack_from mnode, node, own;
	unsigned long rate;
};

struct wire {
	struct speaker speaker;
	int fd;
	unsigned long not_sent;	/* nobody is there */
};

static volatile sig_atomic_t ended;

static void on_end(int sig)
{
	ended = 1;
}

/* ---- the socket ------------------------------------------------------------------ */

static void wire_send(struct speaker *s, const void *frame, size_t len)
{
	struct wire *w = (struct wire *)s;
	uint8_t header[VXLAN_HLEN] = {
		0x08, 0, 0, 0, SNIC_UDP_VNI >> 16, SNIC_UDP_VNI >> 8 & 0xff,
		SNIC_UDP_VNI & 0xff, 0,
	};
	struct iovec iov[] = {
		{ header, sizeof(header) }, { (void *)frame, len },
	};
	const struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	if (sendmsg(w->fd, &msg, MSG_DONTWAIT) < 0)
		w->not_sent++;
}

/* Answers the question by which the NIC finds out whether he receives at his address. */
static void wire_prove(struct wire *w, const uint8_t *frame, size_t len)
{
	uint8_t answer[SNIC_ARP_LEN];
	struct snic_arp_packet a;

	if (len < SNIC_ARP_LEN || frame[12] != SNIC_ETHERTYPE_ARP >> 8 ||
	    frame[13] != (SNIC_ETHERTYPE_ARP & 0xff) ||
	    snic_arp_parse(frame + SNIC_ETH_HLEN, len - SNIC_ETH_HLEN, &a) ||
	    a.oper != SNIC_ARP_REQUEST)
		return;
	snic_arp_put(answer, &(struct snic_arp_fields) {
		.oper = SNIC_ARP_REPLY, .to = a.sha, .mac = w->speaker.own.mac,
		.ip = w->speaker.own.ip, .target_mac = a.sha,
	});
	wire_send(&w->speaker, answer, sizeof(answer));
}

static void wire_hear(struct wire *w)
{
	uint8_t buf[VXLAN_HLEN + ATTACK_FRAME];
	ssize_t n;

	while ((n = recv(w->fd, buf, sizeof(buf), MSG_DONTWAIT)) > VXLAN_HLEN) {
		wire_prove(w, buf + VXLAN_HLEN, n - VXLAN_HLEN);
		attack_hear(&w->speaker, buf + VXLAN_HLEN, n - VXLAN_HLEN);
	}
}

/* ---- options --------------------------------------------------------------------- */

static const struct argp_option options[] = {
	{ "mnode", 'm', "IP,MAC", 0, "the memory node", 0 },
	{ "node", 'n', "IP,MAC", 0, "the honest compute node", 0 },
	{ "own", 'o', "IP,MAC", 0, "the attacker", 0 },
	{ "rate", 'r', "N", 0, "frames in a second (default 500)", 0 },
	{ 0 },
};

static void parse_from(struct argp_state *state, const char *arg,
		       struct attack_from *ret_from)
{
	unsigned int m[6], i;
	char ip[16];

	if (sscanf(arg, "%15[0-9.],%x:%x:%x:%x:%x:%x", ip, &m[0], &m[1], &m[2], &m[3],
		   &m[4], &m[5]) != 7 || inet_pton(AF_INET, ip, &ret_from->ip) != 1)
		argp_error(state, "'%s': expected IP,MAC", arg);
	for (i = 0; i < 6; i++)
		ret_from->mac[i] = m[i];
}

static void parse_to(struct argp_state *state, const char *arg, struct sockaddr_in *ret_to)
{
	char ip[16];
	unsigned int port;

	if (sscanf(arg, "%15[0-9.]:%u", ip, &port) != 2 || !port || port > 65535 ||
	    inet_pton(AF_INET, ip, &ret_to->sin_addr) != 1)
		argp_error(state, "'%s': expected ADDRESS:PORT", arg);
	ret_to->sin_family = AF_INET;
	ret_to->sin_port = htons(port);
}

static unsigned long parse_rate(struct argp_state *state, const char *arg)
{
	char *end;
	unsigned long rate = strtoul(arg, &end, 10);

	if (*end || rate < 1 || rate > 1000000)
		argp_error(state, "rate '%s': expected a number from 1 to 1000000", arg);
	return rate;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'm':
		parse_from(state, arg, &o->mnode);
		return 0;
	case 'n':
		parse_from(state, arg, &o->node);
		return 0;
	case 'o':
		parse_from(state, arg, &o->own);
		return 0;
	case 'r':
		o->rate = parse_rate(state, arg);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num)
			argp_error(state, "'%s' is too much", arg);
		parse_to(state, arg, &o->to);
		return 0;
	case ARGP_KEY_END:
		if (!o->to.sin_port || !o->mnode.ip || !o->node.ip || !o->own.ip)
			argp_error(state, "expected ADDRESS:PORT, --mnode, --node, --own");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

/* ---- the attack ------------------------------------------------------------------ */

static void wire_attack(struct wire *w, unsigned long rate)
{
	const struct timespec pause = {
		.tv_sec = rate == 1, .tv_nsec = 1000000000ul / rate % 1000000000ul,
	};
	const struct attack_kind *kind = attack_kinds;

	while (!ended) {
		kind->say(&w->speaker);
		wire_hear(w);
		if (++w->speaker.nr % ROUND == 0 && !(++kind)->name)
			kind = attack_kinds;
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	const struct argp argp = {
		options, parse, "ADDRESS:PORT",
		"Attacks the software NIC behind a UDP port until it is told to end.",
		NULL, NULL, NULL,
	};
	struct options o = { .rate = 500 };
	struct wire w = { .speaker = { .send = wire_send, .random = getpid() } };

	argp_parse(&argp, argc, argv, 0, NULL, &o);
	w.speaker.mnode = o.mnode;
	w.speaker.node = o.node;
	w.speaker.own = o.own;
	w.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (w.fd < 0 || connect(w.fd, (struct sockaddr *)&o.to, sizeof(o.to))) {
		fprintf(stderr, "cannot send to the port: %s\n", strerror(errno));
		return 1;
	}
	signal(SIGTERM, on_end);
	signal(SIGINT, on_end);
	wire_attack(&w, o.rate);
	printf("%lu frames, %lu of them to nobody; %u handshakes begun and left, %u times "
	       "asked for a cookie\n", (unsigned long)w.speaker.frames, w.not_sent,
	       w.speaker.heard.nr_accepted, w.speaker.heard.nr_asked);
	close(w.fd);
	return 0;
}
