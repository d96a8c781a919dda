/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Wire faults, drawn from the NIC's seeded generator: loss, duplication,
 * reordering, corruption and delay of frames in both directions.  Delayed
 * frames wait in a preallocated pool.  When the pool is empty, frames are lost,
 * as in a router with full queues.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "net-priv.h"

#define POOL_FRAMES	2048
/*
 * A reordered frame is delayed by at most this, or by delay_ns if that is more.
 */
#define REORDER_NS	200000ull

struct snic_fault_state {
	struct snic_faults faults;
	struct snic_frame_pool pool;
};

static void hand_on(struct snic *nic, struct snic_frame *f)
{
	struct iovec iov = { .iov_base = f->data, .iov_len = f->len };
	struct snic_net *net = snic_net_of(nic);

	if (f->received)
		snic_net_input(nic, f->place, f->data, f->len);
	else
		snic_switch_send(nic, &net->sw, &iov, 1);
}

static void frame_timer(struct snic *nic, struct snic_timer *t)
{
	struct snic_frame *f = (struct snic_frame *)
		((char *)t - offsetof(struct snic_frame, timer));

	hand_on(nic, f);
	snic_frame_put(f);
}

static bool chance(struct snic *nic, double p)
{
	if (p <= 0)
		return false;
	return (snic_random(nic) >> 11) * 0x1p-53 < p;
}

/* A number from 0 to max, both included. */
static uint64_t uniform(struct snic *nic, uint64_t max)
{
	return max == UINT64_MAX ? snic_random(nic) :
		snic_random(nic) % (max + 1);
}

/*
 * Flips one bit behind the Ethernet header of an IPv4 packet.  Other frames are
 * lost instead: only the Ethernet FCS protects them, which would drop the frame
 * before a port sees it.
 */
static bool corrupt(struct snic *nic, struct snic_frame *f)
{
	uint64_t bit;

	if (f->len <= SNIC_ETH_HLEN ||
	    (f->data[12] << 8 | f->data[13]) != SNIC_ETHERTYPE_IP)
		return false;
	bit = uniform(nic, (f->len - SNIC_ETH_HLEN) * 8 - 1);
	f->data[SNIC_ETH_HLEN + bit / 8] ^= 1 << bit % 8;
	return true;
}

static void pass(struct snic *nic, struct snic_fault_state *fs, bool received,
		 unsigned int place, const struct iovec *iov, int n)
{
	const struct snic_faults *p = &fs->faults;
	struct snic_stats *stats = snic_stats(nic);
	uint64_t delay = 0;
	struct snic_frame *f;

	f = snic_frame_get(&fs->pool, iov, n);
	if (!f) {
		stats->fault_lost++;
		return;
	}
	f->received = received;
	f->place = place;
	if (chance(nic, p->corrupt)) {
		stats->fault_corrupted++;
		if (!corrupt(nic, f)) {
			snic_frame_put(f);
			return;
		}
	}
	if (p->delay_ns) {
		delay = uniform(nic, p->delay_ns);
		stats->fault_delayed++;
	}
	if (chance(nic, p->reorder)) {
		delay += 1 + uniform(nic, p->delay_ns > REORDER_NS ?
				     p->delay_ns : REORDER_NS);
		stats->fault_reordered++;
	}
	if (delay) {
		snic_timer_set(nic, &f->timer, snic_now(nic) + delay);
		return;
	}
	hand_on(nic, f);
	snic_frame_put(f);
}

static void filter(struct snic *nic, struct snic_fault_state *fs,
		   bool received, unsigned int place, const struct iovec *iov,
		   int n)
{
	if (chance(nic, fs->faults.loss)) {
		snic_stats(nic)->fault_lost++;
		return;
	}
	pass(nic, fs, received, place, iov, n);
	if (chance(nic, fs->faults.duplicate)) {
		snic_stats(nic)->fault_duplicated++;
		pass(nic, fs, received, place, iov, n);
	}
}

void snic_fault_input(struct snic *nic, struct snic_fault_state *fs,
		      unsigned int place, const void *frame, size_t len)
{
	struct iovec iov = { .iov_base = (void *)frame, .iov_len = len };

	filter(nic, fs, true, place, &iov, 1);
}

void snic_fault_xmit(struct snic *nic, struct snic_fault_state *fs,
		     const struct iovec *iov, int n)
{
	filter(nic, fs, false, 0, iov, n);
}

void snic_fault_free(struct snic *nic, struct snic_fault_state *fs)
{
	unsigned int i;

	for (i = 0; i < fs->pool.nr; i++)
		snic_timer_cancel(nic, &fs->pool.frames[i].timer);
	snic_timer_unreserve(nic, POOL_FRAMES);
	snic_frame_pool_fini(&fs->pool);
	free(fs);
}

static int fault_new(struct snic *nic, struct snic_fault_state **ret_fs)
{
	size_t frame_len = snic_config(nic)->mtu + SNIC_ETH_HLEN + 4;
	struct snic_fault_state *fs;
	unsigned int i;
	int ret;

	fs = calloc(1, sizeof(*fs));
	if (!fs)
		return -ENOMEM;
	ret = snic_frame_pool_init(&fs->pool, POOL_FRAMES, frame_len);
	if (ret)
		goto free_state;
	ret = snic_timer_reserve(nic, POOL_FRAMES);
	if (ret)
		goto free_pool;
	for (i = 0; i < POOL_FRAMES; i++)
		snic_timer_init(&fs->pool.frames[i].timer, frame_timer);
	*ret_fs = fs;
	return 0;

free_pool:
	snic_frame_pool_fini(&fs->pool);
free_state:
	free(fs);
	return ret;
}

static bool is_probability(double p)
{
	return isfinite(p) && p >= 0 && p <= 1;
}

int snic_set_faults(struct snic *nic, const struct snic_faults *faults)
{
	struct snic_net *net = snic_net_of(nic);
	int ret;

	if (!faults || !is_probability(faults->loss) ||
	    !is_probability(faults->duplicate) ||
	    !is_probability(faults->reorder) ||
	    !is_probability(faults->corrupt))
		return -EINVAL;
	if (!net->faults) {
		ret = fault_new(nic, &net->faults);
		if (ret)
			return ret;
	}
	/* Frames that are delayed already keep their time. */
	net->faults->faults = *faults;
	return 0;
}
