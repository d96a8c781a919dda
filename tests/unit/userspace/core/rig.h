/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the tests of core have in common: spaces of plain memory behind `mem`, in a
 * directory of their own.
 */
#ifndef TEST_FAR_CORE_RIG_H
#define TEST_FAR_CORE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../../../../userspace/core/core.h"
#include "../../../../userspace/core/task.h"
#include "../../../../userspace/core/thread.h"

#define RIG_SIZE	(1u << 20)	/* bytes of a node's space */
#define RIG_NODES	3u

struct rig {
	char dir[32];
	struct far_nic *nic;
	struct far_host_map map[RIG_NODES];
};

/* Three nodes "0" to "2" with a space "s" each. */
void rig_open(struct rig *rig);
void rig_close(struct rig *rig);
/* A client of all three, over nic: rig->nic, or a wrapper of it. */
struct far *rig_client(struct far_nic *nic, unsigned without);
/* Memory of a node. */
void *rig_at(struct rig *rig, unsigned node, uint64_t off);

#endif
