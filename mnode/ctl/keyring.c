// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Puts a secret from a file into a keyring.  The C library has no function for keyrings. */
#include <errno.h>
#include <linux/keyctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "keyring.h"

static const long rings[] = {
	[KEYRING_PROCESS] = KEY_SPEC_PROCESS_KEYRING,
	[KEYRING_USER] = KEY_SPEC_USER_KEYRING,
};

int keyring_load(const char *dir, const char *name, enum keyring ring,
		 char why[SECRET_WHY_MAX])
{
	char description[sizeof("odrp:") + ODRP_AUTH_NAME];
	struct secrets s;
	int r;

	r = secret_read(dir, name, &s, why);
	if (r)
		return r;
	snprintf(description, sizeof(description), "odrp:%s", name);
	if (syscall(SYS_add_key, "logon", description, s.secret[0],
		    (size_t)ODRP_AUTH_SECRET, rings[ring]) < 0) {
		r = -errno;
		snprintf(why, SECRET_WHY_MAX, "adding key logon %s to a keyring: %s",
			 description, strerror(-r));
	}
	explicit_bzero(&s, sizeof(s));
	return r;
}
