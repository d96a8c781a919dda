/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Secrets for odrp.ko, which takes them out of the keyrings of whoever adds a device.
 */
#ifndef CTL_KEYRING_H
#define CTL_KEYRING_H

#include "../../userspace/auth/secret.h"

enum keyring {
	KEYRING_PROCESS,	/* goes with this process */
	KEYRING_USER,		/* of all processes of the user; goes with the last */
};

/*
 * Adds the secret of a name from its file in dir, as key "odrp:NAME" of type logon, which
 * nobody can read; of two secrets the first.  0, or -errno with a sentence in why.
 */
int keyring_load(const char *dir, const char *name, enum keyring ring,
		 char why[SECRET_WHY_MAX]);

#endif /* CTL_KEYRING_H */
