// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Pauses in real time: see pause.h. */
#include "pause.h"

#include <poll.h>
#include <stddef.h>

void far_pause_ms(unsigned ms)
{
	poll(NULL, 0, ms);
}
