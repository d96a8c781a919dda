// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A fake card and a software NIC; see sides.h. */
#include "sides.h"
#include "snic/engine/engine.h"

struct side card, soft;
static struct wrc_mlx5_devx bent;

/* The fake's NIC is stepped as the software NIC is. */
static bool fake_wait(struct side *s)
{
	uint64_t next;

	assert_int_equal(snic_step(fake.snic, fake.now, &next), 0);
	if (next == SNIC_NEVER)
		return false;
	if (next > fake.now)
		fake.now = next;
	return true;
}

static uint64_t fake_clock_us(struct side *s)
{
	return fake.now / 1000;
}

void sides_open(bool strict)
{
	const struct nic_mlx5_opts opts = { .port = 1, .strict = strict };
	char why[NIC_MLX5_WHY_MAX];

	if (side_mlx5_open(&opts, &fake_devx, &card, why))
		fail_msg("%s", why);
	card.wait = fake_wait;
	card.clock_us = fake_clock_us;
	assert_int_equal(side_soft_open(strict, &soft), 0);
}

int sides_setup(void **state)
{
	fake_init();
	sides_open(true);
	return 0;
}

int sides_teardown(void **state)
{
	side_close(&soft);
	side_close(&card);
	fake_fini();
	return 0;
}

struct wrc_mlx5_devx *sides_bend(void)
{
	bent = fake_devx;
	nic_mlx5_device(card.nic)->devx = &bent;
	return &bent;
}

struct snic_qp *sides_rung(const __u8 ctrl[8])
{
	return snic_qp_lookup(fake.snic, ctrl[4] << 16 | ctrl[5] << 8 |
					 ctrl[6]);
}

/* Takes the fence of SEND_ENs only, since other blocks of a ring may be no beginnings. */
void sides_ring_unfenced(void *uar, const __u8 ctrl[8])
{
	struct snic_qp *qp = sides_rung(ctrl);
	struct wrc_wqe_ctrl *wqe;
	unsigned int i;

	for (i = 0; i < 1u << qp->attr.log_sq; i++) {
		wqe = (struct wrc_wqe_ctrl *)((uint8_t *)qp->attr.sq +
					      i * WRC_WQE_BB);
		if (wqe->opcode == WRC_WQE_SEND_EN && wqe->ds == 2)
			wqe->fm_ce_se &= (__u8)~WRC_WQE_FM_MASK;
	}
	fake_devx.ring(uar, ctrl);
}

void sides_unbend(void)
{
	nic_mlx5_device(card.nic)->devx = &fake_devx;
}
