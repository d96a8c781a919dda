// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * protect=aead: the memory node, and whoever sees its packets, has noise, and a page
 * that comes back is the one that was stored in its slot last, or an I/O error.
 *
 * ChaCha20-Poly1305 under a key of the device, which is made when the device is added
 * and never leaves this file.  The nonce of each encryption is the next value of a
 * counter of the device; the number of the slot is authenticated with the page.  So a
 * changed page, the page of another slot, and an older page of the slot all fail.
 * Counter and tag, a seal, stay here: 24 bytes for each slot.
 *
 * A store is encrypted in the request's own page, which is all that the NIC is given
 * (the page of the bio may be mapped by programs, and must not change).  When the
 * request is sent again, the same bytes are: a nonce never has two plaintexts.  The
 * seal becomes the slot's when the store has been answered; until then the slot holds
 * what it held before.
 *
 * A slot's seal is touched by nobody but the owner of the slot (slot.h).  Entries of
 * the memory node's table change places between slots; seals do not.
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
 * @nonce:	the last that has been used
 * @scratch:	where a block is opened that lies in more than one page;
 *		guarded by @lock
 */
struct odrp_protect {
	u8		key[ODRP_AEAD_KEY];
	atomic64_t	nonce;
	struct seal	*seals;
	spinlock_t	lock;
	struct page	*scratch;
};

/*
 * odrp_protect_add() - from now on all that is sent is encrypted
 *
 * Before the first request.  May wait until the kernel has random numbers.
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
		return -ENOMEM;		/* odrp_protect_del() frees what there is */
	err = get_random_bytes_wait(p->key, sizeof(p->key));
	if (!err)
		pr_info("odrp%d: protect=aead: %llu MiB for counters and tags\n", dev->id,
			DIV_ROUND_UP_ULL(dev->slots.nr * sizeof(*p->seals), 1 << 20));
	return err;
}

/* Of whatever odrp_protect_add() has made.  The key is wiped. */
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
 * A page and the tag of a request, which is within one page, wherever the requests
 * have been allocated.
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
 * odrp_protect_seal() - encrypt the request's own page
 *
 * The library refuses lengths that ours is not; should it ever refuse this one, then
 * what goes out is not the page, and nobody can read it again.
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

/* The store has been answered. */
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

/* Blocks of swap are not like that. */
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
 * odrp_protect_open() - decrypt the block of the bio that a load has been copied to
 *
 * There and not in the request's own page: to that the memory node may write at any
 * time, also between the check and the use.
 *
 * Return: 0; or -EBADMSG, counted and told in the log, and the block holds nothing
 * that anybody may have.
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
