/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The two sides of odrp-hwcheck in tests: a fake card, which is a software NIC
 * behind commands, and a software NIC.
 */
#ifndef TEST_MLX5_SIDES_H
#define TEST_MLX5_SIDES_H

#include "fake.h"
#include <hwcheck/side.h>

extern struct side card, soft;

/* As cmocka has them; the NICs check indices. */
int sides_setup(void **state);
int sides_teardown(void **state);
/* After fake_init() or fake_adopt(). */
void sides_open(bool strict);

/* The card's functions, to be changed, and as they were. */
struct wrc_mlx5_devx *sides_bend(void);
void sides_unbend(void);

/* The send queue of a doorbell. */
struct snic_qp *sides_rung(const __u8 ctrl[8]);
/* ring() of a card that does not know fences: what a READ brings comes too late. */
void sides_ring_unfenced(void *uar, const __u8 ctrl[8]);

#endif /* TEST_MLX5_SIDES_H */
