// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Accepts: each field that is wrong is refused by its name, and of any others what
 * is taken keeps what the rest of the module relies on.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <asm/byteorder.h>
#include "../../../kmod/accept.h"

#define FUZZ	300000

static u32 rnd(u64 *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 33;
}

static const struct odrp_admin_terms new_session = {
	.queues = 4, .depth = 64, .nr_slots = 1000,
};

static const struct odrp_admin_terms old_session = {
	.queues = 3, .depth = 32, .nr_slots = 1000, .session = 0x77,
};

/* Their CNode offers to be keyed; with this one that was granted before. */
static const struct odrp_admin_terms may_be_keyed = {
	.queues = 4, .depth = 64, .nr_slots = 1000,
	.features = ODRP_WIRE_F_KEYED,
};

static const struct odrp_admin_terms is_keyed = {
	.queues = 3, .depth = 32, .nr_slots = 1000, .session = 0x77,
	.features = ODRP_WIRE_F_KEYED,
};

static struct odrp_wire_admin_accept good_admin(void)
{
	return (struct odrp_wire_admin_accept) {
		.magic = cpu_to_be32(ODRP_WIRE_MAGIC),
		.version = cpu_to_be16(ODRP_WIRE_VERSION),
		.max_queues = cpu_to_be16(3), .depth = cpu_to_be16(32),
		.session = cpu_to_be64(0x77), .token = cpu_to_be64(0x88),
		.nr_slots = cpu_to_be64(1000), .beat_ms = cpu_to_be32(1000),
		.dead_ms = cpu_to_be32(10000),
	};
}

/* Checked where its memory ends with it. */
static int admin(const struct odrp_wire_admin_accept *a, size_t len,
		 const struct odrp_admin_terms *t, struct odrp_bad *bad)
{
	void *p = malloc(len + 1);
	int err;

	memcpy(p, a, len);
	p = realloc(p, len ? len : 1);
	*bad = (struct odrp_bad) { .what = "not said" };
	err = odrp_accept_admin(p, len, t, bad);
	free(p);
	return err;
}

static void refused(const struct odrp_wire_admin_accept *a,
		    const struct odrp_admin_terms *t, const char *what,
		    u64 is)
{
	struct odrp_bad bad;

	assert_int_equal(admin(a, sizeof(*a), t, &bad), -EPROTO);
	assert_string_equal(bad.what, what);
	assert_int_equal(bad.is, is);
}

#define REFUSED(terms, field, value, what, is) do {			\
	struct odrp_wire_admin_accept other = good_admin();		\
									\
	other.field = value;						\
	refused(&other, terms, what, is);				\
} while (0)

static void test_admin(void **state)
{
	struct odrp_wire_admin_accept a = good_admin();
	struct odrp_bad bad;
	size_t len;

	assert_int_equal(admin(&a, sizeof(a), &new_session, &bad), 0);
	assert_int_equal(admin(&a, sizeof(a), &old_session, &bad), 0);
	for (len = 0; len < sizeof(a); len++) {
		assert_int_equal(admin(&a, len, &new_session, &bad), -EPROTO);
		assert_string_equal(bad.what, "length");
	}
	REFUSED(&new_session, magic, 0, "magic", 0);
	REFUSED(&new_session, version, cpu_to_be16(2), "version", 2);
	REFUSED(&new_session, max_queues, 0, "max_queues", 0);
	REFUSED(&new_session, max_queues, cpu_to_be16(5), "max_queues", 5);
	REFUSED(&new_session, depth, 0, "depth", 0);
	REFUSED(&new_session, depth, cpu_to_be16(65), "depth", 65);
	REFUSED(&new_session, resv0, 9, "a reserved field", 1);
	REFUSED(&new_session, features, cpu_to_be32(8), "features", 8);
	REFUSED(&new_session, features, cpu_to_be32(ODRP_WIRE_F_LONG_BEAT), "features", 4);
	REFUSED(&new_session, nr_slots, cpu_to_be64(999), "nr_slots", 999);
	REFUSED(&new_session, beat_ms, cpu_to_be32(9), "beat_ms", 9);
	REFUSED(&new_session, dead_ms, cpu_to_be32(1000), "beat_ms", 1000);
	REFUSED(&new_session, resv2[15], 1, "a reserved field", 1);
}

