// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Saves the report of odrp-hwcheck as a file; verdict.c reads it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <nic/verdict.h>
#include "check.h"

/* The mode must not depend on the umask. */
static int make_dir(const char *path)
{
	if (!mkdir(path, 0755))
		return chmod(path, 0755) ? -errno : 0;
	return errno == EEXIST ? 0 : -errno;
}

/* Makes each directory of path.  Changes path temporarily. */
static int make_dirs(char *path)
{
	char *slash;
	int r = 0;

	for (slash = strchr(path + 1, '/'); !r && slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = 0;
		r = make_dir(path);
		*slash = '/';
	}
	return r;
}

static int write_all(int fd, const char *text, size_t len)
{
	ssize_t n;

	for (; len; text += n, len -= n) {
		n = write(fd, text, len);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			return -errno;
	}
	return 0;
}

static int file_fill(int fd, struct json_object *report)
{
	const char *text = json_object_to_json_string_ext(report,
						JSON_C_TO_STRING_PRETTY);
	int r = text ? write_all(fd, text, strlen(text)) : -ENOMEM;

	if (!r)
		r = write_all(fd, "\n", 1);
	if (!r && (fchmod(fd, 0644) || fsync(fd)))
		r = -errno;
	return r;
}

/* Syncs the directory, so that the file's name is on disk, too. */
static int sync_dir(char *path)
{
	char *slash = strrchr(path, '/');
	int fd, r;

	if (slash)
		slash[slash == path] = 0;
	fd = open(slash ? path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fsync(fd) ? -errno : 0;
	close(fd);
	return r;
}

/* -EEXIST: path is something else than a regular file, such as a device or a link. */
static int check_place(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno == ENOENT ? 0 : -errno;
	return S_ISREG(st.st_mode) ? 0 : -EEXIST;
}

static int report_save(struct json_object *report, char *path)
{
	char tmp[VERDICT_PATH_MAX + 8];
	int fd, r;

	r = make_dirs(path);
	if (!r)
		r = check_place(path);
	if (r)
		return r;
	snprintf(tmp, sizeof(tmp), "%s.XXXXXX", path);
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = file_fill(fd, report);
	if (close(fd) && !r)
		r = -errno;
	if (!r && rename(tmp, path))
		r = -errno;
	if (r)
		unlink(tmp);
	return r ? r : sync_dir(path);
}

int check_save(struct json_object *report, const char *path,
	       char why[NIC_MLX5_WHY_MAX])
{
	char copy[VERDICT_PATH_MAX];
	int r = 0;

	if (snprintf(copy, sizeof(copy), "%s", path) >= (int)sizeof(copy))
		r = -ENAMETOOLONG;
	if (!r)
		r = report_save(report, copy);
	if (r)
		snprintf(why, NIC_MLX5_WHY_MAX, "%.250s: cannot be saved: %s",
			 path, r == -EEXIST ? "the file there is not a regular file" :
			 strerror(-r));
	return r;
}
