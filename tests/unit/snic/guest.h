/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A virtual machine made of bytes, for tests of the vhost port: its monitor's
 * messages, its memory, and the driver of its two queues.
 */
#ifndef TEST_SNIC_GUEST_H
#define TEST_SNIC_GUEST_H

#include <stdbool.h>
#include "snic/ports/vhost_user.h"
#include "snic/ports/vring.h"

#define G_NUM		16u		/* entries of a queue */
#define G_BUF		4096u		/* bytes that a descriptor may have */
#define G_GPA		0x40000000ull	/* where its memory begins */
#define G_USER		0x7f0000000000ull /* for its monitor */
#define G_OFFSET	0x3000ull	/* in the file */
#define G_QUEUE		0x10000u	/* bytes of a queue and its buffers */

struct queue {
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	uint16_t used_seen;
	int kick, call;
};

struct guest {
	int fd;				/* to the port */
	int memfd;
	uint8_t *mem;
	size_t size;
	struct queue q[2];
};

/* Calls the port; nothing is said yet. */
void guest_call(struct guest *g, const char *path);
void guest_hang_up(struct guest *g);
/* Bytes, with nr descriptors. */
void guest_send(struct guest *g, const void *buf, size_t len, const int *fds,
		unsigned int nr);
/* A message, with nr descriptors; says how long it claims to be. */
void guest_say(struct guest *g, uint32_t request, uint32_t flags,
	       const void *payload, uint32_t size, const int *fds,
	       unsigned int nr);
void guest_say_u64(struct guest *g, uint32_t request, uint64_t v);
void guest_say_state(struct guest *g, uint32_t request, uint32_t index,
		     uint32_t num);
/* The answer, if there is one. */
bool guest_hear(struct guest *g, struct vhost_user_msg *ret_msg);
/* All that makes both queues run, from entry `base` on. */
void guest_say_memory(struct guest *g);
void guest_say_queue(struct guest *g, unsigned int i, uint16_t base);
void guest_set_up(struct guest *g, uint64_t features, uint16_t base);

/* Address of buffer k of queue i: for the test, and for the device. */
uint8_t *guest_buf(struct guest *g, unsigned int i, unsigned int k);
uint64_t guest_gpa(struct guest *g, const void *p);
/* Descriptor k = buffer k, of len bytes. */
void guest_desc(struct guest *g, unsigned int i, unsigned int k, uint32_t len,
		uint16_t flags, uint16_t next);
/* Makes the chain that starts there available. */
void guest_offer(struct guest *g, unsigned int i, uint16_t head);
/* The next chain given back: true, its head and length. */
bool guest_used(struct guest *g, unsigned int i, uint32_t *ret_head,
		uint32_t *ret_len);
/* Was an event's descriptor signalled?  It is quiet then. */
bool guest_heard_event(int fd);
uint16_t *guest_used_event(struct guest *g, unsigned int i);
uint16_t *guest_avail_event(struct guest *g, unsigned int i);

#endif /* TEST_SNIC_GUEST_H */