/* What was not offered is not taken, and rkeys are where they are granted. */
static void test_admin_keyed(void **state)
{
	const u32 keyed = cpu_to_be32(ODRP_WIRE_F_KEYED);
	struct odrp_wire_admin_accept a = good_admin();
	struct odrp_bad bad;

	assert_int_equal(admin(&a, sizeof(a), &may_be_keyed, &bad), 0);
	REFUSED(&new_session, features, keyed, "features", 1);
	REFUSED(&new_session, keys_rkey, cpu_to_be32(7), "keys_rkey", 7);
	REFUSED(&may_be_keyed, keys_rkey, cpu_to_be32(7), "keys_rkey", 7);
	REFUSED(&may_be_keyed, features, keyed, "keys_rkey", 0);
	REFUSED(&may_be_keyed, features, cpu_to_be32(3), "features", 3);

	a.features = keyed;
	a.keys_rkey = cpu_to_be32(7);
	assert_int_equal(admin(&a, sizeof(a), &may_be_keyed, &bad), 0);
	/* Taken up again, it stays what it was, either way. */
	assert_int_equal(admin(&a, sizeof(a), &is_keyed, &bad), 0);
	refused(&a, &old_session, "features", 1);
	REFUSED(&is_keyed, features, 0, "features", 0);
}

/* Slabs go with long heartbeats, and without rkeys for slots. */
static void test_admin_direct(void **state)
{
	const u32 all = ODRP_WIRE_F_DIRECT | ODRP_WIRE_F_KEYED | ODRP_WIRE_F_LONG_BEAT;
	struct odrp_admin_terms may_be_direct = new_session, is_direct = old_session;
	struct odrp_wire_admin_accept a = good_admin();
	struct odrp_bad bad;

	may_be_direct.features = all;
	is_direct.features = ODRP_WIRE_F_DIRECT | ODRP_WIRE_F_LONG_BEAT;
	a.dead_ms_max = a.dead_ms;
	a.features = cpu_to_be32(is_direct.features);
	a.keys_rkey = cpu_to_be32(7);
	refused(&a, &may_be_direct, "log_slab", 0);
	a.log_slab = ODRP_WIRE_LOG_SLAB + 1;
	refused(&a, &may_be_direct, "log_slab", ODRP_WIRE_LOG_SLAB + 1);
	a.log_slab = ODRP_WIRE_LOG_SLAB;
	assert_int_equal(admin(&a, sizeof(a), &may_be_direct, &bad), 0);
	assert_int_equal(admin(&a, sizeof(a), &is_direct, &bad), 0);
	a.keys_rkey = 0;
	refused(&a, &may_be_direct, "keys_rkey", 0);
	a.keys_rkey = cpu_to_be32(7);
	a.features = cpu_to_be32(all);
	refused(&a, &may_be_direct, "features", all);
	/* Long heartbeats may end when a session is resumed, but not this one's. */
	a.features = cpu_to_be32(ODRP_WIRE_F_DIRECT);
	a.dead_ms_max = 0;
	refused(&a, &is_direct, "features", ODRP_WIRE_F_DIRECT);
	REFUSED(&may_be_direct, log_slab, ODRP_WIRE_LOG_SLAB, "log_slab", ODRP_WIRE_LOG_SLAB);
}

/* The number of kept pages may end with an older agent, and needs long heartbeats. */
static void test_admin_kept(void **state)
{
	const u32 both = ODRP_WIRE_F_KEPT | ODRP_WIRE_F_LONG_BEAT;
	struct odrp_admin_terms may_tell = new_session, tells = old_session;
	struct odrp_wire_admin_accept a = good_admin();
	struct odrp_bad bad;

	may_tell.features = tells.features = both;
	REFUSED(&new_session, features, cpu_to_be32(ODRP_WIRE_F_KEPT), "features", 16);
	a.features = cpu_to_be32(ODRP_WIRE_F_KEPT);
	refused(&a, &may_tell, "features", ODRP_WIRE_F_KEPT);
	a.features = 0;
	assert_int_equal(admin(&a, sizeof(a), &tells, &bad), 0);
	a.dead_ms_max = a.dead_ms;
	a.features = cpu_to_be32(ODRP_WIRE_F_LONG_BEAT);
	assert_int_equal(admin(&a, sizeof(a), &tells, &bad), 0);
	a.features = cpu_to_be32(both);
	assert_int_equal(admin(&a, sizeof(a), &tells, &bad), 0);
	assert_int_equal(admin(&a, sizeof(a), &may_tell, &bad), 0);
}

static const struct odrp_admin_terms may_ask = {
	.queues = 4, .depth = 64, .nr_slots = 1000,
	.features = ODRP_WIRE_F_LONG_BEAT,
};

