// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A virtual machine made of bytes; see guest.h. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>
#include "guest.h"

/* Offsets in a queue's bytes. */
#define DESC	0u
#define AVAIL	0x200u
#define USED	0x400u
#define BUFS	0x1000u

void guest_call(struct guest *g, const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	unsigned int i;

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	memset(g, 0, sizeof(*g));
	g->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
	assert_true(g->fd >= 0);
	assert_int_equal(connect(g->fd, (struct sockaddr *)&addr, sizeof(addr)),
			 0);
	g->size = G_OFFSET + 2 * (G_QUEUE + BUFS);
	g->memfd = memfd_create("guest", MFD_ALLOW_SEALING);
	assert_true(g->memfd >= 0);
	assert_int_equal(ftruncate(g->memfd, g->size), 0);
	assert_int_equal(fcntl(g->memfd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	g->mem = mmap(NULL, g->size, PROT_READ | PROT_WRITE, MAP_SHARED,
		      g->memfd, 0);
	assert_true(g->mem != MAP_FAILED);
	for (i = 0; i < 2; i++) {
		uint8_t *base = g->mem + G_OFFSET + i * (G_QUEUE + BUFS);

		g->q[i].desc = (struct vring_desc *)(base + DESC);
		g->q[i].avail = (struct vring_avail *)(base + AVAIL);
		g->q[i].used = (struct vring_used *)(base + USED);
		g->q[i].kick = eventfd(0, EFD_NONBLOCK);
		g->q[i].call = eventfd(0, EFD_NONBLOCK);
	}
}

void guest_hang_up(struct guest *g)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		close(g->q[i].kick);
		close(g->q[i].call);
	}
	munmap(g->mem, g->size);
	close(g->memfd);
	close(g->fd);
}

void guest_send(struct guest *g, const void *buf, size_t len, const int *fds,
		unsigned int nr)
{
	union {
		struct cmsghdr c;
		char bytes[CMSG_SPACE(16 * sizeof(int))];
	} control;
	struct iovec iov = { (void *)buf, len };
	struct msghdr mh = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (nr) {
		memset(&control, 0, sizeof(control));
		mh.msg_control = control.bytes;
		mh.msg_controllen = CMSG_SPACE(nr * sizeof(int));
		control.c.cmsg_level = SOL_SOCKET;
		control.c.cmsg_type = SCM_RIGHTS;
		control.c.cmsg_len = CMSG_LEN(nr * sizeof(int));
		memcpy(CMSG_DATA(&control.c), fds, nr * sizeof(int));
	}
	/* The port may have hung up on what came before. */
	if (sendmsg(g->fd, &mh, MSG_NOSIGNAL) < 0)
		return;
}

void guest_say(struct guest *g, uint32_t request, uint32_t flags,
	       const void *payload, uint32_t size, const int *fds,
	       unsigned int nr)
{
	struct vhost_user_head head = { request, flags, size };
	uint8_t buf[sizeof(head) + 512];

	assert_true(size <= 512);
	memcpy(buf, &head, sizeof(head));
	if (size)
		memcpy(buf + sizeof(head), payload, size);
	guest_send(g, buf, sizeof(head) + size, fds, nr);
}

void guest_say_u64(struct guest *g, uint32_t request, uint64_t v)
{
	guest_say(g, request, VHOST_USER_VERSION, &v, sizeof(v), NULL, 0);
}

void guest_say_state(struct guest *g, uint32_t request, uint32_t index,
		     uint32_t num)
{
	struct vhost_vring_state s = { .index = index, .num = num };

	guest_say(g, request, VHOST_USER_VERSION, &s, sizeof(s), NULL, 0);
}

bool guest_hear(struct guest *g, struct vhost_user_msg *ret_msg)
{
	return recv(g->fd, ret_msg, sizeof(*ret_msg), MSG_DONTWAIT) >=
	       (ssize_t)sizeof(ret_msg->head);
}

