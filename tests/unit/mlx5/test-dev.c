// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The device and its objects against the fake: what is refused and how that
 * is told, what is given back, and that queues made so do work.
 */
#include <stdlib.h>
#include "fake.h"
#include "mlx5/caps.h"
#include "mlx5/encode.h"
#include "snic/engine/engine-priv.h"

#define LOG_SQ	4
#define LOG_RQ	2
#define STRIDE	6
#define MEM	8192

static int setup(void **state)
{
	fake_init();
	return 0;
}

static int teardown(void **state)
{
	fake_fini();
	return 0;
}

static void open_dev(struct wrc_mlx5 *dev)
{
	char why[WRC_MLX5_WHY_MAX];

	assert_int_equal(wrc_mlx5_probe(&fake_devx, "fake0", dev, why), 0);
	if (wrc_mlx5_start(dev, 1, 3, why))
		fail_msg("%s", why);
}

/* ---- probe ------------------------------------------------------------------ */

/* What to do about a firmware without user contexts is in the sentence, whatever the error
 * is; and all of it fits. */
static void no_devx(void **state)
{
	char why[WRC_MLX5_WHY_MAX], name[65];

	memset(name, 'm', 64);
	name[64] = 0;
	wrc_mlx5_no_devx(name, -EINVAL, why);
	assert_non_null(strstr(why, "mlxconfig -d DEVICE set UCTX_EN=1"));
	assert_non_null(strstr(why, "(mlxfwreset or a cold boot)"));
	wrc_mlx5_no_devx("mlx5_0", -EPERM, why);
	assert_non_null(strstr(why, "UCTX_EN=1"));
	assert_non_null(strstr(why, strerror(EPERM)));
}

static void known_by(void **state)
{
	char why[WRC_MLX5_WHY_MAX], guid[WRC_MLX5_GUID_MAX];
	struct wrc_mlx5 dev;

	assert_int_equal(wrc_mlx5_probe(&fake_devx, "", &dev, why), 0);
	wrc_mlx5_guid(&dev, guid);
	assert_string_equal(guid, "0200:00ff:fe00:ab01");
	memset(fake.guid, 0, sizeof(fake.guid));
	wrc_mlx5_guid(&dev, guid);
	assert_string_equal(guid, "");
	wrc_mlx5_close(&dev);
}

static void what_it_can(void **state)
{
	char why[WRC_MLX5_WHY_MAX];
	struct wrc_mlx5 dev;
	unsigned int pos = 0;

	fake_cap(0, 0x99, 1, 1);
	fake_cap(0, 0x186, 10, 0x201);
	assert_int_equal(wrc_mlx5_probe(&fake_devx, "", &dev, why), 0);
	assert_true(dev.caps.cd && dev.caps.cq_oi && dev.caps.rc);
	assert_true(dev.caps.wqe_index_ignore && dev.caps.roce);
	assert_int_equal(dev.caps.max_qp_cnt, 0x201);
	assert_int_equal(dev.caps.log_max_qp_sz, 15);
	assert_int_equal(dev.caps.log_max_cq_sz, 22);
	assert_int_equal(dev.caps.max_wqe_sq, 1024);
	assert_int_equal(dev.caps.max_wqe_rq, 512);
	assert_int_equal(dev.caps.log_max_msg, 30);
	assert_int_equal(dev.caps.atomic_ops, 0xf);
	assert_int_equal(dev.caps.atomic_sizes, 0xc);
	assert_int_equal(dev.caps.atomic_mode, 1);
	assert_int_equal(dev.caps.ts_format, 1);
	assert_int_equal(dev.caps.udp_sport, 0xc000);
	assert_true(dev.caps.fl_enabled && !dev.caps.fl_disabled);
	assert_null(wrc_mlx5_lacks(&dev.caps, &pos));
	wrc_mlx5_close(&dev);
}

