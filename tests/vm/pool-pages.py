#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Does to pages of a memory node what one that attacks would do.

usage: pool-pages.py PID flip              changes a bit of one
       pool-pages.py PID exchange FILE     exchanges two, and keeps both in FILE
       pool-pages.py PID old FILE          puts back what FILE has of them

Of pages that are noise, in that area of the agent's memory that has most of them, its
pool: with protect=aead those are the pages that it was given. Exit status 1: there are
not so many, yet.
"""
import json
import re
import sys
import zlib

PAGE = 4096
ZERO = bytes(PAGE)
AT_ONCE = 1 << 22
# Its own memory, and the file that its pages are in.
AREA = r"([0-9a-f]+)-([0-9a-f]+) rw.(p|s .*/memfd:odrp-pages)"


def areas(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        for line in maps:
            area = re.match(AREA, line)
            if area:
                yield int(area[1], 16), int(area[2], 16)


def noise(memory, begin, end):
    """Address and contents of each page that cannot be compressed."""
    for at in range(begin, end, AT_ONCE):
        memory.seek(at)
        data = memory.read(min(AT_ONCE, end - at))
        for off in range(0, len(data), PAGE):
            page = data[off:off + PAGE]
            if page != ZERO and len(zlib.compress(page, 1)) > PAGE:
                yield at + off, page


def pool(pid, memory):
    most = []
    for begin, end in list(areas(pid)):
        try:
            most = max(most, list(noise(memory, begin, end)), key=len)
        except OSError:  # gone, or not to be read
            pass
    return most


def write(memory, at, data):
    memory.seek(at)
    memory.write(data)


def act(pid, memory, action, path):
    if action == "old":
        with open(path, encoding="ascii") as kept:
            for at, page in json.load(kept):
                write(memory, at, bytes.fromhex(page))
        return 0
    pages = pool(pid, memory)
    if len(pages) < 2:
        return 1
    (a, page_a), (b, page_b) = pages[0], pages[-1]
    if action == "flip":
        write(memory, a + 1234, bytes([page_a[1234] ^ 16]))
        return 0
    with open(path, "w", encoding="ascii") as kept:
        json.dump([(a, page_a.hex()), (b, page_b.hex())], kept)
    write(memory, a, page_b)
    write(memory, b, page_a)
    return 0


def main():
    if len(sys.argv) < 3 or not sys.argv[1].isdigit() or \
            sys.argv[2:] != ["flip"] and \
            (len(sys.argv) != 4 or sys.argv[2] not in ("exchange", "old")):
        sys.exit(__doc__)
    pid, action, path = sys.argv[1], sys.argv[2], (sys.argv + [None])[3]
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        return act(pid, memory, action, path)


if __name__ == "__main__":
    sys.exit(main())