/* Only who may ask for more is told how much there is. */
static void test_admin_dead_max(void **state)
{
	struct odrp_wire_admin_accept a = good_admin();
	struct odrp_bad bad;

	REFUSED(&new_session, dead_ms_max, cpu_to_be32(10000), "dead_ms_max", 10000);
	assert_int_equal(admin(&a, sizeof(a), &may_ask, &bad), 0);
	a.features = cpu_to_be32(ODRP_WIRE_F_LONG_BEAT);
	refused(&a, &may_ask, "dead_ms_max", 0);
	a.dead_ms_max = cpu_to_be32(9999);
	refused(&a, &may_ask, "dead_ms_max", 9999);
	a.dead_ms_max = cpu_to_be32(10000);
	assert_int_equal(admin(&a, sizeof(a), &may_ask, &bad), 0);
	a.dead_ms_max = cpu_to_be32(900000);
	assert_int_equal(admin(&a, sizeof(a), &may_ask, &bad), 0);
}

/* One that is taken up again is the same; 0 would make it a new one next time. */
static void test_admin_again(void **state)
{
	REFUSED(&new_session, session, 0, "session", 0);
	REFUSED(&old_session, session, 0, "session", 0);
	REFUSED(&old_session, session, cpu_to_be64(0x78), "session", 0x78);
	REFUSED(&old_session, max_queues, cpu_to_be16(2), "max_queues", 2);
	REFUSED(&old_session, depth, cpu_to_be16(31), "depth", 31);
}

/* ---- I/O -------------------------------------------------------------------- */

union io {
	struct odrp_wire_io_accept a;
	u8 raw[ODRP_WIRE_REP_PRIV_MAX];
};

static const struct odrp_io_terms a_store = {
	.chain = ODRP_WIRE_MAPPED_STORE, .queue = 2, .depth = 64,
};

static void good_io(union io *io)
{
	const struct odrp_wire_io_accept head = {
		.magic = cpu_to_be32(ODRP_WIRE_MAGIC),
		.version = cpu_to_be16(ODRP_WIRE_VERSION),
		.chain = ODRP_WIRE_MAPPED_STORE,
		.queue = cpu_to_be16(2), .depth = cpu_to_be16(32),
	};

	memset(io, 0, sizeof(*io));
	memcpy(io, &head, sizeof(head));
}

static int take(const union io *io, size_t len, const struct odrp_io_terms *t,
		struct odrp_bad *bad)
{
	void *p = malloc(len + 1);
	int err;

	memcpy(p, io, len);
	p = realloc(p, len ? len : 1);
	*bad = (struct odrp_bad) { .what = "not said" };
	err = odrp_accept_io(p, len, t, bad);
	free(p);
	return err;
}

static void io_refused(const union io *io, const struct odrp_io_terms *t,
		       const char *what)
{
	struct odrp_bad bad;

	assert_int_equal(take(io, sizeof(*io), t, &bad), -EPROTO);
	assert_string_equal(bad.what, what);
}

#define IO_REFUSED(terms, field, value, what) do {			\
	union io other;							\
									\
	good_io(&other);						\
	other.a.field = value;						\
	io_refused(&other, terms, what);				\
} while (0)

static void test_io(void **state)
{
	struct odrp_io_terms t = a_store;
	struct odrp_bad bad;
	union io io;
	size_t len;

	good_io(&io);
	assert_int_equal(take(&io, 16, &a_store, &bad), 0);
	for (len = 0; len < 16; len++) {
		assert_int_equal(take(&io, len, &a_store, &bad), -EPROTO);
		assert_string_equal(bad.what, "length");
	}
	IO_REFUSED(&a_store, magic, 0, "magic");
	IO_REFUSED(&a_store, version, 0, "version");
	IO_REFUSED(&a_store, chain, ODRP_WIRE_LOAD, "chain");
	IO_REFUSED(&a_store, queue, 0, "queue");
	IO_REFUSED(&a_store, depth, 0, "depth");
	IO_REFUSED(&a_store, depth, cpu_to_be16(65), "depth");
	IO_REFUSED(&a_store, resv0, 1, "a reserved field");
	IO_REFUSED(&a_store, resv1[0], 1, "a reserved field");
	IO_REFUSED(&a_store, resv1[3], 1, "a reserved field");
	t.nr_reqs = 33;
	IO_REFUSED(&t, queue, cpu_to_be16(2), "depth");
}

