// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The device's side of a split virtqueue; see vring.h. */
#include <endian.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>
#include "../../own/own.h"
#include "vring.h"

/* Layout of virtio 1.1, 2.6.5 to 2.6.8; the guest uses the same. */
_Static_assert(sizeof(struct vring_desc) == 16, "descriptor");
_Static_assert(offsetof(struct vring_desc, len) == 8, "descriptor");
_Static_assert(offsetof(struct vring_desc, flags) == 12, "descriptor");
_Static_assert(offsetof(struct vring_desc, next) == 14, "descriptor");
_Static_assert(offsetof(struct vring_avail, idx) == 2, "avail");
_Static_assert(offsetof(struct vring_avail, ring) == 4, "avail");
_Static_assert(offsetof(struct vring_used, idx) == 2, "used");
_Static_assert(offsetof(struct vring_used, ring) == 4, "used");
_Static_assert(sizeof(struct vring_used_elem) == 8, "used");

static uint16_t load16(const void *p)
{
	return le16toh(__atomic_load_n((const uint16_t *)p, __ATOMIC_ACQUIRE));
}

static void store16(void *p, uint16_t v)
{
	__atomic_store_n((uint16_t *)p, htole16(v), __ATOMIC_RELEASE);
}

/* Written by the guest: interrupt when this entry is used. */
static uint16_t used_event(const struct snic_vring *v)
{
	return load16(&v->avail->ring[v->num]);
}

/* Written by the device: kick when this chain is available. */
static void set_avail_event(struct snic_vring *v, uint16_t index)
{
	store16(&v->used->ring[v->num], index);
}

void snic_vring_init(struct snic_vring *v)
{
	memset(v, 0, sizeof(*v));
	v->kick_fd = v->call_fd = -1;
}

void snic_vring_stop(struct snic_vring *v)
{
	uint16_t next = v->next_avail;

	own_fd_close(v->kick_fd);
	own_fd_close(v->call_fd);
	snic_vring_init(v);
	v->next_avail = next;
}

int snic_vring_map(struct snic_vring *v, const struct snic_guest_mem *mem)
{
	uint64_t event = v->event_idx ? 2 : 0;
	void *desc, *avail, *used;

	v->desc = NULL;
	if (!v->num || v->user_desc % 16 || v->user_avail % 2 ||
	    v->user_used % 4)
		return -EINVAL;
	desc = snic_guest_mem_at_user(mem, v->user_desc, 16ull * v->num);
	avail = snic_guest_mem_at_user(mem, v->user_avail,
				       4 + 2ull * v->num + event);
	used = snic_guest_mem_at_user(mem, v->user_used,
				      4 + 8ull * v->num + event);
	if (!desc || !avail || !used)
		return -EINVAL;
	v->desc = desc;
	v->avail = avail;
	v->used = used;
	v->next_used = v->shown_used = v->notified_used = load16(&v->used->idx);
	return 0;
}

bool snic_vring_runs(const struct snic_vring *v)
{
	return v->desc && v->enabled && v->kick_fd >= 0 && !v->broken;
}

/* True: the guest has added chains. */
static bool vring_ready(const struct snic_vring *v)
{
	return load16(&v->avail->idx) != v->next_avail;
}

static int ring_broken(struct snic_vring *v)
{
	v->broken = true;
	return -EIO;
}

/* Adds a descriptor to the chain; d is a copy, because the guest may change its
 * own. */
static int add_desc(struct snic_vchain *c, const struct snic_guest_mem *mem,
		    const struct vring_desc *d, bool write)
{
	uint16_t flags = le16toh(d->flags);
	uint32_t len = le32toh(d->len);
	struct iovec *iov = &c->iov[c->nr];

	if (flags & VRING_DESC_F_INDIRECT ||
	    !!(flags & VRING_DESC_F_WRITE) != write)
		return -EIO;
	if (c->nr == sizeof(c->iov) / sizeof(c->iov[0]))
		return -EIO;
	iov->iov_base = snic_guest_mem_at(mem, le64toh(d->addr), len);
	iov->iov_len = len;
	if (!iov->iov_base)
		return -EIO;
	c->nr++;
	c->len += len;
	return 0;
}

int snic_vring_take(struct snic_vring *v, const struct snic_guest_mem *mem,
		    bool write, struct snic_vchain *ret_chain)
{
	struct snic_vchain *c = ret_chain;
	uint16_t waiting = load16(&v->avail->idx) - v->next_avail;
	struct vring_desc d;
	uint32_t i;

	if (v->broken || waiting > v->num)
		return ring_broken(v);
	if (!waiting)
		return 0;
	c->nr = 0;
	c->len = 0;
	c->head = load16(&v->avail->ring[v->next_avail & (v->num - 1)]);
	i = c->head;
	do {
		if (i >= v->num)
			return ring_broken(v);
		memcpy(&d, &v->desc[i], sizeof(d));
		/* add_desc() limits the length, which also ends a loop. */
		if (add_desc(c, mem, &d, write))
			return ring_broken(v);
		i = le16toh(d.next);
	} while (le16toh(d.flags) & VRING_DESC_F_NEXT);
	v->next_avail++;
	return 1;
}

void snic_vring_untake(struct snic_vring *v, uint16_t n)
{
	v->next_avail -= n;
}

void snic_vring_put(struct snic_vring *v, uint16_t head, uint32_t len)
{
	struct vring_used_elem *e = &v->used->ring[v->next_used & (v->num - 1)];

	e->id = htole32(head);
	e->len = htole32(len);
	v->next_used++;
}

void snic_vring_show(struct snic_vring *v)
{
	store16(&v->used->idx, v->next_used);
	v->shown_used = v->next_used;
}

/* Virtio 1.1, 2.6.7.2: has the index passed the requested one? */
static bool event_passed(uint16_t event, uint16_t now, uint16_t before)
{
	return (uint16_t)(now - event - 1) < (uint16_t)(now - before);
}

static bool wants_interrupt(const struct snic_vring *v)
{
	if (!v->event_idx)
		return !(load16(&v->avail->flags) & VRING_AVAIL_F_NO_INTERRUPT);
	return event_passed(used_event(v), v->shown_used, v->notified_used);
}

void snic_vring_notify(struct snic_vring *v)
{
	uint64_t one = 1;

	if (v->shown_used == v->notified_used)
		return;
	/* Publish the index before reading whether the guest wants an
	 * interrupt. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (wants_interrupt(v) && v->call_fd >= 0 &&
	    write(v->call_fd, &one, sizeof(one)) < 0 && errno != EAGAIN)
		v->broken = true;	/* the guest cannot be notified any more */
	v->notified_used = v->shown_used;
}

bool snic_vring_want_kick(struct snic_vring *v, bool on)
{
	if (v->event_idx)
		/* To disable kicks, ask for the chain that is farthest away. */
		set_avail_event(v, on ? v->next_avail :
					v->next_avail + 0x8000);
	else
		store16(&v->used->flags, on ? 0 : VRING_USED_F_NO_NOTIFY);
	if (!on)
		return false;
	/* Publish the request before looking for chains added meanwhile. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return vring_ready(v);
}
