// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * nic.h on plain verbs: opening, closing, domains, keys and completion queues.  It has been
 * run on rdma_rxe, not on hardware.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "verbs-priv.h"

/* ---- domains and keys --------------------------------------------------------- */

static int pd_alloc(struct nic *nic, uint32_t *ret_pdn)
{
	struct nic_verbs *v = plain_of(nic);
	struct plain_pd *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return -ENOMEM;
	errno = 0;
	p->pd = ibv_alloc_pd(v->ctx);
	r = plain_status(!p->pd);
	if (r)
		goto free_pd;
	p->pdn = ++v->next_pdn;
	r = numbers_add(&v->card.pds, p, ret_pdn);
	if (!r)
		return 0;
	ibv_dealloc_pd(p->pd);
free_pd:
	free(p);
	return r;
}

static void pd_free(struct nic *nic, uint32_t pdn)
{
	struct nic_verbs *v = plain_of(nic);
	struct plain_pd *p = numbers_find(&v->card.pds, pdn);

	if (!p || ibv_dealloc_pd(p->pd))
		return;
	numbers_drop(&v->card.pds, p);
	free(p);
}

static int mr_access(unsigned int access)
{
	return (access & NIC_LOCAL_WRITE ? IBV_ACCESS_LOCAL_WRITE : 0) |
	       (access & NIC_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0) |
	       (access & NIC_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0) |
	       (access & NIC_REMOTE_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0);
}

static int mr_reg(struct nic *nic, uint32_t pdn, void *va, uint64_t len,
		  uint64_t iova, unsigned int access, uint32_t *ret_key)
{
	struct nic_verbs *v = plain_of(nic);
	struct plain_pd *p = numbers_find(&v->card.pds, pdn);
	struct plain_mr *m;
	int r;

	if (!p)
		return -ENOENT;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	errno = 0;
	m->mr = ibv_reg_mr_iova(p->pd, va, len, iova, mr_access(access));
	r = plain_status(!m->mr);
	if (r)
		goto free_mr;
	m->key = access & ~NIC_LOCAL_WRITE ? m->mr->rkey : m->mr->lkey;
	r = numbers_add(&v->card.mrs, m, ret_key);
	if (!r)
		return 0;
	ibv_dereg_mr(m->mr);
free_mr:
	free(m);
	return r;
}

static int mr_dereg(struct nic *nic, uint32_t key)
{
	struct nic_verbs *v = plain_of(nic);
	struct plain_mr *m = numbers_find(&v->card.mrs, key);
	int r = m ? plain_result(ibv_dereg_mr(m->mr)) : -ENOENT;

	if (r)
		return r;
	numbers_drop(&v->card.mrs, m);
	free(m);
	return 0;
}

/* ---- completion queues ----------------------------------------------------------- */

static int cq_create(struct nic *nic, uint8_t log_size, uint32_t *ret_cqn)
{
	struct nic_verbs *v = plain_of(nic);
	struct plain_cq *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	errno = 0;
	c->cq = ibv_create_cq(v->ctx, 1 << log_size, NULL, NULL, 0);
	r = plain_status(!c->cq);
	if (r)
		goto free_cq;
	c->cqn = ++v->next_cqn;
	r = numbers_add(&v->card.cqs, c, ret_cqn);
	if (!r)
		return 0;
	ibv_destroy_cq(c->cq);
free_cq:
	free(c);
	return r;
}

static void cq_destroy(struct nic *nic, uint32_t cqn)
{
	struct nic_verbs *v = plain_of(nic);
	struct plain_cq *c = numbers_find(&v->card.cqs, cqn);

	if (!c || ibv_destroy_cq(c->cq))
		return;
	numbers_drop(&v->card.cqs, c);
	free(c);
}

/* ---- what a memory node needs besides ---------------------------------------------- */

static int ksm_create(struct nic *nic, uint32_t pdn, uint32_t entries,
		      unsigned int access, uint8_t variant, uint32_t *ret_key)
{
	return -EOPNOTSUPP;
}

static int cq_info(struct nic *nic, uint32_t cqn, struct nic_cq_info *ret_info)
{
	return -EOPNOTSUPP;
}

static int look(struct nic *nic, const struct nic_look *question)
{
	return -EOPNOTSUPP;
}

static int seen(struct nic *nic, struct nic_seen *ret_seen)
{
	return -ENODATA;
}

static const struct nic_node_ops plain_node_ops = {
	.ksm_create = ksm_create,
	.cq_info = cq_info,
	.look = look,
	.seen = seen,
	.qp_loop = plain_qp_loop,
	.freeze = nic_card_freeze,
	.thaw = nic_card_thaw,
};

/* ---- opening and closing ------------------------------------------------------------ */

/* Errors are all that a provider says. */
static const char *nic_last_error(struct nic *nic)
{
	return "";
}

static int report(struct nic *nic, const struct nic_reporter *to)
{
	const struct nic_verbs *v = plain_of(nic);
	int r = to->text(to->arg, "device", ibv_get_device_name(v->ctx->device));

	return r ? r : to->text(to->arg, "firmware", v->attr.fw_ver);
}

static void close_nic(struct nic *nic)
{
	struct nic_verbs *v = plain_of(nic);

	nic_card_empty(&v->card);
	ibv_close_device(v->ctx);
	free(v);
}