void guest_say_memory(struct guest *g)
{
	struct vhost_user_mem m = { .nr = 1 };

	m.maps[0] = (struct snic_guest_map) {
		.gpa = G_GPA,
		.size = g->size - G_OFFSET,
		.user = G_USER,
		.offset = G_OFFSET,
	};
	guest_say(g, VHOST_USER_SET_MEM_TABLE, VHOST_USER_VERSION, &m,
		  8 + sizeof(m.maps[0]), &g->memfd, 1);
}

static uint64_t user(struct guest *g, const void *p)
{
	return G_USER + ((const uint8_t *)p - (g->mem + G_OFFSET));
}

void guest_say_queue(struct guest *g, unsigned int i, uint16_t base)
{
	struct queue *q = &g->q[i];
	struct vhost_vring_addr addr = {
		.index = i,
		.desc_user_addr = user(g, q->desc),
		.avail_user_addr = user(g, q->avail),
		.used_user_addr = user(g, q->used),
	};
	uint64_t index = i;

	guest_say_state(g, VHOST_USER_SET_VRING_NUM, i, G_NUM);
	guest_say_state(g, VHOST_USER_SET_VRING_BASE, i, base);
	guest_say(g, VHOST_USER_SET_VRING_ADDR, VHOST_USER_VERSION, &addr,
		  sizeof(addr), NULL, 0);
	guest_say(g, VHOST_USER_SET_VRING_CALL, VHOST_USER_VERSION, &index,
		  sizeof(index), &q->call, 1);
	guest_say(g, VHOST_USER_SET_VRING_KICK, VHOST_USER_VERSION, &index,
		  sizeof(index), &q->kick, 1);
	guest_say_state(g, VHOST_USER_SET_VRING_ENABLE, i, 1);
}

void guest_set_up(struct guest *g, uint64_t features, uint16_t base)
{
	unsigned int i;

	guest_say_u64(g, VHOST_USER_SET_FEATURES, features);
	guest_say_memory(g);
	for (i = 0; i < 2; i++) {
		g->q[i].avail->idx = g->q[i].used->idx = base;
		g->q[i].used_seen = base;
		guest_say_queue(g, i, base);
	}
}

uint8_t *guest_buf(struct guest *g, unsigned int i, unsigned int k)
{
	return (uint8_t *)g->q[i].desc + BUFS + k * G_BUF;
}

uint64_t guest_gpa(struct guest *g, const void *p)
{
	return G_GPA + ((const uint8_t *)p - (g->mem + G_OFFSET));
}

void guest_desc(struct guest *g, unsigned int i, unsigned int k, uint32_t len,
		uint16_t flags, uint16_t next)
{
	g->q[i].desc[k] = (struct vring_desc) {
		.addr = guest_gpa(g, guest_buf(g, i, k)),
		.len = len,
		.flags = flags | (i ? 0 : VRING_DESC_F_WRITE),
		.next = next,
	};
}

void guest_offer(struct guest *g, unsigned int i, uint16_t head)
{
	struct vring_avail *a = g->q[i].avail;

	a->ring[a->idx % G_NUM] = head;
	__atomic_store_n(&a->idx, a->idx + 1, __ATOMIC_RELEASE);
}

bool guest_used(struct guest *g, unsigned int i, uint32_t *ret_head,
		uint32_t *ret_len)
{
	struct queue *q = &g->q[i];
	struct vring_used_elem *e = &q->used->ring[q->used_seen % G_NUM];

	if (q->used_seen == q->used->idx)
		return false;
	*ret_head = e->id;
	*ret_len = e->len;
	q->used_seen++;
	return true;
}

bool guest_heard_event(int fd)
{
	uint64_t n;

	return read(fd, &n, sizeof(n)) == sizeof(n);
}

uint16_t *guest_used_event(struct guest *g, unsigned int i)
{
	return &g->q[i].avail->ring[G_NUM];
}

uint16_t *guest_avail_event(struct guest *g, unsigned int i)
{
	return (uint16_t *)&g->q[i].used->ring[G_NUM];
}
