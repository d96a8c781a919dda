// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * checksum=crc32c: a page that comes back with other contents is an I/O error.  The memory
 * node, its memory and the network are not trusted.
 *
 * Each slot has a checksum of four bytes, made of what is sent.  The writer of a page may go
 * on writing to it, so a store sends a copy, which does not change any more.  The checksum
 * becomes the slot's when the store has been answered: until then the slot holds what it
 * held before.
 *
 * Only the owner of a slot (slot.h) reads or changes its checksum.
 */
#include <linux/vmalloc.h>
#include "compat.h"
#include "odrp.h"

int odrp_sum_add(struct odrp_dev *dev)
{
	dev->sums = odrp_table_alloc(dev->slots.nr, sizeof(*dev->sums));
	return dev->sums ? 0 : -ENOMEM;
}

void odrp_sum_del(struct odrp_dev *dev)
{
	vfree(dev->sums);
	dev->sums = NULL;
}

/* Before a store is sent, from the request's own page. */
void odrp_sum_make(struct odrp_req *req)
{
	req->sum = crc32c(~0, page_address(req->bounce), ODRP_BLOCK);
}

/* When the store has been answered. */
void odrp_sum_keep(struct odrp_dev *dev, const struct odrp_req *req)
{
	dev->sums[req->slot] = req->sum;
}

/* The checksum of the request's block of the bio, which may lie in several pages. */
static u32 sum_of_block(const struct odrp_req *req)
{
	struct bvec_iter iter = req->iter;
	unsigned int done = 0, n;
	u32 sum = ~0;

	while (done < ODRP_BLOCK) {
		struct bio_vec bv = bio_iter_iovec(req->bio, iter);
		char *p = odrp_compat_map(bv.bv_page);

		n = min_t(unsigned int, bv.bv_len, ODRP_BLOCK - done);
		sum = crc32c(sum, p + bv.bv_offset, n);
		odrp_compat_unmap(p);
		bio_advance_iter(req->bio, &iter, n);
		done += n;
	}
	return sum;
}

/*
 * odrp_sum_check() - does the page that a load brought match the checksum of its slot?
 *
 * Checks the copy in the bio.  The memory node may write to the request's own page at any
 * time, so contents that are right there may be wrong when they are copied.
 *
 * Return: 0, or -EILSEQ; then the error is counted and logged.
 */
int odrp_sum_check(struct odrp_dev *dev, const struct odrp_req *req)
{
	if (sum_of_block(req) == dev->sums[req->slot])
		return 0;
	odrp_stat_inc(dev, checksum_errors);
	pr_err_ratelimited("odrp%d: slot %llu: the page that came back has a wrong checksum\n",
			   dev->id, req->slot);
	return -EILSEQ;
}