/* One capability less, one sentence, which names it. */
static void lacks_one(unsigned int type, unsigned int off, unsigned int bits,
		      uint64_t value, const char *name)
{
	char why[WRC_MLX5_WHY_MAX];
	struct wrc_mlx5 dev;
	unsigned int pos = 0, n = 0;
	const char *s;

	fake_cap(type, off, bits, value);
	assert_int_equal(wrc_mlx5_probe(&fake_devx, "", &dev, why), 0);
	while ((s = wrc_mlx5_lacks(&dev.caps, &pos))) {
		assert_non_null(strstr(s, name));
		n++;
	}
	assert_int_equal(n, 1);
	assert_int_equal(wrc_mlx5_start(&dev, 1, 0, why), -EOPNOTSUPP);
	assert_non_null(strstr(why, name));
	assert_non_null(strstr(why, "fake0"));
	wrc_mlx5_close(&dev);
	fake_fini();
	fake_init();
}

static void what_it_lacks(void **state)
{
	lacks_one(0, 0x23f, 1, 0, "RC");
	lacks_one(0, 0x22c, 1, 0, "cross-channel");
	lacks_one(0, 0x220, 1, 0, "cq_oi");
	lacks_one(0, 0x21e, 1, 0, "capability atomic");
	lacks_one(3, 0x090, 16, 0x7, "masked fetch-and-add");
	lacks_one(3, 0x090, 16, 0xb, "masked compare-and-swap");
	lacks_one(3, 0x0b0, 16, 0x4, "8 bytes");
	lacks_one(3, 0x040, 7, 0, "cannot be switched");
	lacks_one(3, 0x040, 2, 0, "would have switched");
	lacks_one(0, 0x088, 8, 11, "log_max_qp_sz");
	lacks_one(0, 0x0c8, 8, 7, "log_max_cq_sz");
	lacks_one(0, 0x290, 16, 1023, "max_wqe_sz_sq");
	lacks_one(0, 0x2b0, 16, 256, "max_wqe_sz_rq");
	lacks_one(0, 0x1c3, 5, 12, "log_max_msg");
}

static void not_opened(void **state)
{
	char why[WRC_MLX5_WHY_MAX];
	struct wrc_mlx5 dev;

	assert_int_equal(wrc_mlx5_probe(&fake_devx, "other", &dev, why),
			 -ENODEV);
	assert_non_null(strstr(why, "other"));
	fake.refuse = 0x100;
	fake.status = 0x02;
	assert_int_equal(wrc_mlx5_probe(&fake_devx, "", &dev, why),
			 -EOPNOTSUPP);
	assert_non_null(strstr(why, "QUERY_HCA_CAP: bad operation"));
	assert_non_null(strstr(why, "0x5eed5eed"));
}

static void no_such_port(void **state)
{
	char why[WRC_MLX5_WHY_MAX];
	struct wrc_mlx5 dev;

	assert_int_equal(wrc_mlx5_probe(&fake_devx, "", &dev, why), 0);
	assert_int_equal(wrc_mlx5_start(&dev, 2, 0, why), -EINVAL);
	assert_non_null(strstr(why, "port=2: expected 1 to 1"));
	assert_int_equal(wrc_mlx5_start(&dev, 0, 0, why), -EINVAL);
	assert_int_equal(wrc_mlx5_start(&dev, 1, 9, why), -EINVAL);
	assert_non_null(strstr(why, "index 9"));
	fake.port.active = false;
	assert_int_equal(wrc_mlx5_start(&dev, 1, 0, why), -ENETDOWN);
	assert_non_null(strstr(why, "down"));
	wrc_mlx5_close(&dev);
}

/* ---- objects ------------------------------------------------------------------ */

struct bed {
	struct wrc_mlx5 dev;
	uint32_t pdn;
	void *pd;
	struct wrc_mlx5_cq cq;
	uint8_t *mem;
	struct wrc_mlx5_qp_attr attr;
	struct wrc_mlx5_qp_mem qp_mem;
};

