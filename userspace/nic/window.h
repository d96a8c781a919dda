/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of windows: files without a name, and what a NIC reaches by a key. */
#ifndef FAR_NIC_WINDOW_H
#define FAR_NIC_WINDOW_H

#include "nic.h"

#define FAR_WINDOW_PAGE	4096u
#define FAR_WINDOW_MAX	(UINT64_C(1) << 32)	/* bytes, with common memory */

/* Makes a file of size bytes, all zeros, that cannot shrink, and maps it. -ENOMEM. */
int far_shared_new(const char *name, uint64_t size, int *ret_fd, void **ret_addr);
/* The size of a file of another process. -EPROTO: it may change, or is invalid. */
int far_shared_size(int fd, uint64_t *ret_size);
/*
 * Maps size bytes of a file, and, if more is not 0, as many of another file behind them. fd -1:
 * private memory of zeros.
 */
int far_shared_map(int fd, uint64_t size, int more_fd, uint64_t more, void **ret_addr);

/* Those of far_nic_call_ops, for all back ends but sim. */
int far_common_new(struct far_nic *nic, uint64_t size, struct far_common *ret_common);
void far_common_free(struct far_nic *nic, struct far_common *common);
/* The file; -1: there is no common memory. */
int far_common_fd(const struct far_common *common);

/*
 * Maps a window of soft or verbs: size bytes of zeros and the common memory behind them. priv:
 * own bytes of zeros, for the back end. -EINVAL: 0, too much, or no whole pages; -ENOMEM.
 */
int far_window_map(uint64_t size, const struct far_common *common, size_t own,
		   struct far_window *ret_window);
void far_window_unmap(struct far_window *window);

/* True if a window may have such memory. */
static inline bool far_window_fits(uint64_t size, const struct far_common *common)
{
	uint64_t more = common ? common->size : 0;

	return size && size % FAR_WINDOW_PAGE == 0 && size <= FAR_WINDOW_MAX &&
	       more <= FAR_WINDOW_MAX - size;
}

#endif
