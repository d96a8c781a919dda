/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A split virtqueue, the device's side (virtio 1.1, section 2.6).
 *
 * The rings lie in a guest's memory, which may change at any time and is never
 * trusted: indices are bounded, addresses looked up, each descriptor read once.
 * A ring that makes no sense is broken, and stays so until it is stopped.
 */
#ifndef SNIC_VRING_H
#define SNIC_VRING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include <linux/virtio_ring.h>
#include "guest_mem.h"

#define SNIC_VRING_MAX	32768		/* entries */

struct snic_vring {
	/* as told by the monitor */
	uint32_t num;			/* entries, a power of two */
	uint64_t user_desc, user_avail, user_used;
	bool event_idx;			/* VIRTIO_RING_F_EVENT_IDX */
	bool enabled;
	int kick_fd, call_fd;		/* -1: none */

	/* where that is here; NULL: nowhere */
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;

	uint16_t next_avail;		/* the next chain to take */
	uint16_t next_used;		/* the next entry to fill */
	uint16_t shown_used;		/* what the guest knows of it */
	uint16_t notified_used;		/* and was interrupted for */
	bool broken;
};

/* A chain of descriptors, its addresses looked up. */
struct snic_vchain {
	uint16_t head;
	unsigned int nr;
	struct iovec iov[64];
	size_t len;
};

void snic_vring_init(struct snic_vring *v);
/* Closes its descriptors and forgets all but next_avail. */
void snic_vring_stop(struct snic_vring *v);
/* Looks the rings up, after they or the memory have changed. -EINVAL: they are
 * not in the guest's memory; then it does not run. */
int snic_vring_map(struct snic_vring *v, const struct snic_guest_mem *mem);
bool snic_vring_runs(const struct snic_vring *v);
/*
 * The next chain whose descriptors are all for the device to write, or all to
 * read.  1: there; 0: none; -EIO: nonsense, the ring is broken.
 */
int snic_vring_take(struct snic_vring *v, const struct snic_guest_mem *mem,
		    bool write, struct snic_vchain *ret_chain);
/* Gives the last n chains taken back, which were not put. */
void snic_vring_untake(struct snic_vring *v, uint16_t n);
/* Done with a chain, len bytes written; the guest sees it after show(). */
void snic_vring_put(struct snic_vring *v, uint16_t head, uint32_t len);
void snic_vring_show(struct snic_vring *v);
/* Interrupts the guest, if it wants that, for what was shown. */
void snic_vring_notify(struct snic_vring *v);
/* Do chains wait? */
bool snic_vring_ready(const struct snic_vring *v);
/*
 * Whether the guest shall kick when it adds a chain.  On: true if there are
 * some already, for which it will not.
 */
bool snic_vring_want_kick(struct snic_vring *v, bool on);

#endif /* SNIC_VRING_H */
