// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The network side: ARP, ICMP echo, what is dropped and counted, and the switch
 * between ports.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include "bed/frame.h"
#include "bed/host.h"
#include "snic/net/net-priv.h"
#include "snic/net/pkt.h"

static const uint8_t broadcast[6] = { 255, 255, 255, 255, 255, 255 };

/* ---- frames ------------------------------------------------------------------ */

struct frame {
	uint8_t data[70000];
	size_t len;
};

static void eth(struct frame *f, const uint8_t *dst, uint8_t src, uint16_t type)
{
	memset(f, 0, 2048);
	frame_eth(f->data, dst, src, type);
	f->len = 14;
}

static const uint8_t *mac(uint8_t host)
{
	static uint8_t m[6] = { 2 };

	m[5] = host;
	return m;
}

static void arp(struct frame *f, uint16_t oper, uint8_t from, uint8_t to)
{
	static const uint8_t head[] = { 0, 1, 8, 0, 6, 4, 0 };
	__be32 spa = host_ip(from), tpa = host_ip(to);
	uint8_t *p = f->data + 14;

	eth(f, oper == 1 ? broadcast : mac(to), from, SNIC_ETHERTYPE_ARP);
	memcpy(p, head, sizeof(head));
	p[7] = oper;
	memcpy(p + 8, f->data + 6, 6);
	memcpy(p + 14, &spa, 4);
	memcpy(p + 24, &tpa, 4);
	f->len = 42;
}

/* An IPv4 packet with len bytes behind its header, to be filled in. */
static uint8_t *ip(struct frame *f, uint8_t from, uint8_t to, uint8_t proto,
		   size_t len)
{
	memset(f, 0, 2048);
	f->len = 34 + len;
	return frame_ip(f->data, from, to, proto, len);
}

static void fix_ip(struct frame *f)
{
	frame_put16(f->data + 24, 0);
	frame_put16(f->data + 24, frame_sum(f->data + 14, 20));
}

/* A RoCE packet to qpn with a payload of len bytes. */
static void roce(struct frame *f, uint8_t from, uint8_t to, uint32_t qpn,
		 size_t len)
{
	struct snic_pkt pkt = { .opcode = SNIC_OP_SEND_ONLY, .qpn = qpn,
				.pkey = 0xffff };
	uint8_t *bth = f->data + SNIC_NET_HLEN;

	memset(f, 0, 2048);
	snic_pkt_build(&pkt, bth);
	f->len = frame_roce(f->data, from, to, bth, 12 + len);
}

static void step(struct host *s)
{
	host_wait(s, 1000);
}

static void inject(struct host *s, const struct frame *f)
{
	link_inject(&s->port, f->data, f->len, 0);
	step(s);
}

static const struct link_frame *latest(struct link_port *p)
{
	assert_true(p->nr_sent > 0);
	return link_latest(p);
}

/* ---- ARP --------------------------------------------------------------------------- */

static void test_arp_reply(void **state)
{
	const struct link_frame *r;
	struct host s;
	struct frame f;

	host_open_plugged(&s, 2, 1);
	arp(&f, 1, 9, 2);
	inject(&s, &f);
	assert_int_equal(s.port.nr_sent, 1);
	r = latest(&s.port);
	assert_int_equal(r->len, 60);
	assert_memory_equal(r->data, mac(9), 6);
	assert_memory_equal(r->data + 6, mac(2), 6);
	assert_int_equal(r->data[21], 2);		/* reply */
	assert_memory_equal(r->data + 22, mac(2), 6);
	assert_memory_equal(r->data + 32, mac(9), 6);
	/* whom we answered, we know */
	assert_int_equal(snic_net_resolve(s.nic, host_ip(9)), 0);
	assert_int_equal(s.port.nr_sent, 1);

	arp(&f, 1, 9, 3);				/* not for us */
	inject(&s, &f);
	assert_int_equal(s.port.nr_sent, 1);
	f.len = 41;					/* cut off */
	inject(&s, &f);
	arp(&f, 3, 9, 2);				/* no such operation */
	inject(&s, &f);
	arp(&f, 1, 9, 2);
	f.data[18] = 8;					/* other lengths */
	inject(&s, &f);
	assert_int_equal(s.port.nr_sent, 1);
	assert_int_equal(host_stats(&s).rx_malformed, 3);
	host_close(&s);
}

