#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every sentence with which the verifier refuses has a case that only its rule
refuses: the sentences in the sources of the verifier, against those that
expect_refusal() has seen in the test programs.

usage: test-check-cases.py SOURCE-DIR TEST-PROGRAM..."""

import glob
import os
import re
import subprocess
import sys

# Sentences without a case of their own, and why there can be none.
EXCUSED = {
    "%s (%s)": "the frame of other sentences",
    # Refused by two rules, from two sides (see the tests' ..._doubly and
    # refused_by_many).
    "is a head armed by its own request": "too late as well: order",
    "is never an answer again after a quiet request": "has no word: index",
    "is armed by no word of any request": "index",
    "receive entry %u is malformed": "patch and rq both follow it",
    # Rule form, whichever is asked: the others rely on it.
    "no geometry of depth %u": "",
    "the geometry is not that of %s with %u instances": "",
    # Said before: a request's patches are as late as its page.
    "reads a page that may not have arrived": "is enabled before its patch",
    # wrc_link() links no such program, wrc_words() computes no such word; the
    # verifier does not rely on it.
    "a recycle word does not fit its formula": "words.c",
    "request %llu posts %u receive entries of a queue of %u": "words.c",
    "request %llu leaves %u receive entries posted instead of %u": "words.c",
    "enables up to %llu, beyond the next head's end %llu": "words.c",
    # And its bytes go where no word belongs: rule table.
    "has its %s renewed by no row": "table",
    "no row re-posts receive entries": "table",
    # Rule rq misses the entry, too; link.c links none of the others.
    "nobody posts the receive entry again": "rq",
    "no READs of the table": "link.c",
}

CALL = re.compile(r"\b(wrc_refuse|wrc_refuse_all|refuse_patch)\s*\(")
STRINGS = re.compile(r'"(?:[^"\\]|\\.)*"(?:\s*"(?:[^"\\]|\\.)*")*')


def call_at(text, start):
    """The arguments of the call whose parenthesis is before start."""
    depth, i = 1, start
    while depth:
        if text[i] == '"':
            i = re.compile(r'"(?:[^"\\]|\\.)*"').match(text, i).end()
            continue
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        i += 1
    return text[start:i - 1]


def sentences_in(arguments):
    """The format strings of one call."""
    return ["".join(re.findall(r'"((?:[^"\\]|\\.)*)"', literal))
            for literal in STRINGS.findall(arguments)]


def sentences(directory):
    """Format string -> file, of all refusals."""
    found = {}
    for path in sorted(glob.glob(os.path.join(directory, "check*.c"))):
        with open(path, encoding="utf-8") as f:
            text = f.read()
        for call in CALL.finditer(text):
            arguments = call_at(text, call.end())
            for sentence in sentences_in(arguments):
                found[sentence] = os.path.basename(path)
    return found


def pattern(fmt):
    """What a printed sentence matches."""
    parts = re.split(r"(%[0-9]*(?:ll)?[sudx])", fmt)
    return re.compile("".join(
        ".+" if re.fullmatch(r"%[0-9]*(?:ll)?[sudx]", p) else re.escape(p)
        for p in parts), re.DOTALL)


def seen(programs):
    lines = []
    for program in programs:
        env = dict(os.environ, VERDICT_PRINT="1")
        out = subprocess.run([program], env=env, check=True, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        lines += [line.partition(": ")[2] for line in out.stdout.splitlines()
                  if line.startswith("refused alone: ")]
    return lines


def main():
    wanted = sentences(sys.argv[1])
    lines = seen(sys.argv[2:])
    status = 0
    for fmt, source in wanted.items():
        has = any(pattern(fmt).search(line) for line in lines)
        if has or fmt in EXCUSED:
            continue
        print(f"{source}: no test is refused, by one rule alone, with: {fmt}")
        status = 1
    print(f"{len(wanted)} sentences, {len(lines)} cases")
    # The program is broken when it finds nothing.
    return status if len(wanted) > 40 and len(lines) > 40 else 1


if __name__ == "__main__":
    sys.exit(main())
