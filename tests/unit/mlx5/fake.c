// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The device of fake.h.  Offsets are literal here on purpose: they are a
 * second opinion on wrchain/mlx5/ifc.h.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include "fake-priv.h"
#include "snic/engine/engine-priv.h"

#define QPC	0xc0		/* in CREATE_QP and the modifications */
#define ADS	(QPC + 0xc0)
#define CQC	0x80
#define MAX_STEPS 1000000

struct fake fake;

uint64_t fake_bits(const uint8_t *box, unsigned int off, unsigned int bits)
{
	uint64_t v = 0;

	while (bits--) {
		v = v << 1 | (box[off / 8] >> (7 - off % 8) & 1);
		off++;
	}
	return v;
}

void fake_put(uint8_t *box, unsigned int off, unsigned int bits,
		     uint64_t value)
{
	while (bits--) {
		unsigned int at = off + bits;
		uint8_t bit = 1 << (7 - at % 8);

		box[at / 8] = (box[at / 8] & ~bit) | (value & 1 ? bit : 0);
		value >>= 1;
	}
}

/* Reads a field and wipes it, so that what nobody has read remains. */
uint64_t fake_take(uint8_t *box, unsigned int off, unsigned int bits)
{
	uint64_t v = fake_bits(box, off, bits);

	fake_put(box, off, bits, 0);
	return v;
}

void fake_nothing_more(const uint8_t *box, size_t len,
				const char *what)
{
	for (size_t i = 0; i < len; i++)
		if (box[i])
			fail_msg("%s: byte 0x%zx is 0x%02x, a field unknown "
				 "to the fake", what, i, box[i]);
}

void fake_expect(uint64_t have, uint64_t want, const char *what)
{
	if (have != want)
		fail_msg("%s is 0x%llx, expected 0x%llx", what,
			 (unsigned long long)have, (unsigned long long)want);
}

/* Memory ran out, at the call the test has chosen. */
bool fake_failing(void)
{
	fake.calls++;
	return fake.fail_in && !--fake.fail_in;
}

/* ---- the device -------------------------------------------------------------- */

void fake_cap(unsigned int type, unsigned int off, unsigned int bits,
	      uint64_t value)
{
	fake_put(fake.caps[type], off, bits, value);
}

static void default_caps(void)
{
	fake_cap(0, 0x088, 8, 15);	/* log_max_qp_sz */
	fake_cap(0, 0x09b, 5, 18);	/* log_max_qp */
	fake_cap(0, 0x0c8, 8, 22);	/* log_max_cq_sz */
	fake_cap(0, 0x0db, 5, 24);	/* log_max_cq */
	fake_cap(0, 0x0ea, 6, 24);	/* log_max_mkey */
	fake_cap(0, 0x100, 8, 4);	/* max_indirection */
	fake_cap(0, 0x108, 1, 1);	/* fixed_buffer_size */
	fake_cap(0, 0x11a, 6, 16);	/* log_max_klm_list_size */
	fake_cap(0, 0x14a, 6, 4);	/* log_max_ra_req_qp */
	fake_cap(0, 0x15a, 6, 4);	/* log_max_ra_res_qp */
	fake_cap(0, 0x1b8, 8, 1);	/* num_ports */
	fake_cap(0, 0x1c3, 5, 30);	/* log_max_msg */
	fake_cap(0, 0x1fc, 4, 1);	/* cqe_version */
	fake_cap(0, 0x20a, 2, 2);	/* umr_fence */
	fake_cap(0, 0x21d, 1, 1);	/* roce */
	fake_cap(0, 0x21e, 1, 1);	/* atomic */
	fake_cap(0, 0x220, 1, 1);	/* cq_oi */
	fake_cap(0, 0x22c, 1, 1);	/* cd */
	fake_cap(0, 0x23f, 1, 1);	/* rc */
	fake_cap(0, 0x290, 16, 1024);	/* max_wqe_sz_sq */
	fake_cap(0, 0x2b0, 16, 512);	/* max_wqe_sz_rq */
	fake_cap(3, 0x040, 2, 1);	/* atomic_req_8B_endianness_mode */
	fake_cap(3, 0x046, 1, 1);
	fake_cap(3, 0x090, 16, 0xf);	/* atomic_operations */
	fake_cap(3, 0x0b0, 16, 0xc);	/* atomic_size_qp */
	fake_cap(4, 0x006, 1, 1);	/* fl_rc_qp_when_roce_enabled */
	fake_cap(4, 0x01e, 2, 2);	/* qp_ts_format */
	fake_cap(4, 0x0d0, 16, 0xc000);	/* r_roce_min_src_udp_port */
}

