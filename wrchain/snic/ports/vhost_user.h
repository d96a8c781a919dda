/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages of the vhost-user protocol (QEMU, docs/interop/vhost-user.rst), as
 * far as a network back end with one pair of queues needs them.  Host byte
 * order.
 */
#ifndef SNIC_VHOST_USER_H
#define SNIC_VHOST_USER_H

#include <stddef.h>
#include <stdint.h>
#include <linux/vhost_types.h>
#include "guest_mem.h"

enum vhost_user_request {
	VHOST_USER_GET_FEATURES = 1,
	VHOST_USER_SET_FEATURES = 2,
	VHOST_USER_SET_OWNER = 3,
	VHOST_USER_RESET_OWNER = 4,
	VHOST_USER_SET_MEM_TABLE = 5,
	VHOST_USER_SET_VRING_NUM = 8,
	VHOST_USER_SET_VRING_ADDR = 9,
	VHOST_USER_SET_VRING_BASE = 10,
	VHOST_USER_GET_VRING_BASE = 11,
	VHOST_USER_SET_VRING_KICK = 12,
	VHOST_USER_SET_VRING_CALL = 13,
	VHOST_USER_SET_VRING_ERR = 14,
	VHOST_USER_GET_PROTOCOL_FEATURES = 15,
	VHOST_USER_SET_PROTOCOL_FEATURES = 16,
	VHOST_USER_SET_VRING_ENABLE = 18,
};

#define VHOST_USER_VERSION	1u
#define VHOST_USER_VERSION_MASK	3u
#define VHOST_USER_REPLY	(1u << 2)
#define VHOST_USER_NEED_REPLY	(1u << 3)

#define VHOST_USER_F_PROTOCOL_FEATURES		30
#define VHOST_USER_PROTOCOL_F_REPLY_ACK		3

/* Payload of SET_VRING_KICK, _CALL and _ERR. */
#define VHOST_USER_VRING_INDEX	0xffu
#define VHOST_USER_VRING_NO_FD	(1u << 8)

struct vhost_user_head {
	uint32_t request;
	uint32_t flags;
	uint32_t size;		/* of the payload */
};

struct vhost_user_mem {
	uint32_t nr, padding;
	struct snic_guest_map maps[SNIC_GUEST_REGIONS];
};

struct vhost_user_msg {
	struct vhost_user_head head;
	union {
		uint64_t u64;
		struct vhost_vring_state state;
		struct vhost_vring_addr addr;
		struct vhost_user_mem mem;
	} __attribute__((packed)) payload;
} __attribute__((packed));

_Static_assert(sizeof(struct vhost_user_head) == 12, "header");
_Static_assert(offsetof(struct vhost_user_msg, payload) == 12, "payload");
_Static_assert(sizeof(struct snic_guest_map) == 32, "memory region");
_Static_assert(offsetof(struct snic_guest_map, user) == 16, "memory region");
_Static_assert(offsetof(struct vhost_user_mem, maps) == 8, "memory table");
_Static_assert(sizeof(struct vhost_vring_state) == 8, "ring state");
_Static_assert(sizeof(struct vhost_vring_addr) == 40, "ring addresses");

#endif /* SNIC_VHOST_USER_H */
