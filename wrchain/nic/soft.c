// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * nic.h on the software NIC: opening and closing of ports and thread.  The NIC runs in
 * a thread of its own; each call takes place between two of the NIC's steps.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "soft-priv.h"

static uint64_t soft_cpu_ns(struct nic *nic)
{
	return soft_of(nic)->rt ? snic_rt_cpu_ns(soft_of(nic)->rt) : 0;
}

/* The software NIC reports refusals by -errno alone. */
static const char *soft_last_error(struct nic *nic)
{
	return "";
}

static int soft_report(struct nic *nic, const struct nic_reporter *to)
{
	struct snic_stats st;
	int r = 0;

	snic_get_stats(soft_enter(nic), &st);
	soft_leave(nic, 0);
#define REPORT(name)							\
	if (!r)								\
		r = to->number(to->arg, #name, st.name);
	SNIC_COUNTERS(REPORT)
#undef REPORT
	return r;
}

static void soft_close(struct nic *nic)
{
	struct nic_soft *s = soft_of(nic);
	struct soft_cq *c;
	unsigned int i;

	if (s->rt)
		snic_rt_stop(s->rt);
	if (s->snic && !s->adopted)
		snic_free(s->snic);
	for (i = 0; i < s->nr_ports; i++)
		s->ports[i]->ops->close(s->ports[i]);
	for (i = 0; i < SOFT_CQ_BUCKETS; i++) {
		while ((c = s->cqs[i])) {
			s->cqs[i] = c->next;
			soft_cq_free(c);
		}
	}
	free(s);
}

static const struct nic_ops soft_ops = {
	.name = "soft",
	.close = soft_close,
	.pd_alloc = soft_pd_alloc,
	.pd_free = soft_pd_free,
	.mr_reg = soft_mr_reg,
	.mr_dereg = soft_mr_dereg,
	.cq_create = soft_cq_create,
	.cq_destroy = soft_cq_destroy,
	.cq_poll = soft_cq_poll,
	.qp_create = soft_qp_create,
	.qp_destroy = soft_qp_destroy,
	.qp_error = soft_qp_error,
	.qp_query = soft_qp_query,
	.qp_doorbell = soft_qp_doorbell,
	.listen = soft_listen,
	.connect = soft_connect,
	.event = soft_event,
	.accept = soft_accept,
	.reject = soft_reject,
	.disconnect = soft_disconnect,
	.release = soft_release,
	.cpu_ns = soft_cpu_ns,
	.last_error = soft_last_error,
	.report = soft_report,
};

static struct nic_soft *soft_new(const struct snic_config *cfg)
{
	struct nic_soft *s = calloc(1, sizeof(*s));

	if (s) {
		s->nic.ops = &soft_ops;
		s->nic.node = &s->node;
		s->nic.event_fd = s->node.look_fd = -1;
		s->node.ops = &soft_node_ops;
		s->node.strict_index = !cfg->relaxed_index;
		s->node.keeps_fences = s->node.keeps_keys = true;
	}
	return s;
}

int nic_soft_adopt(struct snic *snic, const struct snic_config *cfg,
		   struct nic **ret_nic)
{
	struct nic_soft *s = soft_new(cfg);

	if (!s)
		return -ENOMEM;
	s->snic = snic;
	s->adopted = true;
	*ret_nic = &s->nic;
	return 0;
}

/* Whether the interface reaches this machine alone.  Does not change *ifr. */
static bool interface_is_loopback(int fd, const struct ifreq *ifr)
{
	struct ifreq flags = *ifr;

	return !ioctl(fd, SIOCGIFFLAGS, &flags) && flags.ifr_flags & IFF_LOOPBACK;
}

/* The smallest MTU of all network interfaces among the ports; 0: there is none. */
static int interface_mtu(const struct nic_soft_opts *opts, uint32_t *ret_mtu,
			 char *why)
{
	struct ifreq ifr = { 0 };
	uint32_t mtu = 0;
	unsigned int i;
	int fd, r = 0;

	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	for (i = 0; i < opts->nr_ports; i++) {
		if (opts->ports[i].kind != NIC_SOFT_PACKET)
			continue;
		snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%.15s",
			 opts->ports[i].local);
		if (ioctl(fd, SIOCGIFMTU, &ifr) < 0) {
			r = -errno;
			snprintf(why, NIC_SOFT_WHY_MAX,
				 "packet=%s: no such network interface",
				 opts->ports[i].local);
			break;
		}
		if (interface_is_loopback(fd, &ifr)) {
			r = -EINVAL;
			snprintf(why, NIC_SOFT_WHY_MAX,
				 "packet=%s: a loopback interface, which has no "
				 "neighbours: expected an Ethernet interface",
				 opts->ports[i].local);
			break;
		}
		if (!mtu || (uint32_t)ifr.ifr_mtu < mtu)
			mtu = ifr.ifr_mtu;
	}
	close(fd);
	*ret_mtu = mtu;
	return r;
}

