/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The secret that a compute node shares with a memory node: from the keyrings of who
 * adds the device, kept with the session, and shown to nobody.
 */
#ifndef _ODRP_SECRET_H
#define _ODRP_SECRET_H

#include <linux/types.h>
#include <odrp/auth.h>

/* secret.c */
int odrp_secret_get(const char *name, u8 ret_secret[ODRP_AUTH_SECRET]);

#endif /* _ODRP_SECRET_H */
