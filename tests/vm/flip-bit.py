#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Flips a bit behind a text, wherever a process has it in its own memory.

usage: flip-bit.py PID TEXT

What bad memory does, or a memory node that lies. Exit status: 0, flipped; 1, the
text is nowhere, yet. A guest's memory is left alone.
"""
import re
import sys

# Its own memory, and the file that its pages are in.
AREA = r"([0-9a-f]+)-([0-9a-f]+) rw.(p|s .*/memfd:odrp-pages)"


def writable(pid):
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps:
        for line in maps:
            area = re.match(AREA, line)
            if area:
                yield int(area[1], 16), int(area[2], 16)


def flip(memory, begin, end, text):
    memory.seek(begin)
    data = memory.read(end - begin)
    found = 0
    at = data.find(text)
    while 0 <= at < len(data) - len(text):
        memory.seek(begin + at + len(text))
        memory.write(bytes([data[at + len(text)] ^ 1]))
        found += 1
        at = data.find(text, at + 1)
    return found


def main():
    if len(sys.argv) != 3 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    pid, text = sys.argv[1], sys.argv[2].encode()
    found = 0
    with open(f"/proc/{pid}/mem", "r+b", buffering=0) as memory:
        for begin, end in list(writable(pid)):
            try:
                found += flip(memory, begin, end, text)
            except OSError:  # gone, or not to be read
                pass
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
