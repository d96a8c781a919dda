/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Files of secrets, one for each known compute node: DIR/NAME has lines
 * "secret = TEXT", each with 32 random bytes in base64 or hexadecimal.  A file may have
 * two secrets, while a new one replaces the old one.  Only the owner may have access.
 */
#ifndef MNODE_SECRET_H
#define MNODE_SECRET_H

#include <stddef.h>
#include <stdint.h>
#include <odrp/auth.h>

#define SECRET_DIR	SYSCONFDIR "/odrp/keys.d"
#define SECRET_MAX	2	/* secrets in a file */
#define SECRET_WHY_MAX	512

struct secrets {
	unsigned int nr;
	uint8_t secret[SECRET_MAX][ODRP_AUTH_SECRET];
};

/*
 * Reads DIR/NAME.  -ENOENT: there is no such file.  -EACCES: it is not a regular file, it
 * belongs to another user, or others than the owner have access.  -EINVAL: the name or a
 * line is invalid.  -EFBIG: the file is too long.  On an error why has a sentence.  The
 * caller wipes *ret_secrets after use.
 */
int secret_read(const char *dir, const char *name, struct secrets *ret_secrets,
		char why[SECRET_WHY_MAX]);
/* Makes the file with one new secret, and dir if it is missing.  -EEXIST: the file exists. */
int secret_new(const char *dir, const char *name, char why[SECRET_WHY_MAX]);
/* Removes the file without reading it.  -ENOENT: no such file; -EINVAL: invalid name. */
int secret_remove(const char *dir, const char *name, char why[SECRET_WHY_MAX]);

#endif /* MNODE_SECRET_H */