void fake_init(void)
{
	const struct snic_config cfg = {
		.mac = { 2, 0, 0, 0, 0, 1 }, .ip = htonl(0x0a000001),
		.prefix_len = 24, .mtu = 4500, .seed = 1,
		.fetch = SNIC_FETCH_EARLY, .land = SNIC_LAND_LATE,
	};

	struct snic *snic;

	assert_int_equal(snic_new(&cfg, &snic), 0);
	fake_adopt(snic);
	fake.adopted = false;
	memcpy(fake.mac, cfg.mac, 6);
}

/* A query of another thread, for the test's. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool waits, given_up;
	void *obj;
	const void *in;
	void *out;
	int r;
} handed = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .done = PTHREAD_COND_INITIALIZER,
};

void fake_adopt(struct snic *snic)
{
	memset(&fake, 0, sizeof(fake));
	fake.snic = snic;
	fake.adopted = true;
	fake.main = pthread_self();
	handed.given_up = false;
	fake.next_umem = 0x100;
	fake.roce_version = 2;
	fake.port = (struct wrc_mlx5_port){
		.active = true, .ethernet = true, .mtu = 5,
		.gid = { [10] = 0xff, [11] = 0xff, 10, 0, 0, 1 },
	};
	memcpy(fake.mac, "\x02\0\0\0\0\x01", 6);
	memcpy(fake.guid, "\x02\0\0\xff\xfe\0\xab\x01", 8);
	fake.firmware = "0.0.fake";
	default_caps();
}

void fake_fini(void)
{
	assert_int_equal(fake.opened, 0);
	for (int i = 0; i < FAKE_UARS; i++)
		assert_false(fake.uars[i]);
	assert_int_equal(fake.pds, 0);
	assert_int_equal(fake.mrs, 0);
	assert_null(fake.objs);
	assert_null(fake.umems);
	if (!fake.adopted)
		snic_free(fake.snic);
}

void fake_run(void)
{
	uint64_t next;

	for (int i = 0; i < MAX_STEPS; i++) {
		assert_int_equal(snic_step(fake.snic, fake.now, &next), 0);
		if (next == SNIC_NEVER)
			return;
		if (next > fake.now)
			fake.now = next;
	}
	fail_msg("the NIC does not come to rest");
}

/* At this moment if the NIC is somebody else's, whose clock we do not have; then
 * nothing takes time, either. */
static void fake_pause(void *ctx)
{
	uint64_t now = fake.snic->now, next;
	snic_cost_fn cost = fake.snic->cost;

	if (fake.still)
		return;
	if (fake.adopted)
		fake.snic->cost = NULL;
	assert_int_equal(snic_step(fake.snic, now, &next), 0);
	fake.snic->cost = cost;
	if (!fake.adopted && next != SNIC_NEVER && next > now)
		fake.now = fake.snic->now = next;
}

static int fake_open(const char *name, void **ret_ctx, char *why)
{
	if (*name && strcmp(name, "fake0")) {
		snprintf(why, WRC_MLX5_WHY_MAX, "%s: no such RDMA device",
			 name);
		return -ENODEV;
	}
	if (fake_failing()) {
		snprintf(why, WRC_MLX5_WHY_MAX, "out of memory");
		return -ENOMEM;
	}
	fake.opened++;
	*ret_ctx = &fake;
	return 0;
}