/* At least one, or none would ever go; not more than there is room for. */
static void test_reads(void **state)
{
	struct odrp_bad bad;
	u8 n;

	for (n = 1; n <= 16; n++)
		assert_int_equal(odrp_accept_reads(n, 16, &bad), 0);
	assert_int_equal(odrp_accept_reads(0, 16, &bad), -EPROTO);
	assert_string_equal(bad.what, "initiator depth");
	assert_int_equal(odrp_accept_reads(17, 16, &bad), -EPROTO);
	assert_int_equal(bad.is, 17);
	assert_int_equal(bad.expected, 16);
}

/* ---- any --------------------------------------------------------------------- */

static void disturb(u64 *seed, u8 *p, size_t len)
{
	static const u8 values[] = { 0, 1, 2, 8, 25, 40, 41, 0x7f, 0x80, 0xff };
	unsigned int n = rnd(seed) % 4;

	while (n--)
		p[rnd(seed) % len] = rnd(seed) % 2 ? rnd(seed) :
				     values[rnd(seed) % sizeof(values)];
}

static bool keyed(const struct odrp_wire_admin_accept *a)
{
	return be32_to_cpu(a->features) & ODRP_WIRE_F_KEYED;
}

static void test_any_admin(void **state)
{
	const struct odrp_admin_terms *terms[] = {
		&new_session, &old_session, &may_be_keyed, &is_keyed, &may_ask,
	};
	struct odrp_wire_admin_accept a;
	unsigned int i, taken = 0;
	u64 seed = 1, was, len;
	struct odrp_bad bad;

	for (i = 0; i < FUZZ; i++) {
		const struct odrp_admin_terms *t = terms[rnd(&seed) % 5];

		was = seed;
		a = good_admin();
		if (t->features && rnd(&seed) % 8) {
			a.features = cpu_to_be32(t->features);
			if (t == &may_ask)
				a.dead_ms_max = a.dead_ms;
			else
				a.keys_rkey = rnd(&seed);
		}
		disturb(&seed, (u8 *)&a, sizeof(a));
		len = rnd(&seed) % 16 ? sizeof(a) : rnd(&seed) % sizeof(a);
		if (admin(&a, len, t, &bad)) {
			assert_true(bad.what && strcmp(bad.what, "not said"));
			continue;
		}
		taken++;
		if (len < sizeof(a) || !a.session || !a.max_queues ||
		    be16_to_cpu(a.max_queues) > t->queues || !a.depth ||
		    be16_to_cpu(a.depth) > t->depth ||
		    be64_to_cpu(a.nr_slots) < t->nr_slots ||
		    be32_to_cpu(a.beat_ms) < ODRP_WIRE_MIN_BEAT_MS ||
		    be32_to_cpu(a.features) & ~t->features ||
		    keyed(&a) != !!a.keys_rkey ||
		    !a.dead_ms_max != !(be32_to_cpu(a.features) & ODRP_WIRE_F_LONG_BEAT) ||
		    (a.dead_ms_max &&
		     be32_to_cpu(a.dead_ms_max) < be32_to_cpu(a.dead_ms)) ||
		    (t->session && be32_to_cpu(a.features) != t->features) ||
		    (t->session && (be16_to_cpu(a.max_queues) != t->queues ||
				    be16_to_cpu(a.depth) != t->depth ||
				    be64_to_cpu(a.session) != t->session)))
			fail_msg("seed %llu is taken", (unsigned long long)was);
	}
	assert_true(taken > FUZZ / 10);
}

static void test_any_io(void **state)
{
	struct odrp_io_terms t = a_store;
	unsigned int i, taken = 0;
	u64 seed = 2, was, len;
	struct odrp_bad bad;
	union io io;

	for (i = 0; i < FUZZ; i++) {
		was = seed;
		good_io(&io);
		disturb(&seed, io.raw, rnd(&seed) % 2 ? 16 : sizeof(io));
		len = rnd(&seed) % 4 ? sizeof(io) : rnd(&seed) % sizeof(io);
		t.nr_reqs = rnd(&seed) % 2 ? 32 : 0;
		if (take(&io, len, &t, &bad))
			continue;
		taken++;
		if (be16_to_cpu(io.a.depth) > 64 ||
		    be16_to_cpu(io.a.depth) < t.nr_reqs)
			fail_msg("seed %llu is taken", (unsigned long long)was);
	}
	assert_true(taken > FUZZ / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_admin),
		cmocka_unit_test(test_admin_keyed),
		cmocka_unit_test(test_admin_direct),
		cmocka_unit_test(test_admin_kept),
		cmocka_unit_test(test_admin_dead_max),
		cmocka_unit_test(test_admin_again),
		cmocka_unit_test(test_io),
		cmocka_unit_test(test_reads),
		cmocka_unit_test(test_any_admin),
		cmocka_unit_test(test_any_io),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