/* Receive queue, send queue and record; the first two page-aligned or not. */
static void open_bed(struct bed *b, size_t rq_off)
{
	memset(b, 0, sizeof(*b));
	open_dev(&b->dev);
	assert_int_equal(fake_devx.pd_alloc(b->dev.ctx, &b->pdn, &b->pd), 0);
	assert_int_equal(wrc_mlx5_cq_init(&b->dev, 3, &b->cq), 0);
	b->mem = aligned_alloc(4096, MEM);
	assert_non_null(b->mem);
	memset(b->mem, 0, MEM);
	b->qp_mem.rq = b->mem + rq_off;
	b->qp_mem.sq = b->mem + rq_off + (1 << (LOG_RQ + STRIDE));
	b->qp_mem.dbr = (struct wrc_dbr *)((uint8_t *)b->qp_mem.sq +
					   (64 << LOG_SQ));
	b->qp_mem.end = b->mem + MEM;
	b->attr = (struct wrc_mlx5_qp_attr){
		.pdn = b->pdn, .scqn = b->cq.cqn, .rcqn = b->cq.cqn,
		.log_sq = LOG_SQ, .log_rq = LOG_RQ, .log_rq_stride = STRIDE,
	};
}

static void close_bed(struct bed *b)
{
	wrc_mlx5_cq_fini(&b->cq);
	assert_int_equal(fake_devx.pd_free(b->pd), 0);
	wrc_mlx5_close(&b->dev);
	free(b->mem);
}

/* A READ of one half of the memory's end into the other, in loopback. */
static void read_once(struct bed *b, struct wrc_mlx5_qp *qp)
{
	uint8_t *data = b->mem + MEM - 128;
	struct wrc_mlx5_qp_info info;
	struct wrc_mlx5_cq_info cq;
	struct wrc_wr wr = {
		.op = WRC_WQE_READ, .shape = WRC_WQE_READ, .qpn = qp->qpn,
		.flags = WRC_WQE_CE_ALWAYS, .raddr = (uintptr_t)data,
		.nr_sge = 1,
	};
	struct wrc_cqe cqe;
	uint32_t key;
	void *mr;

	assert_int_equal(fake_devx.mr_reg(b->pd, b->mem, MEM,
					  (uintptr_t)b->mem, 0xf, &key, &mr),
			 0);
	memset(data, 0x5a, 64);
	wr.rkey = key;
	wr.sge[0] = (struct wrc_sge){ 64, key, (uintptr_t)data + 64 };
	assert_int_equal(wrc_encode(&wr, b->qp_mem.sq, 64), 48);
	assert_int_equal(wrc_mlx5_cq_poll(&b->cq, &cqe), -EAGAIN);
	wrc_mlx5_qp_ring(qp, 1);
	fake_run();
	assert_int_equal(wrc_mlx5_cq_poll(&b->cq, &cqe), 0);
	assert_int_equal(cqe.op_own >> 4, WRC_CQE_REQ);
	assert_int_equal(be32toh(b->cq.dbr[0]), 1);
	assert_int_equal(wrc_mlx5_cq_poll(&b->cq, &cqe), -EAGAIN);
	assert_memory_equal(data, data + 64, 64);
	assert_int_equal(wrc_mlx5_cq_query(&b->cq, &cq), 0);
	assert_int_equal(cq.producer, 1);
	assert_true(cq.overrun_ignore);
	assert_int_equal(wrc_mlx5_qp_query(qp, &info), 0);
	assert_int_equal(info.state, WRC_MLX5_QP_RTS);
	assert_int_equal(info.sq_executed, 1);
	assert_int_equal(fake_devx.mr_dereg(mr), 0);
}

