# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Writes the numbers of figures as docs/results/far-SET.md. For scripts/figures.
"""
import os
import re
import textwrap

import figures_origins
import figures_run
import result


def table(head, rows):
    lines = [head, ['---'] * len(head)] + rows
    return '\n'.join('| ' + ' | '.join(row) + ' |' for row in lines)


def number(value):
    if isinstance(value, figures_run.Missing):
        return str(value).replace('|', '\\|')
    return f'{value:.4g}'


def by_x(figure, lines, origins):
    """A row for each x, a column for each series."""
    xs = sorted({x for _, points in lines for x, _ in points})
    columns = [(s, dict(points)) for s, points in lines]
    rows = [[figure.names[int(x)] if figure.names else number(x)] +
            [number(c[x]) + origins.mark(s, x, c[x]) if x in c else '' for s, c in columns]
            for x in xs]
    return table([figure.x_label] + [s.label for s, _ in lines], rows)


def by_series(figure, lines, _origins):
    """A row for each series: the x differ, so no number is beside another."""
    rows = [[s.label, '; '.join(f'{number(x)}: {number(y)}' for x, y in points)]
            for s, points in lines]
    return table(['series', f'{figure.x_label}: {figure.y_label}'], rows)


def commands(runner, figure):
    """That of the last point of each series."""
    found = []
    for s in figure.series:
        xs = s.xs or figure.xs
        if not s.key and not s.known:
            found.append(runner.args(s, xs[-1] if xs else 0))
    if figure.runs_of:
        return f'The runs are those of figure {figure.runs_of}.'
    lines = dict.fromkeys(figures_run.shown(args) for args in found)
    if not lines:
        return ''
    return '\n'.join(['```'] + list(lines) + ['```'])


def smaller(svg):
    """A picture of gnuplot's with its licence, and without what nobody sees."""
    svg = re.sub(r'(\d\.\d)\d+', r'\1', svg)
    # Names that SVG has by itself.
    svg = svg.replace(' stroke-linecap="butt" stroke-linejoin="miter"', '')
    svg = re.sub(r'<desc>.*?</desc>', '', svg, flags=re.DOTALL)
    svg = re.sub(r'\s*\n\s*', '\n', svg)
    svg = re.sub(r'<g [^>]*>\n</g>\n', '', svg)
    head, _, rest = svg.partition('?>\n')
    return (f'{head}?>\n<!-- SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause -->\n'
            f'{rest.strip()}\n')


def picture(which, figure, runner):
    """Keeps the picture beside the page, and shows it there; '': no run has succeeded."""
    name = f'{which}-{figure.name}.svg'
    if not os.path.exists(os.path.join(runner.out, name)):
        return ''
    folder = os.path.join(result.TOP, 'docs', 'results', 'figures')
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(runner.out, name), encoding='utf-8') as f:
        svg = smaller(f.read())
    with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
        f.write(svg)
    return f'![{figure.title.partition(":")[0]}](figures/{name})'


def section(runner, figure, lines, origins, pictures):
    form = by_series if any(s.x_value for s, _ in lines) else by_x
    y_label = '' if form is by_series else f' ({figure.y_label})'
    note = [textwrap.fill(figure.note, 80)] if figure.note else []
    parts = ([f'## {figure.title}{y_label}'] + pictures + [form(figure, lines, origins)] +
             note + [commands(runner, figure)])
    return '\n\n'.join(part for part in parts if part)


def errors(drawn, origins):
    """The figures that the paper has numbers of, and how far off the model is."""
    rows = [(figure.title, o.errors()) for (figure, _), o in zip(drawn, origins)]
    rows = [[title] + row for title, row in rows if row]
    if not rows:
        return []
    return ['## Errors', textwrap.fill(' '.join(figures_origins.LEGEND.split()), 80),
            table(figures_origins.HEAD, rows)]


def has_numbers(lines):
    """Whether a run of the figure has given one."""
    return any(figures_origins.is_number(y) for s, points in lines if not s.is_paper()
               for _, y in points)


MISSING = """
In place of a number: *unsteady*, the throughput of the last two windows in Mop/s, when
throughput, attempts or median latency still differed by more than 5 %; *failed*, and why;
*not run*.
"""


def legend(drawn):
    """What words in place of numbers mean, if there are any."""
    some = any(isinstance(y, figures_run.Missing) for _, lines in drawn for _, points in lines
               for _, y in points)
    return [textwrap.fill(' '.join(MISSING.split()), 80)] if some else []


def left_out(drawn):
    """The figures none of whose runs has a number."""
    titles = [figure.title for figure, lines in drawn if not has_numbers(lines)]
    if not titles:
        return []
    return ['## Without a number', 'No run of these figures was made, or none succeeded:',
            '\n'.join('* ' + textwrap.fill(title, 78, subsequent_indent='  ')
                      for title in titles)]


def save(which, figures, runner, names, drawn, options=()):
    """
    Pictures, and the page, of a set that has one.

    figures: the set's module. names and options: those of the command line. drawn: (figure, [(series,
    points)]).
    """
    if figures.HEAD is None:
        for figure, _ in drawn:
            picture(which, figure, runner)
        return
    words = legend(drawn)
    empty = left_out(drawn)
    drawn = [(figure, lines) for figure, lines in drawn if has_numbers(lines)]
    origins = [figures_origins.Origins(which, figure, lines, runner.fitted(figure))
               for figure, lines in drawn]
    text = '\n\n'.join([textwrap.fill(' '.join(part.split()), 80, break_on_hyphens=False)
                        for part in (figures.__doc__, figures.HEAD)] +
                       words + errors(drawn, origins) +
                       [section(runner, figure, lines, o,
                                [picture(which, figure, runner)]
                                if figure.name in figures.PICTURES else [])
                        for (figure, lines), o in zip(drawn, origins)] + empty)
    path = result.save(getattr(figures, 'PAGE', f'far-{which}'),
                       getattr(figures, 'LABEL', 'model'),
                       ' '.join(['scripts/figures'] + names + ['--save', *options]), [],
                       text)
    print(os.path.relpath(path, result.TOP))
