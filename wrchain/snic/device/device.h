/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The device's interface to the runners; snic.h has the interface for its users. */
#ifndef SNIC_DEVICE_H
#define SNIC_DEVICE_H

#include "../snic.h"

/*
 * True if a send queue, a failed CQ or a packet waits for the next step.  Calls
 * between two steps can change this after snic_step() has returned its next
 * time.
 */
bool snic_is_busy(struct snic *nic);

#endif /* SNIC_DEVICE_H */
