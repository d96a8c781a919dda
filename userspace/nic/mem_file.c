/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files of mem: one per space and memory node, SPACE@NODE. A new file has no name
 * until it is published, so that nobody maps a file that is not yet formatted, and a
 * creator that dies leaves no file behind.
 */
#include "mem_priv.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <own/memory.h>
#include <own/own.h>

#include "../base/parse.h"

int mem_file_name(const char *node, const char *space, char *ret_name, size_t size)
{
	if (!*node)
		node = "0";
	if (!far_parse_is_name(node, FAR_MEM_NODE_MAX))
		return -EHOSTUNREACH;
	if (!far_parse_is_name(space, ODRP_FAR_NAME_MAX))
		return -EINVAL;
	snprintf(ret_name, size, "%s@%s", space, node);
	return 0;
}

int mem_dir_open(const struct mem_nic *mem, int *ret_fd)
{
	struct stat st;
	int fd = open(mem->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
		      (mem->dir_is_default ? O_NOFOLLOW : 0));

	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP ? -EACCES : -errno;
	if (mem->dir_is_default &&
	    (fstat(fd, &st) < 0 || st.st_uid != geteuid())) {
		close(fd);
		return -EACCES;
	}
	*ret_fd = fd;
	return 0;
}

static int dir_open_file(const struct mem_nic *mem, const char *name, int flags,
			 int *ret_fd)
{
	int dir, fd, err = mem_dir_open(mem, &dir);

	if (err)
		return err;
	/* The mode is that of a new file until file_new() sets the final one. */
	fd = own_fd(openat(dir, name, flags | O_NOFOLLOW, 0600));
	close(dir);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

/*
 * Maps fd, which has len bytes with the tail. The map owns fd on success. Children of a
 * fork() have neither the mapping nor fd.
 */
static int map_new(int fd, const char *name, uint64_t len, int prot,
		   struct mem_map **ret_map)
{
	struct mem_map *map = calloc(1, sizeof(*map));
	void *base;

	if (!map)
		return -ENOMEM;
	base = mmap(NULL, len, prot, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED) {
		free(map);
		return -ENOMEM;
	}
	/* Use huge pages if the host allows them; an error does not matter. */
	madvise(base, len, MADV_HUGEPAGE);
	madvise(base, len, MADV_DONTFORK);
	map->fd = fd;
	map->base = base;
	map->size = len - MEM_TAIL;
	map->tail = (struct mem_tail *)(map->base + map->size);
	snprintf(map->name, sizeof(map->name), "%s", name);
	*ret_map = map;
	return 0;
}

void mem_file_unmap(struct mem_map *map)
{
	munmap(map->base, map->size + MEM_TAIL);
	own_fd_close(map->fd);
	free(map);
}

int mem_file_map(const struct mem_nic *mem, const char *name, int prot,
		 struct mem_map **ret_map)
{
	struct mem_map *map;
	struct stat st;
	int fd, err;

	err = dir_open_file(mem, name, prot & PROT_WRITE ? O_RDWR : O_RDONLY, &fd);
	if (err)
		return err == -ELOOP ? -EPROTO : err;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size < (off_t)(MEM_PAGE + MEM_TAIL) || st.st_size % MEM_PAGE) {
		err = -EPROTO;
		goto close_fd;
	}
	err = map_new(fd, name, st.st_size, prot, &map);
	if (err)
		goto close_fd;
	if (map->tail->magic != MEM_MAGIC || map->tail->size != map->size) {
		mem_file_unmap(map);
		return -EPROTO;
	}
	*ret_map = map;
	return 0;

close_fd:
	own_fd_close(fd);
	return err;
}

int mem_file_gone(const struct mem_map *map)
{
	struct stat st;

	return mem_map_stopped(map) || fstat(map->fd, &st) < 0 || !st.st_nlink;
}

/* Makes a file without a name, with len bytes of zeros that are allocated. */
static int file_new(const struct mem_nic *mem, uint64_t len, unsigned mode,
		    int *ret_fd)
{
	int fd, err;

	/* The kernel kills a process that takes more than its memory groups have. */
	if (len > own_memory_available(NULL))
		return -ENOSPC;
	if (mem->dir_is_default && mkdir(mem->dir, 0700) < 0 && errno != EEXIST)
		return -errno;
	err = dir_open_file(mem, ".", O_RDWR | O_TMPFILE, &fd);
	if (err)
		return err == -ENOENT ? -EHOSTUNREACH : err;
	/* Allocate now: a later store without free memory would kill its process (SIGBUS). */
	err = -posix_fallocate(fd, 0, len);
	if (!err && fchmod(fd, mode) < 0)
		err = -errno;
	if (err) {
		own_fd_close(fd);
		return err == -EFBIG ? -ENOSPC : err;
	}
	*ret_fd = fd;
	return 0;
}

static void host_map_fill(struct mem_map *map, struct far_host_map *ret_map)
{
	ret_map->addr = map->base;
	ret_map->size = map->size;
	ret_map->priv = map;
}