static void fake_close(void *ctx)
{
	assert_ptr_equal(ctx, &fake);
	fake.opened--;
}

static const char *fake_name(void *ctx)
{
	return "fake0";
}

static const char *fake_firmware(void *ctx)
{
	return fake.firmware;
}

static void fake_guid(void *ctx, __u8 ret_guid[8])
{
	memcpy(ret_guid, fake.guid, sizeof(fake.guid));
}

static int fake_port(void *ctx, __u8 port, __u16 gid_index,
		     struct wrc_mlx5_port *ret_port)
{
	if (gid_index > 3)
		return -EINVAL;
	*ret_port = fake.port;
	return 0;
}

/* ---- commands ----------------------------------------------------------------- */

static int refuse(uint8_t *out, uint8_t status)
{
	out[0] = status;
	fake_put(out, 0x20, 32, FAKE_SYNDROME);
	return -EREMOTEIO;
}

static bool refusing(unsigned int opcode)
{
	if (!fake.refuse || fake.refuse != opcode)
		return false;
	fake.refuse = 0;
	return true;
}

static int query_cap(uint8_t *in, uint8_t *out)
{
	unsigned int op_mod = fake_take(in, 0x30, 16);

	fake_expect(op_mod & 1, 1, "op_mod: current values");
	op_mod >>= 1;
	assert_true(op_mod == 0 || op_mod == 3 || op_mod == 4);
	memcpy(out + 16, fake.caps[op_mod], 256);
	return 0;
}

static int query_roce(uint8_t *in, uint8_t *out)
{
	fake_take(in, 0x40, 16);
	fake_expect(fake_take(in, 0x5c, 4), 1, "vhca_port_num");
	memcpy(out + 16, fake.port.gid, 16);
	memcpy(out + 16 + 18, fake.mac, 6);
	fake_put(out + 16, 0xd8, 8, fake.roce_version);
	return 0;
}

static int fake_command(void *ctx, const void *in, size_t in_len, void *out,
			size_t out_len)
{
	uint8_t box[16];
	unsigned int opcode;
	int r;

	assert_int_equal(in_len, 16);
	memcpy(box, in, in_len);
	opcode = fake_take(box, 0, 16);
	if (refusing(opcode))
		return refuse(out, fake.status);
	if (fake_failing())
		return -ENOMEM;
	switch (opcode) {
	case 0x100:
		assert_int_equal(out_len, 16 + 4096);
		r = query_cap(box, out);
		break;
	case 0x760:
		assert_int_equal(out_len, 48);
		r = query_roce(box, out);
		break;
	default:
		fail_msg("0x%x is no general command", opcode);
		return -EINVAL;
	}
	fake_nothing_more(box, sizeof(box), "general command");
	return r;
}

/* A doorbell page that is ours. */
static unsigned int uar_of(uint32_t page)
{
	if (page - FAKE_UAR_PAGE >= FAKE_UARS ||
	    !fake.uars[page - FAKE_UAR_PAGE])
		fail_msg("0x%x is no doorbell page of ours", page);
	return page - FAKE_UAR_PAGE;
}

/* ---- objects ------------------------------------------------------------------- */

const struct fake_umem *fake_umem_of(uint32_t id)
{
	struct fake_umem *u = fake.umems;

	while (u && u->id != id)
		u = u->next;
	if (!u)
		fail_msg("no umem 0x%x", id);
	return u;
}

/* [off, off + len) of a umem. */
static void *in_umem(const struct fake_umem *u, uint64_t off, uint64_t len)
{
	if (off > u->len || len > u->len - off)
		fail_msg("0x%llx bytes at 0x%llx of a umem of 0x%zx",
			 (unsigned long long)len, (unsigned long long)off,
			 u->len);
	return u->va + off;
}

