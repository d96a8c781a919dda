/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * User-space stand-ins for the few kernel headers that the pure files of
 * kmod/ include, so that they compile, unchanged, into unit tests.
 *
 * Every atomic step, and every marked access to shared memory, first calls
 * shim_step(): a test that wants to try all interleavings switches there.
 */
#ifndef _SHIM_H
#define _SHIM_H

extern void (*shim_step_hook)(void);	/* NULL: just go on */

static inline void shim_step(void)
{
	if (shim_step_hook)
		shim_step_hook();
}

#endif /* _SHIM_H */
