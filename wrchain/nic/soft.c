// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * nic.h on the software NIC, which runs in a thread of its own.  Each call
 * takes place between two of its steps.
 */
#include <errno.h>
#include <json-c/json.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "soft.h"

/* Connection parameters of the agent's side. */
#define RETRY_CNT	7
#define RNR_RETRY	7	/* for ever; a dead peer shows by RETRY_CNT */
#define MIN_RNR_TIMER	6	/* 0.08 ms */

struct soft_cq {
	uint32_t cqn;
	uint8_t log_size;
	struct wrc_cqe *buf;
	struct soft_cq *next;
};

struct nic_soft {
	struct nic nic;
	struct snic *snic;
	struct snic_rt *rt;	/* NULL: stepped by the caller's thread */
	bool adopted, frozen;
	struct soft_cq *cqs;
	unsigned int nr_ports;
	struct snic_port *ports[NIC_SOFT_MAX_PORTS];
};

static struct nic_soft *soft(struct nic *nic)
{
	return (struct nic_soft *)nic;
}

static struct snic *enter(struct nic *nic)
{
	struct nic_soft *s = soft(nic);

	if (s->rt && !s->frozen)
		snic_rt_lock(s->rt);
	return s->snic;
}

static int leave(struct nic *nic, int r)
{
	struct nic_soft *s = soft(nic);

	if (s->rt && !s->frozen)
		snic_rt_unlock(s->rt);
	return r;
}

static unsigned int snic_access(unsigned int access)
{
	return (access & NIC_LOCAL_WRITE ? SNIC_LOCAL_WRITE : 0) |
	       (access & NIC_REMOTE_READ ? SNIC_REMOTE_READ : 0) |
	       (access & NIC_REMOTE_WRITE ? SNIC_REMOTE_WRITE : 0) |
	       (access & NIC_REMOTE_ATOMIC ? SNIC_REMOTE_ATOMIC : 0);
}

static int soft_pd_alloc(struct nic *nic, uint32_t *ret_pdn)
{
	return leave(nic, snic_pd_alloc(enter(nic), ret_pdn));
}

static void soft_pd_free(struct nic *nic, uint32_t pdn)
{
	leave(nic, snic_pd_free(enter(nic), pdn));
}

static int soft_mr_reg(struct nic *nic, uint32_t pdn, void *va, uint64_t len,
		       uint64_t iova, unsigned int access, uint32_t *ret_key)
{
	return leave(nic, snic_mkey_reg(enter(nic), pdn, va, len, iova,
					snic_access(access), ret_key));
}

static void soft_mr_dereg(struct nic *nic, uint32_t key)
{
	leave(nic, snic_mkey_dereg(enter(nic), key));
}

static int soft_ksm_create(struct nic *nic, uint32_t pdn, uint32_t entries,
			   unsigned int access, uint8_t variant,
			   uint32_t *ret_key)
{
	return leave(nic, snic_mkey_indirect(enter(nic), pdn, entries,
					     snic_access(access), variant,
					     ret_key));
}

/* ---- completion queues ------------------------------------------------ */

static struct soft_cq **find_cq(struct nic *nic, uint32_t cqn)
{
	struct soft_cq **c = &soft(nic)->cqs;

	while (*c && (*c)->cqn != cqn)
		c = &(*c)->next;
	return c;
}

static void free_cq(struct soft_cq *c)
{
	free(c->buf);
	free(c);
}

static int soft_cq_create(struct nic *nic, uint8_t log_size,
			  uint32_t *ret_cqn)
{
	size_t len = sizeof(struct wrc_cqe) << log_size;
	struct snic_cq_attr attr = {
		.log_size = log_size, .overrun_ignore = true,
	};
	struct soft_cq *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->log_size = log_size;
	c->buf = aligned_alloc(64, len);
	if (!c->buf) {
		free_cq(c);
		return -ENOMEM;
	}
	memset(c->buf, 0xff, len);
	attr.buf = c->buf;
	r = leave(nic, snic_cq_create(enter(nic), &attr, &c->cqn));
	if (r) {
		free_cq(c);
		return r;
	}
	c->next = soft(nic)->cqs;
	soft(nic)->cqs = c;
	*ret_cqn = c->cqn;
	return 0;
}

static void soft_cq_destroy(struct nic *nic, uint32_t cqn)
{
	struct soft_cq **pos = find_cq(nic, cqn), *c = *pos;

	if (!c || leave(nic, snic_cq_destroy(enter(nic), cqn)))
		return;
	*pos = c->next;
	free_cq(c);
}

static int soft_cq_poll(struct nic *nic, uint32_t cqn,
			struct wrc_cqe *ret_cqe)
{
	return leave(nic, snic_cq_poll(enter(nic), cqn, ret_cqe));
}

static bool is_error(const struct wrc_cqe *cqe)
{
	unsigned int op = cqe->op_own >> 4;

	return op == WRC_CQE_REQ_ERR || op == WRC_CQE_RESP_ERR;
}

