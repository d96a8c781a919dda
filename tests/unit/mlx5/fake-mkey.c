// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* CREATE_MKEY of the fake device. */
#include "fake-priv.h"
#include "snic/engine/engine-priv.h"

#define MKC	0x80

/* What is in the memory that it gets nobody has cleared. */
static void spoil(uint32_t pdn, uint32_t key)
{
	struct snic_ksm *k = snic_ksm_find(fake.snic, pdn, key);

	k->free = true;
	for (uint32_t i = 0; i < k->nr; i++)
		k->entry[i] = (struct wrc_ksm){
			.key = htobe32(fake.stale_key),
			.addr = htobe64(fake.stale_addr),
		};
}

/* The software NIC chooses the low byte itself: until it is the one asked for. */
static uint32_t reg_variant(uint32_t pdn, const struct fake_umem *u, uint64_t iova,
			    uint8_t variant)
{
	uint32_t key;

	for (;;) {
		assert_int_equal(snic_mkey_reg(fake.snic, pdn, u->va, u->len, iova,
					       SNIC_LOCAL_WRITE, &key), 0);
		if ((key & 0xff) == variant)
			return key;
		assert_int_equal(snic_mkey_dereg(fake.snic, key), 0);
	}
}

/* The key covers a whole umem, whose pages may be large, and serves this side alone. */
static int create_mtt(uint8_t *in, uint8_t *out, void **ret_obj)
{
	const struct fake_umem *u = fake_umem_of(fake_take(in, 0x320, 32));
	uint32_t pdn = fake_take(in, MKC + 0x68, 24), key;
	uint64_t iova = fake_take(in, MKC + 0x80, 64);
	uint8_t variant = fake_take(in, MKC + 0x38, 8);

	fake_expect(fake_take(in, 0x61, 1), 1, "mkey_umem_valid");
	fake_expect(fake_take(in, MKC + 0x16, 2), 1, "mkc.access_mode_1_0: MTT");
	fake_expect(fake_take(in, MKC + 0x14, 2), 3, "mkc.lw, lr");
	fake_expect(fake_take(in, MKC + 0x20, 24), 0xffffff, "mkc.qpn");
	fake_expect(fake_take(in, MKC + 0xc0, 64), u->len, "mkc.len");
	fake_expect(iova % (1ull << 30), 0, "mkc.start_addr: the largest page");
	fake_nothing_more(in, 272, "CREATE_MKEY");
	key = reg_variant(pdn, u, iova, variant);
	fake_put(out, 0x48, 24, key >> 8);
	*ret_obj = fake_add(FAKE_MKEY, key);
	return 0;
}

/* A free one, of pieces of 4 KB, that UMRs may fill. */
static int create_ksm(uint8_t *in, uint8_t *out, void **ret_obj)
{
	uint32_t pdn = fake_take(in, MKC + 0x68, 24), key;
	uint32_t entries = fake_take(in, MKC + 0x1a0, 32);
	uint8_t variant = fake_take(in, MKC + 0x38, 8);
	unsigned int access;

	fake_expect(fake_take(in, MKC + 0x01, 1), 1, "mkc.free");
	fake_expect(fake_take(in, MKC + 0x10, 1), 1, "mkc.umr_en");
	fake_expect(fake_take(in, MKC + 0x16, 2), 3, "mkc.access_mode_1_0: KSM");
	fake_expect(fake_take(in, MKC + 0x15, 1), 1, "mkc.lr");
	fake_expect(fake_take(in, MKC + 0x14, 1), fake_bits(in, MKC + 0x12, 1),
		    "mkc.lw: as rw");
	access = (fake_take(in, MKC + 0x12, 1) ? SNIC_REMOTE_WRITE : 0) |
		 (fake_take(in, MKC + 0x13, 1) ? SNIC_REMOTE_READ : 0);
	fake_expect(fake_take(in, MKC + 0x20, 24), 0xffffff, "mkc.qpn");
	fake_expect(fake_take(in, MKC + 0xc0, 64), entries * 4096ull, "mkc.len");
	fake_expect(fake_take(in, MKC + 0x1db, 5), 12, "mkc.log_page_size");
	assert_true(fake_bits(fake.caps[0], 0x108, 1));
	assert_true(entries >> fake_bits(fake.caps[0], 0x11a, 6) <= 1);
	fake_nothing_more(in, 272, "CREATE_MKEY");
	assert_int_equal(snic_mkey_indirect(fake.snic, pdn, entries, access,
					    variant, &key), 0);
	assert_int_equal(key & 0xff, variant);
	spoil(pdn, key);
	fake_put(out, 0x48, 24, key >> 8);
	*ret_obj = fake_add(FAKE_MKEY, key);
	return 0;
}

int fake_create_mkey(uint8_t *in, uint8_t *out, void **ret_obj)
{
	return fake_bits(in, MKC + 0x16, 2) == 1 ? create_mtt(in, out, ret_obj) :
						   create_ksm(in, out, ret_obj);
}
