#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""scripts/guest-profile: the plugin builds and counts; its counts are named.

The plugin is loaded the way QEMU does it; this program is then the QEMU.
"""
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest

PROFILE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "..", "..", "..", "scripts", "guest-profile")

SYMBOLS = """\
ffffffff81000000 T swap_in
ffffffff81000100 t copy	[odrp]
the workload's own output
"""

# What QEMU exports to plugins: blocks are made known by translate(), and run
# by run().  There is one in a process, for whatever plugin came last.
QEMU = r"""
#include <stddef.h>
#include <stdint.h>
struct qemu_plugin_tb { uint64_t addr, insns; };
struct qemu_plugin_insn { const void *data; size_t size; };
static void (*translated)(uint64_t id, struct qemu_plugin_tb *tb);
static void (*marked[16])(unsigned int vcpu, void *data);
static uint64_t *runs[16];
static unsigned int nr;
static struct qemu_plugin_insn insn;
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id,
		void (*cb)(uint64_t id, struct qemu_plugin_tb *tb))
{ (void)id; translated = cb; }
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb, int op,
					      void *ptr, uint64_t imm)
{ (void)tb; (void)op; (void)imm; runs[nr++] = ptr; }
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *i,
		void (*cb)(unsigned int vcpu, void *data), int regs, void *data)
{ (void)i; (void)regs; (void)data; marked[nr - 1] = cb; }
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t i)
{ (void)tb; (void)i; return &insn; }
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *i)
{ return i->size; }
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *i)
{ return i->data; }
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb)
{ return tb->insns; }
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb)
{ return tb->addr; }
unsigned int translate(uint64_t addr, uint64_t insns, const void *data,
		       size_t size)
{
	struct qemu_plugin_tb tb = { addr, insns };

	insn.data = data;
	insn.size = size;
	translated(0, &tb);
	return nr - 1;
}
void run(unsigned int i, uint64_t n)
{
	*runs[i] += n;
	if (marked[i])
		marked[i](0, NULL);
}
"""


class Emulator:
    def __init__(self):
        with tempfile.TemporaryDirectory() as directory:
            source = os.path.join(directory, "qemu.c")
            with open(source, "w", encoding="ascii") as f:
                f.write(QEMU)
            subprocess.run(["cc", "-shared", "-fPIC", "-o", source + ".so",
                            source], check=True)
            self.lib = ctypes.CDLL(source + ".so", mode=ctypes.RTLD_GLOBAL)
        self.lib.translate.argtypes = [ctypes.c_uint64, ctypes.c_uint64,
                                       ctypes.c_char_p, ctypes.c_size_t]
        self.lib.run.argtypes = [ctypes.c_uint, ctypes.c_uint64]

    def translate(self, addr, insns, data=b"\x90"):
        # The data of all its instructions; what run() wants is returned.
        return self.lib.translate(addr, insns, data, len(data))

    def install(self, plugin, *args):
        lib = ctypes.CDLL(plugin)
        argv = (ctypes.c_char_p * len(args))(*[a.encode() for a in args])
        return lib.qemu_plugin_install(ctypes.c_uint64(1), None, len(args), argv)


class GuestProfile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.qemu = Emulator()

    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory()
        self.dir = self.tmp.name
        self.plugin = subprocess.run([PROFILE, "--build", self.dir], check=True,
                                     stdout=subprocess.PIPE,
                                     text=True).stdout.strip()
        self.symbols = os.path.join(self.dir, "symbols")
        self.counts = os.path.join(self.dir, "counts")
        with open(self.symbols, "w", encoding="ascii") as f:
            f.write(SYMBOLS)

    def tearDown(self):
        self.tmp.cleanup()

    def profile(self, *more):
        return subprocess.run([PROFILE, "--counts", self.counts, "--symbols",
                               self.symbols, "--seconds", "1", "--json", *more],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)

    def test_counts(self):
        qemu = self.qemu
        self.assertNotEqual(qemu.install(self.plugin, "out="), 0)
        self.assertEqual(qemu.install(self.plugin, "out=" + self.counts), 0)
        swap_in = qemu.translate(0xffffffff81000000, 3)
        copy = qemu.translate(0xffffffff81000120, 5)
        qemu.lib.run(swap_in, 1000)		# before: does not count

        def guest():
            while not os.path.exists(self.counts + ".go"):
                time.sleep(0.01)
            time.sleep(0.3)
            program = qemu.translate(0x400000, 2)
            qemu.lib.run(swap_in, 10)
            qemu.lib.run(copy, 40)
            qemu.lib.run(program, 20)

        thread = threading.Thread(target=guest)
        thread.start()
        result = self.profile("--per", "swap_in")
        thread.join()
        self.assertEqual(result.stderr, "")
        out = json.loads(result.stdout)
        self.assertEqual(out["functions"], {
            "vmlinux:swap_in": {"blocks": 1, "instructions": 3, "calls": 1},
            "odrp:copy": {"blocks": 4, "instructions": 20, "calls": 0},
            "user:user": {"blocks": 2, "instructions": 4, "calls": 0}})
        self.assertEqual(out["modules"]["odrp"],
                         {"blocks": 4, "instructions": 20})

    def test_marks(self):
        qemu = self.qemu
        self.assertEqual(qemu.install(self.plugin, "out=" + self.counts), 0)
        swap_in = qemu.translate(0xffffffff81000000, 3)
        mark = qemu.translate(0x400000, 1, b"\x66\x87\xdb")	# xchg %bx,%bx
        other = qemu.translate(0x400010, 1, b"\x66\x87\xca")	# xchg %cx,%dx
        for more in range(2):
            qemu.lib.run(swap_in, 10 + more)
            qemu.lib.run(other, 1)
            qemu.lib.run(mark, 1)

        def piece(n):
            with open(f"{self.counts}.{n}", encoding="ascii") as f:
                return sorted(f.read().splitlines())
        self.assertEqual(piece(1), ["400000 1 1", "400010 1 1",
                                    "ffffffff81000000 3 10"])
        self.assertEqual(piece(2), ["400000 1 1", "400010 1 1",
                                    "ffffffff81000000 3 11"])
        self.assertFalse(os.path.exists(self.counts + ".3"))

    def test_nobody_counts(self):
        result = self.profile()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("does not come", result.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