struct fake_obj *fake_add(unsigned int kind, uint32_t number)
{
	struct fake_obj *o = calloc(1, sizeof(*o));

	assert_non_null(o);
	o->kind = kind;
	o->number = number;
	o->next = fake.objs;
	fake.objs = o;
	return o;
}

static int create_cq(uint8_t *in, uint8_t *out, void **ret_obj)
{
	struct snic_cq_attr attr = { .overrun_ignore = true };
	const struct fake_umem *u, *rec;
	uint32_t cqn;

	u = fake_umem_of(fake_take(in, 0x2c0, 32));
	fake_expect(fake_take(in, 0x2e0, 1), 1, "cq_umem_valid");
	rec = fake_umem_of(fake_take(in, CQC + 0x20, 32));
	fake_expect(fake_take(in, CQC + 0x06, 1), 1, "cqc.dbr_umem_valid");
	fake_expect(fake_take(in, CQC + 0x0e, 1), 1, "cqc.oi");
	uar_of(fake_take(in, CQC + 0x68, 24));
	fake_expect(fake_take(in, CQC + 0xa0, 32), FAKE_EQN, "cqc.c_eqn");
	attr.log_size = fake_take(in, CQC + 0x63, 5);
	/* Plain registration promises no other offset than 0. */
	fake_expect(fake_take(in, 0x280, 64), 0, "cq_umem_offset");
	attr.buf = in_umem(u, 0, 64ull << attr.log_size);
	assert_int_equal((uintptr_t)attr.buf % 4096, 0);
	assert_int_equal(fake_bits(in, CQC + 0x1c0, 64) % 8, 0);
	in_umem(rec, fake_take(in, CQC + 0x1c0, 64), 8);
	fake_nothing_more(in, 272, "CREATE_CQ");
	for (unsigned int i = 0; i < 1u << attr.log_size; i++)
		assert_int_equal(((struct wrc_cqe *)attr.buf)[i].op_own >> 4,
				 0xf);
	assert_int_equal(snic_cq_create(fake.snic, &attr, &cqn), 0);
	snic_cq_lookup(fake.snic, cqn)->count = fake.early_waits;
	fake_put(out, 0x48, 24, cqn);
	*ret_obj = fake_add(FAKE_CQ, cqn);
	return 0;
}

static void take_queues(uint8_t *in, const struct fake_umem *u,
			struct snic_qp_attr *attr)
{
	unsigned int rq_type = fake_take(in, QPC + 0x565, 3);
	uint64_t rq_len = 0;

	attr->log_sq = fake_take(in, QPC + 0x51, 4);
	assert_true(rq_type == 0 || rq_type == 3);
	if (!rq_type) {
		attr->log_rq = fake_take(in, QPC + 0x49, 4);
		attr->log_rq_stride = fake_take(in, QPC + 0x4d, 3) + 4;
		rq_len = 1ull << (attr->log_rq + attr->log_rq_stride);
		attr->rq = in_umem(u, 0, rq_len);
	}
	fake_expect(fake_take(in, 0x800, 64), 0, "wq_umem_offset");
	attr->sq = in_umem(u, rq_len, 64ull << attr->log_sq);
}

