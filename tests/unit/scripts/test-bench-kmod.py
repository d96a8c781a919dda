#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""scripts/bench-kmod: what it says of counts is what was counted.

Without a machine: its parts in scripts/lib on a kernel of a few functions.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       "..", "..", "..", "scripts")
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(SCRIPTS, "lib"))
import guest_groups
import guest_profile
import kmod_report

# One function each 256 bytes, from the kernel's beginning on.
KERNEL = """\
schedule default_idle_call clear_page_rep
__traceiter_mm_filemap_delete_from_page_cache shrink_lruvec memcg_charge
copy_page_range clear_page_dirty_for_io zs_malloc
generic_file_open read
I_BDEV
crypto_register_alg
bio_init submit_bio
lockref_get sbitmap_get crc32_body lzo1x_1_compress xas_load
netdev_devres_match tcp_sendmsg skb_push read
pcibios_align_resource rb_erase
_raw_spin_lock
""".split()
MODULES = [("odrp_issue", "odrp"), ("odrp_block_copy", "odrp"),
           ("store", "odrp_frontswap"), ("rxe_requester", "rdma_rxe"),
           ("ib_poll", "ib_core"), ("nbd_queue_rq", "nbd"),
           ("zram_write", "zram"), ("start_xmit", "virtio_net"),
           ("crc32_le", "crc32_generic"), ("vport_write", "virtio_console"),
           ("chacha_dosimd", "chacha_x86_64"),
           ("chacha20poly1305_crypt", "libchacha20poly1305"),
           ("poly1305_update", "libpoly1305"), ("ext4_read", "ext4")]
FIRST = 0xffffffff81000000
USER = 0x401000


def symbols_text(functions=None):
    rows = [(name, "") for name in functions or KERNEL]
    rows += [(name, f"\t[{module}]") for name, module in MODULES]
    return "".join(f"{FIRST + 256 * i:016x} t {name}{module}\n"
                   for i, (name, module) in enumerate(rows))


def address(name, nth=0):
    names = KERNEL + [m[0] for m in MODULES]
    return FIRST + 256 * [i for i, n in enumerate(names) if n == name][nth]


