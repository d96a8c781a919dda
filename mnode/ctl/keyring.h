/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Secrets for odrp.ko, which takes a secret from the keyrings of the process that adds a
 * device.
 */
#ifndef CTL_KEYRING_H
#define CTL_KEYRING_H

#include "../../userspace/auth/secret.h"

enum keyring {
	KEYRING_PROCESS,	/* ends with this process */
	KEYRING_USER,		/* shared by all processes of the user; ends with the last one */
};

/*
 * Adds the first secret in dir/name as key "odrp:NAME" of type logon, which user space
 * cannot read.  0, or -errno with a sentence in why.
 */
int keyring_load(const char *dir, const char *name, enum keyring ring,
		 char why[SECRET_WHY_MAX]);

#endif /* CTL_KEYRING_H */