static int create_qp(uint8_t *in, uint8_t *out, void **ret_obj)
{
	struct snic_qp_attr attr = { 0 };
	const struct fake_umem *u;
	struct fake_obj *o;
	unsigned int uar;
	uint32_t qpn;

	u = fake_umem_of(fake_take(in, 0x840, 32));
	fake_expect(fake_take(in, 0x860, 1), 1, "wq_umem_valid");
	fake_expect(fake_take(in, QPC + 0x08, 8), 0, "qpc.st: RC");
	fake_expect(fake_take(in, QPC + 0x13, 2), 3, "qpc.pm_state");
	uar = uar_of(fake_take(in, QPC + 0x68, 24));
	fake_expect(fake_take(in, QPC + 0x88, 24), 0xffffff, "qpc.user_index");
	fake_expect(fake_take(in, QPC + 0x58, 2), 1, "qpc.ts_format");
	fake_expect(fake_take(in, QPC + 0x683, 1), 1, "qpc.dbr_umem_valid");
	fake_expect(fake_take(in, QPC + 0x720, 32), u->id, "qpc.dbr_umem_id");
	assert_int_equal(fake_bits(in, QPC + 0x500, 64) % 8, 0);
	attr.dbr = in_umem(u, fake_take(in, QPC + 0x500, 64), 8);
	attr.pdn = fake_take(in, QPC + 0x28, 24);
	attr.scqn = fake_take(in, QPC + 0x3e8, 24);
	attr.rcqn = fake_take(in, QPC + 0x4e8, 24);
	attr.cd_slave_send = fake_take(in, QPC + 0x49e, 1);
	attr.cd_master = fake_take(in, QPC + 0x49f, 1);
	take_queues(in, u, &attr);
	fake_nothing_more(in, 272, "CREATE_QP");
	assert_int_equal(snic_qp_create(fake.snic, &attr, &qpn), 0);
	fake_put(out, 0x48, 24, qpn);
	o = fake_add(FAKE_QP, qpn);
	o->dbr = attr.dbr;
	o->uar = uar;
	o->rq = attr.rq;
	o->rq_len = 1ul << (attr.log_rq + attr.log_rq_stride);
	o->cd_master = attr.cd_master;
	o->cd_slave_send = attr.cd_slave_send;
	*ret_obj = o;
	return 0;
}

static int alloc_counter(uint8_t *in, uint8_t *out, void **ret_obj)
{
	fake_nothing_more(in, 16, "ALLOC_Q_COUNTER");
	if (fake.counters == FAKE_COUNTERS)
		return refuse(out, 0x08);
	fake_put(out, 0x58, 8, ++fake.counters);
	*ret_obj = fake_add(FAKE_COUNTER, fake.counters);
	return 0;
}

static int fake_create(void *ctx, const void *in, size_t in_len, void *out,
		       size_t out_len, void **ret_obj)
{
	uint8_t box[272];
	unsigned int opcode;

	assert_true(in_len == 16 || in_len == 272);
	assert_int_equal(out_len, 16);
	memcpy(box, in, in_len);
	opcode = fake_take(box, 0, 16);
	if (refusing(opcode))
		return refuse(out, fake.status);
	if (fake_failing())
		return -ENOMEM;
	assert_int_equal(in_len, opcode == 0x771 ? 16 : 272);
	if (opcode == 0x771)
		return alloc_counter(box, out, ret_obj);
	if (opcode == 0x400)
		return create_cq(box, out, ret_obj);
	if (opcode == 0x200)
		return fake_create_mkey(box, out, ret_obj);
	fake_expect(opcode, 0x500, "opcode that makes an object");
	return create_qp(box, out, ret_obj);
}

/* ---- states ---------------------------------------------------------------------- */

/* The software NIC wants to know at creation what a card is told here. */
static void set_access(struct fake_obj *o)
{
	snic_qp_lookup(fake.snic, o->number)->attr.access =
		(o->access & 4 ? SNIC_REMOTE_READ : 0) |
		(o->access & 2 ? SNIC_REMOTE_WRITE : 0) |
		(o->access & 1 ? SNIC_REMOTE_ATOMIC : 0);
}

static int rst2init(struct fake_obj *o, uint8_t *in)
{
	memcpy(o->init, in, 272);
	fake_expect(fake_take(in, 0x80, 32), 0, "opt_param_mask");
	fake_expect(fake_take(in, QPC + 0x13, 2), 3, "qpc.pm_state");
	o->access = fake_take(in, QPC + 0x490, 3);	/* rre rwe rae */
	set_access(o);
	fake_expect(fake_take(in, QPC + 0x48c, 4), o->access & 1 ? 3 : 0,
	       "qpc.atomic_mode");
	fake_expect(fake_take(in, ADS + 0x128, 8), 1, "ads.vhca_port_num");
	fake_take(in, ADS + 0x10, 16);
	fake_nothing_more(in, 272, "RST2INIT_QP");
	return 0;
}

