# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
What all style checks share: which files there are, C text without comments
and strings, and the frame of a check (report, self-test, exit status).

A check is a function from a Tree to findings, "path:line: what is wrong".
Its self-test names small broken trees, each of which must give a finding, and
good ones, which must give none: a check that cannot fail checks nothing.
"""
import argparse
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Tree:
    """The files of a source tree: those of git, or all where there is none."""

    def __init__(self, top):
        self.top = top
        self.files = sorted(p for p in self._list()
                            if os.path.isfile(os.path.join(top, p)) and
                            not os.path.islink(os.path.join(top, p)))

    def _list(self):
        if os.path.exists(os.path.join(self.top, '.git')):
            out = subprocess.run(
                ['git', '-c', 'safe.directory=*', 'ls-files', '-z', '-co',
                 '--exclude-standard'],
                cwd=self.top, check=True, stdout=subprocess.PIPE).stdout
            return [p for p in out.decode().split('\0') if p]
        found = []
        for where, dirs, names in os.walk(self.top):
            dirs[:] = [d for d in dirs if d != '__pycache__']
            found += [os.path.relpath(os.path.join(where, n), self.top)
                      for n in names]
        return found

    def path(self, name):
        return os.path.join(self.top, name)

    def exists(self, name):
        return os.path.exists(self.path(name))

    def text(self, name):
        """A file's text, or None if it is not text."""
        with open(self.path(name), 'rb') as f:
            data = f.read()
        if b'\0' in data:
            return None
        return data.decode('utf-8', 'surrogateescape')

    def sources(self, *suffixes):
        return [p for p in self.files if p.endswith(suffixes)]


def interpreter(text):
    """The program a script's first line names: bash, python3, ... or ''."""
    m = re.match(r'#!\s*(?:/usr/bin/env\s+)?(\S+)', text or '')
    return os.path.basename(m.group(1)) if m else ''


_C_TOKEN = re.compile(
    r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def c_code(text):
    """C text with comments and the insides of literals blanked, lines kept."""
    def blank(m):
        s = m.group(0)
        if s[0] in '"\'':
            return s[0] + ' ' * (len(s) - 2) + s[0]
        return re.sub(r'[^\n]', ' ', s)
    return _C_TOKEN.sub(blank, text)


def line_of(text, offset):
    return text.count('\n', 0, offset) + 1


def _make_tree(top, files):
    for name, text in files.items():
        path = os.path.join(top, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as f:
            f.write(text)


def _self_test(check, bad, good):
    failed = 0
    for kind, samples in (('bad', bad), ('good', good)):
        for title, files in samples.items():
            with tempfile.TemporaryDirectory() as top:
                _make_tree(top, files)
                findings = list(check(Tree(top)))
            if bool(findings) != (kind == 'bad'):
                failed += 1
                print(f'self-test: {kind} sample "{title}": '
                      f'{findings or "nothing found"}')
    print(f'self-test: {len(bad)} bad and {len(good)} good samples, '
          f'{failed} judged wrongly')
    return failed


def main(doc, check, bad, good, check_sample=None):
    """check_sample: judges the samples instead of check, if not None."""
    p = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--self-test', action='store_true',
                   help='run on broken and on good samples instead')
    if check_sample:
        p.add_argument('build', nargs='?', help='the build directory')
    args = p.parse_args()
    if args.self_test:
        sys.exit(1 if _self_test(check_sample or check, bad, good) else 0)
    findings = list(check(Tree(TOP)))
    for f in findings:
        print(f)
    if findings:
        print(f'{len(findings)} findings')
    sys.exit(1 if findings else 0)
