// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Runs in a guest whose kernel has KASAN, so that freed memory comes back.
 *
 * KASAN keeps what is freed in a quarantine, and lets go of the oldest only when
 * somebody asks the slab allocator for memory and may sleep for it.  A machine
 * that swaps through rdma_rxe asks and frees in soft interrupts, three socket
 * buffers for a page, and everybody else waits for that: the quarantine takes all
 * the memory there is.  So this asks for a little, a hundred times a second, and
 * gets rid of a megabyte each time.
 *
 * On each processor, and before others there: the host may run one of them only.
 * But for a tenth of the time at most, or nothing else would be done on a host that
 * has much else to do.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define REST_US		5000
#define REST_TIMES	9	/* as long as the asking took */

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

static long now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int main(void)
{
	long cpu = sysconf(_SC_NPROCESSORS_ONLN) - 1;
	long begin, rest;

	while (cpu > 0 && fork())
		cpu--;
	stay_on(cpu);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		perror("drain: mlockall");
	for (;;) {
		begin = now_us();
		ask();
		rest = REST_TIMES * (now_us() - begin);
		usleep(rest < REST_US ? REST_US : rest);
	}
}
