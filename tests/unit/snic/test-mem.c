// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Protection domains, memory keys, object numbers, copying; and that creating
 * anything can fail at every allocation without a trace.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "bed/end.h"

static uint64_t buf[64];

static struct snic *new_nic(uint64_t seed)
{
	struct snic_config cfg = host_default;
	struct snic *nic;

	cfg.ip = htobe32(0x0a000001);
	cfg.seed = seed;
	assert_int_equal(snic_new(&cfg, &nic), 0);
	return nic;
}

static void bounds(void **state)
{
	/* offset, length, allowed: of a key of 512 bytes */
	static const struct { int64_t off; uint64_t len; bool ok; } cases[] = {
		{ 0, 512, true }, { 0, 0, true }, { 512, 0, true },
		{ 511, 1, true }, { 504, 8, true },
		{ 0, 513, false }, { 1, 512, false }, { 511, 2, false },
		{ 512, 1, false }, { 513, 0, false }, { -1, 1, false },
		{ -1, 0, false }, { 8, UINT64_MAX, false },
		{ 8, UINT64_MAX - 7, false }, { INT64_MAX, 1, false },
		{ INT64_MIN, 1, false },
	};
	static const uint64_t iovas[] = { 0, 0x1000, 0xfffffffffffffd00 };
	struct snic *nic = new_nic(1);
	uint32_t pdn, key;
	unsigned int i, k;
	void *p;

	assert_int_equal(snic_pd_alloc(nic, &pdn), 0);
	for (k = 0; k < 3; k++) {
		assert_int_equal(snic_mkey_reg(nic, pdn, buf, sizeof(buf),
					       iovas[k], 0, &key), 0);
		for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			int r = snic_mem(nic, pdn, key, iovas[k] + cases[i].off,
					 cases[i].len, 0, &p);

			assert_int_equal(r, cases[i].ok ? 0 : -ERANGE);
			if (!r)
				assert_ptr_equal(p, (char *)buf + cases[i].off);
		}
	}
	snic_free(nic);
}

static void rights(void **state)
{
	static const unsigned int bits[] = {
		SNIC_LOCAL_WRITE, SNIC_REMOTE_READ, SNIC_REMOTE_WRITE,
		SNIC_REMOTE_ATOMIC,
	};
	struct snic *nic = new_nic(1);
	uint32_t pdn, other, key;
	unsigned int i, k;
	void *p;

	assert_int_equal(snic_pd_alloc(nic, &pdn), 0);
	assert_int_equal(snic_pd_alloc(nic, &other), 0);
	for (i = 0; i < 4; i++) {
		unsigned int access = SNIC_LOCAL_WRITE | bits[i];

		assert_int_equal(snic_mkey_reg(nic, pdn, buf, 64, 0, access,
					       &key), 0);
		assert_int_equal(snic_mem(nic, pdn, key, 0, 8, 0, &p), 0);
		assert_int_equal(snic_mem(nic, other, key, 0, 8, 0, &p),
				 -ENOENT);
		for (k = 0; k < 4; k++)
			assert_int_equal(snic_mem(nic, pdn, key, 0, 8, bits[k],
						  &p),
					 access & bits[k] ? 0 : -EACCES);
		assert_int_equal(snic_mkey_dereg(nic, key), 0);
		assert_int_equal(snic_mem(nic, pdn, key, 0, 8, 0, &p), -ENOENT);
		assert_int_equal(snic_mkey_dereg(nic, key), -ENOENT);
	}
	snic_free(nic);
}

static void refused_registrations(void **state)
{
	struct snic *nic = new_nic(1);
	uint32_t pdn, key;
	char *b = (char *)buf;

	assert_int_equal(snic_pd_alloc(nic, &pdn), 0);
	assert_int_equal(snic_mkey_reg(nic, pdn + 1, b, 64, 0, 0, &key),
			 -ENOENT);
	assert_int_equal(snic_mkey_reg(nic, pdn, NULL, 64, 0, 0, &key), -EINVAL);
	assert_int_equal(snic_mkey_reg(nic, pdn, b, 0, 0, 0, &key), -EINVAL);
	assert_int_equal(snic_mkey_reg(nic, pdn, b, 64, ~0ull - 7, 0, &key),
			 -EINVAL);
	assert_int_equal(snic_mkey_reg(nic, pdn, b, ~0ull, 0, 0, &key), -EINVAL);
	assert_int_equal(snic_mkey_reg(nic, pdn, b + 1, 8, 0, 0, &key), -EINVAL);
	assert_int_equal(snic_mkey_reg(nic, pdn, b, 64, 0, 1 << 4, &key),
			 -EINVAL);
	assert_int_equal(snic_mkey_reg(nic, pdn, b, 64, 0, SNIC_REMOTE_WRITE,
				       &key), -EINVAL);
	assert_int_equal(snic_mkey_reg(nic, pdn, b, 64, 0, 0, &key), 0);
	assert_int_equal(snic_pd_free(nic, pdn), -EBUSY);
	assert_int_equal(snic_mkey_dereg(nic, key), 0);
	assert_int_equal(snic_pd_free(nic, pdn), 0);
	assert_int_equal(snic_pd_free(nic, pdn), -ENOENT);
	snic_free(nic);
}

