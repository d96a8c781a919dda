// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A machine of the test bed: see host.h. */
#include <errno.h>
#include <stdlib.h>
#include "host.h"

#define LOG_RINGS	2	/* entries of the rings of host_qp() */
#define LOG_CQ		4

const struct snic_config host_default = {
	.mac = { 2, 0, 0, 0, 0, 1 }, .prefix_len = 24, .mtu = 1500, .seed = 7,
};

__be32 host_ip(uint8_t nr)
{
	return htobe32(0x0a000000 | nr);
}

struct snic_config host_config(uint8_t nr, uint64_t seed)
{
	return (struct snic_config){
		.mac = { 2, 0, 0, 0, 0, nr }, .ip = host_ip(nr),
		.prefix_len = 24, .mtu = 1500, .seed = seed,
	};
}

static void make_arena(struct host *h, size_t len, bool open)
{
	if (!len)
		return;
	h->arena_len = len;
	h->arena = aligned_alloc(4096, len);
	assert_non_null(h->arena);
	memset(h->arena, 0, len);
	if (open)
		assert_int_equal(snic_mkey_reg(h->nic, h->pdn, h->arena, len,
					       ARENA_IOVA, ALL_RIGHTS,
					       &h->key), 0);
}

void host_init(struct host *h, const struct host_conf *conf)
{
	struct snic_config cfg = conf->nic;

	memset(h, 0, sizeof(*h));
	h->nr = cfg.mac[5];
	if (!cfg.ip)
		cfg.ip = host_ip(h->nr);
	assert_int_equal(snic_new(&cfg, &h->nic), 0);
	assert_int_equal(snic_pd_alloc(h->nic, &h->pdn), 0);
	make_arena(h, conf->arena, conf->open);
	h->vt = conf->vt;
	if (!h->vt) {
		h->vt = &h->own;
		snic_vt_init(h->vt, HOST_EPOCH);
	}
	if (conf->plugged) {
		link_port_init(&h->port, h->vt);
		assert_int_equal(snic_port_add(h->nic, &h->port.port), 0);
	}
	snic_vt_add_nic(h->vt, &h->actor, h->nic);
}

void host_open(struct host *h, const struct snic_config *cfg)
{
	host_init(h, &(struct host_conf){
		.nic = cfg ? *cfg : host_default, .arena = ARENA_LEN,
		.open = true,
	});
}

void host_open_plugged(struct host *h, uint8_t nr, uint64_t seed)
{
	host_init(h, &(struct host_conf){
		.nic = host_config(nr, seed), .arena = 4096, .plugged = true,
	});
}

void host_close(struct host *h)
{
	snic_vt_remove(h->vt, &h->actor.actor);
	snic_free(h->nic);
	if (h->port.vt)
		link_port_fini(&h->port);
	free(h->arena);
}

void host_cord(struct host *a, struct host *b, struct snic_port *ret_ports[2])
{
	assert_int_equal(snic_port_pair_open(&ret_ports[0], &ret_ports[1]), 0);
	assert_int_equal(snic_port_add(a->nic, ret_ports[0]), 0);
	assert_int_equal(snic_port_add(b->nic, ret_ports[1]), 0);
}

/* ---- memory ------------------------------------------------------------------ */

void *host_alloc(struct host *h, size_t len)
{
	void *p = h->arena + h->used;

	h->used += (len + 63) & ~(size_t)63;
	assert_true(h->used <= h->arena_len);
	return p;
}

uint64_t host_iova(const struct host *h, const void *p)
{
	return ARENA_IOVA + (uint64_t)((const uint8_t *)p - h->arena);
}

static void make_rings(struct host *h)
{
	struct snic_cq_attr attr = {
		.buf = host_alloc(h, sizeof(struct wrc_cqe) << LOG_CQ),
		.log_size = LOG_CQ, .overrun_ignore = true,
	};

	assert_int_equal(snic_cq_create(h->nic, &attr, &h->cqn), 0);
	h->sq = host_alloc(h, WRC_WQE_BB << LOG_RINGS);
	h->rq = host_alloc(h, 16 << LOG_RINGS);
	h->dbr = host_alloc(h, sizeof(*h->dbr));
}

uint32_t host_qp(struct host *h)
{
	struct snic_qp_attr attr = {
		.pdn = h->pdn, .log_sq = LOG_RINGS, .log_rq = LOG_RINGS,
		.log_rq_stride = 4, .access = ALL_RIGHTS & ~SNIC_LOCAL_WRITE,
	};
	uint32_t qpn;

	if (!h->sq)
		make_rings(h);
	attr.scqn = attr.rcqn = h->cqn;
	attr.sq = h->sq;
	attr.rq = h->rq;
	attr.dbr = h->dbr;
	assert_int_equal(snic_qp_create(h->nic, &attr, &qpn), 0);
	return qpn;
}

struct snic_stats host_stats(const struct host *h)
{
	struct snic_stats st;

	snic_get_stats(h->nic, &st);
	return st;
}

/* ---- time passes ------------------------------------------------------------- */

bool host_wait_for(struct host *h, uint64_t ns, bool (*done)(void *arg),
		   void *arg)
{
	int r = snic_vt_run(h->vt, h->vt->now + ns, done, arg);

	assert_true(!r || r == -ETIMEDOUT);
	return !r;
}

void host_wait(struct host *h, uint64_t ns)
{
	assert_true(host_wait_for(h, ns, NULL, NULL));
}

void host_run(struct host *h)
{
	host_wait(h, 0);
}
