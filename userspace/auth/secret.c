// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reading and making secrets; see secret.h. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <nettle/base16.h>
#include <nettle/base64.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include "secret.h"

#define FILE_MAX	4096
#define TEXT_MAX	BASE64_ENCODE_RAW_LENGTH(ODRP_AUTH_SECRET)

__attribute__((format(printf, 3, 4)))
static int complain(char *why, int r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, SECRET_WHY_MAX, fmt, ap);
	va_end(ap);
	return r;
}

static int check_name(const char *name, char *why)
{
	size_t len = strlen(name), i;

	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("-_.", name[i]))
			break;
	if (len && len < ODRP_AUTH_NAME && i == len && name[0] != '.')
		return 0;
	return complain(why, -EINVAL, "name '%.40s': expected 1 to %d letters, "
			"digits, '-', '_' and '.', which do not begin with '.'",
			name, ODRP_AUTH_NAME - 1);
}

static int path_of(const char *dir, const char *name, char path[4096], char *why)
{
	int r = check_name(name, why);

	if (r)
		return r;
	if (snprintf(path, 4096, "%s/%s", dir, name) >= 4096)
		return complain(why, -ENAMETOOLONG, "%.40s...: too long", dir);
	return 0;
}

/* ---- reading ---------------------------------------------------------------------- */

static bool decode_hex(const char *text, uint8_t *ret_secret)
{
	struct base16_decode_ctx ctx;
	size_t len = ODRP_AUTH_SECRET;

	base16_decode_init(&ctx);
	return strlen(text) == 2 * ODRP_AUTH_SECRET &&
	       base16_decode_update(&ctx, &len, ret_secret, strlen(text), text) &&
	       base16_decode_final(&ctx) && len == ODRP_AUTH_SECRET;
}

static bool decode_base64(const char *text, uint8_t *ret_secret)
{
	uint8_t bytes[BASE64_DECODE_LENGTH(TEXT_MAX)];
	struct base64_decode_ctx ctx;
	size_t len = sizeof(bytes);
	bool ok;

	base64_decode_init(&ctx);
	ok = strlen(text) == TEXT_MAX &&
	     base64_decode_update(&ctx, &len, bytes, TEXT_MAX, text) &&
	     base64_decode_final(&ctx) && len == ODRP_AUTH_SECRET;
	if (ok)
		memcpy(ret_secret, bytes, ODRP_AUTH_SECRET);
	explicit_bzero(bytes, sizeof(bytes));
	return ok;
}

/* Messages never quote the line: it may contain most of a secret. */
static int take_line(char *line, unsigned int nr, struct secrets *s,
		     const char *path, char *why)
{
	char key[16], text[96], more;
	bool ok;
	int n;

	line += strspn(line, " \t");
	if (!*line || *line == '#')
		return 0;
	n = sscanf(line, "%15[a-z] = %95s %c", key, text, &more);
	if (n != 2 || strcmp(key, "secret"))
		return complain(why, -EINVAL, "%s:%u: expected secret = TEXT", path,
				nr);
	ok = s->nr < SECRET_MAX && (decode_hex(text, s->secret[s->nr]) ||
				    decode_base64(text, s->secret[s->nr]));
	explicit_bzero(text, sizeof(text));
	if (s->nr == SECRET_MAX)
		return complain(why, -EINVAL, "%s:%u: expected at most %d secrets",
				path, nr, SECRET_MAX);
	if (!ok)
		return complain(why, -EINVAL, "%s:%u: expected %d bytes in base64 or "
				"hexadecimal", path, nr, ODRP_AUTH_SECRET);
	s->nr++;
	return 0;
}

static int take_lines(char *bytes, struct secrets *s, const char *path, char *why)
{
	unsigned int nr = 0;
	char *line;
	int r = 0;

	while (!r && (line = strsep(&bytes, "\n")))
		r = take_line(line, ++nr, s, path, why);
	if (!r && !s->nr)
		r = complain(why, -EINVAL, "%s: has no secret", path);
	return r;
}

static int check_file(int fd, const char *path, char *why)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return complain(why, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return complain(why, -EACCES, "%s: expected a file", path);
	if (st.st_uid && st.st_uid != geteuid())
		return complain(why, -EACCES, "%s: owner %u: expected root or the user who "
				"reads it, so that nobody else can change it", path,
				(unsigned int)st.st_uid);
	if (st.st_mode & 077)
		return complain(why, -EACCES, "%s: mode %04o: expected 0600, so that "
				"nobody else can read it", path,
				(unsigned int)st.st_mode & 07777);
	return 0;
}

int secret_read(const char *dir, const char *name, struct secrets *ret_secrets,
		char why[SECRET_WHY_MAX])
{
	struct secrets s = { 0 };
	char path[4096], bytes[FILE_MAX + 1];
	ssize_t len;
	int fd, r;

	r = path_of(dir, name, path, why);
	if (r)
		return r;
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return complain(why, errno == ELOOP ? -EACCES : -errno, "%s: %s",
				path, strerror(errno));
	r = check_file(fd, path, why);
	if (r)
		goto close_fd;
	len = read(fd, bytes, FILE_MAX);
	r = len < 0 ? -errno : len == FILE_MAX ? -EFBIG : 0;
	if (r) {
		complain(why, r, "%s: %s", path, strerror(-r));
		goto wipe;
	}
	bytes[len] = 0;
	r = take_lines(bytes, &s, path, why);
	if (!r)
		*ret_secrets = s;
wipe:
	explicit_bzero(bytes, sizeof(bytes));
	explicit_bzero(&s, sizeof(s));
close_fd:
	close(fd);
	return r;
}

/* ---- making -------------------------------------------------------------------------- */

static int write_secret(int fd)
{
	uint8_t secret[ODRP_AUTH_SECRET];
	char line[64] = "secret = ";
	size_t len = strlen(line);
	ssize_t n;

	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return -EIO;
	base64_encode_raw(line + len, sizeof(secret), secret);
	len += TEXT_MAX;
	line[len++] = '\n';
	n = write(fd, line, len);
	explicit_bzero(secret, sizeof(secret));
	explicit_bzero(line, sizeof(line));
	if (n < 0)
		return -errno;
	return n != (ssize_t)len ? -EIO : fsync(fd) < 0 ? -errno : 0;
}

int secret_new(const char *dir, const char *name, char why[SECRET_WHY_MAX])
{
	char path[4096];
	int fd, r;

	r = path_of(dir, name, path, why);
	if (r)
		return r;
	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return complain(why, -errno, "%s: %s", dir, strerror(errno));
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return complain(why, -errno, "%s: %s", path, strerror(errno));
	r = write_secret(fd);
	close(fd);
	if (!r)
		return 0;
	unlink(path);
	return complain(why, r, "%s: %s", path, strerror(-r));
}

/* ---- removing -------------------------------------------------------------------- */

int secret_remove(const char *dir, const char *name, char why[SECRET_WHY_MAX])
{
	char path[4096];
	int r;

	r = path_of(dir, name, path, why);
	if (!r && unlink(path) < 0)
		r = complain(why, -errno, "%s: %s", path, strerror(errno));
	return r;
}