static int send_to(struct host *s, uint8_t host)
{
	static uint8_t bth[12] = { SNIC_OP_SEND_ONLY };
	struct iovec iov = { bth, sizeof(bth) };

	return snic_net_send(s->nic, host_ip(host), 0xc000, &iov, 1);
}

static void test_arp_request(void **state)
{
	const struct link_frame *r;
	struct host s;
	struct frame f;
	int i;

	host_open_plugged(&s, 2, 1);
	assert_int_equal(snic_net_resolve(s.nic, host_ip(9)), -EAGAIN);
	r = latest(&s.port);
	assert_memory_equal(r->data, broadcast, 6);
	assert_int_equal(r->data[21], 1);
	/* some packets wait for the answer, no more */
	for (i = 0; i < SNIC_ARP_PENDING; i++)
		assert_int_equal(send_to(&s, 9), 0);
	assert_int_equal(send_to(&s, 9), -ENOBUFS);
	assert_int_equal(s.port.nr_sent, 1);
	arp(&f, 2, 9, 2);
	inject(&s, &f);
	assert_int_equal(s.port.nr_sent, 1 + SNIC_ARP_PENDING);
	assert_memory_equal(latest(&s.port)->data, mac(9), 6);
	assert_int_equal(snic_net_resolve(s.nic, host_ip(9)), 0);

	/* an old answer is asked for again, and used meanwhile */
	host_wait(&s, 70 * SECOND);
	step(&s);
	i = s.port.nr_sent;
	assert_int_equal(send_to(&s, 9), 0);
	assert_int_equal(s.port.nr_sent, i + 2);
	/* nobody answers any more */
	host_wait(&s, 7 * SECOND);
	assert_int_equal(host_stats(&s).arp_failed, 1);
	assert_int_equal(send_to(&s, 9), -EHOSTUNREACH);
	host_wait(&s, 2 * SECOND);
	assert_int_equal(send_to(&s, 9), 0);		/* asks again */
	host_close(&s);
}

static void test_arp_gives_up(void **state)
{
	struct host s;

	host_open_plugged(&s, 2, 1);
	assert_int_equal(send_to(&s, 9), 0);
	host_wait(&s, 10 * SECOND);
	assert_int_equal(s.port.nr_sent, SNIC_ARP_TRIES);
	assert_int_equal(host_stats(&s).tx_dropped, 1);
	assert_int_equal(host_stats(&s).arp_failed, 1);
	/* off the segment nobody is asked */
	assert_int_equal(snic_net_resolve(s.nic, htobe32(0x0b000001)),
			 -EHOSTUNREACH);
	assert_int_equal(snic_net_resolve(s.nic, htobe32(0x0a0000ff)),
			 -EAGAIN);
	assert_int_equal(snic_net_resolve(s.nic, 0), -EHOSTUNREACH);
	host_close(&s);
}

/* Where does the NIC send what is for host 9? To this one's MAC. */
static void expect_at(struct host *s, uint8_t host)
{
	uint8_t echo[64] = { 0 };
	struct iovec iov = { echo, 12 };

	assert_int_equal(snic_net_send(s->nic, host_ip(9), 0xc000, &iov, 1), 0);
	step(s);
	assert_memory_equal(latest(&s->port)->data, mac(host), 6);
}

/* As arp(), but with another station's MAC. */
static void arp_of(struct frame *f, uint16_t oper, uint8_t from, uint8_t as, uint8_t to)
{
	arp(f, oper, as, to);
	f->data[11] = from;
	f->data[14 + 8 + 5] = from;
}