/* Errors are the last entries: after the first nothing succeeds any more. */
static int soft_cq_info(struct nic *nic, uint32_t cqn,
			struct nic_cq_info *ret_info)
{
	const struct soft_cq *c = *find_cq(nic, cqn);
	struct nic_cq_info info = { 0 };
	uint32_t size, n;
	int r;

	if (!c)
		return -ENOENT;
	size = 1u << c->log_size;
	r = snic_cq_count(enter(nic), cqn, &info.written);
	if (!r) {
		n = info.written < size ? info.written : size;
		while (info.errors < n &&
		       is_error(&c->buf[(info.written - 1 - info.errors) &
					(size - 1)]))
			info.errors++;
		*ret_info = info;
	}
	return leave(nic, r);
}

/* ---- queue pairs ------------------------------------------------------ */

static int soft_qp_create(struct nic *nic, const struct nic_qp_attr *attr,
			  uint32_t *ret_qpn)
{
	const struct snic_qp_attr a = {
		.pdn = attr->pdn,
		.scqn = attr->scqn, .rcqn = attr->rcqn,
		.sq = attr->sq, .log_sq = attr->log_sq,
		.rq = attr->rq, .log_rq = attr->log_rq,
		.log_rq_stride = attr->log_rq_stride,
		.dbr = attr->dbr,
		.access = snic_access(attr->access),
		.cd_master = attr->cd_master,
		.cd_slave_send = attr->cd_slave_send,
	};

	return leave(nic, snic_qp_create(enter(nic), &a, ret_qpn));
}

static int soft_qp_destroy(struct nic *nic, uint32_t qpn)
{
	return leave(nic, snic_qp_destroy(enter(nic), qpn));
}

static int soft_qp_loop(struct nic *nic, uint32_t qpn, uint32_t to)
{
	const struct snic_qp_conn conn = {
		.loopback = true, .dest_qpn = to, .mtu = 4096,
		.max_rd_atomic = 16, .max_dest_rd_atomic = 16,
	};

	return leave(nic, snic_qp_connect(enter(nic), qpn, &conn));
}

static int soft_qp_error(struct nic *nic, uint32_t qpn)
{
	return leave(nic, snic_qp_error(enter(nic), qpn));
}

static int soft_qp_query(struct nic *nic, uint32_t qpn,
			 struct nic_qp_info *ret_info)
{
	struct snic_qp_info info;
	int r = leave(nic, snic_qp_query(enter(nic), qpn, &info));

	if (r)
		return r;
	ret_info->sq_executed = info.sq_executed;
	ret_info->error = info.state == SNIC_QP_ERR;
	ret_info->syndrome = info.syndrome;
	return 0;
}

static int soft_qp_doorbell(struct nic *nic, uint32_t qpn, uint16_t pi)
{
	return leave(nic, snic_qp_doorbell(enter(nic), qpn, pi));
}

/* ---- connections ------------------------------------------------------ */

static int soft_listen(struct nic *nic, uint16_t port)
{
	uint32_t listener;

	return leave(nic, snic_cm_listen(enter(nic), port, &listener));
}

static int soft_event(struct nic *nic, struct nic_event *ret_event)
{
	struct snic_cm_event ev;
	int r = leave(nic, snic_cm_poll(enter(nic), &ev));

	if (r)
		return r;
	ret_event->type = ev.type == SNIC_CM_REQUEST ? NIC_REQUEST :
			  ev.type == SNIC_CM_ESTABLISHED ? NIC_ESTABLISHED :
			  NIC_GONE;
	ret_event->id = ev.id;
	ret_event->peer_ip = ev.peer_ip;
	ret_event->priv_len = ev.priv_len;
	memcpy(ret_event->priv, ev.priv, sizeof(ret_event->priv));
	return 0;
}

static int soft_accept(struct nic *nic, uint32_t id, uint32_t qpn,
		       const void *priv, uint8_t priv_len)
{
	const struct snic_cm_param param = {
		.qpn = qpn, .priv = priv, .priv_len = priv_len,
		.retry_cnt = RETRY_CNT, .rnr_retry = RNR_RETRY,
		.min_rnr_timer = MIN_RNR_TIMER,
	};

	return leave(nic, snic_cm_accept(enter(nic), id, &param));
}

static int soft_reject(struct nic *nic, uint32_t id, const void *priv,
		       uint8_t priv_len)
{
	return leave(nic, snic_cm_reject(enter(nic), id, priv, priv_len));
}

static int soft_disconnect(struct nic *nic, uint32_t id)
{
	return leave(nic, snic_cm_disconnect(enter(nic), id));
}

static void soft_release(struct nic *nic, uint32_t id)
{
	leave(nic, snic_cm_release(enter(nic), id));
}

/* ---- the whole -------------------------------------------------------- */

static int soft_freeze(struct nic *nic)
{
	enter(nic);
	soft(nic)->frozen = true;
	return 0;
}

static void soft_thaw(struct nic *nic)
{
	soft(nic)->frozen = false;
	leave(nic, 0);
}

