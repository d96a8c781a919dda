// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A vhost-user device, as its monitor configures it; see vhost_dev.h. */
#include <errno.h>
#include <fcntl.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <string.h>
#include <unistd.h>
#include "../../own/own.h"
#include "vhost_dev.h"

#define BIT(n)		(1ull << (n))

/* No checksum or segmentation offload: RoCEv2 packets need neither. */
#define FEATURES	(BIT(VIRTIO_F_VERSION_1) |			\
			 BIT(VIRTIO_RING_F_EVENT_IDX) |			\
			 BIT(VIRTIO_NET_F_MRG_RXBUF) |			\
			 BIT(VIRTIO_NET_F_MTU) |			\
			 BIT(VHOST_USER_F_PROTOCOL_FEATURES))

void snic_vhost_init(struct snic_vhost *v)
{
	unsigned int i;

	memset(v, 0, sizeof(*v));
	for (i = 0; i < VHOST_QUEUES; i++)
		snic_vring_init(&v->rings[i]);
}

void snic_vhost_clear(struct snic_vhost *v)
{
	unsigned int i;

	for (i = 0; i < VHOST_QUEUES; i++)
		snic_vring_stop(&v->rings[i]);
	snic_guest_mem_clear(&v->mem);
	snic_vhost_init(v);
}

size_t snic_vhost_header(const struct snic_vhost *v)
{
	return v->features & (BIT(VIRTIO_F_VERSION_1) |
			      BIT(VIRTIO_NET_F_MRG_RXBUF)) ?
	       sizeof(struct virtio_net_hdr_mrg_rxbuf) :
	       sizeof(struct virtio_net_hdr);
}

/* Takes fds[i] over, so that the caller does not close it. */
static int take_fd(int *fds, unsigned int nr, unsigned int i)
{
	int fd = i < nr ? fds[i] : -1;

	if (fd >= 0)
		fds[i] = -1;
	return fd;
}

static struct snic_vring *vhost_ring(struct snic_vhost *v, uint64_t index)
{
	return index < VHOST_QUEUES ? &v->rings[index] : NULL;
}

static void map_rings(struct snic_vhost *v)
{
	unsigned int i;

	/*
	 * A ring that has no address yet, or is no longer mapped, does not run.
	 */
	for (i = 0; i < VHOST_QUEUES; i++)
		snic_vring_map(&v->rings[i], &v->mem);
}

static int set_features(struct snic_vhost *v, uint64_t features)
{
	unsigned int i;

	if (features & ~FEATURES)
		return -EINVAL;
	v->features = features;
	for (i = 0; i < VHOST_QUEUES; i++) {
		v->rings[i].event_idx =
			features & BIT(VIRTIO_RING_F_EVENT_IDX);
		/*
		 * Without protocol features there is no VRING_ENABLE message.
		 */
		if (!(features & BIT(VHOST_USER_F_PROTOCOL_FEATURES)))
			v->rings[i].enabled = true;
	}
	map_rings(v);
	return 0;
}

static int set_mem_table(struct snic_vhost *v, const struct vhost_user_mem *mem,
			 uint32_t size, const int *fds, unsigned int nr)
{
	unsigned int i;
	int ret = 0;

	if (mem->nr > SNIC_GUEST_REGIONS || mem->nr != nr ||
	    size < offsetof(struct vhost_user_mem, maps[mem->nr]))
		return -EINVAL;
	snic_guest_mem_clear(&v->mem);
	for (i = 0; i < nr && !ret; i++)
		ret = snic_guest_mem_add(&v->mem, &mem->maps[i], fds[i]);
	map_rings(v);
	return ret;
}

static int set_num(struct snic_vhost *v, const struct vhost_vring_state *s)
{
	struct snic_vring *r = vhost_ring(v, s->index);

	if (!r || !s->num || s->num > SNIC_VRING_MAX || s->num & (s->num - 1))
		return -EINVAL;
	r->num = s->num;
	/* A ring that was mapped may be longer now than the guest's memory: then it
	 * does not run. */
	snic_vring_map(r, &v->mem);
	return 0;
}

static int set_addr(struct snic_vhost *v, const struct vhost_vring_addr *a)
{
	struct snic_vring *r = vhost_ring(v, a->index);

	if (!r)
		return -EINVAL;
	r->user_desc = a->desc_user_addr;
	r->user_avail = a->avail_user_addr;
	r->user_used = a->used_user_addr;
	return snic_vring_map(r, &v->mem);
}

static int set_base(struct snic_vhost *v, const struct vhost_vring_state *s)
{
	struct snic_vring *r = vhost_ring(v, s->index);

	if (!r || s->num > UINT16_MAX)
		return -EINVAL;
	r->next_avail = s->num;
	return 0;
}

static int get_base(struct snic_vhost *v, struct vhost_vring_state *s)
{
	struct snic_vring *r = vhost_ring(v, s->index);
	bool enabled;

	if (!r)
		return -EINVAL;
	enabled = r->enabled;
	snic_vring_stop(r);
	r->enabled = enabled;
	r->event_idx = v->features & BIT(VIRTIO_RING_F_EVENT_IDX);
	s->num = r->next_avail;
	return 0;
}

static int set_enable(struct snic_vhost *v, const struct vhost_vring_state *s)
{
	struct snic_vring *r = vhost_ring(v, s->index);

	if (!r || s->num > 1)
		return -EINVAL;
	r->enabled = s->num;
	return 0;
}

/* The NIC's thread must not wait for whoever is at the other end of a descriptor. */
static int fd_unblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

