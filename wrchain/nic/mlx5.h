/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An mlx5 card as the agent's NIC, and the words that configure it.  It has not been
 * run on hardware.
 */
#ifndef NIC_MLX5_H
#define NIC_MLX5_H

#include <mlx5/dev.h>
#include "cm.h"
#include "nic.h"

#define NIC_MLX5_DEV_MAX 64
#define NIC_MLX5_REPORT_MAX 256

/**
 * struct nic_mlx5_opts - what --nic mlx5:... says
 * @device:	name of the device; empty: the first mlx5 device
 * @gid_index:	index of the port's own address, for loopback on Ethernet
 * @strict:	chains renew the index of each WQE; if false, the device must have the
 *		capability to ignore indices
 * @report:	path of the report that odrp-hwcheck has saved; with a slash at the end
 *		it is a directory; empty: no report is read
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
 * Parses the words after "mlx5:".  On -EINVAL why has a sentence with the word and what
 * was expected.
 */
int nic_mlx5_parse(const char *words, struct nic_mlx5_opts *ret_opts,
		   char why[NIC_MLX5_WHY_MAX]);
/*
 * Opens the NIC.  devx and cm are wrc_mlx5_devx and nic_cm, or tables of a test.  cm NULL:
 * without connections.  On an error (-errno) why has a sentence.
 */
int nic_mlx5_open(const struct nic_mlx5_opts *opts,
		  const struct wrc_mlx5_devx *devx, const struct nic_cm *cm,
		  struct nic **ret_nic, char why[NIC_MLX5_WHY_MAX]);

/* Objects of the card, which odrp-hwcheck inspects.  NULL: no such number. */
struct wrc_mlx5 *nic_mlx5_device(struct nic *nic);
struct wrc_mlx5_qp *nic_mlx5_qp(struct nic *nic, uint32_t qpn);
struct wrc_mlx5_cq *nic_mlx5_cq(struct nic *nic, uint32_t cqn);

#endif /* NIC_MLX5_H */
