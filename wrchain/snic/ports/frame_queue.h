/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bytes [head, tail) of a buffer, in order: what the ports on stream sockets
 * and in guests' memory keep of frames.  On a stream each frame stands behind
 * its length, 32 bits, big endian; so it does here.
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

/* len bytes, touched when used.  -ENOMEM. */
int snic_frame_queue_init(struct snic_frame_queue *q, uint32_t len);
void snic_frame_queue_fini(struct snic_frame_queue *q);
void snic_frame_queue_clear(struct snic_frame_queue *q);
bool snic_frame_queue_empty(const struct snic_frame_queue *q);
/* Room for n bytes behind tail; false: there is none. */
bool snic_frame_queue_room(struct snic_frame_queue *q, uint32_t n);
/* A frame behind its length.  -EAGAIN: there is no room. */
int snic_frame_queue_add(struct snic_frame_queue *q, const struct iovec *iov,
			 int n);
/* The first frame, which stays: its length (0: an empty one); -EAGAIN: it is
 * not whole; -EPROTO: longer than a frame may be. */
int snic_frame_queue_first(const struct snic_frame_queue *q,
			   const void **ret_frame);
/* Done with the first frame, of that length. */
void snic_frame_queue_drop(struct snic_frame_queue *q, uint32_t len);

#endif /* SNIC_FRAME_QUEUE_H */
