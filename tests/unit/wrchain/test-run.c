// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Chains on the software NIC: what they do, and where they stop. */
#include "bench.h"
int main(void)
{
	return 0;
}