/* A number that is gone stays gone for many that come after it. */
static void stale_numbers(void **state)
{
	struct snic *nic = new_nic(1);
	uint32_t pdn, keys[400], pds[400];
	unsigned int i, k;
	void *p;

	assert_int_equal(snic_pd_alloc(nic, &pdn), 0);
	for (i = 0; i < 400; i++) {
		assert_int_equal(snic_mkey_reg(nic, pdn, buf, 64, 0, 0,
					       &keys[i]), 0);
		assert_true(keys[i] > WRC_WQE_END_LKEY);
		assert_int_equal(snic_mkey_dereg(nic, keys[i]), 0);
		assert_int_equal(snic_pd_alloc(nic, &pds[i]), 0);
		assert_in_range(pds[i], 0x100, 0xffffff);
		assert_int_equal(snic_pd_free(nic, pds[i]), 0);
		for (k = 0; k < i; k++)
			assert_true(pds[k] != pds[i]);
	}
	assert_int_equal(snic_mkey_reg(nic, pdn, buf, 64, 0, 0, &keys[0]), 0);
	for (i = 1; i < 400; i++)
		if (keys[i] != keys[0])
			assert_int_equal(snic_mem(nic, pdn, keys[i], 0, 1, 0,
						  &p), -ENOENT);
	snic_free(nic);
}

/* From a number, also from one's own, none that was made before or after follows. */
static void indices_are_random(void **state)
{
	struct snic *nic = new_nic(1);
	uint32_t pdn, key, last = 0, near = 0, low = UINT32_MAX, high = 0;
	unsigned int i;

	assert_int_equal(snic_pd_alloc(nic, &pdn), 0);
	for (i = 0; i < 512; i++) {
		if (i % 2)
			assert_int_equal(snic_mkey_reg(nic, pdn, buf, 64, 0, 0, &key), 0);
		else
			assert_int_equal(snic_mkey_indirect(nic, pdn, WRC_KSM_GROUP,
							    0, 0xa5, &key), 0);
		assert_true(i % 2 || (key & 0xff) == 0xa5);
		key >>= 8;
		near += key - last + 1024 < 2048;
		low = key < low ? key : low;
		high = key > high ? key : high;
		last = key;
	}
	/* Five neighbours among 512 numbers of 24 bits are many. */
	assert_true(near < 5);
	assert_true(high - low > 1 << 23);
	snic_free(nic);
}

/* Keys come and go: each is found as long as it is there, and no other. */
static void keys_come_and_go(void **state)
{
	static uint32_t keys[4000];
	struct snic *nic = new_nic(3);
	uint32_t pdn, rnd = 1;
	unsigned int i, k;
	void *p;

	assert_int_equal(snic_pd_alloc(nic, &pdn), 0);
	for (i = 0; i < 20000; i++) {
		rnd = rnd * 1664525 + 1013904223;
		k = (rnd >> 8) % 4000;
		if (keys[k]) {
			assert_int_equal(snic_mem(nic, pdn, keys[k], k, 1, 0, &p), 0);
			assert_ptr_equal(p, (char *)buf + (k & 7));
			assert_int_equal(snic_mkey_dereg(nic, keys[k]), 0);
			assert_int_equal(snic_mem(nic, pdn, keys[k], k, 1, 0, &p),
					 -ENOENT);
			keys[k] = 0;
		} else {
			assert_int_equal(snic_mkey_reg(nic, pdn, buf, 8, k & ~7, 0,
						       &keys[k]), 0);
			assert_int_equal(snic_mem(nic, pdn, keys[k] ^ 1, k, 1, 0, &p),
					 -ENOENT);
		}
	}
	for (k = 0; k < 4000; k++)
		if (keys[k])
			assert_int_equal(snic_mkey_dereg(nic, keys[k]), 0);
	assert_int_equal(snic_pd_free(nic, pdn), 0);
	snic_free(nic);
}