/* An address is not taken from a station that answers, by no kind of packet. */
static void test_arp_contested(void **state)
{
	struct host s;
	struct frame f;
	unsigned int sent;

	host_open_plugged(&s, 2, 1);
	arp(&f, 1, 9, 2);
	inject(&s, &f);
	expect_at(&s, 9);
	sent = s.port.nr_sent;
	arp_of(&f, 2, 10, 9, 2);		/* 10 says it is 9 */
	inject(&s, &f);
	assert_int_equal(host_stats(&s).rx_spoofed, 1);
	assert_int_equal(s.port.nr_sent, sent + 1);
	assert_memory_equal(latest(&s.port)->data, mac(9), 6);	/* 9 is asked */
	roce(&f, 9, 2, 1, 256);			/* and by a message to QP1 */
	f.data[11] = 10;
	inject(&s, &f);
	assert_int_equal(host_stats(&s).rx_cm, 0);
	assert_int_equal(host_stats(&s).rx_spoofed, 2);
	expect_at(&s, 9);
	arp(&f, 2, 9, 2);			/* 9 answers */
	inject(&s, &f);
	s.vt->now += 5000 * MS;
	step(&s);
	expect_at(&s, 9);
	arp(&f, 2, 9, 2);			/* frame and message differ */
	f.data[11] = 10;
	inject(&s, &f);
	assert_int_equal(host_stats(&s).rx_spoofed, 3);
	expect_at(&s, 9);
	host_close(&s);
}

/* It is given to another one if the station does not answer. */
static void test_arp_moves(void **state)
{
	struct host s;
	struct frame f;
	unsigned int i;

	host_open_plugged(&s, 2, 1);
	arp(&f, 1, 9, 2);
	inject(&s, &f);
	arp_of(&f, 1, 10, 9, 2);
	inject(&s, &f);
	expect_at(&s, 9);
	for (i = 0; i < 15; i++) {
		s.vt->now += 100 * MS;
		step(&s);
	}
	expect_at(&s, 10);
	host_close(&s);
}

/* The address of a station that was silent for long is its own while it is asked again,
 * whoever answers first. */
static void test_arp_probed(void **state)
{
	struct host s;
	struct frame f;
	unsigned int sent;
	__be32 ip;

	host_open_plugged(&s, 2, 1);
	arp(&f, 1, 9, 2);
	inject(&s, &f);
	s.vt->now += 61 * SECOND;
	step(&s);
	sent = s.port.nr_sent;
	expect_at(&s, 9);
	assert_int_equal(s.port.nr_sent, sent + 2);	/* a question, too */
	arp_of(&f, 2, 10, 9, 2);
	inject(&s, &f);
	expect_at(&s, 9);
	assert_true(snic_arp_ip_of(&snic_net_of(s.nic)->arp, mac(9), &ip));
	assert_int_equal(ip, host_ip(9));
	arp(&f, 2, 9, 2);
	inject(&s, &f);
	s.vt->now += 5000 * MS;
	step(&s);
	expect_at(&s, 9);
	host_close(&s);
}

/* A message to QP1 from one of many addresses, by station 10, or by as many stations. */
static void hear_one_of(struct host *s, unsigned int nr, bool by_many)
{
	struct frame f;

	roce(&f, 10, 2, 1, 256);
	f.data[27] = 1;
	frame_put16(f.data + 28, nr);
	frame_fix(f.data, f.len);
	if (by_many)
		frame_put16(f.data + 8, nr);
	inject(s, &f);
}

/* Nobody takes the address of a station that was heard just now, by naming more addresses
 * than there are entries. */
