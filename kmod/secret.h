/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The secret that a compute node shares with a memory node.  It comes from the keyrings of
 * the task that adds the device, is kept with the session, and cannot be read back.
 */
#ifndef _ODRP_SECRET_H
#define _ODRP_SECRET_H

#include <linux/types.h>
#include <odrp/auth.h>

/* secret.c */
int odrp_secret_get(const char *name, u8 ret_secret[ODRP_AUTH_SECRET]);

#endif /* _ODRP_SECRET_H */
