/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mem: memory that threads and processes of one host share, the embedded default.
 *
 * A space is one file per memory node in a directory: SPACE@NODE. Offset 0 of the
 * space is offset 0 of the file; behind the space the file has data of mem (struct
 * mem_tail). Clients map the file. poll() of a queue set executes the operations that
 * were posted on this queue set.
 *
 * Configuration: dir=PATH, the directory; /dev/shm/far-UID unless given. The default
 * directory is made (0700) with the first space, and must belong to the user.
 *
 * Memory nodes have names of letters, digits, '-', '_' and '.'; "" is "0".
 *
 * A memory node is dead for its clients once its file was removed through
 * far_nic_host_ops.remove(). When a file is deleted by hand, connected clients can go on,
 * but connect() fails.
 */
#ifndef FAR_NIC_MEM_H
#define FAR_NIC_MEM_H

#include "nic.h"

extern const struct far_nic_ops far_mem_ops;

#define FAR_MEM_NODE_MAX	31u	/* bytes of a node's name */

#endif
