#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Each check of the verifier counts: with any one taken out, a test is red.

The programs are those of the tests of the verifier, linked with files of it in
which one place refuses nothing (check-off.h).  Of each place the program runs
that hears its sentence.  By day some places, with ODRP_NIGHTLY=1 all.

usage: test-check-off.py SOURCE-DIR TEST-PROGRAM..."""

import importlib.util
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SPEC = importlib.util.spec_from_file_location(
    "cases", os.path.join(HERE, "test-check-cases.py"))
CASES = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(CASES)

DAY = 11        # one of so many places


def places(directory):
    """(file, number, sentences) of each place that refuses."""
    found = []
    for name in sorted(os.listdir(directory)):
        if not name.startswith("check_") or not name.endswith(".c"):
            continue
        with open(os.path.join(directory, name), encoding="utf-8") as f:
            text = f.read()
        number = 0
        for call in CASES.CALL.finditer(text):
            if call.group(1) not in ("wrc_refuse", "wrc_refuse_all"):
                continue
            arguments = CASES.call_at(text, call.end())
            found.append((name, number, CASES.sentences_in(arguments)))
            number += 1
    return found


def run(program, **more):
    return subprocess.run([program], env=dict(os.environ, **more), text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          check=False)


def main():
    programs = sys.argv[2:]
    heard = {}
    for program in programs:
        out = run(program, VERDICT_PRINT="1")
        if out.returncode:
            sys.exit(f"{program}: red with all checks")
        heard[program] = [line for line in out.stdout.splitlines()
                          if line.startswith("refused alone: ")]
    nightly = os.environ.get("ODRP_NIGHTLY") == "1"
    tried = red = excused = 0
    status = 0
    for i, (name, number, said) in enumerate(places(sys.argv[1])):
        if not nightly and i % DAY:
            continue
        tried += 1
        if all(s in CASES.EXCUSED for s in said):
            excused += 1
            continue
        patterns = [CASES.pattern(s) for s in said]
        who = [p for p in programs
               if any(x.search(line) for x in patterns for line in heard[p])]
        if any(run(p, CHECK_OFF=f"{name}:{number}").returncode for p in who):
            red += 1
            continue
        print(f"{name}: place {number}, {said}: taken out, and no test is red")
        status = 1
    print(f"{tried} places taken out: {red} tests red, {excused} excused")
    return status if tried > 5 else 1


sys.exit(main())