static void expect_kept(bool by_many)
{
	struct host s;
	struct frame f;
	unsigned int i;

	host_open_plugged(&s, 2, 1);
	arp(&f, 1, 9, 2);
	inject(&s, &f);
	for (i = 0; i < 2 * SNIC_ARP_ENTRIES; i++)
		hear_one_of(&s, i, by_many);
	roce(&f, 9, 2, 1, 256);
	f.data[11] = 10;
	inject(&s, &f);
	expect_at(&s, 9);
	assert_int_equal(host_stats(&s).rx_no_place,
			 by_many ? SNIC_ARP_ENTRIES + 1 : 3 * SNIC_ARP_ENTRIES / 2 + 1);
	/* Another station still gets an entry, if they all are of one MAC. */
	assert_int_equal(snic_net_resolve(s.nic, host_ip(8)),
			 by_many ? -EHOSTUNREACH : -EAGAIN);
	arp(&f, 1, 7, 2);
	inject(&s, &f);
	if (!by_many)
		assert_int_equal(snic_net_resolve(s.nic, host_ip(7)), 0);
	/* When they are silent, they leave their entries to others. */
	s.vt->now += 10 * SECOND;
	step(&s);
	assert_int_not_equal(snic_net_resolve(s.nic, host_ip(6)), -EHOSTUNREACH);
	host_close(&s);
}

static void test_arp_kept_by_owner(void **state)
{
	expect_kept(false);
	expect_kept(true);
}

/* More addresses than entries: the oldest go, nothing breaks. */
static void test_arp_table_full(void **state)
{
	struct snic_config cfg = { .mac = { 2, 0, 0, 0, 0, 2 },
				   .ip = htobe32(0x0a000002), .prefix_len = 8,
				   .mtu = 1500 };
	static uint8_t bth[12] = { SNIC_OP_SEND_ONLY };
	struct iovec iov = { bth, sizeof(bth) };
	struct host s;
	unsigned int i;

	host_init(&s, &(struct host_conf){
		.nic = cfg, .arena = 4096, .plugged = true,
	});
	for (i = 0; i < 3 * SNIC_ARP_ENTRIES; i++)
		snic_net_send(s.nic, htobe32(0x0a010000 + i), 0xc000, &iov, 1);
	host_wait(&s, 20 * SECOND);
	assert_int_equal(host_stats(&s).arp_failed, SNIC_ARP_ENTRIES);
	assert_int_equal(host_stats(&s).tx_dropped, 3 * SNIC_ARP_ENTRIES);
	host_close(&s);
}

/* ---- IPv4, ICMP, UDP ------------------------------------------------------------------- */

static void test_echo(void **state)
{
	static const size_t lens[] = { 8, 9, 64, 1480 };
	const struct link_frame *r;
	struct host s;
	struct frame f;
	uint8_t *p;
	size_t i;

	host_open_plugged(&s, 2, 1);
	for (i = 0; i < 4; i++) {
		p = ip(&f, 9, 2, 1, lens[i]);
		p[0] = 8;
		memset(p + 4, 0x30 + i, lens[i] - 4);
		frame_put16(p + 2, frame_sum(p, lens[i]));
		inject(&s, &f);
		assert_int_equal(s.port.nr_sent, i + 1);
		r = latest(&s.port);
		assert_int_equal(r->len, 34 + lens[i]);
		assert_memory_equal(r->data, mac(9), 6);
		assert_int_equal(frame_sum(r->data + 14, 20), 0);
		assert_int_equal(frame_sum(r->data + 34, lens[i]), 0);
		assert_int_equal(r->data[34], 0);
		assert_memory_equal(r->data + 38, p + 4, lens[i] - 4);
	}
	p[5]++;						/* bad checksum */
	inject(&s, &f);
	p = ip(&f, 9, 2, 1, 7);				/* too short */
	inject(&s, &f);
	p = ip(&f, 9, 2, 1, 8);				/* a reply */
	frame_put16(p + 2, 0xffff);
	inject(&s, &f);
	assert_int_equal(s.port.nr_sent, 4);
	assert_int_equal(host_stats(&s).rx_icmp, 5);
	assert_int_equal(host_stats(&s).rx_bad_checksum, 1);
	assert_int_equal(host_stats(&s).rx_malformed, 1);
	host_close(&s);
}