static uint64_t soft_cpu_ns(struct nic *nic)
{
	return soft(nic)->rt ? snic_rt_cpu_ns(soft(nic)->rt) : 0;
}

/* Errors say it all. */
static const char *soft_said(struct nic *nic)
{
	return "";
}

static int soft_stats(struct nic *nic, struct json_object *obj)
{
	struct snic_stats st;
	int r = 0;

	snic_get_stats(enter(nic), &st);
	leave(nic, 0);
#define ADD(name)							\
	if (!r)								\
		r = json_object_object_add(obj, #name,			\
				json_object_new_uint64(st.name));
	SNIC_COUNTERS(ADD)
#undef ADD
	return r ? -ENOMEM : 0;
}

static void soft_close(struct nic *nic)
{
	struct nic_soft *s = soft(nic);
	struct soft_cq *c;
	unsigned int i;

	if (s->rt)
		snic_rt_stop(s->rt);
	if (s->snic && !s->adopted)
		snic_free(s->snic);
	for (i = 0; i < s->nr_ports; i++)
		s->ports[i]->ops->close(s->ports[i]);
	while ((c = s->cqs)) {
		s->cqs = c->next;
		free_cq(c);
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
	.cq_info = soft_cq_info,
	.qp_create = soft_qp_create,
	.qp_destroy = soft_qp_destroy,
	.ksm_create = soft_ksm_create,
	.qp_loop = soft_qp_loop,
	.qp_error = soft_qp_error,
	.qp_query = soft_qp_query,
	.qp_doorbell = soft_qp_doorbell,
	.listen = soft_listen,
	.event = soft_event,
	.accept = soft_accept,
	.reject = soft_reject,
	.disconnect = soft_disconnect,
	.release = soft_release,
	.freeze = soft_freeze,
	.thaw = soft_thaw,
	.cpu_ns = soft_cpu_ns,
	.said = soft_said,
	.stats = soft_stats,
};

static struct nic_soft *soft_new(const struct snic_config *cfg)
{
	struct nic_soft *s = calloc(1, sizeof(*s));

	if (s) {
		s->nic.ops = &soft_ops;
		s->nic.event_fd = -1;
		s->nic.strict_index = !cfg->relaxed_index;
		s->nic.keeps_fences = s->nic.keeps_keys = true;
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

/* The smallest MTU of the interfaces in the list, or 0: none is listed. */
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
};

static int open_kind(const struct nic_soft_port *p, struct snic_port **ret_port)
{
	switch (p->kind) {
	case NIC_SOFT_PACKET:
		return snic_port_packet_open(p->local, ret_port);
	case NIC_SOFT_VHOST:
		return snic_port_vhost_open(p->local, ret_port);
	case NIC_SOFT_STREAM:
		return snic_port_stream_open(p->local, ret_port);
	default:
		return snic_port_dgram_open(p->local, p->remote, ret_port);
	}
}

static int open_port(struct nic_soft *s, const struct nic_soft_port *p,
		     char *why)
{
	struct snic_port *port;
	int r;

	r = open_kind(p, &port);
	if (r) {
		snprintf(why, NIC_SOFT_WHY_MAX, "%s=%.90s%s%.90s: %s",
			 kinds[p->kind], p->local, *p->remote ? ":" : "",
			 p->remote, strerror(-r));
		return r;
	}
	s->ports[s->nr_ports++] = port;
	r = snic_port_add(s->snic, port);
	if (r)
		snprintf(why, NIC_SOFT_WHY_MAX, "cannot add port %.90s: %s",
			 p->local, strerror(-r));
	return r;
}

static int start(struct nic_soft *s, const struct nic_soft_opts *opts,
		 char *why)
{
	const struct snic_rt_config rtcfg = { .spin_us = opts->spin_us };
	int r;

	r = snic_set_faults(s->snic, &opts->faults);
	if (!r)
		r = snic_set_lies(s->snic, &opts->lies);
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

int nic_soft_open(const struct nic_soft_opts *opts, struct nic **ret_nic,
		  char why[NIC_SOFT_WHY_MAX])
{
	struct snic_config cfg = opts->nic;
	struct nic_soft *s;
	uint32_t mtu = 0;
	unsigned int i;
	int r;

	snprintf(why, NIC_SOFT_WHY_MAX, "out of memory");
	r = interface_mtu(opts, &mtu, why);
	if (r)
		return r;
	if (mtu && !opts->mtu_given)
		cfg.mtu = mtu;
	s = soft_new(&cfg);
	if (!s)
		return -ENOMEM;
	r = snic_new(&cfg, &s->snic);
	if (r) {
		snprintf(why, NIC_SOFT_WHY_MAX,
			 "cannot make the software NIC: %s", strerror(-r));
		goto close_nic;
	}
	for (i = 0; i < opts->nr_ports; i++) {
		r = open_port(s, &opts->ports[i], why);
		if (r)
			goto close_nic;
	}
	r = start(s, opts, why);
	if (r)
		goto close_nic;
	*ret_nic = &s->nic;
	return 0;

close_nic:
	soft_close(&s->nic);
	return r;
}
