/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory of windows; see window.h. */
#include "window.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE		4096u
#define MAX_WINDOW	(UINT64_C(1) << 32)

int far_window_map(uint64_t size, size_t own, struct far_window *ret_window)
{
	void *priv, *addr;

	if (!size || size % PAGE || size > MAX_WINDOW)
		return -EINVAL;
	priv = calloc(1, own);
	if (!priv)
		return -ENOMEM;
	addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (addr == MAP_FAILED) {
		free(priv);
		return -ENOMEM;
	}
	*ret_window = (struct far_window) { .addr = addr, .size = size, .priv = priv };
	return 0;
}

void far_window_unmap(struct far_window *window)
{
	munmap(window->addr, window->size);
	free(window->priv);
}