/* A station whose counters are all 0 but one. */
static void expect_only(struct host *s, const char *name, uint64_t value)
{
	struct snic_stats st = host_stats(s);

#define CHECK(c)							\
	if (strcmp(#c, "rx_frames") && strcmp(#c, "rx_bytes"))		\
		assert_int_equal(st.c, strcmp(#c, name) ? 0 : value);
	SNIC_COUNTERS(CHECK)
#undef CHECK
}

#define DROP(counter, ...) do {						\
	struct host s_;						\
	struct frame f;							\
	host_open_plugged(&s_, 2, 1);					\
	__VA_ARGS__;							\
	inject(&s_, &f);						\
	expect_only(&s_, counter, 1);					\
	assert_int_equal(s_.port.nr_sent, 0);				\
	host_close(&s_);						\
} while (0)

static void test_drops(void **state)
{
	DROP("rx_no_qp", roce(&f, 9, 2, 0x123, 64));
	DROP("rx_no_qp", roce(&f, 9, 2, 0x123, 0));
	DROP("rx_malformed", roce(&f, 9, 2, 0x123, 64), f.len = 13);
	DROP("rx_malformed", roce(&f, 9, 2, 0x123, 64), f.len = 33);
	DROP("rx_malformed", roce(&f, 9, 2, 0x123, 64), f.len--);
	DROP("rx_no_qp", roce(&f, 9, 2, 0x123, 64), f.len += 6);
	DROP("rx_bad_icrc", roce(&f, 9, 2, 0x123, 64), f.data[60] ^= 1);
	DROP("rx_bad_icrc", roce(&f, 9, 2, 0x123, 64), f.data[f.len - 1] ^= 1);
	DROP("rx_bad_checksum", roce(&f, 9, 2, 0x123, 64), f.data[18]++);
	DROP("rx_not_for_us", roce(&f, 9, 2, 0x123, 64), f.data[33]++,
	     fix_ip(&f));
	DROP("rx_not_for_us", roce(&f, 9, 3, 0x123, 64));	/* MAC */
	DROP("rx_fragments", roce(&f, 9, 2, 0x123, 64), f.data[20] = 0x20,
	     fix_ip(&f));
	DROP("rx_fragments", roce(&f, 9, 2, 0x123, 64), f.data[21] = 1,
	     fix_ip(&f));
	DROP("rx_malformed", roce(&f, 9, 2, 0x123, 64), f.data[14] = 0x46,
	     fix_ip(&f));
	DROP("rx_malformed", roce(&f, 9, 2, 0x123, 64), f.data[14] = 0x65);
	DROP("rx_malformed", roce(&f, 9, 2, 0x123, 64), frame_put16(f.data + 16, 19),
	     fix_ip(&f));
	DROP("rx_malformed", roce(&f, 9, 2, 0x123, 64), f.data[26] = 224,
	     fix_ip(&f));
	DROP("rx_other", roce(&f, 9, 2, 0x123, 64), f.data[37]++);	/* port */
	DROP("rx_malformed", roce(&f, 9, 2, 0x123, 64), frame_put16(f.data + 38, 7));
	DROP("rx_malformed", roce(&f, 9, 2, 0x123, 64), frame_put16(f.data + 38, 23));
	DROP("rx_malformed", roce(&f, 9, 2, 0x123, 64),
	     frame_put16(f.data + 38, 0xffff));
	DROP("rx_malformed", ip(&f, 9, 2, 17, 7));
	DROP("rx_other", ip(&f, 9, 2, 6, 20));			/* TCP */
	DROP("rx_other", eth(&f, mac(2), 9, 0x86dd), f.len = 60);
	DROP("rx_malformed", roce(&f, 2, 2, 0x123, 64));	/* a loop */
	DROP("rx_malformed", roce(&f, 9, 2, 0x123, 64), f.data[6] = 3);
}

static void test_huge(void **state)
{
	struct snic_config cfg = { .mac = { 2, 0, 0, 0, 0, 2 },
				   .ip = host_ip(2), .prefix_len = 24,
				   .mtu = 65535 };
	struct host s;
	struct frame *f = malloc(sizeof(*f));

	host_init(&s, &(struct host_conf){
		.nic = cfg, .arena = 4096, .plugged = true,
	});
	roce(f, 9, 2, 0x123, 65535 - 20 - 8 - 12 - 4);
	assert_int_equal(f->len, 65535 + 14);
	inject(&s, f);
	expect_only(&s, "rx_no_qp", 1);
	host_close(&s);
	free(f);
}

/* What we send is what Linux expects of a RoCEv2 packet. */
static void test_sent_packet(void **state)
{
	uint8_t bth[12] = { SNIC_OP_SEND_ONLY }, big[1500];
	struct iovec iov[2] = { { bth, 12 }, { big, 100 } };
	const struct link_frame *r;
	struct host s;
	struct frame f;
	struct iovec out;

	memset(big, 0x42, sizeof(big));
	host_open_plugged(&s, 2, 1);
	arp(&f, 1, 9, 2);
	inject(&s, &f);
	assert_int_equal(snic_net_send(s.nic, host_ip(9), 0xc123, iov, 2), 0);
	r = latest(&s.port);
	assert_int_equal(r->len, 42 + 112 + 4);
	assert_int_equal(r->data[14], 0x45);
	assert_int_equal(r->data[15], 0);		/* TOS */
	assert_int_equal(r->data[20] << 8 | r->data[21], 0x4000);	/* DF */
	assert_int_equal(r->data[22], 64);		/* TTL */
	assert_int_equal(frame_sum(r->data + 14, 20), 0);
	assert_int_equal(r->data[34] << 8 | r->data[35], 0xc123);
	assert_int_equal(r->data[36] << 8 | r->data[37], 4791);
	assert_int_equal(r->data[38] << 8 | r->data[39], 8 + 112 + 4);
	assert_int_equal(r->data[40] | r->data[41], 0);	/* no UDP checksum */
	out = (struct iovec) { (void *)(r->data + 42), 112 };
	assert_int_equal(snic_icrc_get(r->data + r->len - 4),
			 snic_icrc(r->data + 14, r->data + 34, &out, 1));
	iov[1].iov_len = 1500 - 28 - 12 - 4;
	assert_int_equal(snic_net_send(s.nic, host_ip(9), 0xc123, iov, 2), 0);
	iov[1].iov_len++;
	assert_int_equal(snic_net_send(s.nic, host_ip(9), 0xc123, iov, 2),
			 -EMSGSIZE);
	assert_int_equal(snic_net_send(s.nic, host_ip(9), 0xc123, iov, 0),
			 -EINVAL);
	host_close(&s);
}

static void test_path_mtu(void **state)
{
	static const struct { uint32_t ip; uint16_t ib; } mtus[] = {
		{ 576, 256 }, { 600, 512 }, { 1500, 1024 }, { 4095, 2048 },
		{ 4170, 2048 }, { 4171, 4096 }, { 65535, 4096 },
	};
	struct snic_config cfg = { .ip = host_ip(2), .prefix_len = 24 };
	struct snic *nic;
	unsigned int i;

	for (i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		cfg.mtu = mtus[i].ip;
		assert_int_equal(snic_new(&cfg, &nic), 0);
		assert_int_equal(snic_net_path_mtu(nic), mtus[i].ib);
		snic_free(nic);
	}
}

/* ---- switch ------------------------------------------------------------------------------ */

#define NR_PORTS	3

struct hub {
	struct host s;
	struct link_port more[NR_PORTS - 1];
	struct link_port *ports[NR_PORTS];
};

static void hub_open(struct hub *h)
{
	int i;

	host_open_plugged(&h->s, 2, 1);
	h->ports[0] = &h->s.port;
	for (i = 1; i < NR_PORTS; i++) {
		h->ports[i] = &h->more[i - 1];
		link_port_init(h->ports[i], h->s.vt);
		assert_int_equal(snic_port_add(h->s.nic, &h->ports[i]->port), 0);
	}
}

static void hub_close(struct hub *h)
{
	int i;

	for (i = 1; i < NR_PORTS; i++)
		link_port_fini(h->ports[i]);
	host_close(&h->s);
}

/* After this frame came in at a port, the ports have sent so many in all. */
static void hub_expect(struct hub *h, int port, const struct frame *f, int p0,
		       int p1, int p2)
{
	link_inject(h->ports[port], f->data, f->len, 0);
	step(&h->s);
	assert_int_equal(h->ports[0]->nr_sent, p0);
	assert_int_equal(h->ports[1]->nr_sent, p1);
	assert_int_equal(h->ports[2]->nr_sent, p2);
}

static void test_switch(void **state)
{
	const struct link_frame *r;
	struct frame f;
	struct hub h;

	hub_open(&h);
	arp(&f, 1, 10, 11);		/* broadcast at 0: to 1 and 2 */
	hub_expect(&h, 0, &f, 0, 1, 1);
	arp(&f, 2, 11, 10);		/* 11 is at 1, 10 is known at 0 */
	hub_expect(&h, 1, &f, 1, 1, 1);
	r = latest(h.ports[0]);
	assert_int_equal(r->len, f.len);
	assert_memory_equal(r->data, f.data, f.len);
	roce(&f, 10, 11, 5, 1000);	/* now 11 is known as well */
	hub_expect(&h, 0, &f, 1, 2, 1);
	roce(&f, 11, 12, 5, 1000);	/* unknown: to all others */
	hub_expect(&h, 1, &f, 2, 2, 2);
	roce(&f, 13, 10, 5, 1000);	/* already on its side */
	hub_expect(&h, 0, &f, 2, 2, 2);
	arp(&f, 1, 11, 2);		/* for us: answered where it came from */
	hub_expect(&h, 1, &f, 3, 3, 3);
	roce(&f, 11, 2, 5, 100);	/* for us alone */
	hub_expect(&h, 1, &f, 3, 3, 3);
	hub_close(&h);
}

/* Whoever sends with another station's address is dropped, until that one is silent. */
static void test_station_moves(void **state)
{
	struct frame f;
	struct hub h;

	hub_open(&h);
	arp(&f, 1, 10, 12);
	hub_expect(&h, 0, &f, 0, 1, 1);
	arp(&f, 1, 11, 12);
	hub_expect(&h, 1, &f, 1, 1, 2);
	roce(&f, 11, 10, 5, 100);		/* from port 2 */
	hub_expect(&h, 2, &f, 1, 1, 2);
	assert_int_equal(host_stats(&h.s).rx_spoofed, 1);
	roce(&f, 10, 11, 5, 100);
	hub_expect(&h, 0, &f, 1, 2, 2);
	h.s.vt->now += 11000 * MS;			/* it has moved there */
	roce(&f, 11, 10, 5, 100);
	hub_expect(&h, 2, &f, 2, 2, 2);
	roce(&f, 10, 11, 5, 100);
	hub_expect(&h, 0, &f, 2, 2, 3);
	assert_int_equal(host_stats(&h.s).rx_spoofed, 1);
	hub_close(&h);
}

/* The NIC's own address and one that it knows to be elsewhere are claimed by nobody
 * before other stations, which would believe it. */
static void test_arp_not_forwarded(void **state)
{
	struct frame f;
	struct hub h;

	hub_open(&h);
	arp(&f, 1, 10, 2);		/* to all, and answered */
	hub_expect(&h, 0, &f, 1, 1, 1);
	arp_of(&f, 1, 12, 2, 11);	/* 12 says it is this station: to all */
	hub_expect(&h, 2, &f, 1, 1, 1);
	arp(&f, 1, 11, 12);
	hub_expect(&h, 1, &f, 2, 1, 2);
	arp_of(&f, 2, 12, 2, 11);	/* to 11 */
	hub_expect(&h, 2, &f, 2, 1, 2);
	assert_int_equal(host_stats(&h.s).rx_spoofed, 2);
	arp_of(&f, 1, 12, 10, 11);	/* or that it is 10, who is asked */
	hub_expect(&h, 2, &f, 3, 1, 2);
	arp(&f, 2, 10, 2);
	hub_expect(&h, 0, &f, 3, 1, 2);
	arp_of(&f, 2, 12, 10, 11);
	hub_expect(&h, 2, &f, 3, 1, 2);
	assert_int_equal(host_stats(&h.s).rx_spoofed, 4);
	arp(&f, 2, 12, 11);
	f.data[14 + 8 + 5] = 13;	/* frame and message differ */
	hub_expect(&h, 2, &f, 3, 1, 2);
	assert_int_equal(host_stats(&h.s).rx_spoofed, 5);
	arp(&f, 2, 12, 11);
	hub_expect(&h, 2, &f, 3, 2, 2);
	hub_close(&h);
}

/* Two ports send with so many addresses: a station at the third one is found. */
static void test_port_has_its_share(void **state)
{
	struct frame f;
	struct hub h;
	int i, sent;

	hub_open(&h);
	arp(&f, 1, 10, 12);
	hub_expect(&h, 0, &f, 0, 1, 1);
	for (i = 0; i < 20000; i++) {
		eth(&f, mac(2), 0, 0x9000);
		frame_put16(f.data + 8, i);
		f.len = 60;
		link_inject(h.ports[1 + i % 2], f.data, f.len, 0);
		if (i % 100 == 0)
			step(&h.s);
	}
	step(&h.s);
	sent = h.ports[1]->nr_sent;
	roce(&f, 11, 10, 5, 100);
	hub_expect(&h, 2, &f, 1, sent, 1);
	arp(&f, 1, 13, 2);			/* new, and it has a place as well */
	hub_expect(&h, 0, &f, 2, sent + 1, 2);
	roce(&f, 11, 13, 5, 100);
	hub_expect(&h, 2, &f, 3, sent + 1, 2);
	hub_close(&h);
}

static void test_port_fails(void **state)
{
	struct frame f;
	struct hub h;

	hub_open(&h);
	h.ports[1]->broken = true;
	arp(&f, 1, 10, 2);
	hub_expect(&h, 0, &f, 1, 0, 1);
	assert_int_equal(host_stats(&h.s).port_errors, 1);
	assert_int_equal(host_stats(&h.s).tx_dropped, 1);
	step(&h.s);
	assert_int_equal(host_stats(&h.s).port_errors, 1);
	h.ports[1]->broken = false;	/* it comes back */
	arp(&f, 1, 11, 2);
	hub_expect(&h, 1, &f, 2, 1, 2);
	hub_close(&h);
}

/* Thousands of stations: the table forgets some, and floods for them. */
static void test_switch_full(void **state)
{
	struct frame f;
	struct hub h;
	int i;

	hub_open(&h);
	for (i = 0; i < 20000; i++) {
		eth(&f, mac(2), 0, 0x9000);
		frame_put16(f.data + 8, i);
		f.len = 60;
		link_inject(h.ports[i % NR_PORTS], f.data, f.len, 0);
		if (i % 100 == 0)
			step(&h.s);
	}
	step(&h.s);
	assert_int_equal(host_stats(&h.s).rx_other, 20000);
	arp(&f, 1, 10, 2);
	link_inject(h.ports[0], f.data, f.len, 0);
	step(&h.s);
	assert_memory_equal(latest(h.ports[0])->data, mac(10), 6);
	hub_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arp_reply),
		cmocka_unit_test(test_arp_request),
		cmocka_unit_test(test_arp_gives_up),
		cmocka_unit_test(test_arp_contested),
		cmocka_unit_test(test_arp_moves),
		cmocka_unit_test(test_arp_probed),
		cmocka_unit_test(test_arp_kept_by_owner),
		cmocka_unit_test(test_arp_table_full),
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_drops),
		cmocka_unit_test(test_huge),
		cmocka_unit_test(test_sent_packet),
		cmocka_unit_test(test_path_mtu),
		cmocka_unit_test(test_switch),
		cmocka_unit_test(test_station_moves),
		cmocka_unit_test(test_arp_not_forwarded),
		cmocka_unit_test(test_port_has_its_share),
		cmocka_unit_test(test_port_fails),
		cmocka_unit_test(test_switch_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
