/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * <far/space.h> over a back end that is open already: nic stays the caller's.
 */
#ifndef FAR_CORE_SPACE_H
#define FAR_CORE_SPACE_H

#include <far/space.h>

#include "../nic/nic.h"

int far_space_create_on(struct far_nic *nic, const char *name,
			const struct far_space_attr *attr, char *why, size_t why_len);
int far_space_delete_on(struct far_nic *nic, const char *name, char *why,
			size_t why_len);
int far_space_list_on(struct far_nic *nic,
		      int (*each)(void *arg, const struct far_space_info *info),
		      void *arg, char *why, size_t why_len);

#endif
