# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Runs the points of a figure, and draws it with gnuplot. For scripts/figures.
"""
import concurrent.futures
import csv
import dataclasses
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import time
import typing


TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


@dataclasses.dataclass
class Series:
    """
    One line of a figure. Of the paper: key is its name in the paper's CSV, or known has its
    points. Of "far bench model": point(row) is the (x, y) of a row of its CSV, or None. Else
    args(x) are the far command's, or behind APPS those of scripts/bench-apps, and value(json)
    is what is drawn, or Missing. quick(x): what to run instead with --quick. With per(x), the
    arguments of another run, how many times that of the other one is drawn.
    """
    label: str
    key: str = ''
    point: typing.Callable = None
    args: typing.Callable = None
    quick: typing.Callable = None
    value: typing.Callable = lambda r: r['mops']
    per: typing.Callable = None
    # None: the x that was asked for.
    x_value: typing.Callable = None
    # Empty: the figure's.
    xs: list = ()
    known: list = ()

    def name(self):
        """What is shown, without the label that says where it is from."""
        return self.label.rpartition(' (')[0]

    def is_paper(self):
        return self.label.endswith('(paper)')

    def is_measured(self):
        return self.label.endswith('(measured)')


@dataclasses.dataclass
class Figure:
    name: str
    title: str
    x_label: str
    y_label: str
    xs: list
    series: list
    paper: str = ''         # its figure in the paper's CSV
    log_x: bool = False
    log_y: bool = False
    # What x = 0, 1, ... stand for, if they are no numbers.
    names: tuple = ()
    note: str = ''          # below the table
    # It shows more of the runs of the figure of that name.
    runs_of: str = ''
    # (label, x) of points on which a model was fitted.
    fitted: frozenset = frozenset()
    # A quick run has the first of so many points.
    every: int = 3


@dataclasses.dataclass(frozen=True)
class Missing:
    """What stands in place of a number: the run failed, or never became steady."""
    text: str

    def __str__(self):
        return self.text


NOT_RUN = 'not run'
# The first argument of a run in virtual machines; such runs have the host to themselves.
APPS = 'apps'
# What those run: a change of it makes the run again.
APPS_SOURCES = ('scripts/bench-apps', 'scripts/lib/apps.sh', 'scripts/lib/apps-pgbench.sh',
                'tests/workload', 'kmod', 'mnode')


def apps_version():
    """Of what runs in virtual machines."""
    sha = hashlib.sha256()
    for source in APPS_SOURCES:
        path = os.path.join(TOP, source)
        files = [path] if os.path.isfile(path) else [
            os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names
            if name.endswith(('.c', '.h'))]
        for file in sorted(files):
            with open(file, 'rb') as f:
                sha.update(f.read())
    return sha.hexdigest()[:16]


def shown(args):
    """The command of these arguments, for people."""
    if args[0] == APPS:
        return shlex.join(['scripts/bench-apps'] + args[1:])
    return shlex.join(['far', 'bench'] + args)


def unsteady(result):
    """With the throughput of the two windows that do not agree, in Mop/s."""
    last = 'after_mops' if 'after_mops' in result else 'mops'
    windows = [f'{result[key]:.3g}' for key in ('before_mops', last) if key in result]
    return Missing('unsteady: ' + ', '.join(windows))


def reason(run):
    """In one line, why far failed."""
    lines = [line for line in run.stderr.splitlines() if line.strip()]
    lines = [line for line in lines if not re.search(r'(: \d+ s| after \d+ s)$', line)]
    why = lines[-1] if lines else f'exit status {run.returncode}'
    return 'failed: ' + why.removeprefix('far: ')


def paper_points(path, figure, series):
    """[(x, y)] of the paper's numbers."""
    with open(path, encoding='utf-8') as f:
        rows = csv.DictReader(line for line in f if not line.startswith('#'))
        return [(float(r['x']), float(r['value'])) for r in rows
                if r['figure'] == figure and r['series'] == series]


