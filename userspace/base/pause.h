/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pauses in real time, of threads that wait for a memory node and have no queue set to wait
 * at. All others wait by the NIC table, whose time is virtual in sim.
 */
#ifndef FAR_BASE_PAUSE_H
#define FAR_BASE_PAUSE_H

void far_pause_ms(unsigned ms);

#endif
