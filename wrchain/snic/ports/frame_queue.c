// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A queue of frames in a buffer; see frame_queue.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "frame_queue.h"

int snic_frame_queue_init(struct snic_frame_queue *q, uint32_t len)
{
	*q = (struct snic_frame_queue){ .buf = malloc(len), .len = len };
	return q->buf ? 0 : -ENOMEM;
}

void snic_frame_queue_fini(struct snic_frame_queue *q)
{
	free(q->buf);
	q->buf = NULL;
}

void snic_frame_queue_clear(struct snic_frame_queue *q)
{
	q->head = q->tail = 0;
}

bool snic_frame_queue_empty(const struct snic_frame_queue *q)
{
	return q->head == q->tail;
}

bool snic_frame_queue_room(struct snic_frame_queue *q, uint32_t n)
{
	if (q->head == q->tail)
		snic_frame_queue_clear(q);
	if (q->len - q->tail >= n)
		return true;
	if (q->len - (q->tail - q->head) < n)
		return false;
	memmove(q->buf, q->buf + q->head, q->tail - q->head);
	q->tail -= q->head;
	q->head = 0;
	return true;
}

static void queue_append(struct snic_frame_queue *q, const void *src, size_t len)
{
	memcpy(q->buf + q->tail, src, len);
	q->tail += len;
}

int snic_frame_queue_add(struct snic_frame_queue *q, const struct iovec *iov,
			 int n)
{
	size_t len = snic_iov_len(iov, n);
	__be32 head = cpu_to_be32(len);
	int i;

	if (!snic_frame_queue_room(q, SNIC_FRAME_HEAD + len))
		return -EAGAIN;
	queue_append(q, &head, SNIC_FRAME_HEAD);
	for (i = 0; i < n; i++)
		queue_append(q, iov[i].iov_base, iov[i].iov_len);
	return 0;
}

int snic_frame_queue_first(const struct snic_frame_queue *q,
			   const void **ret_frame)
{
	uint32_t have = q->tail - q->head, len;
	__be32 head;

	if (have < SNIC_FRAME_HEAD)
		return -EAGAIN;
	memcpy(&head, q->buf + q->head, SNIC_FRAME_HEAD);
	len = be32_to_cpu(head);
	if (len > SNIC_FRAME_MAX)
		return -EPROTO;
	if (have < SNIC_FRAME_HEAD + len)
		return -EAGAIN;
	*ret_frame = q->buf + q->head + SNIC_FRAME_HEAD;
	return len;
}

void snic_frame_queue_drop(struct snic_frame_queue *q, uint32_t len)
{
	q->head += SNIC_FRAME_HEAD + len;
}
