# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What guest-count.c counted, by part of the kernel and per page.

For scripts/bench-kmod.
"""
import bisect
import collections
import re

# The kernel's own functions lie in its image directory by directory, in the
# order in which its Makefile links them: here with the function that each begins
# with, or one near its beginning where what lies between does not matter.  Of
# several, the first that lies behind the directory before.
DIRECTORIES = (
    ("mm", "__traceiter_mm_filemap_delete_from_page_cache"),
    ("fs", "generic_file_open"),
    ("crypto", "crypto_register_alg"),
    ("block", "I_BDEV", "bio_init"),
    ("lib", "lockref_get"),
    ("net", "netdev_devres_match"),
    ("pci", "pcibios_align_resource"),
)

MODULES = (
    ("ours", r"odrp|odrp_frontswap"),
    ("rdma", r"rdma_\w+|ib_\w+|iw_cm"),
    ("nbd", r"nbd"),
    ("zram", r"zram|zsmalloc|lz\w+"),
    ("block", r"virtio_blk"),
    ("net", r"virtio\w*|failover|net_failover|udp_tunnel|ip6_udp_tunnel"),
    ("copy", r"crc32\w*|libcrc32c"),
    ("crypt", r"lib(chacha|poly1305)\w*|(chacha|poly1305)_\w+"),
)

# By name, wherever they lie.
NAMES = (
    # odrp_block_copy() is a copy of the page with its loop inside.
    ("copy", r"_*(memcpy|memmove|memset|copy_page(?!_range)"
             r"|clear_page(?!_dirty)|copy_user|rep_movs|rep_stos|crc32"
             r"|csum_partial)\w*(\.\w+)*"
             r"|_?copy_(to|from)_(iter|user)\w*|odrp_block_copy"),
    ("idle", r"do_idle|(__)?(arch_)?cpu_?idle\w*|default_idle\w*|call_cpuidle"
             r"|cpu_startup_entry|native_safe_halt|poll_idle|schedule_idle"
             r"|(__)?tick_nohz_\w+|menu_(select|reflect)|haltpoll\w*"
             r"|quiet_vmstat|ct_idle_\w+|rcu_idle_\w+|rcu_eqs_\w+"
             r"|rcu_dynticks_\w+|ct_kernel_\w+|nohz_\w+"),
)

IN_NET = (
    ("nbd", r"_*(tcp|inet_csk|inet_send|inet_recv|inet_sk|sk_stream)\w*(\.\w+)*"),
)

OF_BLOCK = r"_*sbitmap\w*(\.\w+)*"
OF_ZRAM = r"(lzo|lz4|LZ4|zstd|ZSTD|zs_|zcomp)\w*(\.\w+)*"

# In the order in which they are shown.  "idle" is not part of the whole.
GROUPS = ("ours", "rdma", "net", "nbd", "zram", "block", "mm", "copy", "crypt",
          "other", "user", "idle")

WHAT = {
    "ours": "odrp.ko, odrp_frontswap.ko",
    "rdma": "rdma_rxe, ib_core and the like",
    "net": "the network: its core, ip, udp, virtio_net",
    "nbd": "nbd and tcp",
    "zram": "zram and its compressor",
    "block": "the block layer, virtio_blk",
    "mm": "memory management, swap",
    "copy": "copying, clearing, checksums, by whomever",
    "crypt": "ChaCha20 and Poly1305, for protect=aead",
    "other": "the rest of the kernel",
    "user": "programs",
    "idle": "going idle and coming back; not in the whole",
}


def match(table, name):
    """The first group whose pattern is all of a name, or None."""
    for group, pattern in table:
        if re.fullmatch(pattern, name):
            return group
    return None


class Groups:
    """Which part of the kernel an address belongs to."""

    def __init__(self, symbols):
        self.symbols = symbols
        self.starts, self.directories = [], []
        last = 0
        for directory, *names in DIRECTORIES:
            places = [a for a in symbols.places(*names) if a > last]
            if not places:
                raise ValueError(f"no function {' or '.join(names)} where "
                                 f"{directory}/ begins in this kernel")
            last = places[0]
            self.starts.append(last)
            self.directories.append(directory)
        self.known = {}

    def directory(self, addr):
        i = bisect.bisect_right(self.starts, addr) - 1
        return self.directories[i] if i >= 0 else ""

    def find(self, addr, name, module):
        if module == "user":
            return "user"
        group = match(NAMES, name)
        if group:
            return group
        if module != "vmlinux":
            return match(MODULES, module) or "other"
        directory = self.directory(addr)
        if directory == "net":
            return match(IN_NET, name) or "net"
        if directory in ("mm", "block"):
            return "zram" if re.fullmatch(OF_ZRAM, name) else directory
        if re.fullmatch(OF_BLOCK, name):
            return "block"
        return "zram" if re.fullmatch(OF_ZRAM, name) else "other"

    def of(self, addr):
        """(group, function)"""
        if addr not in self.known:
            (name, module), _ = self.symbols.lookup(addr)
            self.known[addr] = self.find(addr, name, module), name
        return self.known[addr]


def per_page(groups, lines, pages):
    """{group: Counter of instructions per page, by function}"""
    if pages <= 0:
        raise ValueError(f"{pages} pages: expected at least one")
    out = {}
    for addr, insns, runs in lines:
        group, name = groups.of(addr)
        functions = out.setdefault(group, collections.Counter())
        functions[name] += insns * runs
    return {group: collections.Counter({f: n / pages
                                        for f, n in functions.items()})
            for group, functions in out.items()}


def sums(functions):
    """What per_page() says, by group only, with the whole."""
    out = {group: sum(functions.get(group, {}).values()) for group in GROUPS}
    out["whole"] = sum(n for group, n in out.items() if group != "idle")
    return out
