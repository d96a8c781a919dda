/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Windows of mem: files without a name, which processes get from each other. */
#include "mem_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <own/own.h>

#include "window.h"

struct mem_window {
	int fd[2];		/* of the own memory; of the common memory: -1: there is none */
};

unsigned mem_window_fds(const struct far_window *window, int *ret_fd)
{
	const struct mem_window *mine = window->priv;

	ret_fd[0] = mine->fd[0];
	ret_fd[1] = mine->fd[1];
	return mine->fd[1] < 0 ? 1 : 2;
}

int mem_window_map(const int *fd, uint8_t **ret_base, uint64_t *ret_size)
{
	uint64_t size, more = 0;
	void *base;
	int err = far_shared_size(fd[0], &size);

	if (!err && fd[1] >= 0)
		err = far_shared_size(fd[1], &more);
	if (!err && more > FAR_WINDOW_MAX - size)
		err = -EPROTO;
	if (!err)
		err = far_shared_map(fd[0], size, fd[1], more, &base);
	if (err)
		return err;
	madvise(base, size + more, MADV_DONTFORK);
	*ret_base = base;
	*ret_size = size + more;
	return 0;
}

int mem_window_new(struct far_nic *nic, uint64_t size, const struct far_common *common,
		   struct far_window *ret_window)
{
	struct mem_window *mine;
	int err;

	if (!far_window_fits(size, common))
		return -EINVAL;
	mine = malloc(sizeof(*mine));
	if (!mine)
		return -ENOMEM;
	err = far_shared_new("far-window", size, &mine->fd[0], &ret_window->addr);
	if (err) {
		free(mine);
		return err;
	}
	mine->fd[1] = far_common_fd(common);
	ret_window->size = size;
	ret_window->span = size + (common ? common->size : 0);
	ret_window->priv = mine;
	return 0;
}

void mem_window_free(struct far_nic *nic, struct far_window *window)
{
	struct mem_window *mine = window->priv;

	munmap(window->addr, window->size);
	own_fd_close(mine->fd[0]);
	free(mine);
}
