# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Which of a figure's numbers check the model: a number that its profile was given, or on
which it was fitted, does not. For scripts/figures.
"""
import csv
import os
import re
import statistics

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
NEAR = 0.03
MARKS = {'given': ' g', 'fitted': ' f', 'check': ''}
LEGEND = """
Behind a number of the model: *g*, the profile was given it from the same figure; *f*,
parameters were fitted on it; nothing, it checks the model. Errors are of the last kind
alone.
"""


def rules(top=TOP):
    """Rows of origins.csv by figure."""
    found = {}
    path = os.path.join(top, 'userspace/bench/paper/origins.csv')
    with open(path, encoding='utf-8') as f:
        for row in csv.DictReader(line for line in f if not line.startswith('#')):
            found.setdefault(row['figure'], []).append(row)
    return found


def limit(rule, top=TOP):
    """The rate that the parameter allows, in Mop/s; None: the rule has no profile."""
    if not rule['profile']:
        return None
    path = os.path.join(top, f'userspace/profiles/{rule["profile"]}.ini')
    with open(path, encoding='utf-8') as f:
        value = re.search(rf'^{rule["parameter"]} *= *(\S+)', f.read(), re.M)
    return 1000 / float(value.group(1))


def is_number(y):
    """Whether there is one: the run may have failed, or have been unsteady."""
    return isinstance(y, (int, float))


class Origins:
    """
    Of one figure: lines is [(series, [(x, y)])], fitted {(label, x)} of points that are
    marked where they are from.
    """

    def __init__(self, which, figure, lines, fitted=(), known=None):
        self.fitted = fitted
        known = rules() if known is None else known
        self.rules = [(r, limit(r)) for r in known.get(f'{which}/{figure.name}', ())]
        self.lines = lines
        # Where the x are measured, too, no two numbers belong together.
        comparable = not any(s.x_value for s, _ in lines)
        self.paper = {s.name(): dict(points) for s, points in lines
                      if s.is_paper() and comparable}

    def kind(self, series, x, y):
        """given, fitted or check; '': it is no model's, or the paper has no such number."""
        if series.is_paper() or series.is_measured() or x not in self.paper.get(series.name(), ()):
            return ''
        kinds = {r['kind'] for r, most in self.rules if r['series'] in ('*', series.name())
                 and (most is None or is_number(y) and abs(y / most - 1) <= NEAR)}
        if 'given' in kinds:
            return 'given'
        return 'fitted' if kinds or (series.label, x) in self.fitted else 'check'

    def mark(self, series, x, y):
        return MARKS.get(self.kind(series, x, y), '') if is_number(y) else ''

    def points(self):
        """(kind, series, x, error) of each number that the paper has, too."""
        for series, points in self.lines:
            for x, y in points:
                kind = self.kind(series, x, y)
                paper = self.paper.get(series.name(), {}).get(x)
                if kind and is_number(y) and paper:
                    yield kind, series, x, y / paper - 1

    def errors(self):
        """A row of the table of errors, without the figure; None: nothing to compare."""
        points = list(self.points())
        if not points:
            return None
        counts = [str(sum(p[0] == kind for p in points)) for kind in MARKS]
        checks = [p for p in points if p[0] == 'check']
        if not checks:
            return counts + ['', '', '']
        size = [abs(error) for *_, error in checks]
        _, series, x, worst = max(checks, key=lambda p: abs(p[3]))
        return counts + [f'{100 * statistics.median(size):.0f} %',
                         f'{sum(s <= 0.25 for s in size)} of {len(size)}',
                         f'{100 * worst:+.0f} % ({series.name()}, {x:g})']


HEAD = ['figure', 'given', 'fitted', 'checks', 'median error', 'within 25 %', 'largest']
