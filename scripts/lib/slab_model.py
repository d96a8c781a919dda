#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Used and held pages of slabs of several sizes, from a trace of stores and frees.

  slab_model.py LOAD PAGES SECONDS < TRACE

A line of TRACE is "TIME OP SLOT BLOCKS", OP is store or free. Slots belong to slabs by their
numbers, as in ODRP's baselines: a slab is held from the first store to one of its slots
until all are free again, and nobody moves pages. SECONDS is how long the device, of
PAGES pages, was there. Prints rows of the table of scripts/bench-use.
"""
import sys

# Pages of 4 KB.
SIZES = (('4 KB', 1), ('1 MB', 256), ('2 MB', 512), ('32 MB', 8192))


def events(lines):
    """(time, stored, slot) for each page."""
    for line in lines:
        time, op, slot, blocks = line.split()
        for page in range(int(slot), int(slot) + int(blocks)):
            yield float(time), op == 'store', page


class Slabs:
    """Slabs of so many pages: how many are held, and page-seconds."""

    def __init__(self, pages):
        self.pages = pages
        self.used = {}          # by slab
        self.sum = 0.0
        self.peak = 0

    def held(self):
        return len(self.used) * self.pages

    def change(self, slot, more):
        slab = slot // self.pages
        left = self.used.get(slab, 0) + more
        if left:
            self.used[slab] = left
        else:
            self.used.pop(slab, None)
        self.peak = max(self.peak, self.held())


def replay(trace, sizes=SIZES):
    """{name: Slabs} after the trace, which ends with its last event."""
    slabs = {name: Slabs(pages) for name, pages in sizes}
    there = set()
    last = None
    for time, stored, slot in trace:
        for s in slabs.values() if last is not None else ():
            s.sum += s.held() * (time - last)
        last = time
        if stored == (slot in there):
            continue
        (there.add if stored else there.remove)(slot)
        for s in slabs.values():
            s.change(slot, 1 if stored else -1)
    return slabs


def rows(load, pages, seconds, trace):
    slabs = replay(trace)
    used = slabs[SIZES[0][0]]
    for name, s in slabs.items():
        yield [load, f'{name}, no mover (model)', s.sum, used.peak, s.peak]
    yield [load, 'static (model)', pages * seconds, used.peak, pages]


def main():
    load, pages, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    found = list(rows(load, pages, seconds, events(sys.stdin)))
    used = found[0][2]
    for load, name, held, peak, held_peak in found:
        share = f'{used / held:.3f}' if held else '?'
        print(f'| {load} | {name} | {used:.0f} | {held:.0f} | {share} | {peak} | {held_peak} '
              '| | | |')


if __name__ == '__main__':
    main()