/* Sets an event descriptor, or none with NO_FD.  A kick descriptor is required:
 * without it the ring would have to be polled, and the NIC's thread sleeps. */
static int set_event(struct snic_vhost *v, struct vhost_user_msg *msg,
		     int *fds, unsigned int nr)
{
	uint64_t word = msg->payload.u64;
	struct snic_vring *r = vhost_ring(v, word & VHOST_USER_VRING_INDEX);
	bool none = word & VHOST_USER_VRING_NO_FD;
	int *slot, fd;

	if (!r || nr != !none)
		return -EINVAL;
	if (msg->head.request == VHOST_USER_SET_VRING_ERR)
		return 0;
	if (msg->head.request == VHOST_USER_SET_VRING_KICK && none)
		return -EOPNOTSUPP;
	if (!none && fd_unblock(fds[0]))
		return -EINVAL;
	slot = msg->head.request == VHOST_USER_SET_VRING_KICK ? &r->kick_fd :
								&r->call_fd;
	fd = take_fd(fds, nr, 0);
	own_fd_close(*slot);
	*slot = fd;
	return 0;
}

static int set_protocol(struct snic_vhost *v, uint64_t features)
{
	if (features & ~BIT(VHOST_USER_PROTOCOL_F_REPLY_ACK))
		return -EINVAL;
	v->reply_ack = features & BIT(VHOST_USER_PROTOCOL_F_REPLY_ACK);
	return 0;
}

/* The least payload of a request, in bytes. */
static uint32_t payload_size(uint32_t request)
{
	switch (request) {
	case VHOST_USER_SET_FEATURES:
	case VHOST_USER_SET_PROTOCOL_FEATURES:
	case VHOST_USER_SET_VRING_KICK:
	case VHOST_USER_SET_VRING_CALL:
	case VHOST_USER_SET_VRING_ERR:
		return sizeof(uint64_t);
	case VHOST_USER_SET_VRING_NUM:
	case VHOST_USER_SET_VRING_BASE:
	case VHOST_USER_GET_VRING_BASE:
	case VHOST_USER_SET_VRING_ENABLE:
		return sizeof(struct vhost_vring_state);
	case VHOST_USER_SET_VRING_ADDR:
		return sizeof(struct vhost_vring_addr);
	case VHOST_USER_SET_MEM_TABLE:
		return offsetof(struct vhost_user_mem, maps);
	default:
		return 0;
	}
}

/* 1: payload is the answer, *ret_size bytes; 0 or -errno: the result. */
static int message_execute(struct snic_vhost *v, struct vhost_user_msg *msg, int *fds,
			   unsigned int nr, uint32_t *ret_size)
{
	/* Copied, because pointers to members of a packed struct may be
	 * unaligned. */
	struct vhost_vring_state state = msg->payload.state;
	struct vhost_vring_addr addr = msg->payload.addr;
	struct vhost_user_mem mem = msg->payload.mem;
	int ret;

	*ret_size = sizeof(uint64_t);
	switch (msg->head.request) {
	case VHOST_USER_GET_FEATURES:
		msg->payload.u64 = FEATURES;
		return 1;
	case VHOST_USER_GET_PROTOCOL_FEATURES:
		msg->payload.u64 = BIT(VHOST_USER_PROTOCOL_F_REPLY_ACK);
		return 1;
	case VHOST_USER_GET_VRING_BASE:
		ret = get_base(v, &state);
		msg->payload.state = state;
		*ret_size = sizeof(state);
		return ret ? ret : 1;
	case VHOST_USER_SET_FEATURES:
		return set_features(v, msg->payload.u64);
	case VHOST_USER_SET_PROTOCOL_FEATURES:
		return set_protocol(v, msg->payload.u64);
	case VHOST_USER_SET_OWNER:
	case VHOST_USER_RESET_OWNER:
		return 0;
	case VHOST_USER_SET_MEM_TABLE:
		return set_mem_table(v, &mem, msg->head.size, fds, nr);
	case VHOST_USER_SET_VRING_NUM:
		return set_num(v, &state);
	case VHOST_USER_SET_VRING_ADDR:
		return set_addr(v, &addr);
	case VHOST_USER_SET_VRING_BASE:
		return set_base(v, &state);
	case VHOST_USER_SET_VRING_ENABLE:
		return set_enable(v, &state);
	case VHOST_USER_SET_VRING_KICK:
	case VHOST_USER_SET_VRING_CALL:
	case VHOST_USER_SET_VRING_ERR:
		return set_event(v, msg, fds, nr);
	default:
		return -EOPNOTSUPP;
	}
}

int snic_vhost_message(struct snic_vhost *v, struct vhost_user_msg *msg,
		       int *fds, unsigned int nr)
{
	bool acked = msg->head.flags & VHOST_USER_NEED_REPLY && v->reply_ack;
	uint32_t size = sizeof(uint64_t);
	unsigned int i;
	int ret;

	if ((msg->head.flags & VHOST_USER_VERSION_MASK) != VHOST_USER_VERSION ||
	    msg->head.size < payload_size(msg->head.request))
		ret = -EPROTO;
	else
		ret = message_execute(v, msg, fds, nr, &size);
	for (i = 0; i < nr; i++)
		own_fd_close(fds[i]);
	if (ret <= 0 && acked) {
		msg->payload.u64 = !!ret;	/* 0: done */
		ret = 1;
	}
	if (ret > 0) {
		msg->head.flags = VHOST_USER_VERSION | VHOST_USER_REPLY;
		msg->head.size = size;
	}
	/* An unknown request without acknowledgement may be ignored. */
	return ret == -EOPNOTSUPP ? 0 : ret;
}
