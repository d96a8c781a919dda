// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The two sides of a comparison; see side.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <mlx5/caps.h>
#include <nic/soft.h>
#include "side.h"

#define MOMENT_US	20

/* ---- the software NIC -------------------------------------------------------- */

static int soft_join(struct side *s, uint32_t from, uint32_t to,
		     unsigned int access)
{
	const struct snic_qp_conn conn = {
		.loopback = true, .dest_qpn = to, .mtu = 4096,
		.retry_cnt = 7, .rnr_retry = 7, .timeout = 14,
		.min_rnr_timer = 1,
		.max_rd_atomic = 16, .max_dest_rd_atomic = 16,
	};

	return snic_qp_connect(s->snic, from, &conn);
}

static bool soft_wait(struct side *s)
{
	uint64_t next;

	if (snic_step(s->snic, s->now, &next) || next == SNIC_NEVER)
		return false;
	if (next > s->now)
		s->now = next;
	return true;
}

static uint64_t soft_clock_us(struct side *s)
{
	return s->now / 1000;
}

int side_soft_open(bool strict, struct side *ret_side)
{
	const struct snic_config cfg = {
		.mac = { 2, 0, 0, 0, 0, 1 }, .ip = htonl(0x0a000001),
		.prefix_len = 24, .mtu = 4500, .seed = 1,
		.fetch = SNIC_FETCH_EARLY,
		.relaxed_index = !strict, .relaxed_qpn = !strict,
	};
	struct side s = {
		.name = "software NIC", .join = soft_join, .wait = soft_wait,
		.clock_us = soft_clock_us,
	};
	int r;

	r = snic_new(&cfg, &s.snic);
	if (r)
		return r;
	r = nic_soft_adopt(s.snic, &cfg, &s.nic);
	if (r) {
		snic_free(s.snic);
		return r;
	}
	*ret_side = s;
	return 0;
}

/* ---- the card ------------------------------------------------------------------- */

static int mlx5_join(struct side *s, uint32_t from, uint32_t to,
		     unsigned int access)
{
	struct wrc_mlx5_qp *qp = nic_mlx5_qp(s->nic, from);

	if (!qp)
		return -ENOENT;
	return wrc_mlx5_qp_loop(qp, to,
				(access & NIC_REMOTE_READ ?
				 WRC_MLX5_REMOTE_READ : 0) |
				(access & NIC_REMOTE_WRITE ?
				 WRC_MLX5_REMOTE_WRITE : 0) |
				(access & NIC_REMOTE_ATOMIC ?
				 WRC_MLX5_REMOTE_ATOMIC : 0));
}

static bool mlx5_wait(struct side *s)
{
	usleep(MOMENT_US);
	return true;
}

static uint64_t mlx5_clock_us(struct side *s)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ull + ts.tv_nsec / 1000;
}

int side_mlx5_open(const struct nic_mlx5_opts *opts,
		   const struct wrc_mlx5_devx *devx, struct side *ret_side,
		   char why[NIC_MLX5_WHY_MAX])
{
	struct side s = {
		.name = "card", .join = mlx5_join, .wait = mlx5_wait,
		.clock_us = mlx5_clock_us,
	};
	struct nic_mlx5_opts unknown = *opts;
	int r;

	*unknown.report = 0;
	r = nic_mlx5_open(&unknown, devx, NULL, &s.nic, why);
	if (!r)
		*ret_side = s;
	return r;
}

const char *side_lacks_keys(const struct side *s)
{
	unsigned int pos = 0;

	return s->snic ? NULL :
	       wrc_mlx5_lacks_keys(&nic_mlx5_device(s->nic)->caps, &pos);
}

void side_close(struct side *s)
{
	s->nic->ops->close(s->nic);
	if (s->snic)
		snic_free(s->snic);
}

/* ---- both ------------------------------------------------------------------------ */

static bool until(struct side *s, bool (*done)(void *arg), void *arg,
		  uint64_t patience)
{
	uint64_t end = s->clock_us(s) + patience;

	do {
		if (done && done(arg))
			return true;
	} while (s->wait(s) && s->clock_us(s) < end);
	return done && done(arg);
}

bool side_until(struct side *s, bool (*done)(void *arg), void *arg)
{
	return until(s, done, arg, SIDE_PATIENCE_US);
}

void side_settle(struct side *s)
{
	until(s, NULL, NULL, SIDE_QUIET_US);
}