/* Forced, or by what Linux' driver sets on Ethernet. */
static void take_path(struct fake_obj *o, uint8_t *in)
{
	fake_expect(fake_take(in, ADS + 0x128, 8), 1, "ads.vhca_port_num");
	fake_take(in, ADS + 0x10, 16);		/* pkey_index */
	o->loopback = fake_take(in, ADS + 0x00, 1);
	if (o->loopback)
		return;
	fake_take(in, ADS + 0x58, 8);		/* hop_limit */
	if (fake.port.ethernet) {
		if (fake.roce_version == 2)
			assert_true(fake_bits(in, ADS + 0x110, 16) >= 0xc000);
		else	/* and no DSCP */
			assert_int_equal(fake_bits(in, ADS + 0x108, 24), 0);
		fake_take(in, ADS + 0x110, 16);	/* udp_sport */
		fake_take(in, ADS + 0x48, 8);	/* src_addr_index */
		fake_take(in, ADS + 0x64, 8);	/* tclass */
		fake_take(in, ADS + 0x6c, 20);	/* flow_label */
		fake_take(in, ADS + 0x10a, 6);	/* dscp */
		fake_take(in, ADS + 0x121, 3);	/* eth_prio */
		assert_int_not_equal(fake_take(in, ADS + 0x130, 48), 0);
		fake_take(in, ADS + 0x80, 64);	/* rgid */
		assert_int_not_equal(fake_take(in, ADS + 0xc0, 64), 0);
	} else {
		assert_int_not_equal(fake_take(in, ADS + 0x30, 16), 0); /* rlid */
		fake_take(in, ADS + 0x29, 7);
		fake_take(in, ADS + 0x124, 4);
		fake_expect(fake_take(in, ADS + 0x28, 1), 0, "ads.grh");
	}
}

static int init2rtr(struct fake_obj *o, uint8_t *in)
{
	memcpy(o->rtr, in, 272);
	fake_expect(fake_take(in, 0x80, 32), 0xe, "opt_param_mask: rre, rae, rwe");
	o->mtu = fake_take(in, QPC + 0x40, 3);
	assert_in_range(o->mtu, 1, 5);
	fake_expect(fake_take(in, QPC + 0x43, 5), 30, "qpc.log_msg_max");
	o->dest_qpn = fake_take(in, QPC + 0xa8, 24);
	fake_take(in, QPC + 0x488, 3);		/* log_rra_max */
	fake_take(in, QPC + 0x4a3, 5);		/* min_rnr_nak */
	fake_take(in, QPC + 0x4a8, 24);		/* next_rcv_psn */
	fake_expect(fake_take(in, QPC + 0x490, 3), o->access, "rre, rwe, rae");
	fake_expect(fake_take(in, QPC + 0x48c, 4), o->access & 1 ? 3 : 0,
	       "qpc.atomic_mode");
	take_path(o, in);
	fake_nothing_more(in, 272, "INIT2RTR_QP");
	return 0;
}

static int rtr2rts(struct fake_obj *o, uint8_t *in)
{
	struct snic_qp_conn conn = {
		.loopback = true, .dest_qpn = o->dest_qpn,
		.mtu = 128 << o->mtu, .max_rd_atomic = 16,
		.max_dest_rd_atomic = 16,
	};

	memcpy(o->rts, in, 272);
	fake_expect(fake_take(in, 0x80, 32), 0, "opt_param_mask");
	fake_take(in, QPC + 0x388, 3);		/* log_sra_max */
	fake_take(in, QPC + 0x3c8, 24);		/* next_send_psn */
	conn.retry_cnt = fake_take(in, QPC + 0x38d, 3);
	conn.rnr_retry = fake_take(in, QPC + 0x390, 3);
	conn.timeout = fake_take(in, ADS + 0x40, 5);
	fake_nothing_more(in, 272, "RTR2RTS_QP");
	if (o->dest_qpn == FAKE_BY_CM)
		return 0;
	return snic_qp_connect(fake.snic, o->number, &conn);
}

