# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Runs the points of a figure, and draws it with gnuplot. For scripts/figures.
"""
import csv
import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import typing


@dataclasses.dataclass
class Series:
    """
    One line of a figure. Of the paper: key is its name in the paper's CSV. Of
    "far bench model": point(row) is the (x, y) of a row of its CSV, or None. Else
    args(x) are the far command's, and value(json) is what is drawn.
    """
    label: str
    key: str = ''
    point: typing.Callable = None
    args: typing.Callable = None
    value: typing.Callable = lambda r: r['mops']
    # None: the x that was asked for.
    x_value: typing.Callable = None


@dataclasses.dataclass
class Figure:
    name: str
    title: str
    x_label: str
    y_label: str
    xs: list
    series: list
    paper: str = ''         # its figure in the paper's CSV
    log_y: bool = False


def paper_points(path, figure, series):
    """[(x, y)] of the paper's numbers."""
    with open(path, encoding='utf-8') as f:
        rows = csv.DictReader(line for line in f if not line.startswith('#'))
        return [(float(r['x']), float(r['value'])) for r in rows
                if r['figure'] == figure and r['series'] == series]


class Runner:
    def __init__(self, far, out, quick):
        self.far = far
        self.out = out
        self.quick = quick
        top = os.path.dirname(os.path.dirname(os.path.dirname(
            os.path.abspath(__file__))))
        self.paper = os.path.join(top, 'userspace/bench/paper/smart-framework.csv')
        if not os.access(far, os.X_OK):
            sys.exit(f"figures: no far command at '{far}': build it with make")
        with open(far, 'rb') as f:
            self.version = hashlib.sha256(f.read()).hexdigest()[:16]
        os.makedirs(os.path.join(out, 'runs'), exist_ok=True)

    def far_run(self, args, **how):
        run = subprocess.run([self.far, 'bench'] + args, text=True, check=False,
                             **how)
        if run.returncode:
            sys.exit(f"figures: far bench {' '.join(args)}: exit status "
                     f'{run.returncode}')
        return run.stdout

    def kept(self, args, make):
        """The text that make(path) wrote for these arguments, now or before."""
        name = hashlib.sha256(' '.join([self.version] + args).encode()).hexdigest()
        path = os.path.join(self.out, 'runs', name[:24])
        if not os.path.exists(path):
            make(path + '.new')
            os.rename(path + '.new', path)
        with open(path, encoding='utf-8') as f:
            return f.read()

    def run(self, args):
        """The JSON of a benchmark."""
        return json.loads(self.kept(args, lambda path: self.far_run(
            args + ['--json', path], stdout=subprocess.DEVNULL)))

    def model(self):
        """The rows of "far bench model", each with the paper's number and ours."""
        return list(csv.DictReader(self.kept(['model'], lambda path: self.far_run(
            ['model', '--summary', '--csv', path],
            stdout=subprocess.DEVNULL)).splitlines()))

    def points(self, figure, series):
        if series.key:
            return paper_points(self.paper, figure.paper, series.key)
        if series.point:
            points = (series.point(row) for row in self.model())
            return sorted(p for p in points if p)
        xs = figure.xs[::3] if self.quick else figure.xs
        points = []
        for n, x in enumerate(xs, 1):
            print(f'figures: {figure.name}, {series.label}: {n} of {len(xs)}',
                  file=sys.stderr)
            args = series.args(x)
            if self.quick:
                args = args + ['--ms', '4', '--warm-ms', '2']
            result = self.run(args)
            at = series.x_value(result) if series.x_value else x
            points.append((at, series.value(result)))
        return points

    def figure(self, which, figure):
        base = os.path.join(self.out, f'{which}-{figure.name}')
        lines = [(s.label, self.points(figure, s)) for s in figure.series]
        with open(base + '.csv', 'w', encoding='utf-8', newline='') as f:
            out = csv.writer(f)
            out.writerow(['series', figure.x_label, figure.y_label])
            for label, points in lines:
                for x, y in points:
                    out.writerow([label, f'{x:g}', f'{y:g}'])
        draw(base, figure, lines)
        print(f'{base}.svg')


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def draw(base, figure, lines):
    """The paper's lines are dashed."""
    plots = []
    data = []
    for n, (label, points) in enumerate(lines):
        style = 'dashtype 2 pointtype 4' if '(paper' in label else 'pointtype 7'
        plots.append(f'$data{n} using 1:2 with linespoints linewidth 1.5 '
                     f'{style} title {quoted(label)}')
        body = '\n'.join(f'{x:g} {y:g}' for x, y in points)
        data.append(f'$data{n} << EOD\n{body}\nEOD')
    script = '\n'.join(data + [
        f'set title {quoted(figure.title)} noenhanced',
        f'set xlabel {quoted(figure.x_label)}',
        f'set ylabel {quoted(figure.y_label)}',
        'set key outside right top noenhanced',
        'set grid',
        'set logscale y' if figure.log_y else 'set yrange [0:*]',
        'plot ' + ', \\\n     '.join(plots),
    ])
    with open(base + '.gnuplot', 'w', encoding='utf-8') as f:
        f.write(script + '\n')
    for suffix, terminal in (('svg', 'svg size 900,500 background "white"'),
                             ('png', 'pngcairo size 900,500')):
        subprocess.run(['gnuplot'], text=True, check=True, input=(
            f'set terminal {terminal}\nset output {quoted(base + "." + suffix)}\n'
            + script + '\n'))