static void loopback(void **state)
{
	struct wrc_mlx5_qp_info info;
	struct wrc_mlx5_qp qp;
	struct fake_obj *o;
	struct bed b;

	open_bed(&b, 0);
	assert_int_equal(wrc_mlx5_qp_init(&b.dev, &b.attr, &b.qp_mem, &qp), 0);
	assert_int_equal(wrc_mlx5_qp_loop(&qp, qp.qpn, WRC_MLX5_REMOTE_READ),
			 0);
	o = fake_qp(qp.qpn);
	assert_true(o->loopback);
	assert_int_equal(o->dest_qpn, qp.qpn);
	assert_int_equal(o->access, 4);
	assert_int_equal(fake_bits(o->rts, 0xc0 + 0x388, 3), 4);
	assert_int_equal(fake_bits(o->rtr, 0xc0 + 0x488, 3), 4);
	read_once(&b, &qp);
	assert_int_equal(wrc_mlx5_qp_error(&qp), 0);
	assert_int_equal(wrc_mlx5_qp_query(&qp, &info), 0);
	assert_int_equal(info.state, WRC_MLX5_QP_ERR);
	wrc_mlx5_qp_fini(&qp);
	close_bed(&b);
}

/* Without forced loopback: by its own address.  The memory is not aligned to
 * a page, as with short receive queues. */
static void own_address(void **state)
{
	struct wrc_mlx5_qp qp;
	struct fake_obj *o;
	struct bed b;

	fake_cap(4, 6, 1, 0);
	open_bed(&b, 192);
	assert_int_equal(wrc_mlx5_qp_init(&b.dev, &b.attr, &b.qp_mem, &qp), 0);
	assert_int_equal(wrc_mlx5_qp_loop(&qp, qp.qpn, WRC_MLX5_REMOTE_READ),
			 0);
	o = fake_qp(qp.qpn);
	assert_false(o->loopback);
	assert_memory_equal(o->rtr + 0x40, fake.port.gid, 16);
	assert_memory_equal(o->rtr + 0x56, fake.mac, 6);
	assert_int_equal(o->rtr[0x39], 3);	/* src_addr_index */
	assert_int_equal(o->rtr[0x3b], 1);	/* hop_limit */
	read_once(&b, &qp);
	wrc_mlx5_qp_fini(&qp);
	close_bed(&b);
}

static void infiniband(void **state)
{
	struct wrc_mlx5_qp qp;
	struct fake_obj *o;
	struct bed b;

	fake_cap(0, 0x21d, 1, 0);	/* no RoCE */
	fake_cap(0, 0x440, 2, 2);	/* sq_ts_format */
	fake.port.ethernet = false;
	fake.port.lid = 0x1234;
	open_bed(&b, 0);
	assert_int_equal(wrc_mlx5_qp_init(&b.dev, &b.attr, &b.qp_mem, &qp), 0);
	assert_int_equal(wrc_mlx5_qp_loop(&qp, qp.qpn, 0), 0);
	o = fake_qp(qp.qpn);
	assert_false(o->loopback);
	assert_int_equal(o->rtr[0x36] << 8 | o->rtr[0x37], 0x1234);
	wrc_mlx5_qp_fini(&qp);
	close_bed(&b);
}

/* A CQ of 8 entries, several times around: each entry is seen once. */
static void around(void **state)
{
	struct wrc_wr wr = { .flags = WRC_WQE_CE_ALWAYS };
	struct wrc_mlx5_qp qp;
	struct wrc_cqe cqe;
	struct bed b;

	open_bed(&b, 0);
	assert_int_equal(wrc_mlx5_qp_init(&b.dev, &b.attr, &b.qp_mem, &qp), 0);
	assert_int_equal(wrc_mlx5_qp_loop(&qp, qp.qpn, 0), 0);
	wr.qpn = qp.qpn;
	for (unsigned int i = 0; i < 30; i++) {
		wr.index = i;
		assert_int_equal(wrc_encode(&wr, (uint8_t *)b.qp_mem.sq +
					    64 * (i % 16), 64), 16);
		wrc_mlx5_qp_ring(&qp, i + 1);
		fake_run();
		assert_int_equal(wrc_mlx5_cq_poll(&b.cq, &cqe), 0);
		assert_int_equal(be16toh(cqe.wqe_counter), i);
		assert_int_equal(wrc_mlx5_cq_poll(&b.cq, &cqe), -EAGAIN);
	}
	wrc_mlx5_qp_fini(&qp);
	close_bed(&b);
}

