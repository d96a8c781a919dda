# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What guest-count.c counted, by function.

For scripts/guest-profile and scripts/bench-kmod.
"""
import bisect
import collections
import os
import re
import subprocess

KERNEL_BEGINS = 1 << 63


def build(directory):
    """Builds the plugin in a directory; its path."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          "guest-count.c")
    plugin = os.path.join(os.path.abspath(directory), "guest-count.so")
    subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-fPIC", "-shared",
                    "-fvisibility=hidden", "-pthread", "-o", plugin, source],
                   check=True)
    return plugin


def read_counts(path):
    """The plugin's lines as (address, instructions, runs)."""
    with open(path, encoding="ascii") as f:
        for line in f:
            addr, insns, runs = line.split()
            yield int(addr, 16), int(insns), int(runs)


class Symbols:
    """Functions by address, from what the guest printed of /proc/kallsyms."""

    def __init__(self, path):
        rows = []
        with open(path, encoding="ascii", errors="replace") as f:
            for line in f:
                m = re.match(r"([0-9a-f]{16}) [tTwW] (\S+)(?:\s+\[(\S+)\])?", line)
                if m:
                    rows.append((int(m[1], 16), m[2], m[3] or "vmlinux"))
        if not rows or not rows[-1][0]:
            raise ValueError(
                f"{path}: no addresses in it (kernel.kptr_restrict?)")
        rows.sort()
        self.addr = [r[0] for r in rows]
        self.name = [r[1:] for r in rows]

    def lookup(self, pc):
        """(function, module), and whether pc is where it begins."""
        if pc < KERNEL_BEGINS:
            return ("user", "user"), False
        i = bisect.bisect_right(self.addr, pc) - 1
        return (self.name[i], self.addr[i] == pc) if i >= 0 else (("?", "?"), False)

    def places(self, *names):
        """Where the kernel's own functions of these names begin, ascending."""
        wanted = {(name, "vmlinux") for name in names}
        return [a for a, name in zip(self.addr, self.name) if name in wanted]


class Profile:
    """Counts by (function, module)."""

    def __init__(self, symbols, lines):
        self.insns = collections.Counter()
        self.blocks = collections.Counter()
        self.calls = collections.Counter()
        for addr, insns, runs in lines:
            key, first = symbols.lookup(addr)
            self.insns[key] += insns * runs
            self.blocks[key] += runs
            if first:
                self.calls[key] += runs

    def called(self, name):
        """How often a function was called."""
        return sum(c for (f, _), c in self.calls.items() if f == name)

    def modules(self):
        """(module, (blocks, instructions)), the largest first."""
        out = collections.defaultdict(lambda: [0, 0])
        for key, n in self.blocks.items():
            out[key[1]][0] += n
            out[key[1]][1] += self.insns[key]
        return sorted(out.items(), key=lambda x: -x[1][1])
