// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Rings full of anything: random WQEs with a grain of sense in them, which
 * overwrite each other, the rings, the CQs and the doorbell records.
 */
#include "bed/end.h"

#define ENTRIES 16

static uint64_t rng;
static uint32_t ksm;		/* an indirect key */

static uint32_t rnd(uint32_t n)
{
	rng = rng * 6364136223846793005ull + 1442695040888963407ull;
	return (rng >> 33) % n;
}

static uint64_t rnd_addr(struct host *b)
{
	switch (rnd(6)) {
	case 0:
		return rng;
	case 1:
		return ARENA_IOVA + ARENA_LEN - rnd(32);
	case 2:
		return ARENA_IOVA - rnd(32);
	default:
		return ARENA_IOVA + rnd(b->used + 64);
	}
}

static void put_any_umr(struct host *b, struct end *e)
{
	struct wrc_ksm entry[12];
	unsigned int i;

	for (i = 0; i < 12; i++)
		entry[i] = ksm_entry(rnd(10) ? b->key : ksm, rnd_addr(b));
	put_umr(e, rnd(256), rnd(20) ? ksm : b->key,
		rnd(20) ? rnd(ENTRIES / 4) * 4 : rnd(ENTRIES),
		entry, rnd(20) ? 4 * (1 + rnd(3)) : rnd(12));
}

static void put_anything(struct host *b, struct end *e)
{
	static const uint8_t ops[] = {
		0, 8, 9, 10, 11, 15, 16, 17, 18, 20, 21, 22, 23, 37,
	};
	uint8_t op = ops[rnd(sizeof(ops))];
	uint8_t opmod = op >= 20 && op < 22 ? 8 + rnd(2) : rnd(50) == 0;
	struct wqe w = wqe_begin(e, op, opmod, rnd(256));
	unsigned int n = rnd(4) ? 1 + rnd(4) : rnd(62);

	while (n--) {
		uint32_t key = rnd(10) ? b->key : rnd(2) ? 0x100 : rng;
		uint32_t len = rnd(10) ? rnd(200) : rng;

		switch (rnd(3)) {
		case 0:
			if (rnd(4))
				wqe_raddr(&w, rnd_addr(b), key);
			else
				wqe_raddr(&w, rnd(ENTRIES * 4096), ksm);
			break;
		case 1:
			wqe_u64x2(&w, (uint64_t)len << 32 | key, rnd_addr(b));
			break;
		default:
			wqe_u64x2(&w, rnd(2) ? rng : 8,
				  (uint64_t)rnd(64) << 32 |
				  (rnd(2) ? e->qpn : e->scqn));
		}
	}
	wqe_end(&w);
}

/* Whatever rings hold, memory outside the arena stays as it is (ASan), and
 * the NIC can still be used. */
static void rings_full_of_anything(void **state)
{
	struct snic_config cfg = host_default;
	struct end_opts o = { .master = true, .oi = true, .log_cq = 4 };
	unsigned int round, i, k;

	for (round = 0; round < 120; round++) {
		struct end e[3];
		struct host b;

		rng = round;
		cfg.fetch = round & 1 ? SNIC_FETCH_EARLY : SNIC_FETCH_LATE;
		cfg.relaxed_index = round & 2;
		o.slave = round & 4;
		host_open(&b, &cfg);
		for (i = 0; i < 3; i++)
			end_open(&b, &o, &e[i]);
		end_join(&e[0], &e[1]);
		end_join(&e[2], &e[2]);
		assert_int_equal(snic_mkey_indirect(b.nic, b.pdn, ENTRIES,
						    SNIC_REMOTE_READ |
						    SNIC_REMOTE_WRITE, 0, &ksm),
				 0);
		for (k = 0; k < 20; k++) {
			for (i = 0; i < 3; i++) {
				if (rnd(4))
					put_anything(&b, &e[i]);
				else
					put_any_umr(&b, &e[i]);
				post_recv(&e[i], b.arena, rnd(300));
				e[i].dbr->snd = 0;
				ring(&e[i]);
			}
			host_wait(&b, 100000);
			for (i = 0; i < 3; i++) {
				struct snic_qp_conn conn;

				if (state_of(&e[i]) != SNIC_QP_ERR)
					continue;
				conn = snic_qp_lookup(b.nic, e[i].qpn)->conn;
				assert_int_equal(snic_qp_reset(b.nic,
							       e[i].qpn), 0);
				e[i].pi = 0;
				e[i].posted = 0;
				assert_int_equal(snic_qp_connect(b.nic,
						e[i].qpn, &conn), 0);
			}
		}
		host_close(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rings_full_of_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