static void badly_laid_out(void **state)
{
	struct wrc_mlx5_qp_mem m;
	struct wrc_mlx5_qp qp;
	struct bed b;

	open_bed(&b, 0);
	m = b.qp_mem;
	m.sq = (uint8_t *)m.sq + 64;		/* a gap */
	assert_int_equal(wrc_mlx5_qp_init(&b.dev, &b.attr, &m, &qp), -EINVAL);
	m = b.qp_mem;
	m.dbr = (struct wrc_dbr *)b.mem;	/* in the queue */
	assert_int_equal(wrc_mlx5_qp_init(&b.dev, &b.attr, &m, &qp), -EINVAL);
	m = b.qp_mem;
	m.end = (uint8_t *)m.dbr + 4;		/* cut off */
	assert_int_equal(wrc_mlx5_qp_init(&b.dev, &b.attr, &m, &qp), -EINVAL);
	b.attr.log_sq = 16;
	assert_int_equal(wrc_mlx5_qp_init(&b.dev, &b.attr, &b.qp_mem, &qp),
			 -ERANGE);
	b.attr.log_sq = LOG_SQ;
	b.attr.log_rq_stride = 10;	/* 1024 bytes, of 512 */
	assert_int_equal(wrc_mlx5_qp_init(&b.dev, &b.attr, &b.qp_mem, &qp),
			 -ERANGE);
	b.attr.log_rq_stride = STRIDE;
	b.attr.log_rq = 16;
	assert_int_equal(wrc_mlx5_qp_init(&b.dev, &b.attr, &b.qp_mem, &qp),
			 -ERANGE);
	assert_int_equal(wrc_mlx5_cq_init(&b.dev, 23, &b.cq), -ERANGE);
	close_bed(&b);
}

static void refused(void **state)
{
	struct wrc_mlx5_qp qp;
	struct wrc_mlx5_cq cq;
	struct bed b;

	open_bed(&b, 0);
	fake.refuse = 0x500;
	fake.status = 0x03;
	assert_int_equal(wrc_mlx5_qp_init(&b.dev, &b.attr, &b.qp_mem, &qp),
			 -EINVAL);
	assert_string_equal(wrc_mlx5_last_error(&b.dev), "CREATE_QP: bad parameter "
			    "(status 0x03, syndrome 0x5eed5eed)");
	fake.refuse = 0x400;
	fake.status = 0x08;
	assert_int_equal(wrc_mlx5_cq_init(&b.dev, 3, &cq), -ENOMEM);
	assert_int_equal(wrc_mlx5_qp_init(&b.dev, &b.attr, &b.qp_mem, &qp), 0);
	fake.refuse = 0x503;
	fake.status = 0x77;	/* one we do not know */
	assert_int_equal(wrc_mlx5_qp_loop(&qp, qp.qpn, 0), -EREMOTEIO);
	assert_non_null(strstr(wrc_mlx5_last_error(&b.dev), "INIT2RTR_QP"));
	/* It stayed in INIT, so that RST2INIT is refused. */
	assert_int_equal(wrc_mlx5_qp_loop(&qp, qp.qpn, 0), -EINVAL);
	assert_non_null(strstr(wrc_mlx5_last_error(&b.dev), "bad queue pair state"));
	b.attr.pdn = 1 << 24;
	assert_int_equal(wrc_mlx5_qp_init(&b.dev, &b.attr, &b.qp_mem, &qp),
			 -ERANGE);
	assert_non_null(strstr(wrc_mlx5_last_error(&b.dev), "does not fit"));
	wrc_mlx5_qp_fini(&qp);
	assert_int_equal(b.dev.stats.refused, 4);
	assert_int_equal(b.dev.stats.qps, 0);
	close_bed(&b);
}

