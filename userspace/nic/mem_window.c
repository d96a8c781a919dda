/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Windows of mem: files without a name, which processes get from each other. Their size is
 * sealed: else the other end could shrink a file, and an access would kill this process.
 */
#include "mem_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <own/memory.h>
#include <own/own.h>

#define SEALS		(F_SEAL_SHRINK | F_SEAL_GROW)
#define MAX_WINDOW	(UINT64_C(1) << 32)

struct mem_window {
	int fd;
};

static int shared_map(int fd, uint64_t size, void **ret_addr)
{
	void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (addr == MAP_FAILED)
		return -ENOMEM;
	madvise(addr, size, MADV_DONTFORK);
	*ret_addr = addr;
	return 0;
}

int mem_shared_new(const char *name, uint64_t size, int *ret_fd, void **ret_addr)
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
		err = shared_map(fd, size, ret_addr);
	if (err) {
		own_fd_close(fd);
		return err == -ENOSPC ? -ENOMEM : err;
	}
	*ret_fd = fd;
	return 0;
}

int mem_shared_map(int fd, void **ret_addr, uint64_t *ret_size)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & SEALS) != SEALS || seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE) ||
	    fstat(fd, &st) < 0 || st.st_size < MEM_PAGE || st.st_size % MEM_PAGE ||
	    st.st_size > (off_t)MAX_WINDOW)
		return -EPROTO;
	*ret_size = st.st_size;
	return shared_map(fd, st.st_size, ret_addr);
}

int mem_window_fd(const struct far_window *window)
{
	return ((const struct mem_window *)window->priv)->fd;
}

int mem_window_new(struct far_nic *nic, uint64_t size, struct far_window *ret_window)
{
	struct mem_window *mine;
	int err;

	if (!size || size % MEM_PAGE || size > MAX_WINDOW)
		return -EINVAL;
	mine = malloc(sizeof(*mine));
	if (!mine)
		return -ENOMEM;
	err = mem_shared_new("far-window", size, &mine->fd, &ret_window->addr);
	if (err) {
		free(mine);
		return err;
	}
	ret_window->size = size;
	ret_window->priv = mine;
	return 0;
}

void mem_window_free(struct far_nic *nic, struct far_window *window)
{
	struct mem_window *mine = window->priv;

	munmap(window->addr, window->size);
	own_fd_close(mine->fd);
	free(mine);
}