static int stop(struct fake_obj *o, unsigned int opcode)
{
	if (opcode == 0x507)
		return snic_qp_error(fake.snic, o->number);
	return snic_qp_reset(fake.snic, o->number);
}

/* opcode: in this state, into that one; 15: in any */
static const struct {
	unsigned int opcode, from, to;
	size_t in_len;
	int (*act)(struct fake_obj *o, uint8_t *in);
} steps[] = {
	{ 0x502, 0, 1, 272, rst2init },
	{ 0x503, 1, 2, 272, init2rtr },
	{ 0x504, 2, 3, 272, rtr2rts },
	{ 0x507, 15, 6, 16, NULL },
	{ 0x50a, 15, 0, 16, NULL },
};

static int fake_modify(void *obj, const void *in, size_t in_len, void *out,
		       size_t out_len)
{
	struct fake_obj *o = obj;
	uint8_t box[272];
	unsigned int opcode, i = 0;
	int r;

	assert_in_range(in_len, 16, 272);
	assert_int_equal(out_len, 16);
	memcpy(box, in, in_len);
	opcode = fake_take(box, 0, 16);
	fake_expect(fake_take(box, 0x48, 24), o->number, "qpn");
	if (refusing(opcode))
		return refuse(out, fake.status);
	if (fake_failing())
		return -ENOMEM;
	while (i < 5 && steps[i].opcode != opcode)
		i++;
	if (i == 5)
		fail_msg("0x%x does not change a queue pair's state", opcode);
	assert_int_equal(in_len, steps[i].in_len);
	if (!steps[i].act && fake.no_stop)
		return refuse(out, 0x10);
	if (steps[i].from != 15 && steps[i].from != o->state)
		return refuse(out, 0x10);
	r = steps[i].act ? steps[i].act(o, box) : stop(o, opcode);
	assert_int_equal(r, 0);
	o->state = steps[i].to;
	return 0;
}

/* ---- queries ---------------------------------------------------------------------- */

static int query_cq(struct fake_obj *o, uint8_t *out)
{
	uint32_t count;

	assert_int_equal(snic_cq_count(fake.snic, o->number, &count), 0);
	fake_put(out, CQC + 0x0e, 1, 1);
	fake_put(out, CQC + 0x168, 24, count);
	return 0;
}

static int query_qp(struct fake_obj *o, uint8_t *out)
{
	struct snic_qp_info info;

	assert_int_equal(snic_qp_query(fake.snic, o->number, &info), 0);
	fake_put(out, QPC, 4, info.state == SNIC_QP_ERR ? 6 : o->state);
	fake_put(out, QPC + 0x49e, 1, o->cd_slave_send);
	fake_put(out, QPC + 0x49f, 1, o->cd_master);
	fake_put(out, QPC + 0x5a0, 16, info.sq_executed +
		 (info.state == SNIC_QP_ERR ? fake.bbs_too_far : 0));
	fake_put(out, QPC + 0x5b0, 16, info.sq_limit);
	fake_put(out, QPC + 0x5c0, 32, info.rq_consumed);
	fake_put(out, QPC + 0x5e0, 32, be32toh(o->dbr->rcv));
	return 0;
}

static int query(void *obj, const void *in, void *out)
{
	struct fake_obj *o = obj;
	unsigned int opcode = fake_bits(in, 0, 16);

	fake_expect(fake_bits(in, 0x48, 24), o->number, "number");
	if (refusing(opcode))
		return refuse(out, fake.status);
	if (fake_failing())
		return -ENOMEM;
	fake_expect(opcode, o->kind == FAKE_CQ ? 0x402 : 0x50b, "query");
	return o->kind == FAKE_CQ ? query_cq(o, out) : query_qp(o, out);
}

