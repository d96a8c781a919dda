// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Copying blocks of bios, which may be spread over several segments.
 */
#include <linux/highmem.h>
#include "compat.h"
#include "odrp.h"

/* odrp_block_copy() - copy one block between a page and the bio's segments from @iter on */
void odrp_block_copy(struct bio *bio, struct bvec_iter iter, struct page *page,
		     bool to_bio)
{
	char *p = page_address(page);
	unsigned int done = 0;

	while (done < ODRP_BLOCK) {
		struct bio_vec bv = bio_iter_iovec(bio, iter);
		unsigned int n = min_t(unsigned int, bv.bv_len,
				       ODRP_BLOCK - done);

		if (to_bio)
			memcpy_to_page(bv.bv_page, bv.bv_offset, p + done, n);
		else
			memcpy_from_page(p + done, bv.bv_page, bv.bv_offset, n);
		bio_advance_iter(bio, &iter, n);
		done += n;
	}
}
