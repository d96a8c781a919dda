# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Swapping by chains beside other ways to lend memory: the figures of ODRP's evaluation.

Measured: applications in guests whose memory node is a program on the same host
(scripts/bench-apps, which says what each mode is). Model: costs of chains from
chains-cost.md, and queues of tasks.
"""
import re

import figures_chains
import figures_queues
from figures_run import Figure, Missing, Series

PAGE = 'odrp'
LABEL = 'measured'
# Runs take so long that they are made only for who names the set.
GUESTS = True
HEAD = """
Each column says what it is. *measured*: guests run under emulation, with a software NIC, on
the machine above, beside whatever else it did, so a time says little and its quotient with
static's, of the same run, a little more. *model*: computed for a card of 100 Gb/s. *paper*: what
ODRP's authors say. Without --shrink a working set is a 32nd of the paper's, of the graphs a
128th, and swap as much less than the paper's 12 GB; a column says how many MB it had. pgbench
stands in the place of VoltDB with TPC-C: where it is, the paper's number is VoltDB's.
"""

MODES = ('static', 'dynamic', 'two-sided', 'direct', 'key', 'chain', 'nbd', 'zram')
TITLES = {'static': 'static', 'dynamic': 'dynamic, 2 MB', 'two-sided': 'two-sided',
          'direct': 'direct slabs', 'key': 'keys', 'chain': 'chains', 'nbd': 'NBD',
          'zram': 'zram'}
# With the divisor of the paper's working set, and of a quick run.
APPS = {'quicksort': (32, 512), 'kmeans': (32, 256), 'pagerank': (128, 999),
        'betweenness': (128, 999), 'redis': (32, 512), 'pgbench': (32, 448),
        'memcached': (32, 512)}
# Local memory in %. All of it, the paper's red line, is a column: every run has it.
LOCALS = (50, 75)
# A run that ends early has all of its first applications, and a quick run the first point.
POINTS = [(app, local) for app in APPS for local in LOCALS]
QUICK_EVERY = len(POINTS)
QUICK_MODES = 'local static dynamic two-sided direct chain'


def run(x):
    """All modes of an application, so that ratios are of one run."""
    app, local = POINTS[int(x)]
    return ['apps', '--apps', app, '--local', str(local), '--scale', str(APPS[app][0]),
            '--modes', 'local ' + ' '.join(MODES)]


def less(args):
    """The same, quickly."""
    app = args[args.index('--apps') + 1]
    args = list(args)
    args[args.index('--scale') + 1] = str(APPS[app][1])
    args[args.index('--modes') + 1] = QUICK_MODES
    return args


def point(result, mode):
    """What bench-apps says of a mode, or None: it was not run, or failed."""
    for p in result['points']:
        if p['mode'] == mode:
            return p
    return None


def field(mode, key):
    """A series' value: a number of the mode, if it has one."""
    def value(result):
        p = point(result, mode)
        if p is None:
            return Missing('not run')
        if p['status']:
            return Missing('failed')
        return Missing('-') if p[key] is None else p[key]
    return value


def slower(mode, base='static'):
    """The time of a mode in static's of the same run; of a rate, the other way round."""
    def value(result):
        p, b = point(result, mode), point(result, base)
        if p is None or b is None:
            return Missing('not run')
        if p['status'] or b['status']:
            return Missing('failed')
        if p['rate'] and b['rate']:
            return b['rate'] / p['rate']
        return p['seconds'] / b['seconds']
    return value


def measured(label, value):
    return Series(f'{label} (measured)', args=run, quick=lambda x: less(run(x)), value=value)


def named(points):
    """The x of points by the names of figure 7."""
    return [(POINTS.index(at), y) for at, y in points.items() if at in POINTS]


NAMES = tuple(f'{app} {local} %' for app, local in POINTS)
XS = list(range(len(POINTS)))

# Section 5.2; where a sentence is about an application, and no memory is named, 50 % is.
PAPER_USE = {'dynamic': {('quicksort', 50): 0.55, ('kmeans', 50): 0.95,
                         ('pagerank', 50): 0.95, ('betweenness', 50): 0.95}}