/* Whichever call fails, nothing is left. */
static void out_of_memory(void **state)
{
	char why[WRC_MLX5_WHY_MAX];
	struct wrc_mlx5_cq cq;
	struct wrc_mlx5 dev;
	unsigned int n;
	int err = -1;

	for (n = 1; err; n++) {
		fake.fail_in = n;
		err = wrc_mlx5_probe(&fake_devx, "", &dev, why);
		if (err) {
			assert_true(*why);
			continue;
		}
		err = wrc_mlx5_start(&dev, 1, 0, why);
		if (!err)
			err = wrc_mlx5_cq_init(&dev, 3, &cq);
		else
			assert_true(*why);
		if (!err)
			wrc_mlx5_cq_fini(&cq);
		wrc_mlx5_close(&dev);
	}
	assert_int_equal(n - 2, 9);	/* as many calls can fail */
}

/* ---- indirect keys ------------------------------------------------------------ */

#define VARIANT 0xa5

static const struct wrc_mlx5_ksm_attr ksm_attr = {
	.entries = 40, .variant = VARIANT,
	.access = WRC_MLX5_REMOTE_READ | WRC_MLX5_REMOTE_WRITE,
};

/* A device that runs chains, but lacks what keys need. */
static void lacks_for_keys(unsigned int off, unsigned int bits, uint64_t value,
			   const char *name)
{
	struct wrc_mlx5_maker maker;
	struct wrc_mlx5 dev;
	unsigned int pos = 0;

	fake_cap(0, off, bits, value);
	open_dev(&dev);
	assert_non_null(strstr(wrc_mlx5_lacks_keys(&dev.caps, &pos), name));
	assert_null(wrc_mlx5_lacks_keys(&dev.caps, &pos));
	assert_int_equal(wrc_mlx5_maker_init(&dev, 1, &maker), -EOPNOTSUPP);
	assert_non_null(strstr(wrc_mlx5_last_error(&dev), "fake0 cannot translate: "));
	assert_non_null(strstr(wrc_mlx5_last_error(&dev), name));
	wrc_mlx5_close(&dev);
	fake_fini();
	fake_init();
}

static void what_keys_lack(void **state)
{
	struct wrc_mlx5 dev;
	unsigned int pos = 0;

	open_dev(&dev);
	assert_null(wrc_mlx5_lacks_keys(&dev.caps, &pos));
	assert_true(dev.caps.ksm && dev.caps.umr_ksm);
	assert_int_equal(dev.caps.log_max_mkey, 24);
	assert_int_equal(dev.caps.log_max_ksm, 16);
	assert_int_equal(dev.caps.max_indirection, 4);
	assert_int_equal(dev.caps.umr_fence, 2);
	wrc_mlx5_close(&dev);
	lacks_for_keys(0x108, 1, 0, "fixed_buffer_size");
	lacks_for_keys(0x209, 1, 1, "umr_indirect_mkey_disabled");
	lacks_for_keys(0x100, 8, 0, "max_indirection");
	lacks_for_keys(0x11a, 6, 14, "log_max_klm_list_size");
}

/* Open, as asked for, and with nothing of what was in its memory. */
static void expect_empty(const struct wrc_mlx5_ksm *ksm, uint32_t pdn,
			 uint32_t entries)
{
	const struct wrc_ksm zero = { 0 };
	struct snic_ksm *k = snic_ksm_find(fake.snic, pdn, ksm->key);
	struct wrc_ksm e;

	assert_non_null(k);
	assert_false(k->free);
	assert_int_equal(k->nr, entries);
	assert_int_equal(ksm->key & 0xff, VARIANT);
	for (uint32_t i = 0; i < entries; i++) {
		assert_int_equal(snic_mkey_entry(fake.snic, ksm->key, i, &e),
				 0);
		assert_memory_equal(&e, &zero, sizeof(e));
	}
}

