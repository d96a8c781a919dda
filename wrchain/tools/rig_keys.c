// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The rig's indirect keys, and a client that READs and WRITEs by them; see rig.h. */
#include <errno.h>
#include <string.h>
#include "rig.h"

#define LOG_SQ 2
#define TRIES 64		/* until a key has a number that will do */
#define MAX_STEPS 200000

/* ---- keys --------------------------------------------------------------------- */

/* One key; those whose number will not do stay until it has one. */
static int rig_make_key(struct wrc_rig *rig, uint32_t *ret_key)
{
	uint32_t bad[TRIES], nr_bad = 0, key;
	struct wrc_keymap entry;
	int err;

	do {
		err = snic_mkey_indirect(rig->nic, rig->client_pdn,
					 WRC_KEY_ENTRIES,
					 SNIC_REMOTE_READ | SNIC_REMOTE_WRITE,
					 WRC_KEY_VARIANT, &key);
		if (err)
			break;
		err = wrc_keymap_set(&entry, key, 0);
		if (err)
			bad[nr_bad++] = key;
	} while (err && nr_bad < TRIES);
	*ret_key = key;
	while (nr_bad)
		snic_mkey_dereg(rig->nic, bad[--nr_bad]);
	return err;
}

int wrc_rig_make_keys(struct wrc_rig *rig)
{
	struct wrc_rig_keys *k = &rig->keys;
	uint32_t slots = rig->cfg.nr_slots, i;
	int err = 0;

	k->nr = (slots + WRC_KEY_SLOTS - 1) / WRC_KEY_SLOTS;
	if (k->nr > sizeof(k->key) / sizeof(k->key[0]))
		return -ERANGE;
	k->map = wrc_rig_block(rig, slots * sizeof(*k->map));
	if (!k->map)
		return -ENOMEM;
	for (i = 0; !err && i < k->nr; i++)
		err = rig_make_key(rig, &k->key[i]);
	for (i = 0; !err && i < slots; i++)
		err = wrc_keymap_set(&k->map[i], k->key[i / WRC_KEY_SLOTS], i);
	if (!err)
		err = snic_mkey_reg(rig->nic, rig->node_pdn, k->map,
				    slots * sizeof(*k->map), 0,
				    SNIC_REMOTE_READ, &rig->bind.keymap_key);
	return err;
}

uint64_t wrc_rig_translation(const struct wrc_rig *rig, uint64_t slot)
{
	struct wrc_ksm entry = { 0 };

	if (snic_mkey_entry(rig->nic, rig->keys.key[slot / WRC_KEY_SLOTS],
			    slot % WRC_KEY_SLOTS * WRC_KSM_GROUP, &entry) ||
	    !entry.key)
		return 0;
	return be64toh(entry.addr);
}

/* ---- the client ----------------------------------------------------------------- */

static int make_qp(struct snic *nic, struct snic_qp_attr *attr, uint32_t cqn,
		   uint32_t *ret_qpn)
{
	attr->scqn = attr->rcqn = cqn;
	attr->log_sq = LOG_SQ;
	return snic_qp_create(nic, attr, ret_qpn);
}

int wrc_rig_make_pair(struct wrc_rig *rig)
{
	size_t len = WRC_WQE_BB << LOG_SQ;
	uint8_t *mem = wrc_rig_block(rig, 2 * len + 128);
	struct wrc_rig_keys *k = &rig->keys;
	struct snic_qp_attr node = {
		.pdn = rig->client_pdn, .sq = mem,
		.dbr = (struct wrc_dbr *)(mem + 2 * len),
		.access = SNIC_REMOTE_READ | SNIC_REMOTE_WRITE,
	};
	struct snic_qp_attr peer = { .pdn = rig->peer_pdn, .sq = mem + len };
	uint32_t cqn;
	int err;

	if (!mem)
		return -ENOMEM;
	k->umrs = mem;
	k->node_dbr = node.dbr;
	k->sq = peer.sq;
	k->dbr = peer.dbr = (struct wrc_dbr *)(mem + 2 * len + 64);
	err = wrc_rig_cq(rig, rig->nic, LOG_SQ, true, &cqn);
	if (!err)
		err = wrc_rig_cq(rig, rig->peer_nic, LOG_SQ, true, &k->cqn);
	if (!err)
		err = make_qp(rig->nic, &node, cqn, &k->node_qpn);
	if (!err)
		err = make_qp(rig->peer_nic, &peer, k->cqn, &k->peer_qpn);
	if (!err)
		err = wrc_rig_join(rig, k->node_qpn, k->peer_qpn);
	return err;
}

