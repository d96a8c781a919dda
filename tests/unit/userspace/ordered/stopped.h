/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A client that stands still and lives: it sleeps before its n-th operation while it
 * inserts, with what it has claimed, locked or frozen. Operations of another one with a
 * deadline end by then, and have happened or not, as they say; gets go on.
 */
#ifndef TEST_FAR_ORDERED_STOPPED_H
#define TEST_FAR_ORDERED_STOPPED_H

#include "program.h"

/*
 * It runs for all n. The first `prefill` of `nr` keys are there before. gets_wait: a get may
 * be late, too, where what it reads is half written.
 */
void stopped_everywhere(const struct ordered_kind *kind, unsigned prefill, unsigned nr,
			bool gets_wait);

#endif
