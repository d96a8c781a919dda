/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files of secrets, one for each compute node that is known: DIR/NAME has lines
 * "secret = TEXT", each with 32 random bytes in base64 or hexadecimal.  There may be
 * two, while one takes the place of the other.  Nobody but the owner may read them.
 */
#ifndef MNODE_SECRET_H
#define MNODE_SECRET_H

#include <stddef.h>
#include <stdint.h>
#include <odrp/auth.h>

#define SECRET_DIR	SYSCONFDIR "/odrp/keys.d"
#define SECRET_MAX	2	/* of one name */
#define SECRET_WHY_MAX	512

struct secrets {
	unsigned int nr;
	uint8_t secret[SECRET_MAX][ODRP_AUTH_SECRET];
};

/*
 * -ENOENT: there is no such file.  -EACCES: others may read or change it, or it is not a
 * file of its own.  -EINVAL: the name, or what stands in it.  With a sentence in why.
 */
int secret_read(const char *dir, const char *name, struct secrets *ret_secrets,
		char why[SECRET_WHY_MAX]);
/* Makes such a file, with one secret.  -EEXIST: there is one. */
int secret_new(const char *dir, const char *name, char why[SECRET_WHY_MAX]);
/* Removes the file, whatever is in it.  -ENOENT; -EINVAL: the name. */
int secret_remove(const char *dir, const char *name, char why[SECRET_WHY_MAX]);

#endif /* MNODE_SECRET_H */