class Runner:
    """
    quick: every third point, fewer keys, shorter runs. jobs: runs at a time. minutes: no
    run begins later; None: all are run. shrink: runs in virtual machines are smaller.
    """

    MODEL = ['model', '--summary']
    QUICK_MS = 2
    QUICK_KEYS = 100000
    QUICK_OPS = 300000

    def __init__(self, far, out, quick, jobs, minutes=None, shrink=1):
        self.far = far
        self.out = out
        self.quick = quick
        self.jobs = jobs
        self.shrink = shrink
        self.until = None if minutes is None else time.monotonic() + 60 * minutes
        self.apps = os.path.join(TOP, 'scripts', 'bench-apps')
        self.apps_version = apps_version()
        self.failed = {}        # by path: why the run has no results
        self.paper = os.path.join(TOP, 'userspace/bench/paper/smart-framework.csv')
        if not os.access(far, os.X_OK):
            sys.exit(f"figures: no far command at '{far}': build it with make")
        with open(far, 'rb') as f:
            self.version = hashlib.sha256(f.read()).hexdigest()[:16]
        os.makedirs(os.path.join(out, 'runs'), exist_ok=True)

    def xs(self, figure, series):
        xs = series.xs or figure.xs
        return xs[::figure.every] if self.quick else xs

    def args(self, series, x, other=False):
        """The arguments of far bench for a point; other: of the run that it is compared with."""
        if series.point:
            return self.MODEL + (['--every', '5'] if self.quick else [])
        if other:
            args = series.per(x)
        else:
            args = series.quick(x) if self.quick and series.quick else series.args(x)
        if args[0] == APPS:
            return self.shrunk(args)
        if not self.quick:
            return args
        less = {'--ms': self.QUICK_MS, '--warm-ms': self.QUICK_MS,
                '--keys': self.QUICK_KEYS, '--ops': self.QUICK_OPS}
        return [str(min(int(arg), less[before])) if before in less else arg
                for before, arg in zip([''] + args, args)]

    def shrunk(self, args):
        """Arguments of bench-apps for smaller working sets."""
        return [str(min(999, int(arg) * self.shrink)) if before == '--scale' else arg
                for before, arg in zip([''] + args, args)]

    def path(self, args):
        """Where the results of these arguments are kept."""
        version = self.apps_version if args[0] == APPS else self.version
        name = hashlib.sha256(' '.join([version] + args).encode()).hexdigest()
        return os.path.join(self.out, 'runs', name[:24])

    def command(self, args, out):
        """What writes the results of these arguments."""
        if args[0] == APPS:
            return [self.apps] + args[1:] + ['--json', out]
        return [self.far, 'bench'] + args + ['--csv' if args[0] == 'model' else '--json', out]

    def run(self, args):
        """
        Runs far unless these arguments were run before. A run that fails is not kept: the
        figure shows why, and the next call tries again.
        """
        path = self.path(args)
        if os.path.exists(path):
            return
        if self.until is not None and time.monotonic() >= self.until:
            self.failed[path] = NOT_RUN
            return
        if os.path.exists(path + '.new'):
            os.remove(path + '.new')
        run = subprocess.run(self.command(args, path + '.new'),
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True, check=False)
        # "far bench model" answers 1 when it misses a target, and has written all.
        if run.returncode and not (args[0] == 'model' and run.returncode == 1
                                   and os.path.exists(path + '.new')):
            self.failed[path] = reason(run)
            print(f"figures: {shown(args)}: {self.failed[path]}",
                  file=sys.stderr)
            return
        os.rename(path + '.new', path)

    def run_all(self, figures):
        """All runs that the figures need, several at a time."""
        todo = {}
        for figure in figures:
            for series in figure.series:
                if series.point:
                    args = self.args(series, 0)
                    todo[self.path(args)] = args
                for x in self.xs(figure, series) if series.args else []:
                    for other in (False, True)[:2 if series.per else 1]:
                        args = self.args(series, x, other)
                        todo[self.path(args)] = args
        todo = [args for path, args in todo.items() if not os.path.exists(path)]
        # The longest first.
        todo.sort(key=lambda args: args[0] != 'model')
        self.run_some([args for args in todo if args[0] != APPS], self.jobs)
        self.run_some([args for args in todo if args[0] == APPS], 1)

    def run_some(self, todo, jobs):
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            runs = [pool.submit(self.run, args) for args in todo]
            for n, run in enumerate(concurrent.futures.as_completed(runs), 1):
                run.result()
                print(f'figures: {n} of {len(runs)} runs', file=sys.stderr)

    def points(self, figure, series):
        """[(x, y)], y a number or Missing; what is not of the paper was run before."""
        if series.known:
            return list(series.known)
        if series.key:
            return paper_points(self.paper, figure.paper, series.key)
        if series.point:
            if self.path(self.args(series, 0)) in self.failed:
                return []
            with open(self.path(self.args(series, 0)), encoding='utf-8') as f:
                points = (series.point(row) for row in csv.DictReader(f))
                return sorted(p for p in points if p)
        return [self.measured(series, x) for x in self.xs(figure, series)]

    def value(self, series, x, other=False):
        """What a run has measured, or Missing; and all its results, None if it has failed."""
        path = self.path(self.args(series, x, other))
        if path in self.failed:
            return Missing(self.failed[path]), None
        with open(path, encoding='utf-8') as f:
            result = json.load(f)
        steady = self.quick or result.get('steady', True)
        return series.value(result) if steady else unsteady(result), result

    def measured(self, series, x):
        """(x, y) of a point."""
        y, result = self.value(series, x)
        if series.per and not isinstance(y, Missing):
            base, _ = self.value(series, x, True)
            y = base if isinstance(base, Missing) else y / base
        return (series.x_value(result) if series.x_value and result else x), y

    def fitted(self, figure):
        """{(label, x)} of points of "far bench model" on which its profile was fitted."""
        found = set(figure.fitted)
        for series in figure.series:
            if series.point and self.path(self.args(series, 0)) not in self.failed:
                with open(self.path(self.args(series, 0)), encoding='utf-8') as f:
                    rows = [row for row in csv.DictReader(f) if row['fitted'] == '1']
                found |= {(series.label, p[0]) for p in map(series.point, rows) if p}
        return found

    def figure(self, which, figure):
        """Draws; returns [(series, points)] of those that have points."""
        base = os.path.join(self.out, f'{which}-{figure.name}')
        lines = [(s, self.points(figure, s)) for s in figure.series]
        lines = [(s, points) for s, points in lines if points]
        with open(base + '.csv', 'w', encoding='utf-8', newline='') as f:
            out = csv.writer(f)
            out.writerow(['series', figure.x_label, figure.y_label])
            for series, points in lines:
                for x, y in points:
                    out.writerow([series.label, f'{x:g}',
                                  y if isinstance(y, Missing) else f'{y:g}'])
        draw(base, figure, lines)
        print(f'{base}.svg')
        return lines


