/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * mem: memory that threads and processes of one host share, the embedded default.
 *
 * A space is one file per memory node in a directory: SPACE@NODE. Offset 0 of the
 * space is offset 0 of the file; a page behind the space belongs to mem (struct
 * mem_tail). Clients map the file; operations are executed by poll() of the queue
 * set that posted them.
 *
 * Configuration: dir=PATH, the directory; /dev/shm/far-UID unless given. It is made
 * (0700) when the first space is created. The default one must belong to the user.
 *
 * Memory nodes have names of letters, digits, '-', '_' and '.'; "" is "0".
 *
 * A memory node is dead for its clients once its file was removed through
 * far_nic_host_ops.remove(). A file that is deleted by hand lives on for those who
 * have mapped it, and is dead for who connects anew.
 */
#ifndef FAR_NIC_MEM_H
#define FAR_NIC_MEM_H

#include "nic.h"

extern const struct far_nic_ops far_mem_ops;

#define FAR_MEM_NODE_MAX	31u	/* bytes of a node's name */

#endif