static const char *const kinds[] = {
	[NIC_SOFT_DGRAM] = "dgram",
	[NIC_SOFT_VHOST] = "vhost",
	[NIC_SOFT_STREAM] = "stream",
	[NIC_SOFT_PACKET] = "packet",
	[NIC_SOFT_UDP] = "udp",
	[NIC_SOFT_JOINED] = "joined",
};

static int open_kind(const struct nic_soft_port *p, struct snic_port **ret_port)
{
	switch (p->kind) {
	case NIC_SOFT_PACKET:
		return snic_port_packet_open(p->local, ret_port);
	case NIC_SOFT_VHOST:
		return snic_port_vhost_open(p->local, ret_port);
	case NIC_SOFT_UDP:
		return *p->remote ?
			snic_port_udp_open(&p->udp[0], &p->udp[1], ret_port) :
			snic_port_udp_listen(&p->udp[0], ret_port);
	case NIC_SOFT_STREAM:
		return snic_port_stream_open(p->local, ret_port);
	default:
		return snic_port_dgram_open(p->local, p->remote, ret_port);
	}
}

/* -errno of opening a port, with what helps. */
static const char *port_words(int err)
{
	switch (err) {
	case -EADDRINUSE:
		return "another process uses this port: end it, or take another one";
	case -EADDRNOTAVAIL:
		return "this machine does not have the address: expected one of \"ip address\"";
	default:
		return strerror(-err);
	}
}

static int open_port(struct nic_soft *s, const struct nic_soft_port *p,
		     char *why)
{
	struct snic_port *port;
	int r;

	if (p->kind == NIC_SOFT_JOINED)
		return 0;
	r = open_kind(p, &port);
	if (r) {
		snprintf(why, NIC_SOFT_WHY_MAX, "%s=%.90s%s%.90s: %s",
			 kinds[p->kind], p->local, *p->remote ? ":" : "",
			 p->remote, port_words(r));
		return r;
	}
	s->ports[s->nr_ports++] = port;
	return 0;
}

static int open_ports(struct nic_soft *s, const struct nic_soft_opts *opts,
		      char *why)
{
	unsigned int i;
	int r = 0;

	for (i = 0; i < opts->nr_ports && !r; i++)
		r = open_port(s, &opts->ports[i], why);
	for (i = 0; i < s->nr_ports && !r; i++) {
		r = snic_port_add(s->snic, s->ports[i]);
		if (r)
			snprintf(why, NIC_SOFT_WHY_MAX,
				 "cannot add the NIC's port %u: %s", i,
				 strerror(-r));
	}
	return r;
}

static int start(struct nic_soft *s, const struct nic_soft_opts *opts,
		 char *why)
{
	const struct snic_rt_config rtcfg = {
		.spin_us = opts->spin_us,
		.completed = soft_cqs_notify, .arg = s,
	};
	int r;

	r = snic_set_faults(s->snic, &opts->faults);
	if (!r)
		r = snic_set_forge(s->snic, &opts->forge);
	if (!r)
		r = snic_rt_start(s->snic, &rtcfg, &s->rt);
	if (r) {
		snprintf(why, NIC_SOFT_WHY_MAX,
			 "cannot start the software NIC: %s", strerror(-r));
		return r;
	}
	s->nic.event_fd = snic_rt_event_fd(s->rt);
	return 0;
}

/* Gives joined ports to the NIC, which closes them; without a NIC (NULL) closes them now. */
static void take_joined(struct nic_soft *s, const struct nic_soft_opts *opts)
{
	unsigned int i;

	for (i = 0; i < opts->nr_ports; i++) {
		struct snic_port *port = opts->ports[i].joined;

		if (opts->ports[i].kind != NIC_SOFT_JOINED)
			continue;
		if (s)
			s->ports[s->nr_ports++] = port;
		else
			port->ops->close(port);
	}
}

int nic_soft_open(const struct nic_soft_opts *opts, struct nic **ret_nic,
		  char why[NIC_SOFT_WHY_MAX])
{
	struct snic_config cfg = opts->nic;
	struct nic_soft *s;
	uint32_t mtu = 0;
	int r;

	/* The seed is for faults alone: peers must not be able to guess PSNs and keys. */
	cfg.random = snic_rt_random;
	s = soft_new(&cfg);
	snprintf(why, NIC_SOFT_WHY_MAX, "out of memory");
	take_joined(s, opts);
	if (!s)
		return -ENOMEM;
	r = interface_mtu(opts, &mtu, why);
	if (r)
		goto close_nic;
	if (mtu && !opts->mtu_given)
		cfg.mtu = mtu;
	r = snic_new(&cfg, &s->snic);
	if (r) {
		snprintf(why, NIC_SOFT_WHY_MAX,
			 "cannot make the software NIC: %s", strerror(-r));
		goto close_nic;
	}
	r = open_ports(s, opts, why);
	if (r)
		goto close_nic;
	r = start(s, opts, why);
	if (r)
		goto close_nic;
	*ret_nic = &s->nic;
	return 0;

close_nic:
	soft_close(&s->nic);
	return r;
}
