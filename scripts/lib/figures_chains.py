# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The time until a request for a page is answered, by the chains of the paper and by those that
an agent arms. For the picture of docs/results/README.md: the numbers are in
docs/results/chains-cost.md, blocks of "wrc cost", which a test keeps true.
"""
import os
import re

from figures_run import TOP, Figure, Series

# The picture alone: its page is chains-cost.md.
HEAD = None
PROGRAMS = ('load', 'mapped_store', 'unmapped_store', 'invalidate')
COST = os.path.join(TOP, 'docs/results/chains-cost.md')


def text_of(arguments):
    """The block of "wrc cost" with these arguments."""
    with open(COST, encoding='utf-8') as f:
        text = f.read().partition(f'<!-- wrc cost {arguments} -->\n')[2]
    return text.split('```')[1]


def block(variant, column):
    """[(x, y)] of the block of a variant; column 2 is model us, 3 paper us, 4 model M/s."""
    points = []
    for line in text_of(f'--variant {variant}').splitlines():
        # ... model us, slot us, paper us, model M/s and the unit that limits it
        found = re.search(r'^(\w+) .* ([\d.]+) +[\d.]+ +([\d.]+|-) +([\d.]+) [a-z ]+$', line)
        if found and found.group(1) in PROGRAMS and found.group(column) != '-':
            points.append((PROGRAMS.index(found.group(1)), float(found.group(column))))
    return points


def chains():
    return Figure('answer', 'Chains on a card of 100 Gb/s: time until the answer', 'request', 'us',
                  list(range(len(PROGRAMS))), [
                      Series("the paper's chains (paper)", known=block('paper', 3)),
                      Series("the paper's chains (model)", known=block('paper', 2)),
                      Series('ours, any card (model)', known=block('armed', 2)),
                      Series('ours, a card that is known (model)',
                             known=block('armed-known', 2))],
                  names=tuple(p.replace('_', ' ') for p in PROGRAMS))


PICTURES = ('answer',)
FIGURES = [chains()]