PAPER_TIME = {'dynamic': {('quicksort', 50): 1.243}, 'two-sided': {('quicksort', 50): 2.424},
              'chain': {('quicksort', 50): 1.097, ('kmeans', 50): 1.142,
                        ('betweenness', 50): 1.063, ('pagerank', 50): 1.115,
                        ('memcached', 50): 1.072, ('pgbench', 50): 1 / 0.959}}


def paper(mode, table):
    points = named(table.get(mode, {}))
    title = TITLES[mode].replace('2 MB', '1 MB')
    return [Series(f'{title} (paper)', known=points)] if points else []


def use():
    modes = [m for m in MODES if m not in ('nbd', 'zram')]
    return Figure('7-use', 'Figure 7: used part of what the memory node holds',
                  'application, local memory', 'used / held', XS,
                  [measured(TITLES[m], field(m, 'used_held')) for m in modes] +
                  paper('dynamic', PAPER_USE), names=NAMES, every=QUICK_EVERY,
                  note="Time-averaged. Two-sided's memory follows discards, which Linux sends "
                  'for whole clusters of swap; the paper has 1 for it and for chains.')


def tasks_use():
    whole = use()
    return Figure('1-use', 'Figure 1: used part of what the memory node holds, one task',
                  whole.x_label, whole.y_label, [0],
                  [s for s in whole.series if not s.is_paper()] + [
                      Series('dynamic, 1 MB (paper)', known=[(0, 0.76)]),
                      Series('two-sided (paper)', known=[(0, 1.0)])],
                  names=NAMES[:1], note='The paper says how far dynamic is below two-sided: 24 %.',
                  runs_of='7-use')


def cpu():
    modes = [m for m in MODES if m != 'zram']
    return Figure('7-cpu', 'Figure 7: processor of the memory node for a page',
                  'application, local memory', 'us per page in or out', XS,
                  [measured(TITLES[m], field(m, 'cpu_us')) for m in modes], names=NAMES,
                  every=QUICK_EVERY,
                  note='Of the agent, not of the software NIC, which stands for hardware; of '
                  'the server for two-sided and NBD. The agent hears heartbeats also while '
                  'nothing is swapped: in a slow run that is more for a page.')


def time():
    modes = [m for m in MODES if m != 'static']
    return Figure('7-time', "Figure 7: time, relative to static's",
                  'application, local memory', 'times as long', XS,
                  [measured('100 % local', slower('local'))] +
                  [measured(TITLES[m], slower(m)) for m in modes] +
                  [s for m in modes for s in paper(m, PAPER_TIME)], names=NAMES, every=QUICK_EVERY)


def seconds():
    return Figure('7-seconds', 'Figure 7: the same in seconds', 'application, local memory',
                  's', XS, [measured('working set, MB', field('static', 'mb')),
                            measured('100 % local', field('local', 'seconds'))] +
                  [measured(TITLES[m], field(m, 'seconds')) for m in MODES], names=NAMES,
                  every=QUICK_EVERY)


# ---- the model of many compute nodes -------------------------------------------------

# Section 5.3: more than 60 % of the requests are loads, and about 10 % unmapped stores.
MIX = {'load': 0.62, 'mapped_store': 0.28, 'unmapped_store': 0.10}
# Figure 11 and section 2.2, in us: a READ or WRITE, two-sided, and registering 1 MB.
ONE_SIDED, TWO_SIDED, REGISTER = 2.9, 3.8 * 2.9, 600
TWO_SIDED_CPU = TWO_SIDED - ONE_SIDED
# Section 5.3, with 8 compute nodes: 87.3 % of static's requests, and 3,000 slabs a second.
SLABS_PER_S = 3000
# A task computes so long for each request: fitted on two-sided's 505 % with 8 compute nodes,
# whose one processor is always busy.
THINK = 32 * TWO_SIDED_CPU / 6.05 - ONE_SIDED
# us of a page on the wire: what limits a READ, which is how keys load.
LINK = 1 / dict(figures_chains.block('armed-known', 4))[0]
TASKS = 4                       # of a compute node


