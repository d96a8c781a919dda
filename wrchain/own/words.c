// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sentences on rights and limits. */
#include "words.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "memory.h"

#define RDMA_DIR	"/dev/infiniband"
#define RDMA_CM		RDMA_DIR "/rdma_cm"

/* The kernel has one errno for each of: no memory, the limit, no right beyond the limit. */
static void words_register(char *text, size_t len, int err)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) || limit.rlim_cur == RLIM_INFINITY) {
		snprintf(text, len, "memory cannot be registered: %s", strerror(-err));
		return;
	}
	snprintf(text, len, "memory cannot be registered: %s; user %u may lock %" PRIu64
		 " KB (RLIMIT_MEMLOCK: ulimit -l, LimitMEMLOCK=) without CAP_IPC_LOCK",
		 strerror(-err), geteuid(), (uint64_t)limit.rlim_cur >> 10);
}

/* Returns whether the file is there, and this user may not open it. */
static bool words_right(char *text, size_t len, const char *file)
{
	if (!access(file, R_OK | W_OK) || errno == ENOENT)
		return false;
	snprintf(text, len, "user %u cannot open %s: %s", geteuid(), file, strerror(errno));
	return true;
}

static void words_rdma(char *text, size_t len, int err)
{
	if (access(RDMA_DIR, F_OK)) {
		snprintf(text, len, "there is no " RDMA_DIR ": either the module ib_uverbs "
			 "is not loaded, or this container has no RDMA devices");
		return;
	}
	if (access(RDMA_CM, F_OK)) {
		snprintf(text, len, "there is no " RDMA_CM ": is the module rdma_ucm "
			 "loaded?");
		return;
	}
	if (words_right(text, len, RDMA_CM) || words_right(text, len, RDMA_DIR "/uverbs0"))
		return;
	if (err == -ENODEV)
		snprintf(text, len, "this host has no RDMA device");
	else
		snprintf(text, len, "RDMA devices cannot be opened: %s", strerror(-err));
}

static void words_memory(char *text, size_t len, uint64_t bytes, int err)
{
	char limit[OWN_LIMIT_MAX];
	uint64_t available = own_memory_available(limit);

	if (available == UINT64_MAX)
		snprintf(text, len, "%" PRIu64 " MB of memory are needed: %s", bytes >> 20,
			 strerror(-err));
	else
		snprintf(text, len, "%" PRIu64 " MB of memory are needed, and %" PRIu64
			 " MB are available (%s)", bytes >> 20, available >> 20, limit);
}

int own_words(char *text, size_t len, enum own_tried tried, uint64_t bytes, int err)
{
	switch (tried) {
	case OWN_TRIED_REGISTER:
		words_register(text, len, err);
		break;
	case OWN_TRIED_RDMA:
		words_rdma(text, len, err);
		break;
	case OWN_TRIED_MEMORY:
		words_memory(text, len, bytes, err);
		break;
	}
	return err;
}
