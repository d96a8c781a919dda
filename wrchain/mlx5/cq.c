// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Completion queues; see dev.h. */
#include <stdlib.h>
#include "cmd-priv.h"

#define PAGE	4096
#define DBR_LEN	64	/* a cache line of its own */

static size_t buf_len(__u8 log_size)
{
	return sizeof(struct wrc_cqe) << log_size;
}

/* Entries, then the record; whole pages that nobody else uses. */
static int make_memory(struct wrc_mlx5_cq *cq, size_t *ret_len)
{
	size_t len = buf_len(cq->log_size) + DBR_LEN;

	len = (len + PAGE - 1) / PAGE * PAGE;
	cq->mem = aligned_alloc(PAGE, len);
	if (!cq->mem)
		return -ENOMEM;
	memset(cq->mem, 0, len);
	cq->buf = cq->mem;
	cq->dbr = (__be32 *)((__u8 *)cq->mem + buf_len(cq->log_size));
	/* Invalid, and not owned by software in the first round. */
	memset(cq->buf, 0xff, buf_len(cq->log_size));
	*ret_len = len;
	return 0;
}

static int cq_create(struct wrc_mlx5_cq *cq, __u32 umem)
{
	const struct wrc_mlx5_cq_attr attr = {
		.log_size = cq->log_size,
		.uar_page = cq->dev->uar_page, .eqn = cq->dev->eqn,
		.umem = umem, .dbr_off = buf_len(cq->log_size),
		.overrun_ignore = true,
	};
	__u8 out[WRC_MLX5_IN_MAX];
	struct wrc_mlx5_cmd cmd;
	int err;

	wrc_mlx5_cmd_create_cq(&attr, &cmd);
	err = wrc_mlx5_create(cq->dev, &cmd, out, &cq->obj);
	if (!err)
		cq->cqn = wrc_mlx5_parse_create_cq(out);
	return err;
}

int wrc_mlx5_cq_init(struct wrc_mlx5 *dev, __u8 log_size,
		     struct wrc_mlx5_cq *ret_cq)
{
	struct wrc_mlx5_cq cq = { .dev = dev, .log_size = log_size };
	__u32 umem;
	size_t len;
	int err;

	if (log_size > dev->caps.log_max_cq_sz)
		return -ERANGE;
	err = make_memory(&cq, &len);
	if (err)
		return err;
	err = dev->devx->umem_reg(dev->ctx, cq.mem, len, &umem, &cq.umem);
	if (err)
		goto free_mem;
	err = cq_create(&cq, umem);
	if (err)
		goto dereg_umem;
	dev->stats.cqs++;
	*ret_cq = cq;
	return 0;

dereg_umem:
	dev->devx->umem_dereg(cq.umem);
free_mem:
	free(cq.mem);
	return err;
}

void wrc_mlx5_cq_fini(struct wrc_mlx5_cq *cq)
{
	const struct wrc_mlx5_devx *devx = cq->dev->devx;

	/* What the device may still write to must not be used again. */
	if (devx->destroy(cq->obj) || devx->umem_dereg(cq->umem))
		cq->mem = NULL;
	else
		cq->dev->stats.cqs--;
	free(cq->mem);
	memset(cq, 0, sizeof(*cq));
}

int wrc_mlx5_cq_poll(struct wrc_mlx5_cq *cq, struct wrc_cqe *ret_cqe)
{
	__u32 size = 1u << cq->log_size;
	const struct wrc_cqe *cqe = &cq->buf[cq->next & (size - 1)];
	__u8 op_own = __atomic_load_n(&cqe->op_own, __ATOMIC_ACQUIRE);

	if (op_own >> 4 == WRC_CQE_INVALID ||
	    (op_own & 1) != !!(cq->next & size))
		return -EAGAIN;
	memcpy(ret_cqe, cqe, sizeof(*ret_cqe));
	cq->next++;
	__atomic_store_n(cq->dbr, cpu_to_be32(cq->next & WRC_WQE_WAIT_MASK),
			 __ATOMIC_RELEASE);
	return 0;
}

int wrc_mlx5_cq_query(struct wrc_mlx5_cq *cq,
		      struct wrc_mlx5_cq_info *ret_info)
{
	struct wrc_mlx5_question q;

	wrc_mlx5_cq_ask(cq, &q);
	wrc_mlx5_question_run(&q);
	return wrc_mlx5_cq_answer(cq->dev, &q, ret_info);
}

void wrc_mlx5_cq_ask(const struct wrc_mlx5_cq *cq, struct wrc_mlx5_question *ret_q)
{
	wrc_mlx5_cmd_query_cq(cq->cqn, &ret_q->cmd);
	wrc_mlx5_question_init(cq->dev, cq->obj, ret_q);
}

int wrc_mlx5_cq_answer(struct wrc_mlx5 *dev, const struct wrc_mlx5_question *q,
		       struct wrc_mlx5_cq_info *ret_info)
{
	int err = wrc_mlx5_question_end(dev, q);

	if (!err)
		wrc_mlx5_parse_cq(q->out, ret_info);
	return err;
}
