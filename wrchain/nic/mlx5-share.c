// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Keys of several domains for memory that is registered once; see node.h. */
#include <errno.h>
#include <stdlib.h>
#include "mlx5-priv.h"

#define VARIANT	1	/* low byte of their numbers; any would do */

int mlx5_mr_share(struct nic *nic, uint32_t key)
{
	struct nic_mlx5 *m = mlx5_of(nic);
	struct mlx5_mr *mr = numbers_find(&m->card.mrs, key);

	if (!mr || !mr->mr)
		return -ENOENT;
	if (mr->share.umem)
		return 0;
	return wrc_mlx5_share_init(&m->dev, mr->va, mr->len, mr->iova, &mr->share);
}

int mlx5_unshare(struct mlx5_mr *mr)
{
	int r = mr->share.umem ? wrc_mlx5_share_fini(&mr->share) : 0;

	if (!r)
		mr->share.umem = NULL;
	return r;
}

int mlx5_mr_again(struct nic *nic, uint32_t key, uint32_t pdn, uint32_t *ret_key)
{
	struct nic_mlx5 *m = mlx5_of(nic);
	struct mlx5_mr *first = numbers_find(&m->card.mrs, key), *mr;
	int r;

	if (!first || !first->share.umem)
		return -ENOENT;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	r = wrc_mlx5_share_key(&first->share, pdn, VARIANT, &mr->again, &mr->key);
	if (r)
		goto free_mr;
	r = numbers_add(&m->card.mrs, mr, ret_key);
	if (r)
		goto destroy;
	m->dev.stats.keys++;
	return 0;

destroy:
	m->dev.devx->destroy(mr->again);
free_mr:
	free(mr);
	return r;
}
