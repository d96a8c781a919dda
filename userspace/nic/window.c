/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory of windows; see window.h. The size of a file is sealed: else the other end could
 * shrink it, and an access would kill this process.
 */
#include "window.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <own/memory.h>
#include <own/own.h>

#define SEALS	(F_SEAL_SHRINK | F_SEAL_GROW)

struct common {
	int fd;
};

/* Maps a file, or private memory, in the place of what is at addr. */
static int piece_map(void *addr, int fd, uint64_t size)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;

	return mmap(addr, size, PROT_READ | PROT_WRITE, MAP_FIXED | flags, fd, 0) == MAP_FAILED ?
	       -ENOMEM : 0;
}

int far_shared_map(int fd, uint64_t size, int more_fd, uint64_t more, void **ret_addr)
{
	void *addr = mmap(NULL, size + more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int err;

	if (addr == MAP_FAILED)
		return -ENOMEM;
	err = piece_map(addr, fd, size);
	if (!err && more)
		err = piece_map((uint8_t *)addr + size, more_fd, more);
	if (err) {
		munmap(addr, size + more);
		return err;
	}
	*ret_addr = addr;
	return 0;
}

static int shared_map_own(int fd, uint64_t size, void **ret_addr)
{
	int err = far_shared_map(fd, size, -1, 0, ret_addr);

	if (!err)
		madvise(*ret_addr, size, MADV_DONTFORK);
	return err;
}

int far_shared_new(const char *name, uint64_t size, int *ret_fd, void **ret_addr)
{
	int fd, err;

	if (size > own_memory_available(NULL))
		return -ENOMEM;
	fd = own_fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
	if (fd < 0)
		return fd;
	/* Allocate now: a later store without free memory would kill its process (SIGBUS). */
	err = -posix_fallocate(fd, 0, size);
	if (!err && fcntl(fd, F_ADD_SEALS, SEALS) < 0)
		err = -errno;
	if (!err)
		err = shared_map_own(fd, size, ret_addr);
	if (err) {
		own_fd_close(fd);
		return err == -ENOSPC ? -ENOMEM : err;
	}
	*ret_fd = fd;
	return 0;
}

int far_shared_size(int fd, uint64_t *ret_size)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & SEALS) != SEALS ||
	    seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE) || fstat(fd, &st) < 0 ||
	    st.st_size < (off_t)FAR_WINDOW_PAGE || st.st_size % FAR_WINDOW_PAGE ||
	    st.st_size > (off_t)FAR_WINDOW_MAX)
		return -EPROTO;
	*ret_size = st.st_size;
	return 0;
}

int far_common_fd(const struct far_common *common)
{
	return common ? ((const struct common *)common->priv)->fd : -1;
}

int far_common_new(struct far_nic *nic, uint64_t size, struct far_common *ret_common)
{
	struct common *mine;
	int err;

	if (!far_window_fits(size, NULL))
		return -EINVAL;
	mine = malloc(sizeof(*mine));
	if (!mine)
		return -ENOMEM;
	err = far_shared_new("far-common", size, &mine->fd, &ret_common->addr);
	if (err) {
		free(mine);
		return err;
	}
	ret_common->size = size;
	ret_common->priv = mine;
	return 0;
}

void far_common_free(struct far_nic *nic, struct far_common *common)
{
	struct common *mine = common->priv;

	munmap(common->addr, common->size);
	own_fd_close(mine->fd);
	free(mine);
}

int far_window_map(uint64_t size, const struct far_common *common, size_t own,
		   struct far_window *ret_window)
{
	uint64_t more = common ? common->size : 0;
	void *priv, *addr;
	int err;

	if (!far_window_fits(size, common))
		return -EINVAL;
	priv = calloc(1, own);
	if (!priv)
		return -ENOMEM;
	err = far_shared_map(-1, size, far_common_fd(common), more, &addr);
	if (err) {
		free(priv);
		return err;
	}
	*ret_window = (struct far_window) { .addr = addr, .size = size, .span = size + more,
					    .priv = priv };
	return 0;
}

void far_window_unmap(struct far_window *window)
{
	munmap(window->addr, window->span);
	free(window->priv);
}
