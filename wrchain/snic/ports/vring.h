/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The device's side of a split virtqueue (virtio 1.1, section 2.6).
 *
 * The rings are in a guest's memory, which may change at any time and is never
 * trusted: indices are bounded, addresses translated, each descriptor read
 * once.  An invalid ring is marked broken until it is stopped.
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
	/* set by the monitor */
	uint32_t num;			/* entries, a power of two */
	uint64_t user_desc, user_avail, user_used;
	bool event_idx;			/* VIRTIO_RING_F_EVENT_IDX */
	bool enabled;
	int kick_fd, call_fd;		/* -1: none */

	/* the rings in this process; NULL: not mapped */
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;

	uint16_t next_avail;		/* the next chain to take */
	uint16_t next_used;		/* the next entry to fill */
	uint16_t shown_used;		/* used index that the guest sees */
	uint16_t notified_used;		/* used index of the last notification */
	bool broken;
};

/* A chain of descriptors with translated addresses. */
struct snic_vchain {
	uint16_t head;
	unsigned int nr;
	struct iovec iov[64];
	size_t len;
};

void snic_vring_init(struct snic_vring *v);
/* Closes the file descriptors and resets everything but next_avail. */
void snic_vring_stop(struct snic_vring *v);
/* Translates the rings' addresses; call after they or the memory have changed.
 * -EINVAL: not in the guest's memory; the ring does not run. */
int snic_vring_map(struct snic_vring *v, const struct snic_guest_mem *mem);
bool snic_vring_runs(const struct snic_vring *v);
/*
 * Takes the next chain; its descriptors must all be device-writable, or all
 * device-readable.  1: taken.  0: there is none.  -EIO: invalid, the ring is
 * broken.
 */
int snic_vring_take(struct snic_vring *v, const struct snic_guest_mem *mem,
		    bool write, struct snic_vchain *ret_chain);
/* Undoes the last n calls of snic_vring_take(). */
void snic_vring_untake(struct snic_vring *v, uint16_t n);
/* Marks a chain as used, with len bytes written; the guest sees that after
 * snic_vring_show(). */
void snic_vring_put(struct snic_vring *v, uint16_t head, uint32_t len);
void snic_vring_show(struct snic_vring *v);
/* Interrupts the guest for chains that were shown, if the guest wants that. */
void snic_vring_notify(struct snic_vring *v);
/* Enables or disables the guest's kicks for new chains.  Enabled: true if there
 * are chains already, for which no kick will come. */
bool snic_vring_want_kick(struct snic_vring *v, bool on);

#endif /* SNIC_VRING_H */
