#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What scripts/bench-kmod has measured, per page: tables, goals, functions.

A run is KERNEL-BACKEND-ROUND.out, the guest's symbols and what the workload
said, with the counts of its phases beside it.
"""
import argparse
import json
import os
import re
import statistics
import sys

import guest_groups
import guest_profile

# Of the pieces that the workload's marks make.
PHASES = {"out": 2, "in": 4}
OWN_MOST = 3000
# With direct slabs nothing maps a page, so less is allowed.
OWN_MOST_DIRECT = {"out": 600, "in": 560}
WHOLE_MOST = 0.5	# of NBD's
OURS = ("block", "direct", "frontswap")
# Less than all was swapped: the counts are not those of a page.
PAGES_LEAST = 0.99


def arguments():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("runs", nargs="+", metavar="KERNEL-BACKEND-ROUND.out")
    p.add_argument("--pages", type=int, required=True,
                   help="how many were to be swapped")
    p.add_argument("--top", type=int, default=8)
    p.add_argument("--json")
    p.add_argument("--table", help="write the medians there, as Markdown")
    return p.parse_args()


def read_pages(path):
    """{phase: pages}, as the workload says."""
    pages = {}
    with open(path, encoding="ascii", errors="replace") as f:
        for line in f:
            m = re.fullmatch(r"(\w+) pages=(\d+)\n", line)
            if m:
                pages[m[1]] = int(m[2])
    return pages


def read_run(path, wanted):
    """One entry for each phase of a run."""
    kernel, backend, number = os.path.basename(path)[:-len(".out")].split("-")
    groups = guest_groups.Groups(guest_profile.Symbols(path))
    pages = read_pages(path)
    for phase, piece in PHASES.items():
        n = pages.get(phase, 0)
        if n < wanted * PAGES_LEAST:
            raise ValueError(f"{backend} on {kernel}: {n} pages {phase}, "
                             f"expected {wanted}")
        lines = guest_profile.read_counts(
            f"{path[:-len('.out')]}.count.{piece}")
        functions = guest_groups.per_page(groups, lines, n)
        yield {"kernel": kernel, "backend": backend, "round": int(number),
               "phase": phase, "pages": n,
               "groups": guest_groups.sums(functions), "functions": functions}


def middle(entries):
    """The medians of the rounds of a phase."""
    first = entries[0]
    names = {}
    for e in entries:
        for group, functions in e["functions"].items():
            names.setdefault(group, set()).update(functions)
    return {
        "kernel": first["kernel"], "backend": first["backend"],
        "phase": first["phase"],
        "pages": statistics.median(e["pages"] for e in entries),
        "groups": {g: statistics.median(e["groups"][g] for e in entries)
                   for g in first["groups"]},
        "functions": {g: {f: statistics.median(
            e["functions"].get(g, {}).get(f, 0) for e in entries) for f in some}
            for g, some in names.items()},
    }


def medians(entries):
    """One entry for each kernel, phase and backend."""
    by = {}
    for e in entries:
        by.setdefault((e["kernel"], e["phase"], e["backend"]), []).append(e)
    order = list(PHASES)
    return [middle(by[key]) for key in
            sorted(by, key=lambda k: ([int(x) for x in k[0].split(".")],
                                      order.index(k[1]), k[2]))]


def spread(entries):
    """How far the rounds of a backend's phase are apart, at most, as a part."""
    by = {}
    for e in entries:
        key = e["kernel"], e["phase"], e["backend"]
        by.setdefault(key, []).append(e["groups"]["whole"])
    return max((max(v) - min(v)) / statistics.median(v) for v in by.values())


def own_most(entry):
    """The goal for the module's instructions for a page."""
    return OWN_MOST_DIRECT[entry["phase"]] if entry["backend"] == "direct" \
        else OWN_MOST