def of_chains(variant):
    """(us until the answer, us of the station that limits it) by the mix; of chains-cost.md."""
    took = dict(figures_chains.block(variant, 2))
    most = dict(figures_chains.block(variant, 4))
    programs = list(enumerate(figures_chains.PROGRAMS[:3]))
    return (sum(MIX[p] * took[n] for n, p in programs),
            sum(MIX[p] / most[n] for n, p in programs))


def slab_cpu():
    """
    us of the processor for a request, for slabs: with processors enough dynamic is 1.464
    times as slow as ODRP with 8 nodes, which is 1.146 times as slow as static.
    """
    static = mva_of('static', 8)[0]
    return SLABS_PER_S * REGISTER / (static / (1.464 * 1.146) * 1e6)


def mva_of(mode, nodes, tasks=None):
    """Requests per us, and the busy part of the memory node's processor."""
    delay, stations = ONE_SIDED - LINK, [LINK, 0.0]
    if mode == 'dynamic':
        stations[1] = slab_cpu()
    elif mode == 'two-sided':
        stations[1] = TWO_SIDED_CPU
    elif mode != 'static':
        took, most = of_chains(mode)
        delay, stations[0] = took - most, most
    rate, busy = figures_queues.mva(tasks or TASKS * nodes, THINK, delay, stations)
    return rate, busy[1]


NODES = [1, 2, 3, 4, 5, 6, 7, 8]
MODELLED = {'static': 'static', 'dynamic': 'dynamic, 1 MB', 'two-sided': 'two-sided',
            'paper': "the paper's chains", 'armed': 'our chains', 'armed-known': 'our keys'}


def modelled(value, xs, but=()):
    return [Series(f'{title} (model)', known=[(x, value(mode, x)) for x in xs])
            for mode, title in MODELLED.items() if mode not in but]


def overhead(mode, nodes):
    return mva_of('static', nodes)[0] / mva_of(mode, nodes)[0]


def by_tasks(mode, tasks):
    """Figure 1's four compute nodes have tasks / 4 each."""
    return mva_of('static', 4, tasks)[0] / mva_of(mode, 4, tasks)[0]


MODEL_NOTE = """A task computes for {:.0f} us for each request; that is fitted on two-sided with
8 nodes. Costs of chains are those of chains-cost.md, of two-sided (figure 11) and of slabs
(600 us for 1 MB, 3,000 a second) the paper's.""".format(THINK).replace('\n', ' ')


def tasks_cpu():
    return Figure('1-cpu', "Figure 1: the memory node's processor, 4 compute nodes", 'tasks',
                  'processors', [], modelled(lambda m, x: mva_of(m, 4, x)[1],
                                             [4, 8, 12, 16, 20]), note=MODEL_NOTE)


def tasks_time():
    return Figure('1-time', "Figure 1: time relative to static's, 4 compute nodes", 'tasks',
                  'times as long', [], modelled(by_tasks, [4, 8, 12, 16, 20], ('static',)) + [
                      Series('dynamic, 1 MB (paper)', known=[(20, 1.82)]),
                      Series('two-sided (paper)', known=[(20, 4.18)])], note=MODEL_NOTE)


def nodes_cpu():
    return Figure('8-cpu', "Figure 8: the memory node's processor, 4 tasks a node",
                  'compute nodes', 'processors', [],
                  modelled(lambda m, x: mva_of(m, x)[1], NODES) + [
                      Series('two-sided (paper)', known=[(1, 1.0), (8, 1.0)])],
                  note=MODEL_NOTE)


def nodes_time():
    return Figure('8-time', "Figure 8: time relative to static's, 4 tasks a node",
                  'compute nodes', 'times as long', [],
                  modelled(overhead, NODES, ('static',)) + [
                      Series("the paper's chains (paper)", known=[(4, 1.057), (8, 1.146)]),
                      Series('dynamic, 1 MB (paper)', known=[(8, 3.34)]),
                      Series('two-sided (paper)', known=[(8, 6.05)])],
                  note=MODEL_NOTE, fitted=frozenset({('two-sided (model)', 8)}))


def throughput():
    def rate(mode, nodes):
        return mva_of(mode, nodes)[0]
    return Figure('9', 'Figure 9: swap requests of all compute nodes', 'compute nodes',
                  'million requests a second', [], modelled(rate, NODES),
                  note="ODRP's with 8 nodes are 87.3 % of static's (paper). " + MODEL_NOTE)


