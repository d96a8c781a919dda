/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A queue of frames in a buffer, bytes [head, tail).  Each frame follows its
 * length, 32 bits, big endian, as on QEMU's stream sockets.  Used by the ports
 * on stream sockets and in guests' memory.
 */
#ifndef SNIC_FRAME_QUEUE_H
#define SNIC_FRAME_QUEUE_H

#include <stdbool.h>
#include "../net/frame.h"

#define SNIC_FRAME_HEAD	4		/* the length before a frame */

struct snic_frame_queue {
	uint8_t *buf;
	uint32_t len, head, tail;
};

/* Allocates len bytes; pages take memory when they are first used.  -ENOMEM. */
int snic_frame_queue_init(struct snic_frame_queue *q, uint32_t len);
void snic_frame_queue_fini(struct snic_frame_queue *q);
void snic_frame_queue_clear(struct snic_frame_queue *q);
bool snic_frame_queue_empty(const struct snic_frame_queue *q);
/* Makes room for n bytes behind tail.  False: the queue is too full. */
bool snic_frame_queue_room(struct snic_frame_queue *q, uint32_t n);
/* Appends a frame and its length.  -EAGAIN: the queue is too full. */
int snic_frame_queue_add(struct snic_frame_queue *q, const struct iovec *iov,
			 int n);
/* Returns the length of the first frame, which stays in the queue; 0: an empty
 * frame.  -EAGAIN: no complete frame.  -EPROTO: longer than SNIC_FRAME_MAX. */
int snic_frame_queue_first(const struct snic_frame_queue *q,
			   const void **ret_frame);
/* Removes the first frame, whose length is len. */
void snic_frame_queue_drop(struct snic_frame_queue *q, uint32_t len);

#endif /* SNIC_FRAME_QUEUE_H */
