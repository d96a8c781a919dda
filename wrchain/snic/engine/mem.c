// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Protection domains and memory keys: the only translation from addresses in
 * WQEs and packets to memory of this process.  ksm.c has the indirect keys.
 */
#include <errno.h>
#include <stdlib.h>
#include "engine-priv.h"

#define ALL_ACCESS (SNIC_LOCAL_WRITE | SNIC_REMOTE_READ | \
		    SNIC_REMOTE_WRITE | SNIC_REMOTE_ATOMIC)

struct snic_pd *snic_pd_lookup(struct snic *nic, uint32_t pdn)
{
	return snic_object_get(&nic->pds, pdn);
}

int snic_pd_alloc(struct snic *nic, uint32_t *ret_pdn)
{
	struct snic_pd *pd = calloc(1, sizeof(*pd));
	int r;

	if (!pd)
		return -ENOMEM;
	r = snic_table_add(nic, &nic->pds, pd, ret_pdn);
	if (r)
		free(pd);
	return r;
}

int snic_pd_free(struct snic *nic, uint32_t pdn)
{
	struct snic_pd *pd = snic_pd_lookup(nic, pdn);

	if (!pd)
		return -ENOENT;
	if (pd->users)
		return -EBUSY;
	snic_table_del(&nic->pds, pdn);
	free(pd);
	return 0;
}

int snic_mkey_reg(struct snic *nic, uint32_t pdn, void *va, uint64_t len,
		  uint64_t iova, unsigned int access, uint32_t *ret_key)
{
	struct snic_pd *pd = snic_pd_lookup(nic, pdn);
	struct snic_mkey *mk;
	int r;

	if (!pd)
		return -ENOENT;
	if (!va || !len || (access & ~ALL_ACCESS) ||
	    iova > UINT64_MAX - len || (uintptr_t)va > UINTPTR_MAX - len)
		return -EINVAL;
	/* IBA: remote write and atomic rights require the local write right. */
	if ((access & (SNIC_REMOTE_WRITE | SNIC_REMOTE_ATOMIC)) &&
	    !(access & SNIC_LOCAL_WRITE))
		return -EINVAL;
	/* Atomics check the alignment of the host address, patches that of the
	 * I/O address: both have to agree. */
	if (((uintptr_t)va ^ iova) & 7)
		return -EINVAL;
	mk = malloc(sizeof(*mk));
	if (!mk)
		return -ENOMEM;
	*mk = (struct snic_mkey){
		.pdn = pdn, .access = access, .iova = iova, .len = len, .va = va,
	};
	r = snic_keys_add(nic, &nic->mkeys, mk, -1, ret_key);
	if (r) {
		free(mk);
		return r;
	}
	pd->users++;
	return 0;
}

int snic_mkey_dereg(struct snic *nic, uint32_t key)
{
	struct snic_mkey *mk = snic_key_get(&nic->mkeys, key);

	if (!mk)
		return -ENOENT;
	snic_pd_lookup(nic, mk->pdn)->users--;
	snic_keys_del(&nic->mkeys, key);
	free(mk);
	return 0;
}

void snic_mem_fini(struct snic *nic)
{
	uint32_t pos = 0;
	void *obj;

	while ((obj = snic_keys_next(&nic->mkeys, &pos)))
		free(obj);
	for (pos = 0; (obj = snic_table_next(&nic->pds, &pos)); )
		free(obj);
}

int snic_mem(struct snic *nic, uint32_t pdn, uint32_t key, uint64_t addr,
	     uint64_t len, unsigned int need, void **ret_ptr)
{
	return snic_mkey_range(snic_mkey_find(nic, pdn, key), addr, len, need,
			       ret_ptr);
}