# ---- chains alone --------------------------------------------------------------------

OPERATIONS = ('load', 'mapped store', 'unmapped store', 'invalidate')
READ_MOPS = 1 / LINK


def chain_rates():
    """Figure 10: chains' throughput in a READ's."""
    def relative(variant):
        return [(x, y / READ_MOPS) for x, y in figures_chains.block(variant, 4)]
    return Figure('10', "Figure 10: throughput of chains, relative to a READ's", 'request',
                  'of a READ', list(range(4)), [
                      Series("the paper's chains (paper)", known=[(0, 0.921)]),
                      Series("the paper's chains (model)", known=relative('paper')),
                      Series('ours, any card (model)', known=relative('armed')),
                      Series('ours, a card that is known (model)',
                             known=relative('armed-known')),
                      Series('keys, software NIC (measured)', known=soft_rates('keyed')),
                      Series('chains, software NIC (measured)', known=soft_rates('exchange'))],
                  names=OPERATIONS)


def soft_rates(variant):
    """Of bench-chains.md: what the client and both NICs do, in a READ's or WRITE's."""
    with open(figures_chains.COST.replace('chains-cost', 'bench-chains'),
              encoding='utf-8') as f:
        text = re.search(rf'`wrc bench [^`]*--variant {variant} [^`]*`\n\n```\n(.*?)```',
                         f.read(), re.S).group(1)
    found = []
    for x, name in enumerate(OPERATIONS):
        row = re.search(rf'^{name.replace(" ", "_")}(?: by key)? .* ([\d.]+), [\d.]+ of one-sided',
                        text, re.M)
        found.append((x, float(row.group(1))))
    return found


def latency():
    """Figure 11."""
    return Figure('11', 'Figure 11: latency of a request, one worker', 'request', 'us',
                  list(range(4)), [
                      Series('static (paper)', known=[(0, ONE_SIDED), (1, ONE_SIDED)]),
                      Series('two-sided (paper)', known=[(0, TWO_SIDED), (1, TWO_SIDED)]),
                      Series("the paper's chains (paper)",
                             known=figures_chains.block('paper', 3)),
                      Series("the paper's chains (model)",
                             known=figures_chains.block('paper', 2)),
                      Series('ours, any card (model)', known=figures_chains.block('armed', 2)),
                      Series('ours, a card that is known (model)',
                             known=figures_chains.block('armed-known', 2))],
                  names=OPERATIONS,
                  note="The paper's load and mapped store have 5.5 and 4.6 us, a WRITE 2.9, "
                  'and two-sided 3.8 times that.',
                  fitted=frozenset({("the paper's chains (model)", 2)}))


STEPS = ('naive', 'store-decision', 'calc-tt-addr', 'recycle-helper', 'paper')


def steps():
    """Figure 12: the unmapped store by the paper's four steps, and what is armed."""
    text = figures_chains.text_of('unmapped_store')
    model, given = [], []
    for x, variant in enumerate(STEPS + ('armed', 'armed-known')):
        row = re.search(rf'^unmapped_store {variant} .* ([\d.]+) +[\d.]+ +([\d.]+|-) +[\d.]+ [a-z ]+$',
                        text, re.M)
        model.append((x, float(row.group(1))))
        if row.group(2) != '-':
            given.append((x, float(row.group(2))))
    return Figure('12', 'Figure 12: an unmapped store, step by step', 'chain', 'us',
                  list(range(len(model))), [Series('a store (paper)', known=given),
                                            Series('a store (model)', known=model)],
                  names=('naive', '+StoreDecision', '+CalcTTAddr', '+RecycleHelper',
                         '+EndianSwap', 'ours, any card', 'ours, known card'),
                  fitted=frozenset({('a store (model)', 3), ('a store (model)', 4)}))


PICTURES = ('7-use', '7-cpu', '7-time', '8-time', '9', '10', '11', '12')
FIGURES = [tasks_use(), tasks_cpu(), tasks_time(), use(), cpu(), time(), seconds(), nodes_cpu(),
           nodes_time(), throughput(), chain_rates(), latency(), steps()]
