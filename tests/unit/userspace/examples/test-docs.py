#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What is installed of the documents of libfar has links to what is installed, and nothing
of it names a program's source that is not there.

Usage: test-docs.py INSTALL_DOCS SOURCE
"""
import os
import re
import subprocess
import sys
import tempfile


def main():
    install, source = sys.argv[1:]
    bad, links = 0, 0
    with tempfile.TemporaryDirectory() as work:
        env = dict(os.environ, MESON_INSTALL_DESTDIR_PREFIX=work)
        subprocess.run([install, source, 'doc'], env=env, check=True)
        doc = os.path.join(work, 'doc')
        there = [n for n in os.listdir(doc) if n.endswith('.md')]
        for name in there:
            with open(os.path.join(doc, name)) as f:
                text = f.read()
            # Nobody looks for these beside the document.
            if '`scripts/' in text and 'are those of the source' not in text[:400]:
                print(f'{name}: does not say that it names files of the source')
                bad = 1
            for target in re.findall(r'\]\(([^()\s]*)\)', text):
                path = target.split('#')[0]
                if '://' in target or not path:
                    continue
                links += 1
                if not os.path.isfile(os.path.join(doc, path)):
                    print(f'{name}: there is no {target}')
                    bad = 1
        if 'far.md' not in there or len(there) < 5 or links < 10:
            print(f'{there}, {links} links: more expected')
            bad = 1
    sys.exit(bad)


main()
