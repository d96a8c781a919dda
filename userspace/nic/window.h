/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of windows that a NIC reaches by a key: soft and verbs. That of mem is a file. */
#ifndef FAR_NIC_WINDOW_H
#define FAR_NIC_WINDOW_H

#include "nic.h"

/*
 * Maps size bytes of zeros. priv: own bytes of zeros, for the back end. -EINVAL: 0, more than
 * 4 GiB, or no whole pages; -ENOMEM.
 */
int far_window_map(uint64_t size, size_t own, struct far_window *ret_window);
void far_window_unmap(struct far_window *window);

#endif