static const struct nic_ops plain_ops = {
	.name = "verbs",
	.close = close_nic,
	.pd_alloc = pd_alloc,
	.pd_free = pd_free,
	.mr_reg = mr_reg,
	.mr_dereg = mr_dereg,
	.cq_create = cq_create,
	.cq_destroy = cq_destroy,
	.cq_poll = plain_cq_poll,
	.qp_create = plain_qp_create,
	.qp_destroy = plain_qp_destroy,
	.qp_error = plain_qp_error,
	.qp_query = plain_qp_query,
	.qp_doorbell = plain_qp_doorbell,
	.listen = nic_card_listen,
	.connect = plain_connect,
	.event = nic_card_event,
	.accept = nic_card_accept,
	.reject = nic_card_reject,
	.disconnect = nic_card_disconnect,
	.release = nic_card_release,
	.cpu_ns = nic_card_cpu_ns,
	.last_error = nic_last_error,
	.report = report,
};

__attribute__((format(printf, 3, 4)))
static int complain(char *why, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, NIC_VERBS_WHY_MAX, fmt, ap);
	va_end(ap);
	return r;
}

static int device_open(struct nic_verbs *v, const char *name, char *why)
{
	struct ibv_device **list, **dev;
	int r = -ENODEV;

	errno = 0;
	list = ibv_get_device_list(NULL);
	for (dev = list; dev && *dev && strcmp(ibv_get_device_name(*dev), name); dev++)
		;
	if (dev && *dev) {
		errno = 0;
		v->ctx = ibv_open_device(*dev);
		r = plain_status(!v->ctx);
	}
	if (list)
		ibv_free_device_list(list);
	return r ? complain(why, r, "verbs: %s: %s", name,
			    r == -ENODEV ? "no such RDMA device; ibv_devices lists them" :
			    strerror(-r)) : 0;
}

/* On Ethernet, connections of IPv4 addresses use such a GID: loopback takes the same. */
static bool is_ipv4_gid(const struct ibv_gid_entry *gid)
{
	static const uint8_t mapped[12] = { [10] = 0xff, 0xff };

	return gid->gid_type == IBV_GID_TYPE_ROCE_V2 &&
	       !memcmp(gid->gid.raw, mapped, sizeof(mapped));
}

static int gid_find(struct nic_verbs *v)
{
	struct ibv_gid_entry gid;
	int i;

	for (i = 0; i < v->link.gid_tbl_len && i <= UINT8_MAX &&
	     v->link.link_layer == IBV_LINK_LAYER_ETHERNET; i++) {
		if (ibv_query_gid_ex(v->ctx, v->port, i, &gid, 0) || !is_ipv4_gid(&gid))
			continue;
		v->gid = gid.gid;
		v->gid_index = i;
		return 0;
	}
	errno = 0;
	return plain_status(ibv_query_gid(v->ctx, v->port, 0, &v->gid));
}

static int port_look(struct nic_verbs *v, const char *name, char *why)
{
	int r = plain_result(ibv_query_device(v->ctx, &v->attr));

	if (!r)
		r = plain_result(ibv_query_port(v->ctx, v->port, &v->link));
	if (!r && v->link.state != IBV_PORT_ACTIVE)
		return complain(why, -ENETDOWN, "verbs: port %u of %s is not active",
				v->port, name);
	if (!r && v->attr.atomic_cap == IBV_ATOMIC_NONE)
		return complain(why, -EOPNOTSUPP, "verbs: %s has no atomic operations", name);
	if (!r)
		r = gid_find(v);
	return r ? complain(why, r, "verbs: port %u of %s cannot be queried: %s", v->port,
			    name, strerror(-r)) : 0;
}

int nic_verbs_open(const struct nic_verbs_opts *opts, struct nic **ret_nic,
		   char why[NIC_VERBS_WHY_MAX])
{
	struct nic_verbs *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return complain(why, -ENOMEM, "verbs: out of memory");
	v->card.nic.ops = &plain_ops;
	v->card.nic.node = &v->card.node;
	v->card.node.ops = &plain_node_ops;
	v->card.qp_connect = plain_qp_connect;
	v->card.node.look_fd = v->card.nic.event_fd = -1;
	v->card.node.no_chains = true;
	v->port = opts->port;
	r = device_open(v, opts->device, why);
	if (r) {
		free(v);
		return r;
	}
	r = port_look(v, opts->device, why);
	if (r)
		goto close;
	r = nic_card_open_cm(&v->card, &nic_cm, opts->device, opts->port);
	if (r) {
		complain(why, r, "verbs: the RDMA connection manager does not answer; is "
			 "the module rdma_ucm loaded? (%s)", strerror(-r));
		goto close;
	}
	*ret_nic = &v->card.nic;
	return 0;

close:
	close_nic(&v->card.nic);
	return r;
}

int nic_verbs_address(const struct nic_verbs_opts *opts, __be32 *ret_ip)
{
	const struct sockaddr_in *in;
	struct ifaddrs *all, *at;
	int r = -EADDRNOTAVAIL;

	if (getifaddrs(&all))
		return -errno;
	for (at = all; at && r; at = at->ifa_next) {
		in = (const struct sockaddr_in *)at->ifa_addr;
		if (!in || in->sin_family != AF_INET ||
		    !nic_cm_leads_to(in->sin_addr.s_addr, opts->device, opts->port))
			continue;
		*ret_ip = in->sin_addr.s_addr;
		r = 0;
	}
	freeifaddrs(all);
	return r;
}
