/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One side of a comparison: a NIC with what odrp-hwcheck needs beyond nic.h.
 */
#ifndef HWCHECK_SIDE_H
#define HWCHECK_SIDE_H

#include <snic/snic.h>
#include <nic/mlx5.h>
#include <nic/node.h>

/**
 * struct side - a NIC under comparison
 * @name:	for people
 * @join:	connects a queue pair to another one of this NIC, in one
 *		direction
 * @wait:	lets it work for a moment.  False: it is idle, and nothing
 *		will happen any more by itself; hardware never says so
 * @clock_us:	the time that passes for it: not this machine's, where it is
 *		stepped
 * @now:	the software NIC's clock, ns
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
};

/* A software NIC that is stepped by wait().  strict: it checks indices. */
int side_soft_open(bool strict, struct side *ret_side);
/* A card, or what a test has instead; as one of which nothing is known. */
int side_mlx5_open(const struct nic_mlx5_opts *opts,
		   const struct wrc_mlx5_devx *devx, struct side *ret_side,
		   char why[NIC_MLX5_WHY_MAX]);
void side_close(struct side *s);

/* What this NIC lacks for translation in it, first; or NULL. */
const char *side_lacks_keys(const struct side *s);

/* Waits until done() or the NIC is idle or SIDE_PATIENCE_US are over. */
#define SIDE_PATIENCE_US	500000
bool side_until(struct side *s, bool (*done)(void *arg), void *arg);
/* Waits until what was asked for should be over: idle, or SIDE_QUIET_US. */
#define SIDE_QUIET_US		20000
void side_settle(struct side *s);

#endif /* HWCHECK_SIDE_H */
