// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs in a guest whose kernel has KASAN, so that freed memory comes back.
 *
 * KASAN keeps what is freed in a quarantine, and lets go of the oldest only when
 * somebody asks the slab allocator for memory and may sleep for it.  A machine
 * that swaps through rdma_rxe asks and frees in soft interrupts, three socket
 * buffers for a page, and everybody else waits for that: the quarantine takes all
 * the memory there is.  So this asks for a little, some hundred times a second.
 */
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define PERIOD_US	5000

int main(void)
{
	int fd;

	if (mlockall(MCL_CURRENT | MCL_FUTURE)) {
		perror("drain: mlockall");
		return 1;
	}
	for (;;) {
		fd = eventfd(0, 0);
		if (fd >= 0)
			close(fd);
		usleep(PERIOD_US);
	}
}
