/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The wire as bytes.  The header's static assertions pin offsets; these tests
 * pin what a foreign implementation would see: whole messages, byte by byte.
 */
#include <odrp/wire.h>	/* first: it must not need anything before it */

#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void assert_bytes(const void *got, size_t len, const char *want_hex)
{
	const uint8_t *b = got;
	char hex[512];
	size_t i;

	assert_true(len * 2 < sizeof(hex));
	for (i = 0; i < len; i++) {
		hex[2 * i] = "0123456789abcdef"[b[i] >> 4];
		hex[2 * i + 1] = "0123456789abcdef"[b[i] & 15];
	}
	hex[2 * len] = '\0';
	assert_string_equal(hex, want_hex);
}

static void test_hello_bytes(void **state)
{
	const struct odrp_wire_hello hello = {
		.magic = htobe32(ODRP_WIRE_MAGIC),
		.version = htobe16(ODRP_WIRE_VERSION),
		.role = ODRP_WIRE_IO,
		.chain = ODRP_WIRE_UNMAPPED_STORE,
		.queue = htobe16(0x0102),
		.depth = htobe16(0x0304),
		.features = htobe32(0x05060708),
		.session = htobe64(0x1112131415161718),
		.token = htobe64(0x2122232425262728),
		.nr_slots = htobe64(0x3132333435363738),
		.page_shift = ODRP_WIRE_PAGE_SHIFT,
	};

	assert_bytes(&hello, sizeof(hello),
		     "4f445250" "0003" "02" "02" "0102" "0304" "05060708"
		     "1112131415161718" "2122232425262728" "3132333435363738"
		     "0c" "000000000000000000000000000000");
}

static void test_admin_accept_bytes(void **state)
{
	const struct odrp_wire_admin_accept a = {
		.magic = htobe32(ODRP_WIRE_MAGIC),
		.version = htobe16(ODRP_WIRE_VERSION),
		.max_queues = htobe16(0x0102),
		.depth = htobe16(0x0304),
		.features = htobe32(0x05060708),
		.session = htobe64(0x1112131415161718),
		.token = htobe64(0x2122232425262728),
		.nr_slots = htobe64(0x3132333435363738),
		.beat_raddr = htobe64(0x4142434445464748),
		.beat_rkey = htobe32(0x51525354),
		.beat_ms = htobe32(0x61626364),
		.dead_ms = htobe32(0x71727374),
		.tt_rkey = htobe32(0x75767778),
		.lease = htobe64(0x8182838485868788),
		.keys_rkey = htobe32(0x91929394),
		.dead_ms_max = htobe32(0x95969798),
	};

	assert_bytes(&a, sizeof(a),
		     "4f445250" "0003" "0102" "0304" "0000" "05060708"
		     "1112131415161718" "2122232425262728" "3132333435363738"
		     "4142434445464748" "51525354" "61626364" "71727374"
		     "75767778" "8182838485868788"
		     "91929394" "95969798" "00000000000000000000000000000000");
}

static void test_io_accept_bytes(void **state)
{
	const struct odrp_wire_io_accept a = {
		.magic = htobe32(ODRP_WIRE_MAGIC),
		.version = htobe16(ODRP_WIRE_VERSION),
		.chain = ODRP_WIRE_INVALIDATE,
		.queue = htobe16(0x0102),
		.depth = htobe16(0x0304),
	};

	assert_bytes(&a, sizeof(a), "4f445250" "0003" "03" "00" "0102" "0304" "00000000");
}

static void test_request_bytes(void **state)
{
	const struct odrp_wire_req req = {
		.tt_addr = htobe64(0x0102030405060708),
		.id = htobe32(0x11121314),
		.raddr_hi = htobe32(0x21222324),
		.raddr_lo = htobe32(0x25262728),
		.rkey = htobe32(0x31323334),
	};

	assert_bytes(&req, sizeof(req), "0102030405060708" "11121314"
		     "2122232425262728" "31323334");
}

/* The chain scatters id, address and key into one WQE in one piece. */
static void test_request_halves_make_an_address(void **state)
{
	struct odrp_wire_req req = { 0 };
	uint64_t raddr = htobe64(0x1122334455667788);

	memcpy(&req.raddr_hi, &raddr, sizeof(raddr));
	assert_int_equal(be32toh(req.raddr_hi), 0x11223344);
	assert_int_equal(be32toh(req.raddr_lo), 0x55667788);
}