# Virtual time: throttling's epochs are a hundredth of the paper's 8 and 480 ms, so a window
# has 5.28 ms or more; in BRIEF it is half of that. Where tasks fight for keys without
# combining, queues at the hottest ones need tens of milliseconds until they are as long as
# they become.
SCALE = ['--scale', '0.01']
BRIEF = ['--scale', '0.005', '--warm-ms', '1', '--ms', '2']
SHORT = SCALE + ['--warm-ms', '2', '--ms', '4']
QUEUES = SCALE + ['--warm-ms', '20', '--ms', '20']
COLLAPSE = SCALE + ['--warm-ms', '60', '--ms', '40']


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


# Filled and open points of one shape, and a colour; as grey they differ, too.
STYLES = [(7, 6, '#000000'), (5, 4, '#c03000'), (9, 8, '#0060c0'), (13, 12, '#808000'),
          (11, 10, '#a050c0'), (15, 14, '#606060'), (7, 6, '#20a060'), (5, 4, '#e0a000'),
          (9, 8, '#80c0e0')]
# Letters of ticks that fit side by side.
TICKS_MAX = 90


def bars(number, count):
    """How series `number` of `count` stands beside the others over one name."""
    width = 0.8 / count
    return f'using ($1{(number - (count - 1) / 2) * width:+.3f}):2:({width:.3f}) with boxes'


def xtics(figure):
    """What stands below the x axis."""
    if not figure.names:
        return 'set xtics auto'
    # A tick is a format.
    ticks = ', '.join('"{}" {}'.format(name.replace('%', '%%'), x)
                      for x, name in enumerate(figure.names))
    turned = 'rotate by -25 ' if sum(map(len, figure.names)) > TICKS_MAX else ''
    return f'set xtics {turned}({ticks})'


def install():
    """Installs what draws, unless it is there. 0, or an exit status."""
    lib = os.path.dirname(os.path.abspath(__file__))
    return subprocess.run(['bash', '-c', '. "$0/common.sh"; . "$0/packages.sh"; '
                           'packages_install figures', lib], check=False,
                          env=dict(os.environ, ODRP_PROG='figures')).returncode


def gnuplot(script):
    subprocess.run(['gnuplot'], text=True, check=True, input=script)


def draw(base, figure, lines):
    """
    What is of the paper is dashed, with open points, or hatched; else solid and filled.
    What has names has bars. A line without a number is left out, and a figure without one
    is not drawn.
    """
    lines = [(s, [(x, y) for x, y in points if not isinstance(y, Missing)])
             for s, points in lines]
    lines = [(s, points) for s, points in lines if points]
    if not lines:
        return
    names = list(dict.fromkeys(s.name() for s, _ in lines))
    plots = []
    data = []
    for n, (series, points) in enumerate(lines):
        filled, hollow, colour = STYLES[names.index(series.name()) % len(STYLES)]
        if figure.names:
            style = f'{bars(n, len(lines))} fillstyle ' + (
                'pattern 4' if series.is_paper() else 'solid 0.8 noborder')
        else:
            style = 'using 1:2 with linespoints linewidth 1.5 pointsize 0.9 ' + (
                f'dashtype 2 pointtype {hollow}' if series.is_paper() else
                f'dashtype 1 pointtype {filled}')
        plots.append(f'$data{n} {style} linecolor rgb "{colour}" '
                     f'title {quoted(series.label)}')
        body = '\n'.join(f'{x:g} {y:g}' for x, y in points)
        data.append(f'$data{n} << EOD\n{body}\nEOD')
    script = '\n'.join(data + [
        f'set title {quoted(figure.title)} noenhanced',
        f'set xlabel {quoted(figure.x_label)}',
        f'set ylabel {quoted(figure.y_label)}',
        xtics(figure),
        'set key below noenhanced',
        'set grid',
        f'set xrange [-0.5:{len(figure.names) - 0.5}]' if figure.names else
        'set logscale x 2' if figure.log_x else 'set xrange [0:*]',
        'set logscale y' if figure.log_y else 'set yrange [0:*]',
        'plot ' + ', \\\n     '.join(plots),
    ])
    with open(base + '.gnuplot', 'w', encoding='utf-8') as f:
        f.write(script + '\n')
    gnuplot(''.join(
        f'set terminal {terminal}\nset output {quoted(base + "." + suffix)}\n{script}\n'
        for suffix, terminal in (('svg', 'svg size 900,560 background "white"'),
                                 ('png', 'pngcairo size 900,560'))))