class BenchKmod(unittest.TestCase):
    def setUp(self):
        self.tmp = tempfile.TemporaryDirectory()
        self.dir = self.tmp.name
        self.groups = guest_groups.Groups(self.symbols())

    def tearDown(self):
        self.tmp.cleanup()

    def write(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return path

    def symbols(self, functions=None):
        return guest_profile.Symbols(self.write("symbols",
                                                symbols_text(functions)))

    def expect(self, group, *names):
        for name in names:
            self.assertEqual(self.groups.of(address(name) + 16), (group, name))

    def test_modules(self):
        self.expect("ours", "odrp_issue", "store")
        self.expect("rdma", "rxe_requester", "ib_poll")
        self.expect("nbd", "nbd_queue_rq")
        self.expect("zram", "zram_write")
        self.expect("net", "start_xmit")
        self.expect("crypt", "chacha_dosimd", "chacha20poly1305_crypt",
                    "poly1305_update")
        self.expect("other", "ext4_read")

    def test_directories(self):
        self.expect("mm", "shrink_lruvec", "memcg_charge")
        self.expect("block", "bio_init", "submit_bio")
        self.expect("net", "skb_push")
        self.expect("other", "schedule", "crypto_register_alg", "xas_load",
                    "rb_erase", "_raw_spin_lock")
        self.assertEqual(self.groups.of(address("read", 0))[0], "other")
        self.assertEqual(self.groups.of(address("read", 1))[0], "net")

    def test_names(self):
        self.expect("nbd", "tcp_sendmsg")
        self.expect("zram", "lzo1x_1_compress", "zs_malloc")
        self.expect("block", "sbitmap_get")
        self.expect("copy", "clear_page_rep", "crc32_body", "crc32_le",
                    "odrp_block_copy")
        self.expect("mm", "copy_page_range", "clear_page_dirty_for_io")
        self.expect("idle", "default_idle_call")

    def test_outside_of_the_kernel(self):
        self.assertEqual(self.groups.of(USER), ("user", "user"))
        self.assertEqual(self.groups.of(FIRST - 1)[0], "other")

    def test_another_kernel(self):
        # The block layer may begin with either of two.
        later = [f for f in KERNEL if f != "I_BDEV"]
        later.insert(later.index("bio_init"), "I_BDEV")
        groups = guest_groups.Groups(self.symbols(later))
        i = later.index("I_BDEV")
        self.assertEqual(groups.of(FIRST + 256 * i), ("block", "I_BDEV"))
        without = [f for f in KERNEL if f != "netdev_devres_match"]
        with self.assertRaisesRegex(ValueError, "netdev_devres_match.* net/"):
            guest_groups.Groups(self.symbols(without))

    def test_per_page(self):
        lines = [(address("odrp_issue"), 3, 10), (address("odrp_issue") + 9, 5, 2),
                 (address("store"), 1, 4), (address("rb_erase"), 2, 8),
                 (address("default_idle_call"), 1, 100), (USER, 6, 1)]
        per_page = guest_groups.per_page(self.groups, lines, 4)
        self.assertEqual(per_page["ours"], {"odrp_issue": 10, "store": 1})
        sums = guest_groups.sums(per_page)
        self.assertEqual(sums["ours"], 11)
        self.assertEqual(sums["rdma"], 0)
        self.assertEqual(sums["idle"], 25)
        self.assertEqual(sums["whole"], 11 + 4 + 1.5)
        with self.assertRaises(ValueError):
            guest_groups.per_page(self.groups, lines, 0)

    def run_files(self, backend, number, own, other, pages=100):
        """A run of 100 pages with so many instructions for each."""
        name = f"6.1-{backend}-{number}"
        for piece in kmod_report.PHASES.values():
            self.write(f"{name}.count.{piece}",
                       f"{address('odrp_issue'):x} {own} 100\n"
                       f"{address('rxe_requester'):x} 10 100\n"
                       f"{address('shrink_lruvec'):x} {other} 100\n")
        return self.write(f"{name}.out", symbols_text() +
                          f"out pages={pages}\nin pages={pages}\n")

    def report(self, *runs):
        out = os.path.join(self.dir, "json")
        result = subprocess.run(
            [sys.executable, os.path.join(SCRIPTS, "lib", "kmod_report.py"),
             "--pages", "100", "--json", out, *runs], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, check=False)
        if result.returncode:
            return result.stderr, None
        with open(out, encoding="ascii") as f:
            return result.stdout, json.load(f)

    def test_goals(self):
        runs = [self.run_files("block", 1, 3000, 489), # 3499 of 7000
                self.run_files("nbd", 1, 0, 6990)]
        text, out = self.report(*runs)
        goal = out["goals"][0]
        self.assertEqual((goal["own"], goal["own_met"]), (3000, True))
        self.assertEqual((goal["ratio"], goal["ratio_met"]), (3499 / 7000, True))
        self.assertEqual(goal["rest"], 3489)
        self.assertNotIn("MISSED", text)
        runs[0] = self.run_files("block", 1, 3001, 489) # 3500 of 7000
        text, out = self.report(*runs)
        goal = out["goals"][0]
        self.assertEqual((goal["own_met"], goal["ratio_met"]), (False, False))
        self.assertEqual(text.count("MISSED"), 4)

    def test_goals_of_direct_slabs(self):
        for own, met in ((560, [True, True]), (561, [True, False]),
                         (600, [True, False]), (601, [False, False])):
            _, out = self.report(self.run_files("direct", 1, own, 100),
                                 self.run_files("block", 1, own, 100))
            goal = {(g["backend"], g["phase"]): g["own_met"] for g in out["goals"]}
            self.assertEqual([goal["direct", "out"], goal["direct", "in"]], met)
            self.assertTrue(goal["block", "in"])

    def test_medians(self):
        runs = [self.run_files("block", i, own, 100)
                for i, own in ((1, 100), (2, 190), (3, 110))]
        text, out = self.report(*runs)
        self.assertEqual([e["groups"]["ours"] for e in out["medians"]],
                         [110, 110])
        self.assertEqual(len(out["rounds"]), 6)
        self.assertIn("at most 40.9 %", text)	# 90 of 220
        self.assertIn("no NBD on 6.1", text)
        self.assertIsNone(out["goals"][0]["ratio"])

    def test_table(self):
        entries = [{"kernel": "6.1", "backend": "block", "phase": "out",
                    "groups": {g: 0 for g in guest_groups.GROUPS} |
                    {"whole": 40398, "ours": 880}}]
        head, _, row = kmod_report.table(entries).splitlines()
        self.assertEqual(head.count("|"), row.count("|"))
        self.assertTrue(row.startswith("| 6.1 | block | out | 40,398 | 880 |"))
        self.assertNotIn("| 0 |", row)

    def test_too_few_pages(self):
        text, _ = self.report(self.run_files("block", 1, 1, 1, pages=98))
        self.assertIn("block on 6.1: 98 pages out, expected 100", text)


if __name__ == "__main__":
    sys.exit(unittest.main())
