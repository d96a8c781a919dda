#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
scripts/figures: which numbers check the model and which it was given or fitted on, in
tables and in the table of errors; and the rules are of figures and parameters that exist.
"""
import os
import sys
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
sys.path.insert(0, os.path.join(TOP, 'scripts', 'lib'))
import figures_chains
import figures_flock
import figures_odrp
import figures_origins
import figures_queues
import figures_report
import figures_run
import figures_smart_hash
import figures_smart_trees
import figures_smart_trees_more
import result
from figures_run import Figure, Missing, Series

SETS = {'chains': figures_chains, 'flock': figures_flock, 'odrp': figures_odrp,
        'smart-hash': figures_smart_hash,
        'smart-trees': figures_smart_trees,
        'smart-trees-more': figures_smart_trees_more}
FIGURE = Figure('13a', 'A figure', 'threads', 'Mop/s', [1, 2, 3, 4], [])
LINES = [
    (Series('a (model)'), [(1, 2.0), (2, 30.0), (3, 110.0), (4, 60.0)]),
    (Series('a (paper)'), [(1, 1.0), (2, 24.0), (3, 111.0), (4, 40.0)]),
    (Series('b (model)'), [(1, Missing('unsteady: 3, 4')), (2, 3.0)]),
    (Series('b (paper)'), [(1, 5.0), (2, 4.0)]),
    (Series('libfar (model)'), [(1, 111.0)]),
]
FITTED = {('a (model)', 1)}
RULES = {'s/13a': [{'series': '*', 'kind': 'given', 'profile': 'cx6-200',
                       'parameter': 'read_op_ns'}]}


def origins(lines, fitted=FITTED, known=None):
    return figures_origins.Origins('s', FIGURE, lines, fitted, known or RULES)


class Test(unittest.TestCase):
    def test_kinds(self):
        o = origins(LINES)
        self.assertEqual([o.kind(LINES[0][0], x, y) for x, y in LINES[0][1]],
                         ['fitted', 'check', 'given', 'check'])
        # A cell that is no number has no mark.
        self.assertEqual(o.mark(LINES[0][0], 1, Missing('unsteady: 3, 4')), '')
        # The paper's own, and what it has not, are of no kind.
        self.assertEqual(o.kind(LINES[1][0], 3, 111.0), '')
        self.assertEqual(o.kind(LINES[4][0], 1, 111.0), '')

    def test_all_of_a_series(self):
        rule = {'series': 'b', 'kind': 'fitted', 'profile': '', 'parameter': 'node_base_ns'}
        o = origins(LINES, (), {'s/13a': [rule]})
        self.assertEqual(o.kind(LINES[2][0], 2, 3.0), 'fitted')
        self.assertEqual(o.kind(LINES[0][0], 3, 110.0), 'check')

    def test_table(self):
        text = figures_report.by_x(FIGURE, LINES, origins(LINES))
        self.assertIn('| 1 | 2 f | 1 | unsteady: 3, 4 | 5 | 111 |', text)
        self.assertIn('| 2 | 30 | 24 | 3 | 4 |  |', text)
        self.assertIn('| 3 | 110 g | 111 |  |  |  |', text)

    def test_errors(self):
        # +25, +50 and -25 per cent; what is unsteady is not compared
        self.assertEqual(origins(LINES).errors(),
                         ['1', '1', '3', '25 %', '2 of 3', '+50 % (a, 4)'])
        self.assertIsNone(origins(LINES[4:]).errors())
        self.assertEqual(origins(LINES[:2], {('a (model)', x) for x in (1, 2, 4)}).errors(),
                         ['1', '3', '0', '', '', ''])

    def test_measured_x(self):
        lines = [(Series('a (model)', x_value=len), [(1, 2.0)]), LINES[1]]
        self.assertEqual(origins(lines).mark(lines[0][0], 1, 2.0), '')
        self.assertIsNone(origins(lines).errors())

    def page(self, top):
        """The page of FIGURE, and its picture, below top."""
        runner = types.SimpleNamespace(fitted=lambda figure: FITTED, out=top,
                                       args=lambda s, x: ['index'])
        kept, got = (result.save, result.TOP), {}
        result.save = lambda name, label, command, more, text: (
            got.update(text=text) or os.path.join(top, 'x'))
        result.TOP = top
        try:
            figures_report.save('smart-hash', figures_smart_hash, runner, [],
                                [(FIGURE, LINES)])
        finally:
            result.save, result.TOP = kept
        return got

    def test_page(self):
        name = 'smart-hash-13a.svg'
        with tempfile.TemporaryDirectory() as top:
            with open(os.path.join(top, name), 'w', encoding='utf-8') as f:
                f.write('<?xml version="1.0"?>\n<svg \n width="9.125">\n\n<desc>By\n</desc>\n</svg>\n')
            got = self.page(top)
            with open(os.path.join(top, 'docs/results/figures', name), encoding='utf-8') as f:
                svg = f.read().splitlines()
        self.assertEqual(svg[0], '<?xml version="1.0"?>')
        self.assertIn('SPDX-License-Identifier', svg[1])
        self.assertEqual(svg[2:], ['<svg', 'width="9.1">', '</svg>'])
        self.assertIn(f'![A figure](figures/{name})', got['text'])
        self.assertIn('*g*, the profile was given it', got['text'])
        self.assertIn('| A figure | 1 | 1 | 3 | 25 % | 2 of 3 | +50 % (a, 4) |', got['text'])
        self.assertIn('110 g', got['text'])

    def test_pictures(self):
        for which, figures in SETS.items():
            names = {f.name for f in figures.FIGURES}
            self.assertEqual(set(figures.PICTURES) - names, set(), which)

    def test_rules(self):
        for name, rows in figures_origins.rules().items():
            which, _, figure = name.partition('/')
            found = [f for f in SETS[which].FIGURES if f.name == figure]
            self.assertEqual(len(found), 1, name)
            for row in rows:
                self.assertIn(row['kind'], ('given', 'fitted'))
                most = figures_origins.limit(row)
                self.assertTrue(most is None or 1 < most < 1000, row)
                labels = [s.name() for s in found[0].series if s.is_paper()]
                self.assertTrue(labels if row['series'] == '*' else row['series'] in labels,
                                row)

    def test_fitted_points(self):
        """What "far bench model --csv" marks as fitted, by the label of its series."""
        text = ('figure,op,policy,threads,depth,throttle,fitted,paper_mops,model_mops\n'
                '3,read,shared-qp,1,8,0,1,1.9,2.1\n3,read,shared-qp,8,8,0,0,0.5,0.6\n'
                '3,write,shared-qp,16,8,0,1,0.4,0.4\n')
        runner = figures_run.Runner.__new__(figures_run.Runner)
        runner.quick, runner.failed = False, {}
        with tempfile.NamedTemporaryFile('w', suffix='.csv') as f:
            f.write(text)
            f.flush()
            runner.path = lambda args: f.name
            found = runner.fitted(SETS['smart-hash'].FIGURES[0])
        self.assertEqual(found, {('shared-qp (model)', 1.0), ('shared-qp (paper)', 1.0)})

    def runs(self, top, fake, minutes=None):
        """A figure of three runs of a far command that does what the shell script says."""
        far = os.path.join(top, 'far')
        with open(far, 'w', encoding='utf-8') as f:
            f.write('#!/bin/sh\n' + fake)
        os.chmod(far, 0o755)
        figure = Figure('f', 'A figure', 'threads', 'Mop/s', [1, 2, 3],
                        [Series('ours (model)', args=lambda x: ['index', str(x)])])
        runner = figures_run.Runner(far, os.path.join(top, 'out'), False, 1, minutes)
        drawn = []
        kept = figures_run.gnuplot
        figures_run.gnuplot = drawn.append
        try:
            runner.run_all([figure])
            lines = runner.figure('s', figure)
        finally:
            figures_run.gnuplot = kept
        with open(os.path.join(top, 'out', 's-f.csv'), encoding='utf-8') as f:
            return figure, lines, f.read(), drawn

    def test_runs_that_fail(self):
        """One point is unsteady, one fails and is named with its reason: the third is there."""
        fake = """
            case $3 in
            1) echo '{"mops": 0.05, "before_mops": 0.08, "steady": false}' >"$5" ;;
            2) echo 'far: measuring: 24 % after 64 s' >&2
               echo 'far: 7 operations failed | Timer expired' >&2
               echo '{}' >"$5"
               exit 1 ;;
            *) echo '{"mops": 7.5, "before_mops": 7.4, "steady": true}' >"$5" ;;
            esac
            """
        with tempfile.TemporaryDirectory() as top:
            figure, lines, csv, drawn = self.runs(top, fake)
        self.assertIn('"unsteady: 0.08, 0.05"', csv)
        self.assertIn(',2,failed: 7 operations failed | Timer expired', csv)
        self.assertIn('ours (model),3,7.5', csv)
        text = figures_report.by_x(figure, lines, origins(lines))
        self.assertIn('| 1 | unsteady: 0.08, 0.05 |', text)
        self.assertIn('| 2 | failed: 7 operations failed \\| Timer expired |', text)
        self.assertIn('| 3 | 7.5 |', text)
        self.assertIn('\n3 7.5\n', drawn[0])
        self.assertNotIn('failed', drawn[0])

    def test_no_run_succeeds(self):
        """There is nothing to draw, and a page without picture."""
        with tempfile.TemporaryDirectory() as top:
            figure, lines, _, drawn = self.runs(top, 'kill -9 $$\n')
            runner = types.SimpleNamespace(out=os.path.join(top, 'out'))
            self.assertEqual(figures_report.picture('s', figure, runner), '')
        self.assertEqual(drawn, [])
        self.assertEqual(str(lines[0][1][0][1]), 'failed: exit status -9')

    def test_no_time(self):
        """A run that would begin too late is not made, and its point says so."""
        with tempfile.TemporaryDirectory() as top:
            figure, lines, csv, _ = self.runs(top, 'exit 1\n', minutes=0)
        self.assertIn('ours (model),3,not run', csv)
        self.assertIn('| 3 | not run |', figures_report.by_x(figure, lines, origins(lines)))
        self.assertFalse(figures_report.has_numbers(lines))
        self.assertEqual(figures_report.left_out([(figure, lines)])[2], '* A figure')
        self.assertEqual(figures_report.left_out([(FIGURE, LINES)]), [])

    def test_chains(self):
        """The numbers are those of chains-cost.md, the paper's beside ours."""
        series = {s.label: dict(s.known) for s in figures_chains.FIGURES[0].series}
        self.assertEqual(series["the paper's chains (paper)"], {0: 5.5, 1: 4.6, 2: 9.4})
        for label, points in series.items():
            if label.endswith('(model)'):
                self.assertEqual(sorted(points), [0, 1, 2, 3], label)

    def test_queues(self):
        """One task waits for nobody; many are as fast as the busiest station."""
        rate, busy = figures_queues.mva(1, 5, 3, [1, 1])
        self.assertAlmostEqual(rate, 0.1)
        self.assertAlmostEqual(busy[0], 0.1)
        # Two tasks and no time to think: of two stations each is busy for 2/3.
        self.assertAlmostEqual(figures_queues.mva(2, 0, 0, [1, 1])[0], 2 / 3)
        rate, busy = figures_queues.mva(1000, 5, 3, [1, 2])
        self.assertAlmostEqual(rate, 0.5, 5)
        self.assertAlmostEqual(busy[1], 1, 5)

    def test_odrp_model(self):
        """What the paper says and nothing was fitted on is not far off."""
        time = figures_odrp.overhead
        self.assertAlmostEqual(time('two-sided', 8), 6.05, 1)
        self.assertTrue(2.6 < time('dynamic', 8) < 4.1, time('dynamic', 8))
        self.assertTrue(3.3 < figures_odrp.by_tasks('two-sided', 20) < 5)
        self.assertTrue(1.5 < figures_odrp.by_tasks('dynamic', 20) < 2.2)
        self.assertTrue(1.03 < time('paper', 4) < 1.08, time('paper', 4))
        for nodes in figures_odrp.NODES:
            self.assertLess(time('armed-known', nodes), time('paper', nodes))

    def test_odrp_values(self):
        result = {'points': [
            {'mode': 'static', 'status': 0, 'seconds': 4, 'rate': None, 'used_held': 0.3},
            {'mode': 'chain', 'status': 0, 'seconds': 5, 'rate': None, 'used_held': 0.7},
            {'mode': 'nbd', 'status': 0, 'seconds': 6, 'rate': None, 'used_held': None},
            {'mode': 'key', 'status': 124, 'seconds': None, 'rate': None, 'used_held': None}]}
        self.assertEqual(figures_odrp.slower('chain')(result), 1.25)
        self.assertEqual(figures_odrp.field('chain', 'used_held')(result), 0.7)
        for mode, text in (('key', 'failed'), ('zram', 'not run')):
            self.assertEqual(str(figures_odrp.slower(mode)(result)), text)
            self.assertEqual(str(figures_odrp.field(mode, 'used_held')(result)), text)
        self.assertEqual(str(figures_odrp.field('nbd', 'used_held')(result)), '-')
        for p, rate in zip(result['points'], (100, 80)):
            p['rate'] = rate
        self.assertEqual(figures_odrp.slower('chain')(result), 1.25)

    def test_odrp_runs(self):
        """Each run is a command that bench-apps takes; a quick one is smaller."""
        for x in figures_odrp.XS:
            args = figures_odrp.run(x)
            quick = figures_odrp.less(args)
            self.assertEqual(args[0], figures_run.APPS)
            self.assertEqual(len(args), len(quick))
            scale = args.index('--scale') + 1
            self.assertGreater(int(quick[scale]), int(args[scale]))
            runner = figures_run.Runner.__new__(figures_run.Runner)
            runner.shrink = 3
            self.assertEqual(int(runner.shrunk(args)[scale]), 3 * int(args[scale]))
            self.assertEqual(runner.shrunk(args)[:scale], args[:scale])
        for name, points in [(f.name, s.known) for f in figures_odrp.FIGURES
                             for s in f.series if not s.args]:
            self.assertTrue(points, name)

    def test_odrp_quick(self):
        """A quick run has one point, and a run that ends early whole applications."""
        apps = [app for app, _ in figures_odrp.POINTS]
        self.assertEqual(apps, sorted(apps, key=apps.index))
        self.assertEqual(len(apps), len(figures_odrp.LOCALS) * len(set(apps)))
        runner = figures_run.Runner.__new__(figures_run.Runner)
        runner.quick = True
        for figure in figures_odrp.FIGURES:
            for series in figure.series:
                if series.args:
                    points = [figures_odrp.POINTS[x] for x in runner.xs(figure, series)]
                    self.assertEqual(points, [('quicksort', 50)], figure.name)

    def test_apps(self):
        """A run in virtual machines is of bench-apps, and is kept."""
        figure = Figure('f', 'A figure', 'x', 's', [0, 1], [
            Series('a (measured)', args=lambda x: ['apps', '--local', str(x)],
                   value=figures_odrp.field('chain', 'seconds'))])
        with tempfile.TemporaryDirectory() as top:
            fake = os.path.join(top, 'bench')
            with open(fake, 'w', encoding='utf-8') as f:
                f.write('#!/bin/sh\n[ $2 = 1 ] || exit 1\necho run >>"$0.count"\n'
                        'echo \'{"points": [{"mode": "chain", "status": 0, "seconds": 9}]}\' >"$4"\n')
            os.chmod(fake, 0o755)
            runner = figures_run.Runner(fake, top, False, 2)
            runner.apps = fake
            kept, figures_run.gnuplot = figures_run.gnuplot, lambda script: None
            try:
                runner.run_all([figure])
                runner.run_all([figure])
                points = runner.figure('s', figure)[0][1]
            finally:
                figures_run.gnuplot = kept
            with open(fake + '.count', encoding='utf-8') as f:
                self.assertEqual(f.read(), 'run\n')
        self.assertEqual((str(points[0][1]), points[1]), ('failed: exit status 1', (1, 9)))

    def test_measured(self):
        """A measured number is no model's: it has neither mark nor error."""
        lines = [(Series('a (measured)'), [(1, 2.0)]), LINES[1]]
        self.assertEqual(origins(lines, ()).mark(lines[0][0], 3, 110.0), '')
        self.assertIsNone(origins(lines, ()).errors())

    def test_names(self):
        """Many names are turned, and a per cent is one."""
        figure = Figure('f', 'A figure', 'x', 's', [0], [], names=('a 50 %',))
        self.assertEqual(figures_run.xtics(figure), 'set xtics ("a 50 %%" 0)')
        figure.names = ('a' * 50, 'b' * 50)
        self.assertIn('rotate', figures_run.xtics(figure))

    def test_bars(self):
        """A figure with names has bars, side by side; a line without a number is no bar."""
        figure = Figure('f', 'A figure', 'tree', 'us', [0, 1], [], names=('a', 'b'))
        lines = [(Series('ours (model)'), [(0, 1.5), (1, Missing('failed: x'))]),
                 (Series('none (model)'), [(0, Missing('failed: x'))]),
                 (Series('ours (paper)'), [(1, 2.5)])]
        drawn = []
        kept = figures_run.gnuplot
        figures_run.gnuplot = drawn.append
        try:
            with tempfile.TemporaryDirectory() as top:
                figures_run.draw(os.path.join(top, 'x'), figure, lines)
        finally:
            figures_run.gnuplot = kept
        self.assertIn('($1-0.200):2:(0.400) with boxes fillstyle solid', drawn[0])
        self.assertIn('($1+0.200):2:(0.400) with boxes fillstyle pattern', drawn[0])
        self.assertNotIn('none', drawn[0])

    def test_install(self):
        """What draws is installed by name where it is missing."""
        with tempfile.TemporaryDirectory() as top:
            for name, text in (('dpkg-query', 'exit 1'),
                               ('apt-get', f'echo "$@" >>{top}/asked; exit 1')):
                with open(os.path.join(top, name), 'w', encoding='utf-8') as f:
                    f.write(f'#!/bin/sh\n{text}\n')
                os.chmod(os.path.join(top, name), 0o755)
            kept = dict(os.environ)
            os.environ.update(PATH=f'{top}:{kept["PATH"]}', ODRP_QUIET='1',
                              ODRP_CACHE=os.path.join(top, 'cache'))
            try:
                self.assertEqual(figures_run.install(), 1)
            finally:
                os.environ.clear()
                os.environ.update(kept)
            if os.geteuid() == 0:
                with open(os.path.join(top, 'asked'), encoding='utf-8') as f:
                    self.assertIn('gnuplot-nox', f.read())

    def test_times(self):
        """Each run of an index says how long it is, and none has the default's many keys."""
        for which, figures in SETS.items():
            for figure in figures.FIGURES:
                for series in figure.series:
                    args = series.args(figure.xs[0]) if series.args and figure.xs else []
                    if args[:1] == ['index']:
                        self.assertIn('--warm-ms', args, f'{which}/{figure.name}')
                        self.assertIn('--scale', args, f'{which}/{figure.name}')

    def test_no_paper(self):
        """A set without numbers of the paper has no table of errors."""
        self.assertEqual(figures_report.errors([(FIGURE, LINES[4:])], [origins(LINES[4:])]), [])


if __name__ == '__main__':
    unittest.main()
