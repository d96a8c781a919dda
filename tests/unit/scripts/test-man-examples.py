#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Each command in the examples of the manual pages for commands (sections 1 and 8) is run,
with what keeps it from changing this machine: no program calls it wrong usage. Whether it
gets any further depends on the machine.

Usage: test-man-examples.py PAGES PROGRAM...
"""
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile

USAGE = {2, 64}
SECONDS = 5         # A command that still runs has accepted its arguments.
# A network interface and a memory node that no machine has.
NOWHERE = [('packet=eth1', 'packet=no-such-if'), ('10.77.0.1', '0.0.0.1')]


def examples(page, programs):
    """The lines of the section that begin with one of the programs."""
    found = re.search(r'^\.SH "?EXAMPLES?"?\n(.*?)(?=^\.SH )', page, re.M | re.S)
    for line in (found.group(1) if found else '').splitlines():
        line = re.sub(r'^\.B ', '', line)
        if line.split(' ')[0] in programs:
            yield line.replace('\\-', '-').replace('\\(dq', '"')


def commands(line):
    """The words of each program in a line of shell."""
    words = []
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    for word in lexer:
        if word in ('|', '&&', ';', '>', '&'):
            yield words
            words = []
        else:
            words.append(word)
    yield words


def harmless(words, work):
    """The command, and what has it write into the directory only."""
    name, first = words[0], words[1] if len(words) > 1 else ''
    words = [re.sub('|'.join(re.escape(a) for a, _ in NOWHERE),
                    lambda m: dict(NOWHERE)[m.group()], w) for w in words]
    if name == 'far':
        return words if '--nic' in words else words + ['--nic', 'mem:dir=' + work]
    if (name, first) == ('odrpctl', 'key'):
        return words + ['--dir', work]
    if (name, first) == ('odrpctl', 'mnode'):
        return words + ['--control', work + '/none']
    if name == 'odrp-mnoded':
        return words + ['--control', work + '/none/ctl', '--keys', work]
    return words


def changes_machine(words):
    return (words[:2] == ['odrpctl', 'swap'] and os.path.exists('/sys/class/odrp-control')
            or words[0] == 'odrp-hwcheck' and os.path.exists('/dev/infiniband'))


def run(words, programs, work):
    """What is wrong with it; None: nothing."""
    argv = harmless(words, work)
    try:
        done = subprocess.run(argv, executable=programs[words[0]], cwd=work, timeout=SECONDS,
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
    except subprocess.TimeoutExpired:
        return None
    return done.stderr if done.returncode in USAGE or done.returncode < 0 else None


def main():
    programs = {os.path.basename(p): os.path.abspath(p) for p in sys.argv[2:]}
    seen, bad = set(), 0
    with tempfile.TemporaryDirectory() as work:
        for path in sorted(glob.glob(sys.argv[1] + '/*.[18]')):
            with open(path) as page:
                lines = list(examples(page.read(), programs))
            for words in (w for line in lines for w in commands(line)):
                if not words or words[0] not in programs:
                    continue
                seen.add(words[0])
                wrong = None if changes_machine(words) else run(words, programs, work)
                if wrong is not None:
                    print(f'{os.path.basename(path)}: {" ".join(words)}: {wrong}')
                    bad = 1
    for name in programs.keys() - seen:
        print(f'{name}: no page has an example of it')
        bad = 1
    sys.exit(bad)


main()
