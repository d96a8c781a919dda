// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Built where UCX is not installed. */
#include "call.h"

const struct call_way call_ucx = { .name = "ucx" };
