#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Installs docs/far.md, the documents that it refers to, and the examples. Links lead to
what is there afterwards; of others the text stays, and of manual pages their names. A
document that names files of the source says so.

Usage: install_docs.py SOURCE DIRECTORY    (below $MESON_INSTALL_DESTDIR_PREFIX, if set)
"""
import os
import posixpath
import re
import shutil
import sys

FIRST = 'far.md'
EXAMPLES = '../userspace/examples/'
# Nobody who has the packages alone has these, nor needs them.
SOURCE = re.compile(r'`(scripts|tests|userspace|wrchain|mnode|kmod|include)/')
NOTE = """
Files below `scripts/`, `tests/` and `userspace/` are those of the source; no step needs them.
"""
LINK = re.compile(r'\[([^][]*)\]\(([^()\s]*)\)')


def documents(source):
    """The first one and those that it links to, by their names in docs/."""
    with open(f'{source}/docs/{FIRST}') as f:
        targets = [m.group(2).split('#')[0] for m in LINK.finditer(f.read())]
    return [FIRST] + sorted({t for t in targets if t.endswith('.md') and '/' not in t})


def relinked(text, names):
    def link(m):
        said, target = m.groups()
        path = target.split('#')[0]
        page = re.match(r'man/([\w.-]+)\.(\d)$', path)
        if page:
            return f'{page.group(1)}({page.group(2)})'
        if path.startswith(EXAMPLES):
            return f'[{said}](examples/{posixpath.basename(path)})'
        return m.group() if '://' in target or not path or path in names else said
    return LINK.sub(link, text)


def noted(text):
    """Behind the title, whose files are meant, if some are named that are not installed."""
    title, rest = text.split('\n', 1)
    return f'{title}\n{NOTE}{rest}' if SOURCE.search(text) else text


def main():
    source, directory = sys.argv[1:]
    where = os.path.join(os.environ.get('MESON_INSTALL_DESTDIR_PREFIX', ''), directory)
    examples = os.path.join(where, 'examples')
    os.makedirs(examples, exist_ok=True)
    names = documents(source)
    for name in names:
        with open(f'{source}/docs/{name}') as f:
            text = noted(relinked(f.read(), names))
        with open(os.path.join(where, name), 'w') as f:
            f.write(text)
    for name in sorted(os.listdir(f'{source}/userspace/examples')):
        if name.endswith('.c'):
            shutil.copyfile(f'{source}/userspace/examples/{name}',
                            os.path.join(examples, name))


main()