static int host_create(struct far_nic *nic, const char *node, const char *space,
		       uint64_t size, unsigned mode, struct far_host_map *ret_map)
{
	const struct mem_nic *mem = mem_nic_of(nic);
	char name[sizeof(((struct mem_map *)0)->name)];
	struct mem_map *map;
	int fd, err;

	err = mem_file_name(node, space, name, sizeof(name));
	if (err)
		return err;
	if (!size || size % MEM_PAGE || size >> 40)
		return -EINVAL;
	/* The default directory is for its user alone. */
	if (mem->dir_is_default && mode & (S_IRWXG | S_IRWXO))
		return -EPERM;
	if (!dir_open_file(mem, name, O_PATH, &fd)) {
		own_fd_close(fd);
		return -EEXIST;
	}
	err = file_new(mem, size + MEM_TAIL, mode, &fd);
	if (err)
		return err;
	err = map_new(fd, name, size + MEM_TAIL, PROT_READ | PROT_WRITE, &map);
	if (err) {
		own_fd_close(fd);
		return err;
	}
	map->tail->magic = MEM_MAGIC;
	map->tail->size = size;
	host_map_fill(map, ret_map);
	return 0;
}

static int host_publish(struct far_nic *nic, struct far_host_map *host_map)
{
	const struct mem_map *map = host_map->priv;
	char path[64];
	int dir, err;

	err = mem_dir_open(mem_nic_of(nic), &dir);
	if (err)
		return err;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", map->fd);
	if (linkat(AT_FDCWD, path, dir, map->name, AT_SYMLINK_FOLLOW) < 0)
		err = -errno;
	close(dir);
	return err;
}

static int host_map(struct far_nic *nic, const char *node, const char *space,
		    struct far_host_map *ret_map)
{
	char name[sizeof(((struct mem_map *)0)->name)];
	struct mem_map *map;
	int err;

	err = mem_file_name(node, space, name, sizeof(name));
	if (err)
		return err == -EINVAL ? -ENOENT : err;
	err = mem_file_map(mem_nic_of(nic), name, PROT_READ | PROT_WRITE, &map);
	if (err)
		return err;
	host_map_fill(map, ret_map);
	return 0;
}

static void host_unmap(struct far_nic *nic, struct far_host_map *host_map)
{
	mem_file_unmap(host_map->priv);
}

/* Deletes the file of a space that is damaged, so that nobody can map it. */
static int damaged_remove(const struct mem_nic *mem, const char *node, const char *space)
{
	char name[sizeof(((struct mem_map *)0)->name)];
	struct stat st;
	int dir, err;

	err = mem_file_name(node, space, name, sizeof(name));
	if (!err)
		err = mem_dir_open(mem, &dir);
	if (err)
		return err;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -EPROTO;
	else if (unlinkat(dir, name, 0) < 0)
		err = -errno;
	close(dir);
	return err;
}

static int host_remove(struct far_nic *nic, const char *node, const char *space)
{
	struct far_host_map host;
	struct mem_map *map;
	int dir, err;

	err = host_map(nic, node, space, &host);
	if (err == -EPROTO)
		return damaged_remove(mem_nic_of(nic), node, space);
	if (err)
		return err;
	map = host.priv;
	err = mem_dir_open(mem_nic_of(nic), &dir);
	if (err)
		goto unmap;
	if (unlinkat(dir, map->name, 0) < 0)
		err = -errno;
	else
		__atomic_store_n(&map->tail->state, MEM_STOPPED, __ATOMIC_RELEASE);
	close(dir);
unmap:
	mem_file_unmap(map);
	return err;
}

/* Calls each() if the file's name is one of mem's. Changes name. */
static int list_one(char *name, int (*each)(void *arg, const char *node,
					    const char *space), void *arg)
{
	char *at = strchr(name, '@');

	if (!at)
		return 0;
	*at = 0;
	if (!far_parse_is_name(name, ODRP_FAR_NAME_MAX) ||
	    !far_parse_is_name(at + 1, FAR_MEM_NODE_MAX))
		return 0;
	return each(arg, at + 1, name);
}

static int host_list(struct far_nic *nic,
		     int (*each)(void *arg, const char *node, const char *space),
		     void *arg)
{
	struct dirent *entry;
	int fd, err;
	DIR *dir;

	err = mem_dir_open(mem_nic_of(nic), &fd);
	if (err)
		return err == -ENOENT ? 0 : err;
	dir = fdopendir(fd);
	if (!dir) {
		err = -errno;
		close(fd);
		return err;
	}
	while (!err && (entry = readdir(dir)))
		err = list_one(entry->d_name, each, arg);
	closedir(dir);
	return err;
}

const struct far_nic_host_ops mem_host_ops = {
	.create = host_create,
	.publish = host_publish,
	.map = host_map,
	.unmap = host_unmap,
	.remove = host_remove,
	.list = host_list,
};
