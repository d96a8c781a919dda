#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
docs/chains.md shows what `wrc cost` prints:

	<!-- wrc ARGUMENTS -->
	```
	...
	```

    test-cost-docs.py WRC DOCUMENT

With ODRP_REGEN set the blocks are written instead of compared.
"""
import os
import re
import subprocess
import sys

BLOCK = re.compile(r'^<!-- wrc ([^\n]*) -->\n```\n(.*?)^```\n', re.M | re.S)


def output(wrc, arguments):
    run = subprocess.run([wrc] + arguments.split(), check=True,
                         stdout=subprocess.PIPE, text=True)
    # The first line says what the document says itself.
    lines = [line.rstrip() for line in run.stdout.splitlines()[2:]]
    return '\n'.join(lines) + '\n'


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
    if not wrong:
        return 0
    if os.environ.get('ODRP_REGEN'):
        with open(path, 'w', encoding='utf-8') as f:
            f.write(new)
        return 0
    for arguments in wrong:
        print(f'{path}: not what `wrc {arguments}` prints.  Look at the '
              'conclusions around it, too, then run with ODRP_REGEN=1.')
    return 1


sys.exit(main())
