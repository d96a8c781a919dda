// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Does cmpxchg16b leave alone all flags but ZF, as it should (Intel SDM, volume 2)?
 * The emulation of QEMU 7.2 computes the others from whatever the last addition
 * added, when the block of instructions began behind an interrupt: a kernel that
 * is interrupted once more before it has looked at ZF goes on with the direction
 * flag, the trap flag or nested tasks set. The allocator of 6.12 does this with
 * each object, and a guest died of it. So scripts/lib/accel.sh hides the
 * instruction from guests.
 */
#include <argp.h>
#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

const char *argp_program_version = "flags-kept 1";

static const struct argp argp = {
	NULL, NULL, NULL,
	"Say whether this processor's cmpxchg16b leaves alone the flags that are "
	"none of its business."
	"\vExit status 1 when it does not; a processor without it is as good as one "
	"that has it right.",
	NULL, NULL, NULL,
};

/* CF, PF, AF, ZF, SF, OF: what arithmetic leaves. */
#define ARITHMETIC 0x8d5u

static bool offered(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_CMPXCHG16B);
}

/*
 * The flags but for arithmetic's, after a cmpxchg16b that fails, as the allocator's
 * does when it was interrupted. popfq stands for the interrupt; the two
 * instructions after it, an addition and one that reads memory, for the allocator.
 */
static uint64_t flags_after(uint64_t addend)
{
	static uint64_t pair[2] __attribute__((aligned(16))) = { 1, 2 };
	static const uint64_t one = 1;
	uint64_t flags;

	/* The compiler may use 128 bytes below the stack pointer. */
	asm volatile("lea -128(%%rsp), %%rsp\n\t"
		     "xor %%eax, %%eax\n\t"
		     "xor %%edx, %%edx\n\t"
		     "xor %%ebx, %%ebx\n\t"
		     "xor %%ecx, %%ecx\n\t"
		     "pushfq\n\t"
		     "popfq\n\t"
		     "add %[addend], %%rax\n\t"
		     "xor %[one], %%rbx\n\t"
		     "cmpxchg16b %[pair]\n\t"
		     "pushfq\n\t"
		     "pop %[flags]\n\t"
		     "push $0x202\n\t"
		     "popfq\n\t"
		     "lea 128(%%rsp), %%rsp"
		     : [flags] "=r"(flags), [pair] "+m"(pair)
		     : [addend] "r"(addend), [one] "m"(one)
		     : "rax", "rbx", "rcx", "rdx", "cc", "memory");
	return flags & ~(uint64_t)ARITHMETIC;
}

int main(int argc, char **argv)
{
	uint64_t before, after;

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (!offered()) {
		puts("flags-kept: no cmpxchg16b");
		return 0;
	}
	before = flags_after(0);
	after = flags_after(0x04627700);
	if (after != before) {
		printf("flags-kept: %#llx before cmpxchg16b, %#llx after it\n",
		       (unsigned long long)before, (unsigned long long)after);
		return 1;
	}
	puts("flags-kept: by cmpxchg16b");
	return 0;
}
