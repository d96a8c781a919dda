// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory, keys and doorbells of the fake device. */
#include <stdlib.h>
#include "fake-priv.h"
#include "snic/engine/engine.h"

int fake_umem_reg(void *ctx, void *va, size_t len, __u32 *ret_id,
			 void **ret_umem)
{
	struct fake_umem *u;

	if (fake_failing())
		return -ENOMEM;
	u = malloc(sizeof(*u));
	assert_non_null(u);
	*u = (struct fake_umem){ fake.next_umem++, va, len, fake.umems };
	fake.umems = u;
	fake.pinned += len;
	*ret_id = u->id;
	*ret_umem = u;
	return 0;
}

int fake_umem_dereg(void *p)
{
	struct fake_umem **pos = &fake.umems;

	while (*pos != p)
		pos = &(*pos)->next;
	*pos = (*pos)->next;
	free(p);
	return 0;
}

/* Numbers as pointers, none of them NULL. */
static void *handle(uint32_t number)
{
	return (void *)((uintptr_t)number + 1);
}

static uint32_t number_of(void *p)
{
	return (uintptr_t)p - 1;
}

int fake_pd_alloc(void *ctx, __u32 *ret_pdn, void **ret_pd)
{
	if (fake_failing())
		return -ENOMEM;
	assert_int_equal(snic_pd_alloc(fake.snic, ret_pdn), 0);
	*ret_pd = handle(*ret_pdn);
	fake.pds++;
	return 0;
}

int fake_pd_free(void *pd)
{
	int r = snic_pd_free(fake.snic, number_of(pd));

	if (!r)
		fake.pds--;
	return fake.gone ? -EIO : r;
}

int fake_mr_reg(void *pd, void *va, __u64 len, __u64 iova,
		       unsigned int access, __u32 *ret_key, void **ret_mr)
{
	int r;

	if (fake_failing())
		return -ENOMEM;
	assert_int_equal(((uintptr_t)va ^ iova) % 4096, 0);
	r = snic_mkey_reg(fake.snic, number_of(pd), va, len, iova, access,
			  ret_key);
	if (r)
		return r;
	*ret_mr = handle(*ret_key);
	fake.mrs++;
	fake.pinned += len;
	return 0;
}

int fake_mr_dereg(void *mr)
{
	int r = snic_mkey_dereg(fake.snic, number_of(mr));

	fake.mrs--;
	return fake.gone ? -EIO : r;
}

int fake_uar_alloc(void *ctx, __u32 *ret_page, void **ret_uar)
{
	unsigned int i = 0;

	if (fake_failing())
		return -ENOMEM;
	while (i < FAKE_UARS && fake.uars[i])
		i++;
	if (i == FAKE_UARS)
		return -ENOSPC;
	fake.uars[i] = true;
	*ret_page = FAKE_UAR_PAGE + i;
	*ret_uar = &fake.uars[i];
	return 0;
}

void fake_uar_free(void *uar)
{
	*(bool *)uar = false;
}

/* The NIC has a copy from now on, which nobody can write to. */
static void read_entries(void)
{
	struct fake_obj *o;

	for (o = fake.objs; o; o = o->next) {
		if (o->kind != FAKE_QP || !o->rq || o->rq_copy)
			continue;
		o->rq_copy = malloc(o->rq_len);
		assert_non_null(o->rq_copy);
		memcpy(o->rq_copy, o->rq, o->rq_len);
		snic_qp_lookup(fake.snic, o->number)->attr.rq = o->rq_copy;
	}
}

void fake_forget_entries(struct fake_obj *o)
{
	free(o->rq_copy);
}

/* A queue pair's register is that of its own page. */
void fake_ring(void *uar, const __u8 ctrl[8])
{
	uint16_t pi = ctrl[1] << 8 | ctrl[2];
	uint32_t qpn = ctrl[4] << 16 | ctrl[5] << 8 | ctrl[6];
	struct fake_obj *o = fake_qp(qpn);

	assert_ptr_equal(uar, &fake.uars[o->uar]);
	assert_int_equal(ctrl[0] | ctrl[3] | ctrl[7], 0);
	fake_expect(be32toh(o->dbr->snd), pi, "doorbell record");
	if (fake.stale_entries)
		read_entries();
	assert_int_equal(snic_qp_doorbell(fake.snic, qpn, pi), 0);
	fake.rings++;
}

int fake_eqn(void *ctx, __u32 *ret_eqn)
{
	if (fake_failing())
		return -ENOMEM;
	*ret_eqn = FAKE_EQN;
	return 0;
}

int fake_resolve(void *pd, const struct wrc_mlx5_path *path,
			__u8 ret_mac[6])
{
	memcpy(ret_mac, fake.mac, 6);
	ret_mac[5] = path->dgid[15];
	return 0;
}
