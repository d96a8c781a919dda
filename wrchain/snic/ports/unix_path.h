/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the ports on AF_UNIX sockets share: their paths. */
#ifndef SNIC_UNIX_PATH_H
#define SNIC_UNIX_PATH_H

#include <sys/un.h>

/* -EINVAL: empty; -ENAMETOOLONG. */
int snic_unix_path(const char *path, struct sockaddr_un *ret_addr);
/*
 * Removes what a process that died left behind; never anything but a socket
 * (-ENOTSOCK) that nobody listens to (-EADDRINUSE).
 */
int snic_unix_unlink_stale(const struct sockaddr_un *addr, int type);
/* A stream socket that listens there, after that; nobody has to wait for it. */
int snic_unix_listen(const struct sockaddr_un *addr, int *ret_fd);

#endif /* SNIC_UNIX_PATH_H */