static int query_hand_over(void *obj, const void *in, void *out)
{
	int r;

	pthread_mutex_lock(&handed.lock);
	handed.obj = obj;
	handed.in = in;
	handed.out = out;
	handed.waits = true;
	while (handed.waits && !handed.given_up)
		pthread_cond_wait(&handed.done, &handed.lock);
	r = handed.waits ? -EIO : handed.r;
	handed.waits = false;
	pthread_mutex_unlock(&handed.lock);
	return r;
}

static int fake_query(void *obj, const void *in, size_t in_len, void *out,
		      size_t out_len)
{
	if (!pthread_equal(pthread_self(), fake.main))
		return query_hand_over(obj, in, out);
	assert_int_equal(in_len, 16);
	assert_int_equal(out_len, 272);
	return query(obj, in, out);
}

void fake_serve(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (!fake.held && !poll(&p, 1, 0)) {
		pthread_mutex_lock(&handed.lock);
		if (handed.waits) {
			handed.r = query(handed.obj, handed.in, handed.out);
			handed.waits = false;
			pthread_cond_broadcast(&handed.done);
		}
		pthread_mutex_unlock(&handed.lock);
		sched_yield();
	}
}

void fake_give_up(void)
{
	pthread_mutex_lock(&handed.lock);
	handed.given_up = true;
	pthread_cond_broadcast(&handed.done);
	pthread_mutex_unlock(&handed.lock);
}

static bool any_qp(void)
{
	const struct fake_obj *o = fake.objs;

	while (o && o->kind != FAKE_QP)
		o = o->next;
	return o;
}

static int fake_destroy(void *obj)
{
	struct fake_obj **pos = &fake.objs, *o = obj;
	bool refused = fake.gone && o->kind == FAKE_MKEY;

	if ((o->kind == FAKE_QP || (o->kind == FAKE_CQ && any_qp())) &&
	    (fake.no_destroy || (fake.held && o->kind == FAKE_CQ)))
		return -EREMOTEIO;
	while (*pos != o)
		pos = &(*pos)->next;
	if (o->kind == FAKE_COUNTER)
		fake.counters--;
	else if (o->kind == FAKE_CQ)
		assert_int_equal(snic_cq_destroy(fake.snic, o->number), 0);
	else if (o->kind == FAKE_MKEY)
		assert_int_equal(snic_mkey_dereg(fake.snic, o->number), 0);
	else
		assert_int_equal(snic_qp_destroy(fake.snic, o->number), 0);
	*pos = o->next;
	fake_forget_entries(o);
	free(o);
	return refused ? -EIO : 0;
}

struct fake_obj *fake_qp(uint32_t qpn)
{
	struct fake_obj *o = fake.objs;

	while (o && (o->kind != FAKE_QP || o->number != qpn))
		o = o->next;
	assert_non_null(o);
	return o;
}

const struct wrc_mlx5_devx fake_devx = {
	.one_thread = true,
	.open = fake_open,
	.close = fake_close,
	.name = fake_name,
	.firmware = fake_firmware,
	.guid = fake_guid,
	.port = fake_port,
	.command = fake_command,
	.create = fake_create,
	.modify = fake_modify,
	.query = fake_query,
	.destroy = fake_destroy,
	.umem_reg = fake_umem_reg,
	.umem_dereg = fake_umem_dereg,
	.pd_alloc = fake_pd_alloc,
	.pd_free = fake_pd_free,
	.mr_reg = fake_mr_reg,
	.mr_dereg = fake_mr_dereg,
	.uar_alloc = fake_uar_alloc,
	.uar_free = fake_uar_free,
	.ring = fake_ring,
	.pause = fake_pause,
	.eqn = fake_eqn,
	.resolve = fake_resolve,
};
