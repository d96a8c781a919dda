// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs in a guest whose kernel has KASAN, so that freed memory comes back.
 *
 * KASAN keeps what is freed in a quarantine, and lets go of the oldest only when
 * somebody asks the slab allocator for memory and may sleep for it.  A machine
 * that swaps through rdma_rxe asks and frees in soft interrupts, three socket
 * buffers for a page, and everybody else waits for that: the quarantine takes all
 * the memory there is.  So this asks for a little, hundreds of times a second.
 *
 * On each processor, and before others there: the host may run one of them only.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#define PERIOD_US	5000
#define AT_A_TIME	4

static void stay_on(int cpu)
{
	struct sched_param param = { .sched_priority = 1 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) ||
	    sched_setscheduler(0, SCHED_FIFO, &param))
		perror("drain");
}

static void ask(void)
{
	int fd = eventfd(0, 0);

	if (fd >= 0)
		close(fd);
}

int main(void)
{
	long cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	int i;

	while (cpu > 0 && fork())
		cpu--;
	stay_on(cpu);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		perror("drain: mlockall");
	for (;;) {
		for (i = 0; i < AT_A_TIME; i++)
			ask();
		usleep(PERIOD_US);
	}
}
