/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An mlx5 card as the agent's NIC, and the words that configure it.  Not run
 * on hardware.
 */
#ifndef NIC_MLX5_H
#define NIC_MLX5_H

#include <mlx5/dev.h>
#include "mlx5-cm.h"
#include "nic.h"

#define NIC_MLX5_DEV_MAX 64
#define NIC_MLX5_REPORT_MAX 256

/**
 * struct nic_mlx5_opts - what --nic mlx5:... says
 * @device:	its name; empty: the first mlx5 device
 * @gid_index:	of the port's own address, where loopback needs one
 * @strict:	chains renew each WQE's index.  Else the device must say that
 *		it ignores them
 * @report:	what odrp-hwcheck has kept of the card; ends with a slash: a
 *		directory; empty: not looked at
 */
struct nic_mlx5_opts {
	char device[NIC_MLX5_DEV_MAX];
	uint8_t port;
	uint16_t gid_index;
	bool strict;
	char report[NIC_MLX5_REPORT_MAX];
};

#define NIC_MLX5_WHY_MAX WRC_MLX5_WHY_MAX

/*
 * Parses the words after "mlx5:".  -EINVAL with a sentence in why that names
 * the word and what was expected.
 */
int nic_mlx5_parse(const char *words, struct nic_mlx5_opts *ret_opts,
		   char why[NIC_MLX5_WHY_MAX]);
/* On these functions: wrc_mlx5_devx and mlx5_cm, or those of a test. */
int nic_mlx5_open(const struct nic_mlx5_opts *opts,
		  const struct wrc_mlx5_devx *devx, const struct mlx5_cm *cm,
		  struct nic **ret_nic, char why[NIC_MLX5_WHY_MAX]);

/* For odrp-hwcheck, which asks for more than nic.h has.  NULL: none. */
struct wrc_mlx5 *nic_mlx5_device(struct nic *nic);
struct wrc_mlx5_qp *nic_mlx5_qp(struct nic *nic, uint32_t qpn);
struct wrc_mlx5_cq *nic_mlx5_cq(struct nic *nic, uint32_t cqn);

#endif /* NIC_MLX5_H */
