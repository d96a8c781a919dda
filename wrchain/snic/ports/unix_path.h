/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Paths of AF_UNIX sockets. */
#ifndef SNIC_UNIX_PATH_H
#define SNIC_UNIX_PATH_H

#include <sys/un.h>

/* -EINVAL: empty.  -ENAMETOOLONG. */
int snic_unix_path(const char *path, struct sockaddr_un *ret_addr);
/* Removes the socket that a dead process left at addr.  -ENOTSOCK: not a
 * socket.  -EADDRINUSE: a process uses the socket. */
int snic_unix_unlink_stale(const struct sockaddr_un *addr, int type);
/*
 * Removes a stale socket and listens at addr; the descriptor is non-blocking.
 */
int snic_unix_listen(const struct sockaddr_un *addr, int *ret_fd);

#endif /* SNIC_UNIX_PATH_H */
