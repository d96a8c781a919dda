/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reading a grant, in which the memory node tells another lease.  Pure code, also compiled
 * in user space.
 */
#ifndef _ODRP_GRANT_H
#define _ODRP_GRANT_H

#include <linux/types.h>
#include <odrp/wire.h>
#include "auth.h"

bool odrp_grant_read(const void *page, u64 epoch, const struct odrp_auth_key *key,
		     __be64 handle, struct odrp_wire_grant *ret_grant);

#endif /* _ODRP_GRANT_H */