def goals(entries):
    """The module's entries against the goals; None where nothing is to compare."""
    nbd = {(e["kernel"], e["phase"]): e["groups"]["whole"]
           for e in entries if e["backend"] == "nbd"}
    for e in entries:
        if e["backend"] not in OURS:
            continue
        whole, own = e["groups"]["whole"], e["groups"]["ours"]
        theirs = nbd.get((e["kernel"], e["phase"]))
        carried = sum(e["groups"][g] for g in ("rdma", "net", "copy"))
        yield {"kernel": e["kernel"], "backend": e["backend"],
               "phase": e["phase"], "own": own,
               "own_most": own_most(e), "own_met": own <= own_most(e),
               "ratio": whole / theirs if theirs else None,
               "ratio_met": whole / theirs < WHOLE_MOST if theirs else None,
               "rest": whole - carried,
               "rest_ratio": (whole - carried) / theirs if theirs else None}


def verdict(met):
    return "met" if met else "MISSED"


def show_table(entries):
    columns = ("whole",) + guest_groups.GROUPS
    print("instructions per page\n")
    print(f"{'':23}" + "".join(f"{c:>8}" for c in columns))
    for e in entries:
        print(f"{e['kernel']:5}{e['backend']:10}{e['phase']:>4}{'':4}" +
              "".join(f"{e['groups'][c]:8.0f}" for c in columns))
    print()
    for group in guest_groups.GROUPS:
        print(f"  {group:6} {guest_groups.WHAT[group]}")


def table(entries):
    """The medians as a table of Markdown; a part that did nothing is blank."""
    columns = ("whole",) + guest_groups.GROUPS
    lines = ["| kernel | backend | | " + " | ".join(columns) + " |",
             "|---|---|---|" + "--:|" * len(columns)]
    for e in entries:
        cells = [f"{n:,.0f}" if round(n) else "" for n in
                 (e["groups"][c] for c in columns)]
        lines.append(f"| {e['kernel']} | {e['backend']} | {e['phase']} | " +
                     " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def show_goals(entries):
    print("\ngoals: ours as below; the whole below "
          f"{WHOLE_MOST} of NBD's on the same kernel\n")
    for g in goals(entries):
        line = (f"{g['kernel']:5}{g['backend']:10}{g['phase']:>4}    ours "
                f"{g['own']:.0f}, at most {g['own_most']}: "
                f"{verdict(g['own_met'])}; ")
        if g["ratio"] is None:
            print(line + f"whole: no NBD on {g['kernel']} to compare with")
            continue
        print(line + f"whole {g['ratio']:.2f} of NBD's: "
              f"{verdict(g['ratio_met'])}; without rdma, net and copy "
              f"{g['rest']:.0f}, {g['rest_ratio']:.2f} of NBD's whole")


def show_functions(entries, top):
    for e in entries:
        print(f"\n{e['backend']} on {e['kernel']}, {e['phase']}: most "
              "instructions per page")
        for group in guest_groups.GROUPS:
            some = sorted(e["functions"].get(group, {}).items(),
                          key=lambda x: -x[1])[:top]
            some = [f"{name} {n:.0f}" for name, n in some if n >= 1]
            if some:
                print(f"  {group:6} " + ", ".join(some))


def main():
    args = arguments()
    try:
        entries = [e for path in args.runs for e in read_run(path, args.pages)]
    except (OSError, ValueError) as e:
        sys.exit(f"bench-kmod: error: {e}")
    middles = medians(entries)
    show_table(middles)
    show_goals(middles)
    if len(entries) > len(middles):
        print(f"\nrounds of one backend differ by at most "
              f"{100 * spread(entries):.1f} % of the whole")
    if args.top:
        show_functions(middles, args.top)
    if args.table:
        with open(args.table, "w", encoding="ascii") as f:
            f.write(table(middles))
    if args.json:
        try:
            with open(args.json, "w", encoding="ascii") as f:
                json.dump({"rounds": entries, "medians": middles,
                           "goals": list(goals(middles))}, f, indent=1)
        except OSError as e:
            sys.exit(f"bench-kmod: error: cannot write '{args.json}': "
                     f"{e.strerror}")


if __name__ == "__main__":
    main()
