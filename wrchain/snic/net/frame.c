/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pools of frames, allocated at once: an empty pool costs a frame, never an
 * allocation on the data path.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "net-priv.h"

size_t snic_iov_len(const struct iovec *iov, int n)
{
	size_t len = 0;
	int i;

	for (i = 0; i < n; i++)
		len += iov[i].iov_len;
	return len;
}

int snic_frame_pool_init(struct snic_frame_pool *pool, unsigned int nr,
			 size_t frame_len)
{
	unsigned int i;

	pool->frames = calloc(nr, sizeof(*pool->frames));
	/* malloc(): pages that are never used take no memory. */
	pool->data = malloc(nr * frame_len);
	if (!pool->frames || !pool->data) {
		snic_frame_pool_fini(pool);
		return -ENOMEM;
	}
	pool->nr = nr;
	pool->frame_len = frame_len;
	pool->free = NULL;
	for (i = 0; i < nr; i++) {
		pool->frames[i].pool = pool;
		pool->frames[i].data = pool->data + i * frame_len;
		snic_frame_put(&pool->frames[i]);
	}
	return 0;
}

void snic_frame_pool_fini(struct snic_frame_pool *pool)
{
	free(pool->frames);
	free(pool->data);
	memset(pool, 0, sizeof(*pool));
}

struct snic_frame *snic_frame_get(struct snic_frame_pool *pool,
				  const struct iovec *iov, int n)
{
	struct snic_frame *f = pool->free;
	int i;

	if (!f || snic_iov_len(iov, n) > pool->frame_len)
		return NULL;
	pool->free = f->next;
	f->next = NULL;
	f->len = 0;
	for (i = 0; i < n; i++) {
		if (!iov[i].iov_len)
			continue;
		memcpy(f->data + f->len, iov[i].iov_base, iov[i].iov_len);
		f->len += iov[i].iov_len;
	}
	return f;
}

void snic_frame_put(struct snic_frame *f)
{
	f->next = f->pool->free;
	f->pool->free = f;
}
