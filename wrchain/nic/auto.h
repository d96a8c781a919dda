/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses a NIC among the RDMA devices of this machine. */
#ifndef NIC_AUTO_H
#define NIC_AUTO_H

#include "mlx5.h"
#include "verbs.h"

#define NIC_AUTO_WHY_MAX 480

/*
 * Opens the first device that runs chains as an mlx5 card; else the first one that serves by
 * plain verbs.  Never the software NIC.  A card whose report
 * of odrp-hwcheck says that it is not enough for chains counts as one that runs none.
 *
 * opts:	device "": any; else only this one
 * devx:	wrc_mlx5_devx; NULL: this build has no mlx5 NIC
 * why:		a sentence, also on success: what was chosen, and why not the others.  When
 *		there are many devices it ends where the room ends.
 *
 * -ENODEV: there is no such device, or none at all; else the error of the last device.
 */
int nic_auto_open(const struct nic_verbs_opts *opts, const struct wrc_mlx5_devx *devx,
		  struct nic **ret_nic, char why[NIC_AUTO_WHY_MAX]);

#endif /* NIC_AUTO_H */
