// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Indirect keys: each 4 KB of their address range lead to memory of another
 * key, as an entry says.  An entry is checked only when it is used, and the
 * translation is not kept: it is valid for one access, of one packet at most.
 */
#include <errno.h>
#include <stdlib.h>
#include "engine-priv.h"

#define PEER_ACCESS (SNIC_REMOTE_READ | SNIC_REMOTE_WRITE)

static struct snic_ksm *to_ksm(struct snic_mkey *mk)
{
	return mk && !mk->len ? (struct snic_ksm *)mk : NULL;
}

struct snic_ksm *snic_ksm_find(struct snic *nic, uint32_t pdn, uint32_t key)
{
	struct snic_mkey *mk = snic_key_get(&nic->mkeys, key);

	return mk && mk->pdn == pdn ? to_ksm(mk) : NULL;
}

int snic_mkey_indirect(struct snic *nic, uint32_t pdn, uint32_t entries,
		       unsigned int access, uint8_t variant,
		       uint32_t *ret_key)
{
	struct snic_pd *pd = snic_pd_lookup(nic, pdn);
	struct snic_ksm *k;
	int r;

	if (!pd)
		return -ENOENT;
	if (!entries || entries % WRC_KSM_GROUP || entries > SNIC_MAX_KSM ||
	    (access & ~PEER_ACCESS))
		return -EINVAL;
	k = calloc(1, sizeof(*k) + entries * sizeof(k->entry[0]));
	if (!k)
		return -ENOMEM;
	k->mkey.pdn = pdn;
	k->mkey.access = access;
	k->nr = entries;
	r = snic_keys_add(nic, &nic->mkeys, k, variant, ret_key);
	if (r) {
		free(k);
		return r;
	}
	pd->users++;
	return 0;
}

int snic_mkey_entry(struct snic *nic, uint32_t key, uint32_t entry,
		    struct wrc_ksm *ret_entry)
{
	struct snic_ksm *k = to_ksm(snic_key_get(&nic->mkeys, key));

	if (!k)
		return -ENOENT;
	if (entry >= k->nr)
		return -ERANGE;
	*ret_entry = k->entry[entry];
	return 0;
}

/* Translates n bytes at off of an entry.  An entry that names another indirect
 * key leads nowhere, because the range of that key is empty. */
static int entry_follow(struct snic *nic, uint32_t pdn, const struct wrc_ksm *e,
			uint64_t off, uint64_t n, unsigned int need, void **ret_ptr)
{
	const struct snic_mkey *mk = snic_mkey_find(nic, pdn,
						    be32_to_cpu(e->key));
	uint64_t addr = be64_to_cpu(e->addr);

	if (!mk || addr > UINT64_MAX - off)
		return -ERANGE;
	return snic_mkey_range(mk, addr + off, n,
			       need & SNIC_REMOTE_WRITE ? SNIC_LOCAL_WRITE : 0,
			       ret_ptr);
}

static int ksm_piece(struct snic *nic, const struct snic_ksm *k, uint64_t addr,
		     uint32_t len, unsigned int need,
		     struct snic_sge *ret_piece)
{
	uint64_t off = addr % SNIC_KSM_PIECE;
	void *ptr;
	int r;

	if (!snic_in_range(0, (uint64_t)k->nr * SNIC_KSM_PIECE, addr, len,
			   &addr) || !len)
		return -ERANGE;
	/*
	 * Only peers have access by an indirect key; they always need a right.
	 */
	if (k->free || !need || (k->mkey.access & need) != need)
		return -EACCES;
	if (len > SNIC_KSM_PIECE - off)
		len = SNIC_KSM_PIECE - off;
	r = entry_follow(nic, k->mkey.pdn, &k->entry[addr / SNIC_KSM_PIECE], off, len,
			 need, &ptr);
	if (!r)
		*ret_piece = (struct snic_sge){ .ptr = ptr, .len = len };
	return r;
}

int snic_mem_piece(struct snic *nic, uint32_t pdn, uint32_t key, uint64_t addr,
		   uint32_t len, unsigned int need, struct snic_sge *ret_piece)
{
	const struct snic_ksm *k = snic_ksm_find(nic, pdn, key);
	void *ptr;
	int r;

	if (k)
		return ksm_piece(nic, k, addr, len, need, ret_piece);
	r = snic_mem(nic, pdn, key, addr, len, need, &ptr);
	if (!r)
		*ret_piece = (struct snic_sge){ .ptr = ptr, .len = len };
	return r;
}

int snic_mem_check(struct snic *nic, uint32_t pdn, uint32_t key, uint64_t addr,
		   uint32_t len, unsigned int need)
{
	struct snic_sge piece;

	do {
		int r = snic_mem_piece(nic, pdn, key, addr, len, need, &piece);

		if (r)
			return r;
		addr += piece.len;
		len -= piece.len;
	} while (len);
	return 0;
}
