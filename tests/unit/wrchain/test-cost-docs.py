#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
docs/results/chains-cost.md shows what `wrc cost` prints:

	<!-- wrc ARGUMENTS -->
	```
	...
	```

    test-cost-docs.py WRC DOCUMENT

With ODRP_REGEN set the blocks are written instead of compared.  Each figure that
the table of goals has for a program must be in one of the blocks, as that
program's; the table itself is written by hand.
"""
import os
import re
import subprocess
import sys

GOALS = '## Against the goals'
BLOCK = re.compile(r'^<!-- wrc ([^\n]*) -->\n```\n(.*?)^```\n', re.M | re.S)


def output(wrc, arguments):
    run = subprocess.run([wrc] + arguments.split(), check=True,
                         stdout=subprocess.PIPE, text=True)
    # The first line says what the document says itself.
    lines = [line.rstrip() for line in run.stdout.splitlines()[2:]]
    return '\n'.join(lines) + '\n'


def latencies(text):
    """By program: model us of all rows in blocks of single requests."""
    found = {}
    for m in BLOCK.finditer(text):
        head, *rows = m.group(2).splitlines()[1:]
        if ' model us' not in head or not head.startswith('program'):
            continue
        end = head.index(' model us') + len(' model us')
        for row in rows:
            program = row.split()[0].replace('_', ' ')
            found.setdefault(program, set()).add(row[:end].split()[-1])
    return found


def goals_missed(text):
    """Figures of the table of goals that no block has."""
    found = latencies(text)
    seen, wrong = 0, []
    for row in text.partition(GOALS)[2].splitlines():
        if row.startswith('## '):
            break
        cells = [c.strip() for c in row.split('|')[1:-1]]
        if len(cells) != 4 or cells[0] not in found:
            continue
        for figure in re.findall(r'\b\d+\.\d\d\b', ' '.join(cells[2:])):
            seen += 1
            if figure not in found[cells[0]]:
                wrong.append(f'no block has {cells[0]}: {figure} us')
    return wrong if seen else [f'no figures below "{GOALS}"']


def main():
    wrc, path = sys.argv[1:3]
    with open(path, encoding='utf-8') as f:
        text = f.read()
    wrong = []

    def renew(m):
        new = output(wrc, m.group(1))
        if new != m.group(2):
            wrong.append(m.group(1))
        return f'<!-- wrc {m.group(1)} -->\n```\n{new}```\n'

    new, blocks = BLOCK.subn(renew, text)
    if not blocks:
        print(f'{path} shows nothing')
        return 1
    missed = goals_missed(new)
    for figure in missed:
        print(f'{path}: the goals: {figure}')
    if not wrong:
        return 1 if missed else 0
    if os.environ.get('ODRP_REGEN'):
        with open(path, 'w', encoding='utf-8') as f:
            f.write(new)
        return 1 if missed else 0
    for arguments in wrong:
        print(f'{path}: not what `wrc {arguments}` prints.  Look at the '
              'conclusions around it, too, then run with ODRP_REGEN=1.')
    return 1


sys.exit(main())
