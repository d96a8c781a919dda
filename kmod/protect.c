// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * protect=aead: the memory node, and anybody who sees its packets, gets ciphertext only.
 * A load returns the page that was stored in the slot last, or an I/O error.
 *
 * The cipher is ChaCha20-Poly1305.  The key is random, made when the device is added, and
 * never leaves this file.  The nonce of each encryption is the next value of a counter of
 * the device.  The number of the slot is authenticated together with the page.  So a
 * changed page, the page of another slot, and an older page of the slot fail
 * authentication.  The compute node keeps nonce and tag of each slot, its seal: 24 bytes.
 *
 * A store is encrypted in the page of the request, which is the only page that the NIC
 * gets (programs may have mapped the page of the bio, so that page must not change).  When
 * the request is sent again, it sends the same bytes: no nonce is used for two plaintexts.
 * The seal of the request becomes that of the slot when the store has been answered; until
 * then the slot holds what it held before.
 *
 * Only the owner of a slot (slot.h) accesses its seal.  Slots may exchange their entries of
 * the memory node's table, but not their seals.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include "compat.h"
#include "odrp.h"

struct seal {
	u64	nonce;
	u8	tag[ODRP_TAG];
};

static_assert(sizeof(struct seal) == ODRP_SEAL_BYTES);

/*
 * struct odrp_protect - encryption of one device
 * @nonce:	the last nonce that has been used
 * @seals:	one for each slot; owned by the owner of the slot
 * @lock:	guards @scratch
 * @scratch:	page in which a block is decrypted that lies in more than one page
 */
struct odrp_protect {
	u8		key[ODRP_AEAD_KEY];
	atomic64_t	nonce;
	struct seal	*seals;
	spinlock_t	lock;
	struct page	*scratch;
};

/*
 * odrp_protect_add() - encrypt all pages of the device
 *
 * Called before the first request.  Sleeps; may wait until the kernel has random numbers.
 *
 * Return: 0 or -errno; odrp_protect_del() frees, also after an error.
 */
int odrp_protect_add(struct odrp_dev *dev)
{
	struct odrp_protect *p = odrp_alloc(kzalloc(sizeof(*p), GFP_KERNEL));
	int err;

	if (!p)
		return -ENOMEM;
	dev->protect = p;
	spin_lock_init(&p->lock);
	atomic64_set(&p->nonce, 0);
	p->scratch = odrp_alloc(alloc_page(GFP_KERNEL));
	p->seals = odrp_table_alloc(dev->slots.nr, sizeof(*p->seals));
	if (!p->scratch || !p->seals)
		return -ENOMEM;		/* odrp_protect_del() frees the rest */
	err = get_random_bytes_wait(p->key, sizeof(p->key));
	if (!err)
		pr_info("odrp%d: protect=aead: %llu MiB for counters and tags\n", dev->id,
			DIV_ROUND_UP_ULL(dev->slots.nr * sizeof(*p->seals), 1 << 20));
	return err;
}

/* Wipes the key, and frees what odrp_protect_add() has allocated. */
void odrp_protect_del(struct odrp_dev *dev)
{
	struct odrp_protect *p = dev->protect;

	if (!p)
		return;
	dev->protect = NULL;
	vfree(p->seals);
	if (p->scratch)
		__free_page(p->scratch);
	memzero_explicit(p->key, sizeof(p->key));
	kfree(p);
}

/*
 * A scatterlist of a block and the tag of a request.  The requests may be in vmalloc
 * memory; the alignment of the tag keeps it within one page.
 */
static void make_sg(struct scatterlist sg[2], struct page *page,
		    unsigned int off, u8 *tag)
{
	sg_init_table(sg, 2);
	sg_set_page(&sg[0], page, ODRP_BLOCK, off);
	sg_set_page(&sg[1], is_vmalloc_addr(tag) ? vmalloc_to_page(tag) :
						   virt_to_page(tag),
		    ODRP_TAG, offset_in_page(tag));
}

/*
 * odrp_protect_seal() - encrypt the page of a request in place; sets its nonce and tag
 *
 * The library accepts the length of a block.  If it ever refuses, this clears the page:
 * the store sends zeros, not plaintext, and a later load of the slot fails.
 */
void odrp_protect_seal(struct odrp_dev *dev, struct odrp_req *req)
{
	struct odrp_protect *p = dev->protect;
	__le64 ad = cpu_to_le64(req->slot);
	struct scatterlist sg[2];

	req->nonce = atomic64_inc_return(&p->nonce);
	make_sg(sg, req->bounce, 0, req->tag);
	if (WARN_ON_ONCE(!chacha20poly1305_encrypt_sg_inplace(sg, ODRP_BLOCK,
				(const u8 *)&ad, sizeof(ad), req->nonce, p->key)))
		memset(page_address(req->bounce), 0, ODRP_BLOCK);
}

/* The store has been answered: the seal of the request becomes that of the slot. */
void odrp_protect_keep(struct odrp_dev *dev, const struct odrp_req *req)
{
	struct seal *s = &dev->protect->seals[req->slot];

	s->nonce = req->nonce;
	memcpy(s->tag, req->tag, ODRP_TAG);
}

static bool open_page(struct odrp_protect *p, struct odrp_req *req,
		      struct page *page, unsigned int off)
{
	__le64 ad = cpu_to_le64(req->slot);
	struct scatterlist sg[2];

	memcpy(req->tag, p->seals[req->slot].tag, ODRP_TAG);
	make_sg(sg, page, off, req->tag);
	return chacha20poly1305_decrypt_sg_inplace(sg, ODRP_BLOCK + ODRP_TAG,
						   (const u8 *)&ad, sizeof(ad),
						   p->seals[req->slot].nonce,
						   p->key);
}

/* Decrypts a block that lies in more than one page.  Blocks of swap never do. */
static bool open_pieces(struct odrp_protect *p, struct odrp_req *req)
{
	bool ok;

	spin_lock_bh(&p->lock);
	odrp_block_copy(req->bio, req->iter, p->scratch, false);
	ok = open_page(p, req, p->scratch, 0);
	if (ok)
		odrp_block_copy(req->bio, req->iter, p->scratch, true);
	spin_unlock_bh(&p->lock);
	return ok;
}

/*
 * odrp_protect_open() - decrypt and verify a block in place, in the bio of a load
 *
 * The caller has copied the page of the request to the bio.  The page of the request is
 * not decrypted itself, because the memory node may write to it at any time, also between
 * check and use.
 *
 * Return: 0.  Or -EBADMSG, after counting the error and a message in the log: the contents
 * of the block are invalid, and the caller must overwrite them.
 */
int odrp_protect_open(struct odrp_dev *dev, struct odrp_req *req)
{
	struct bio_vec bv = bio_iter_iovec(req->bio, req->iter);
	bool ok;

	if (bv.bv_len >= ODRP_BLOCK)
		ok = open_page(dev->protect, req, bv.bv_page, bv.bv_offset);
	else
		ok = open_pieces(dev->protect, req);
	if (ok)
		return 0;
	odrp_stat_inc(dev, protect_errors);
	pr_err_ratelimited("odrp%d: slot %llu: what came back is not the page that was stored\n",
			   dev->id, req->slot);
	return -EBADMSG;
}