int wrc_rig_rejoin(struct wrc_rig *rig)
{
	struct wrc_rig_keys *k = &rig->keys;
	struct wrc_cqe cqe;
	int err;

	err = snic_qp_reset(rig->nic, k->node_qpn);
	if (!err)
		err = snic_qp_reset(rig->peer_nic, k->peer_qpn);
	while (!snic_cq_poll(rig->peer_nic, k->cqn, &cqe))
		;
	k->posted = k->mapped = 0;
	return err ? err : wrc_rig_join(rig, k->node_qpn, k->peer_qpn);
}

static int rig_completed(struct wrc_rig *rig)
{
	struct wrc_cqe cqe;
	int i, err;

	for (i = 0; i < MAX_STEPS; i++) {
		err = snic_cq_poll(rig->peer_nic, rig->keys.cqn, &cqe);
		if (err != -EAGAIN)
			break;
		if (wrc_rig_step(rig) && i)
			return -ETIMEDOUT;
	}
	if (err)
		return err;
	return cqe.op_own >> 4 == WRC_CQE_REQ ? 0 : -EIO;
}

int wrc_rig_access(struct wrc_rig *rig, __u8 op, uint32_t rkey, uint64_t raddr,
		   void *page, uint32_t len)
{
	struct wrc_rig_keys *k = &rig->keys;
	struct wrc_wr wr = {
		.op = op, .shape = op, .index = k->posted,
		.flags = WRC_WQE_CE_ALWAYS, .qpn = k->peer_qpn,
		.rkey = rkey, .raddr = raddr, .nr_sge = 1,
		.sge[0] = { len, rig->peer_key, (uintptr_t)page },
	};
	uint32_t at = k->posted % (1u << LOG_SQ);
	int n, err;

	n = wrc_encode(&wr, k->sq + at * WRC_WQE_BB, WRC_WQE_BB);
	if (n < 0)
		return n;
	err = snic_qp_doorbell(rig->peer_nic, k->peer_qpn, ++k->posted);
	return err ? err : rig_completed(rig);
}

int wrc_rig_read(struct wrc_rig *rig, uint64_t slot, uint32_t off, void *page,
		 uint32_t len)
{
	return wrc_rig_access(rig, WRC_WQE_READ,
			      rig->keys.key[slot / WRC_KEY_SLOTS],
			      wrc_key_addr(slot) + off, page, len);
}

int wrc_rig_write(struct wrc_rig *rig, uint64_t slot, uint32_t off,
		  void *page, uint32_t len)
{
	return wrc_rig_access(rig, WRC_WQE_WRITE,
			      rig->keys.key[slot / WRC_KEY_SLOTS],
			      wrc_key_addr(slot) + off, page, len);
}

/* ---- by hand ------------------------------------------------------------------------ */

int wrc_rig_translate(struct wrc_rig *rig, uint64_t slot, uint64_t page)
{
	struct wrc_rig_keys *k = &rig->keys;
	size_t ring = WRC_WQE_BB << LOG_SQ;
	struct wrc_wr wr = {
		.op = WRC_WQE_UMR, .shape = WRC_WQE_UMR, .index = k->mapped,
		.qpn = k->node_qpn,
		.imm = be32toh(k->map[slot].key),
		.offset = be16toh(k->map[slot].offset),
		.page_key = page ? rig->bind.pool_key : 0, .page = page,
	};
	uint8_t wqe[3 * WRC_WQE_BB];
	int n = wrc_encode(&wr, wqe, sizeof(wqe));

	if (n < 0)
		return n;
	for (int bb = 0; bb < 3; bb++)
		memcpy(k->umrs + (size_t)(k->mapped++ * WRC_WQE_BB) % ring,
		       wqe + bb * WRC_WQE_BB, WRC_WQE_BB);
	n = snic_qp_doorbell(rig->nic, k->node_qpn, k->mapped);
	wrc_rig_settle(rig);
	if (!n && wrc_rig_translation(rig, slot) != page)
		n = -EIO;
	return n;
}