/* Variants depend on the seed and do not repeat in a row. */
static void keys_are_random(void **state)
{
	struct snic *a = new_nic(1), *b = new_nic(2);
	unsigned int i, same = 0, seen[256] = { 0 }, distinct = 0;
	uint32_t pa, pb, ka, kb;

	assert_int_equal(snic_pd_alloc(a, &pa), 0);
	assert_int_equal(snic_pd_alloc(b, &pb), 0);
	for (i = 0; i < 512; i++) {
		assert_int_equal(snic_mkey_reg(a, pa, buf, 64, 0, 0, &ka), 0);
		assert_int_equal(snic_mkey_reg(b, pb, buf, 64, 0, 0, &kb), 0);
		same += ka == kb;
		distinct += !seen[ka & 0xff]++;
	}
	assert_true(same < 64);
	assert_true(distinct > 128);
	snic_free(a);
	snic_free(b);
}

static void all_numbers_in_use(void **state)
{
	struct snic *nic = new_nic(1);
	uint32_t pdn, n = 0, last = 0;
	int r;

	while (!(r = snic_pd_alloc(nic, &pdn))) {
		last = pdn;
		n++;
	}
	assert_int_equal(r, -ENFILE);
	assert_int_equal(n, 0x10000 - 0x100);
	assert_int_equal(snic_pd_free(nic, last), 0);
	assert_int_equal(snic_pd_alloc(nic, &pdn), 0);
	assert_true(pdn != last);
	snic_free(nic);
}

static void copies_any_alignment(void **state)
{
	uint8_t src[160], dst[160], want[160];
	unsigned int d, s, len, i;

	for (i = 0; i < sizeof(src); i++)
		src[i] = i + 1;
	for (d = 0; d < 17; d++) {
		for (s = 0; s < 17; s++) {
			for (len = 0; len < 100; len++) {
				memset(dst, 0, sizeof(dst));
				memset(want, 0, sizeof(want));
				memcpy(want + d, src + s, len);
				snic_copy(dst + d, src + s, len);
				assert_memory_equal(dst, want, sizeof(dst));
			}
		}
	}
}

/* Words that another thread reads or writes: each has all bits, or none. */
struct words {
	uint64_t shared[17];
	bool stop;
};

static bool word_is_whole(uint64_t word)
{
	return !word || word == UINT64_MAX;
}

/* Copies words of zeros, then of ones, to where they are aligned, from where they are not. */
static void *words_write(void *arg)
{
	struct words *words = arg;
	uint64_t from[18];
	unsigned int i;

	for (i = 0; !__atomic_load_n(&words->stop, __ATOMIC_RELAXED); i++) {
		memset(from, i & 1 ? 0xff : 0, sizeof(from));
		snic_copy(words->shared, (uint8_t *)from + 4, 8 * 17);
	}
	return NULL;
}

static void *words_change(void *arg)
{
	struct words *words = arg;
	unsigned int i;

	for (i = 0; !__atomic_load_n(&words->stop, __ATOMIC_RELAXED); i++)
		__atomic_store_n(&words->shared[i % 17], i / 17 & 1 ? UINT64_MAX : 0,
				 __ATOMIC_RELAXED);
	return NULL;
}

static void words_look(struct words *words)
{
	unsigned int i, k;

	for (i = 0; i < 100000; i++)
		for (k = 0; k < 17; k++)
			assert_true(word_is_whole(__atomic_load_n(&words->shared[k],
								  __ATOMIC_RELAXED)));
}

/* Copies them from where they are aligned to where they are not. */
static void words_fetch(struct words *words)
{
	uint64_t to[18], word;
	unsigned int i, k;

	for (i = 0; i < 300000; i++) {
		snic_copy((uint8_t *)to + 4, words->shared, 8 * 17);
		for (k = 0; k < 17; k++) {
			memcpy(&word, (uint8_t *)to + 4 + 8 * k, 8);
			assert_true(word_is_whole(word));
		}
	}
}

/* A header of 4 bytes more puts a packet's data between two words. */
static void copies_whole_words(void **state)
{
	static void *(*const other[])(void *arg) = { words_write, words_change };
	static void (*const own[])(struct words *words) = { words_look, words_fetch };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct words words = { .stop = false };
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, other[i], &words), 0);
		own[i](&words);
		__atomic_store_n(&words.stop, true, __ATOMIC_RELAXED);
		assert_int_equal(pthread_join(thread, NULL), 0);
	}
}

