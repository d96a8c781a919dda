/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Words of far_nic_open() that are refused, and what is said of them. */
#ifndef TEST_FAR_NIC_REFUSED_H
#define TEST_FAR_NIC_REFUSED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../userspace/nic/nic.h"

struct refused {
	const char *spec, *says;
};

static inline void expect_refused(const struct refused *bad, unsigned nr)
{
	struct far_nic *nic;
	char why[512];
	unsigned i;

	for (i = 0; i < nr; i++) {
		int err = far_nic_open(bad[i].spec, why, sizeof(why), &nic);

		if (err >= 0 || !strstr(why, bad[i].says))
			fail_msg("%s: %d, \"%s\" and not \"%s\"", bad[i].spec, err, why,
				 bad[i].says);
	}
}

#endif
