/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The one variable of the shim. */
#include <stddef.h>

#include "shim.h"

void (*shim_step_hook)(void) = NULL;