static void lists(void **state)
{
	uint8_t m[64], got[64];
	const struct snic_sge l[] = {
		{ m + 40, 3 }, { m, 1 }, { m + 8, 16 }, { m + 30, 5 },
	};
	uint8_t order[25];
	unsigned int off, len, i, n = 0, k;

	for (i = 0; i < 4; i++)
		for (k = 0; k < l[i].len; k++)
			order[n++] = l[i].ptr + k - m;
	for (off = 0; off <= 25; off++) {
		for (len = 0; off + len <= 25; len++) {
			uint8_t src[25];

			for (i = 0; i < 64; i++)
				m[i] = i;
			snic_sges_gather(l, 4, off, got, len);
			for (i = 0; i < len; i++) {
				assert_int_equal(got[i], order[off + i]);
				src[i] = 100 + i;
			}
			snic_sges_scatter(l, 4, off, src, len);
			for (i = 0; i < len; i++)
				assert_int_equal(m[order[off + i]], 100 + i);
			for (i = 0, n = 0; i < 64; i++)
				n += m[i] != i;
			assert_int_equal(n, len);
		}
	}
}

/* ---- allocations that fail --------------------------------------------------- */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t m);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t m);
void *__wrap_realloc(void *p, size_t n);

static unsigned int fail_at, allocations;

static bool fail_now(void)
{
	return fail_at && ++allocations == fail_at;
}

void *__wrap_malloc(size_t n)
{
	return fail_now() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t m)
{
	return fail_now() ? NULL : __real_calloc(n, m);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fail_now() ? NULL : __real_realloc(p, n);
}

/* Memory of a queue pair that nobody uses. */
static struct { uint64_t sq[64 * 8], rq[64], cq[64 * 8], dbr; } rings
	__attribute__((aligned(64)));

static int make_qp(struct snic *nic, uint32_t pdn, uint32_t *ret_qpn)
{
	struct snic_cq_attr ca = { .buf = rings.cq, .log_size = 3 };
	struct snic_qp_attr qa = {
		.pdn = pdn, .sq = rings.sq, .log_sq = 3, .rq = rings.rq,
		.log_rq = 2, .log_rq_stride = 4,
		.dbr = (struct wrc_dbr *)&rings.dbr,
	};
	struct snic_qp_conn conn = { .loopback = true };
	int r = snic_cq_create(nic, &ca, &qa.scqn);

	if (r)
		return r;
	qa.rcqn = qa.scqn;
	r = snic_qp_create(nic, &qa, ret_qpn);
	if (r) {
		assert_int_equal(snic_cq_destroy(nic, qa.scqn), 0);
		return r;
	}
	conn.dest_qpn = *ret_qpn;
	return snic_qp_connect(nic, *ret_qpn, &conn);
}

static int make_all(void)
{
	struct snic_config cfg = host_default;
	struct snic_port *a = NULL, *b = NULL;
	struct snic *nic;
	uint32_t pdn, key, qpn;
	int i, r;

	cfg.ip = htobe32(0x0a000001);
	cfg.fetch = SNIC_FETCH_EARLY;
	r = snic_new(&cfg, &nic);
	if (r)
		return r;
	r = snic_pd_alloc(nic, &pdn);
	for (i = 0; i < 40 && !r; i++)
		r = i % 2 ? snic_mkey_reg(nic, pdn, buf, 64, 0, 0, &key) :
			    snic_mkey_indirect(nic, pdn, 4, 0, 0, &key);
	for (i = 0; i < 70 && !r; i++)
		r = make_qp(nic, pdn, &qpn);
	if (!r)
		r = snic_port_pair_open(&a, &b);
	if (!r)
		r = snic_port_add(nic, a);
	snic_free(nic);
	if (a) {	/* the NIC's last words went through it */
		a->ops->close(a);
		b->ops->close(b);
	}
	return r;
}

static void each_allocation_fails(void **state)
{
	int r;

	fail_at = 0;
	do {
		fail_at++;
		allocations = 0;
		r = make_all();
		assert_true(r == 0 || r == -ENOMEM);
	} while (allocations >= fail_at);
	assert_int_equal(r, 0);
	assert_true(fail_at > 100);
	fail_at = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bounds),
		cmocka_unit_test(rights),
		cmocka_unit_test(refused_registrations),
		cmocka_unit_test(stale_numbers),
		cmocka_unit_test(keys_are_random),
		cmocka_unit_test(indices_are_random),
		cmocka_unit_test(keys_come_and_go),
		cmocka_unit_test(all_numbers_in_use),
		cmocka_unit_test(copies_any_alignment),
		cmocka_unit_test(copies_whole_words),
		cmocka_unit_test(lists),
		cmocka_unit_test(each_allocation_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