/* Each size is made: less than one doorbell's UMRs, and more laps of their ring than
 * its indices have bits. */
static void made_empty(void **state)
{
	static const uint32_t sizes[] = { 24, 28, 40, 48, 1536, 1540, 32768,
					  65536, 65536, 65536, 24 };
	struct wrc_mlx5_ksm_attr attr = ksm_attr;
	struct wrc_mlx5_ksm ksm[11];
	struct wrc_mlx5_maker maker;
	struct bed b;

	fake.stale_key = 0x1234;
	fake.stale_addr = 0x5678;
	open_bed(&b, 0);
	assert_int_equal(wrc_mlx5_maker_init(&b.dev, b.pdn, &maker), 0);
	for (int i = 0; i < 11; i++) {
		attr.entries = sizes[i];
		assert_int_equal(wrc_mlx5_ksm_init(&maker, &attr, &ksm[i]), 0);
	}
	assert_int_equal(b.dev.stats.indirect, 11);
	wrc_mlx5_maker_fini(&maker);
	for (int i = 0; i < 11; i++) {
		expect_empty(&ksm[i], b.pdn, sizes[i]);
		assert_int_equal(wrc_mlx5_ksm_fini(&ksm[i]), 0);
	}
	assert_int_equal(b.dev.stats.indirect, 0);
	close_bed(&b);
}

/*
 * What clears a key, by hand, as tests/unit/wrchain/test-encode.c has that of a
 * chain: two of them, of which the last one has bit 29 in the mask of the
 * context's fields, MLX5_MKEY_MASK_FREE in Linux' include/linux/mlx5/device.h.
 */
static void clearing_bytes(void **state)
{
	static const uint8_t first[16] = {
		0x90, 0x00, 0x00, 0x00,  0x00, 0x18, 0x00, 0x00,
		0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00,
	}, last[16] = {
		0x90, 0x00, 0x00, 0x00,  0x00, 0x18, 0x00, 0x10,
		0x00, 0x00, 0x00, 0x00,  0x20, 0x00, 0x00, 0x00,
	}, zero[480];
	struct wrc_mlx5_maker maker;
	struct wrc_mlx5_ksm ksm;
	const uint8_t *wqe;
	struct bed b;

	open_bed(&b, 0);
	assert_int_equal(wrc_mlx5_maker_init(&b.dev, b.pdn, &maker), 0);
	assert_int_equal(wrc_mlx5_ksm_init(&maker, &ksm_attr, &ksm), 0);
	wqe = maker.mem;
	assert_memory_equal(wqe + 16, first, sizeof(first));
	assert_memory_equal(wqe + 32, zero, sizeof(zero));
	wqe += 512;
	assert_int_equal(wqe[3], 0x25);
	assert_int_equal(wqe[7], 0x20);
	assert_int_equal((uint32_t)wqe[12] << 24 | wqe[13] << 16 |
			 wqe[14] << 8 | wqe[15], ksm.key);
	assert_memory_equal(wqe + 16, last, sizeof(last));
	assert_memory_equal(wqe + 32, zero, sizeof(zero));
	assert_int_equal(wrc_mlx5_ksm_fini(&ksm), 0);
	wrc_mlx5_maker_fini(&maker);
	close_bed(&b);
}

