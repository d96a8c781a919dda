/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between the files of the fake device. */
#ifndef TEST_MLX5_FAKE_PRIV_H
#define TEST_MLX5_FAKE_PRIV_H

#include "fake.h"

/* Memory ran out, at the call the test has chosen. */
bool fake_failing(void);
/* Fails the test with the field's name. */
void fake_expect(uint64_t have, uint64_t want, const char *what);
/* Bits of a mailbox, which are cleared there; what is left at the end is an error. */
uint64_t fake_take(uint8_t *box, unsigned int off, unsigned int bits);
void fake_nothing_more(const uint8_t *box, size_t len, const char *what);
void fake_put(uint8_t *box, unsigned int off, unsigned int bits, uint64_t value);
struct fake_obj *fake_add(unsigned int kind, uint32_t number);
const struct fake_umem *fake_umem_of(uint32_t id);

/* fake-mkey.c */
int fake_create_mkey(uint8_t *in, uint8_t *out, void **ret_obj);

/* fake-mem.c */
void fake_forget_entries(struct fake_obj *o);
/* as in struct wrc_mlx5_devx */
int fake_umem_reg(void *ctx, void *va, size_t len, __u32 *ret_id,
		  void **ret_umem);
int fake_umem_dereg(void *p);
int fake_pd_alloc(void *ctx, __u32 *ret_pdn, void **ret_pd);
int fake_pd_free(void *pd);
int fake_mr_reg(void *pd, void *va, __u64 len, __u64 iova, unsigned int access,
		__u32 *ret_key, void **ret_mr);
int fake_mr_dereg(void *mr);
int fake_uar_alloc(void *ctx, __u32 *ret_page, void **ret_uar);
void fake_uar_free(void *uar);
void fake_ring(void *uar, const __u8 ctrl[8]);
int fake_eqn(void *ctx, __u32 *ret_eqn);
int fake_resolve(void *pd, const struct wrc_mlx5_path *path, __u8 ret_mac[6]);

#endif /* TEST_MLX5_FAKE_PRIV_H */
