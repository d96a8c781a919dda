/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Attached spaces, claims and fences of mem. A client holds a lock on one byte of the
 * file, at an offset beyond the mapped part. The lock belongs to the open file
 * description (F_OFD_SETLK). The kernel releases the lock when the process has ended for
 * any reason; the process cannot store anything after that.
 *
 * A child process that runs no fork() handlers (own/own.h), as after clone(), shares the
 * description and keeps the lock. So the tail names the process of each client: a fence
 * ignores a lock whose process has ended. The client number cannot be claimed again while
 * the child has the description.
 */
#include "mem_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define LOOK_MS		10u	/* between two checks of the process of a lock */
#define MEM_CLAIM_OFF	(INT64_C(1) << 41)	/* byte of client 0 */

int mem_attach(struct far_nic *nic, const char *node, const char *space,
	       unsigned rights, struct far_peer *ret_peer)
{
	char name[sizeof(((struct mem_map *)0)->name)];
	int prot = PROT_READ | (rights & FAR_ATTACH_WRITE ? PROT_WRITE : 0);
	struct mem_peer *peer;
	int err;

	err = mem_file_name(node, space, name, sizeof(name));
	if (err)
		return err == -EINVAL ? -ENOENT : err;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return -ENOMEM;
	err = mem_file_map(mem_nic_of(nic), name, prot, &peer->map);
	if (err) {
		free(peer);
		return err;
	}
	peer->target = (struct mem_target) {
		.base = peer->map->base,
		.size = peer->map->size,
		.state = &peer->map->tail->state,
		.rights = rights,
	};
	ret_peer->nr_regions = 1;
	ret_peer->region[0] = (struct far_region) {
		.size = peer->map->size,
		.addr = (uintptr_t)peer->map->base,
		.place = FAR_PLACE_HOST,
	};
	ret_peer->priv = peer;
	return 0;
}

void mem_detach(struct far_nic *nic, struct far_peer *peer)
{
	struct mem_peer *mine = peer->priv;

	mem_file_unmap(mine->map);
	free(mine);
}

static struct flock lock_of(unsigned client, int type)
{
	return (struct flock) {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = MEM_CLAIM_OFF + client,
		.l_len = 1,
	};
}

/*
 * Marks a claim of this peer; -EBUSY: the peer has claimed the number already. The lock
 * does not tell: locking a byte twice by the same description is no conflict.
 */
static int peer_mark(struct mem_peer *peer, unsigned client)
{
	uint64_t bit = UINT64_C(1) << (client & 63);

	return __atomic_fetch_or(&peer->claimed[client / 64], bit,
				 __ATOMIC_ACQ_REL) & bit ? -EBUSY : 0;
}

static void peer_unmark(struct mem_peer *peer, unsigned client)
{
	__atomic_fetch_and(&peer->claimed[client / 64],
			   ~(UINT64_C(1) << (client & 63)), __ATOMIC_ACQ_REL);
}

static int peer_marked(const struct mem_peer *peer, unsigned client)
{
	return __atomic_load_n(&peer->claimed[client / 64], __ATOMIC_ACQUIRE) >>
	       (client & 63) & 1;
}

int mem_claim(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	struct flock lock = lock_of(client, F_WRLCK);
	struct mem_peer *mine = peer->priv;
	int err;

	if (client >= MEM_CLIENTS)
		return -EINVAL;
	err = peer_mark(mine, client);
	if (err)
		return err;
	if (!fcntl(mine->map->fd, F_OFD_SETLK, &lock)) {
		/* Client number 0 has no owner: see core/tend.c. */
		if (client && client < MEM_OWNERS)
			mem_owner_set(&mine->map->tail->owner[client]);
		return 0;
	}
	err = errno;
	peer_unmark(mine, client);
	if (err == EAGAIN || err == EACCES)
		return -EBUSY;
	return err == EBADF ? -EACCES : -err;
}

void mem_unclaim(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	struct flock lock = lock_of(client, F_UNLCK);
	struct mem_peer *mine = peer->priv;

	if (client >= MEM_CLIENTS || !peer_marked(mine, client))
		return;
	if (client && client < MEM_OWNERS)
		mem_owner_clear(&mine->map->tail->owner[client]);
	fcntl(mine->map->fd, F_OFD_SETLK, &lock);
	peer_unmark(mine, client);
}

/* True if the process that has claimed the number has ended, although the lock is held. */
static int owner_ended(struct mem_peer *peer, unsigned client)
{
	struct timespec now;
	uint32_t ms;

	if (client >= MEM_OWNERS)
		return 0;
	/* The arbiter asks at each step, and the process nearly always lives: check rarely. */
	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = now.tv_sec * 1000 + now.tv_nsec / 1000000;
	if (ms - __atomic_load_n(&peer->looked[client], __ATOMIC_RELAXED) < LOOK_MS)
		return 0;
	if (mem_owner_ended(&peer->map->tail->owner[client]))
		return 1;
	__atomic_store_n(&peer->looked[client], ms, __ATOMIC_RELAXED);
	return 0;
}

int mem_fence(struct far_nic *nic, struct far_peer *peer, unsigned client)
{
	struct flock lock = lock_of(client, F_WRLCK);
	struct mem_peer *mine = peer->priv;

	if (client >= MEM_CLIENTS)
		return -EINVAL;
	if (peer_marked(mine, client))
		return -EBUSY;
	if (fcntl(mine->map->fd, F_OFD_GETLK, &lock) < 0)
		return -errno;
	return lock.l_type == F_UNLCK || owner_ended(mine, client) ? 0 : -EBUSY;
}