static void bad_keys(void **state)
{
	static const uint32_t bad[] = { 0, 4, 20, 26, 65540, 1u << 31 };
	struct wrc_mlx5_ksm_attr attr = ksm_attr;
	struct wrc_mlx5_maker maker;
	struct wrc_mlx5_ksm ksm;
	struct bed b;

	fake_cap(0, 0x11a, 6, 15);
	open_bed(&b, 0);
	assert_int_equal(wrc_mlx5_maker_init(&b.dev, b.pdn, &maker), 0);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		attr.entries = bad[i];
		assert_int_equal(wrc_mlx5_ksm_init(&maker, &attr, &ksm),
				 -EINVAL);
	}
	attr.entries = 32772;
	assert_int_equal(wrc_mlx5_ksm_init(&maker, &attr, &ksm), -ERANGE);
	fake.refuse = 0x200;
	fake.status = 0x08;
	assert_int_equal(wrc_mlx5_ksm_init(&maker, &ksm_attr, &ksm), -ENOMEM);
	assert_string_equal(wrc_mlx5_last_error(&b.dev), "CREATE_MKEY: limits "
			    "exceeded (status 0x08, syndrome 0x5eed5eed)");
	wrc_mlx5_maker_fini(&maker);
	close_bed(&b);
}

/* A card that does not take a UMR with a bit that it does not know. */
static void ring_spoilt(void *uar, const __u8 ctrl[8])
{
	struct snic_qp *qp = snic_qp_lookup(fake.snic, ctrl[4] << 16 |
					    ctrl[5] << 8 | ctrl[6]);

	((uint8_t *)qp->attr.sq)[17] = 1;
	fake_devx.ring(uar, ctrl);
}

/* A key that could not be cleared is not there. */
static void not_cleared(void **state)
{
	struct wrc_mlx5_devx bent = fake_devx;
	struct wrc_mlx5_maker maker;
	struct wrc_mlx5_ksm ksm;
	struct bed b;

	bent.ring = ring_spoilt;
	open_bed(&b, 0);
	assert_int_equal(wrc_mlx5_maker_init(&b.dev, b.pdn, &maker), 0);
	b.dev.devx = &bent;
	assert_int_equal(wrc_mlx5_ksm_init(&maker, &ksm_attr, &ksm), -EIO);
	assert_string_equal(wrc_mlx5_last_error(&b.dev), "a UMR that clears a new "
			    "key failed (syndrome 0x02, vendor's 0x00)");
	b.dev.devx = &fake_devx;
	wrc_mlx5_maker_fini(&maker);
	assert_int_equal(wrc_mlx5_maker_init(&b.dev, b.pdn, &maker), 0);
	fake.still = true;
	assert_int_equal(wrc_mlx5_ksm_init(&maker, &ksm_attr, &ksm),
			 -ETIMEDOUT);
	assert_non_null(strstr(wrc_mlx5_last_error(&b.dev), "does not complete"));
	fake.still = false;
	wrc_mlx5_maker_fini(&maker);
	assert_int_equal(b.dev.stats.indirect, 0);
	close_bed(&b);
}

static void keys_out_of_memory(void **state)
{
	struct wrc_mlx5_maker maker;
	struct wrc_mlx5_ksm ksm;
	const void *before;
	struct bed b;
	unsigned int n;
	int err = -1;

	open_bed(&b, 0);
	before = fake.objs;
	for (n = 1; err && n < 100; n++) {
		fake.fail_in = n;
		err = wrc_mlx5_maker_init(&b.dev, b.pdn, &maker);
		if (!err) {
			err = wrc_mlx5_ksm_init(&maker, &ksm_attr, &ksm);
			if (!err)
				assert_int_equal(wrc_mlx5_ksm_fini(&ksm), 0);
			wrc_mlx5_maker_fini(&maker);
		}
		assert_ptr_equal(fake.objs, before);
	}
	/* Two registrations, CQ, QP and its three steps, the key. */
	assert_int_equal(n - 2, 8);
	close_bed(&b);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(no_devx),
		T(known_by),
		T(what_it_can),
		T(what_it_lacks),
		T(not_opened),
		T(no_such_port),
		T(loopback),
		T(own_address),
		T(infiniband),
		T(around),
		T(badly_laid_out),
		T(refused),
		T(out_of_memory),
		T(what_keys_lack),
		T(made_empty),
		T(clearing_bytes),
		T(bad_keys),
		T(not_cleared),
		T(keys_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
