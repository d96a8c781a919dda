#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes docs/results/NAME.md: what a benchmark printed, and how it was run.

  result.py NAME --label LABEL --command COMMAND [--row KEY=VALUE...] < TABLE

The file has a head (command, machine, date), the table, and notes. Head and
table are replaced each time. The notes are written by hand, stand behind the
line that says so, and stay.
"""
import argparse
import datetime
import os
import re
import subprocess
import sys

TOP = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))
LABELS = ("measured", "model", "paper")
NOTES = "<!-- Notes, written by hand: --save keeps what is below. -->"
# What a machine may be called by: its processor, never its name.
CPU_FIELDS = ("model name", "cpu family", "model")


def machine(cpuinfo):
    """The processor and how many, of the text of /proc/cpuinfo."""
    found = {}
    count = 0
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        key = key.strip()
        count += key == "processor"
        if key in CPU_FIELDS:
            found.setdefault(key, value.strip())
    name, family, model = (found.get(f, "unknown") for f in CPU_FIELDS)
    return f"{name}, family {family}, model {model}; {count} processors"


def commit(top):
    """
    The commit that was measured, '+' behind it if the tree had changes; pages of results
    are none, since one command may write several.
    """
    git = ["git", "-c", "safe.directory=*", "-C", top]
    try:
        head = subprocess.run(git + ["rev-parse", "--short", "HEAD"],
                              check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True).stdout
        clean = subprocess.run(git + ["diff", "--quiet", "HEAD", "--", ".",
                                      ":!docs/results"], check=False,
                               stderr=subprocess.DEVNULL).returncode == 0
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.strip() + ("" if clean else "+")


def document(name, label, rows, table, notes):
    head = [f"# {name}", "", f"*{label.capitalize()}*.", "", "| | |", "|---|---|"]
    head += [f"| {key} | {value} |" for key, value in rows]
    return "\n".join(head) + f"\n\n{table.strip()}\n\n{NOTES}\n{notes}"


def notes_of(text):
    """What was written by hand in a file that is there already."""
    return text.partition(NOTES + "\n")[2]


def save(name, label, command, rows, table, top=TOP):
    """Writes the file and returns its path."""
    if label not in LABELS:
        raise ValueError(f"label '{label}': expected one of {', '.join(LABELS)}")
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise ValueError(f"name '{name}': expected letters, digits and '-'")
    path = os.path.join(top, "docs", "results", name + ".md")
    notes = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as f:
            notes = notes_of(f.read())
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        cpu = machine(f.read())
    rows = [("command", f"`{command}`"), ("machine", cpu),
            ("commit", commit(top)),
            ("date", datetime.date.today().isoformat())] + list(rows)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(document(name, label, rows, table, notes))
    return path


def main():
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("name")
    p.add_argument("--label", required=True)
    p.add_argument("--command", required=True)
    p.add_argument("--row", action="append", default=[], metavar="KEY=VALUE")
    args = p.parse_args()
    rows = [r.partition("=")[::2] for r in args.row]
    try:
        path = save(args.name, args.label, args.command, rows, sys.stdin.read())
    except (OSError, ValueError) as e:
        sys.exit(f"result.py: error: {e}")
    print(f"written: {os.path.relpath(path, TOP)}", file=sys.stderr)


if __name__ == "__main__":
    main()