static void test_beat_and_grant_bytes(void **state)
{
	const struct odrp_wire_beat beat = {
		.beat = htobe64(1), .used = htobe64(2), .want = htobe64(3),
		.lease_held = htobe64(4), .ctl_raddr = htobe64(5),
		.ctl_rkey = htobe32(6), .flags = htobe32(7),
		.mac = { 8, [15] = 9 }, .dead_ms = htobe32(0x0a0b0c0d),
		.kept = htobe64(0x1112131415161718),
	};
	const struct odrp_wire_signed_grant grant = {
		.grant = {
			.epoch = htobe64(1), .lease = htobe64(2),
			.flags = htobe32(ODRP_WIRE_GRANT_DRAIN),
		},
		.mac = { 8, [15] = 9 },
	};

	assert_bytes(&beat, sizeof(beat),
		     "0000000000000001" "0000000000000002" "0000000000000003"
		     "0000000000000004" "0000000000000005" "00000006"
		     "00000007" "08000000000000000000000000000009" "0a0b0c0d"
		     "00000000" "1112131415161718"
		     "0000000000000000000000000000000000000000000000000000000000000000"
		     "00000000000000000000000000000000");
	assert_int_equal(odrp_wire_beat_len(0), 64);
	assert_int_equal(odrp_wire_beat_len(ODRP_WIRE_F_LONG_BEAT), 128);
	assert_bytes(&grant, sizeof(grant), "0000000000000001"
		     "0000000000000002" "00000001" "000000000000000000000000"
		     "08000000000000000000000000000009");
}

static void test_reject_bytes(void **state)
{
	const struct odrp_wire_reject rej = {
		.magic = htobe32(ODRP_WIRE_MAGIC),
		.version = htobe16(ODRP_WIRE_VERSION),
		.status = htobe16(ODRP_WIRE_E_NOMEM),
		.detail = htobe64(0x0102030405060708),
	};

	assert_bytes(&rej, sizeof(rej),
		     "4f445250" "0003" "0006" "0102030405060708");
}

/* All private data fits the message of the RDMA CM that carries it. */
static void test_private_data_fits(void **state)
{
	assert_true(sizeof(struct odrp_wire_hello) <= ODRP_WIRE_REQ_PRIV_MAX);
	assert_true(sizeof(struct odrp_wire_admin_accept) <=
		    ODRP_WIRE_REP_PRIV_MAX);
	assert_true(sizeof(struct odrp_wire_reject) <= ODRP_WIRE_REJ_PRIV_MAX);
}

/* Numbers that are on the wire: another one is another version. */
static void test_numbers(void **state)
{
	assert_int_equal(ODRP_WIRE_VERSION, 3);
	assert_int_equal(ODRP_WIRE_PORT, 7489);
	assert_int_equal(ODRP_WIRE_PAGE_SIZE, 1 << ODRP_WIRE_PAGE_SHIFT);
	assert_int_equal(ODRP_WIRE_ADMIN, 1);
	assert_int_equal(ODRP_WIRE_IO, 2);
	assert_int_equal(ODRP_WIRE_LOAD, 0);
	assert_int_equal(ODRP_WIRE_MAPPED_STORE, 1);
	assert_int_equal(ODRP_WIRE_UNMAPPED_STORE, 2);
	assert_int_equal(ODRP_WIRE_INVALIDATE, 3);
	assert_int_equal(ODRP_WIRE_NR_CHAINS, 4);
	assert_int_equal(ODRP_WIRE_F_KEYED, 1);
	assert_int_equal(ODRP_WIRE_F_SIGNED, 2);
	assert_int_equal(ODRP_WIRE_NEXT_ANSWERED, 0);
	assert_int_equal(ODRP_WIRE_NEXT_QUIET, 1);
	assert_int_equal(ODRP_WIRE_REQ_LEN, 25);
	assert_int_equal(ODRP_WIRE_END_LEN, 4);
	assert_int_equal(ODRP_WIRE_E_INTERNAL, 8);
	assert_int_equal(ODRP_WIRE_E_AUTH, 9);
	assert_int_equal(ODRP_WIRE_E_NO_SWAP, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello_bytes),
		cmocka_unit_test(test_admin_accept_bytes),
		cmocka_unit_test(test_io_accept_bytes),
		cmocka_unit_test(test_request_bytes),
		cmocka_unit_test(test_request_halves_make_an_address),
		cmocka_unit_test(test_beat_and_grant_bytes),
		cmocka_unit_test(test_reject_bytes),
		cmocka_unit_test(test_private_data_fits),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
