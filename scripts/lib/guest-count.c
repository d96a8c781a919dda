// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A plugin for QEMU without KVM that counts what an emulated guest executes,
 * block by block of its translation; scripts/guest-profile makes a profile of
 * that.  From when FILE.go comes until it goes, then FILE holds a line for each
 * block that ran: its address, its instructions, and how often.
 *
 * A program in the guest can cut what it does in pieces by itself: when it
 * executes "xchg %bx,%bx", a no-op that no compiler makes, for the Nth time,
 * FILE.N holds the same for what ran since the time before.  The guest stands
 * still meanwhile, so the pieces are exact.
 *
 * Argument: out=FILE.  With several processors some executions are not counted:
 * they add to one counter without a lock.
 *
 * The interface is QEMU's (qemu/qemu-plugin.h, version 1), which Debian does not
 * ship as a header.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT		__attribute__((visibility("default")))
#define MAX_BLOCKS	(1u << 21)
#define LOOK_US		20000

struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { INLINE_ADD_U64 };
enum { NO_REGS };

void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
		void (*cb)(uint64_t id, struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op,
					      void *ptr, uint64_t imm);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
		void (*cb)(unsigned int vcpu, void *data), int regs, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t i);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc,
			       char **argv);

struct block {
	uint64_t addr, nr_insns, runs;
};

/* The last one stands for all that there is no room for. */
static struct block blocks[MAX_BLOCKS + 1];
static uint64_t at_go[MAX_BLOCKS + 1], at_mark[MAX_BLOCKS + 1];
static uint32_t nr_blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char out[4096], go[4096 + 3];

static void begin(uint64_t *before)
{
	uint32_t i;

	for (i = 0; i <= MAX_BLOCKS; i++)
		before[i] = blocks[i].runs;
}

static void end(const uint64_t *before, const char *path)
{
	char part[sizeof(out) + 32];
	uint32_t i;
	FILE *f;

	snprintf(part, sizeof(part), "%s.part", path);
	f = fopen(part, "w");
	if (!f) {
		perror(part);
		return;
	}
	for (i = 0; i <= MAX_BLOCKS; i++) {
		const struct block *b = &blocks[i];
		uint64_t runs = b->runs - before[i];

		if (runs)
			fprintf(f, "%llx %llu %llu\n",
				(unsigned long long)b->addr,
				(unsigned long long)b->nr_insns,
				(unsigned long long)runs);
	}
	if (fclose(f) || rename(part, path))
		perror(part);
}

static void mark(unsigned int vcpu, void *data)
{
	char path[sizeof(out) + 16];
	static unsigned int nr;

	(void)vcpu;
	(void)data;
	pthread_mutex_lock(&lock);
	snprintf(path, sizeof(path), "%s.%u", out, ++nr);
	end(at_mark, path);
	begin(at_mark);
	pthread_mutex_unlock(&lock);
}

static void look_for_marks(const struct qemu_plugin_tb *tb)
{
	static const uint8_t xchg_bx_bx[] = { 0x66, 0x87, 0xdb };
	size_t n = qemu_plugin_tb_n_insns(tb), i;

	for (i = 0; i < n; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		if (qemu_plugin_insn_size(insn) == sizeof(xchg_bx_bx) &&
		    !memcmp(qemu_plugin_insn_data(insn), xchg_bx_bx,
			    sizeof(xchg_bx_bx)))
			qemu_plugin_register_vcpu_insn_exec_cb(insn, mark,
							       NO_REGS, NULL);
	}
}

/* A block that is translated again may be counted anew: readers add up. */
static void translated(uint64_t id, struct qemu_plugin_tb *tb)
{
	struct block *b;

	(void)id;
	pthread_mutex_lock(&lock);
	b = &blocks[nr_blocks];
	if (nr_blocks < MAX_BLOCKS)
		nr_blocks++;
	b->addr = qemu_plugin_tb_vaddr(tb);
	b->nr_insns = qemu_plugin_tb_n_insns(tb);
	pthread_mutex_unlock(&lock);
	qemu_plugin_register_vcpu_tb_exec_inline(tb, INLINE_ADD_U64, &b->runs,
						 1);
	look_for_marks(tb);
}

static void *watch(void *arg)
{
	int counting = 0;

	for (;; usleep(LOOK_US)) {
		int want = !access(go, F_OK);

		if (want && !counting)
			begin(at_go);
		if (!want && counting)
			end(at_go, out);
		counting = want;
	}
	return arg;
}

int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	pthread_t thread;

	(void)info;
	if (argc != 1 || strncmp(argv[0], "out=", 4) || !argv[0][4] ||
	    strlen(argv[0] + 4) >= sizeof(out)) {
		fprintf(stderr, "guest-count: expected out=FILE\n");
		return -1;
	}
	snprintf(out, sizeof(out), "%s", argv[0] + 4);
	snprintf(go, sizeof(go), "%s.go", out);
	qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
	return pthread_create(&thread, NULL, watch, NULL) ? -1 : 0;
}
