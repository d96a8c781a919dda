/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One side of a comparison: a NIC, and what odrp-hwcheck needs beyond nic.h. */
#ifndef HWCHECK_SIDE_H
#define HWCHECK_SIDE_H

#include <snic/snic.h>
#include <nic/mlx5.h>
#include <nic/node.h>

/**
 * struct side - a NIC that is compared
 * @name:	for people
 * @join:	connects a queue pair to another one of this NIC, in one direction
 * @wait:	lets the NIC work for a moment.  False: the NIC is idle, and nothing
 *		happens any more by itself; hardware never returns false
 * @clock_us:	the NIC's time, microseconds; a stepped NIC has its own clock
 * @snic:	the software NIC; NULL on a card
 * @now:	the software NIC's clock, ns
 * @err:	what the experiment that runs has failed with, -errno; 0: nothing
 * @answer:	where it puts its answer
 */
struct side {
	const char *name;
	struct nic *nic;
	int (*join)(struct side *s, uint32_t from, uint32_t to,
		    unsigned int access);
	bool (*wait)(struct side *s);
	uint64_t (*clock_us)(struct side *s);
	struct snic *snic;
	uint64_t now;
	int err;
	char *answer;
};

/* r: -errno; 0, and what fails after the first failure, have no effect. */
static inline void side_fail(struct side *s, int r)
{
	if (!s->err)
		s->err = r;
}

/* Forgets the failure, for the next experiment. */
static inline int side_take_err(struct side *s)
{
	int r = s->err;

	s->err = 0;
	return r;
}

/* Opens a software NIC that wait() steps.  strict: it checks indices. */
int side_soft_open(bool strict, struct side *ret_side);
/* Opens a card, or what a test has in its place, without using a saved report.  -errno,
 * with a sentence in why. */
int side_mlx5_open(const struct nic_mlx5_opts *opts,
		   const struct wrc_mlx5_devx *devx, struct side *ret_side,
		   char why[NIC_MLX5_WHY_MAX]);
void side_close(struct side *s);

/* The first thing that this NIC lacks for translation in the NIC; NULL: nothing. */
const char *side_lacks_keys(const struct side *s);

/* Waits until done() is true, the NIC is idle or SIDE_PATIENCE_US have passed.  Returns
 * done(). */
#define SIDE_PATIENCE_US	500000
bool side_until(struct side *s, bool (*done)(void *arg), void *arg);
/* Waits until the NIC is idle or SIDE_QUIET_US have passed. */
#define SIDE_QUIET_US		20000
void side_settle(struct side *s);

#endif /* HWCHECK_SIDE_H */
