// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Paths of AF_UNIX sockets; see unix_path.h. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "../../own/own.h"
#include "unix_path.h"

int snic_unix_path(const char *path, struct sockaddr_un *ret_addr)
{
	if (!path || !*path)
		return -EINVAL;
	memset(ret_addr, 0, sizeof(*ret_addr));
	ret_addr->sun_family = AF_UNIX;
	if (strnlen(path, sizeof(ret_addr->sun_path)) ==
	    sizeof(ret_addr->sun_path))
		return -ENAMETOOLONG;
	memcpy(ret_addr->sun_path, path, strlen(path));
	return 0;
}

int snic_unix_unlink_stale(const struct sockaddr_un *addr, int type)
{
	struct stat st;
	int fd, ret = 0;

	if (lstat(addr->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -ENOTSOCK;
	fd = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (!connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) ||
	    errno == EAGAIN)	/* its backlog is full */
		ret = -EADDRINUSE;
	else if (errno != ECONNREFUSED)
		ret = -errno;
	else if (unlink(addr->sun_path))
		ret = -errno;
	close(fd);
	return ret;
}

int snic_unix_listen(const struct sockaddr_un *addr, int *ret_fd)
{
	int fd, ret;

	ret = snic_unix_unlink_stale(addr, SOCK_STREAM);
	if (ret)
		return ret;
	fd = own_fd(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0));
	if (fd < 0)
		return fd;
	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) ||
	    listen(fd, 1)) {
		ret = -errno;
		own_fd_close(fd);
		return ret;
	}
	*ret_fd = fd;
	return 0;
}
