# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The B+ tree and the radix tree beside Sherman, on models of ConnectX-6: figure 12 of "Scaling Up
Memory Disaggregated Applications with SMART" (ASPLOS 2024) at 200 Gb/s, and figures 4b
to 4d, 11 and 15 to 17 of "SMART: A High-Performance Adaptive Radix Tree for Disaggregated Memory"
(OSDI 2023) at 100 Gb/s. The paper's 16 compute and 2 memory nodes are 8 and 1 here: as many
compute nodes share a memory node, and half as many clients fight for a key. Populations are
far below the papers': 100,000 keys for 60 million, so that the hottest ones have more of the
accesses.
"""
from figures_run import BRIEF, QUEUES, SHORT, Figure, Series

HEAD = """
*model*: of this program, in virtual time; Sherman, SMART-BT, ART with ROWEX and SMART-ART are
variants of this project's trees (see [far-trees](../far-trees.md)). Figures of the paper stand
below tables or in columns of their own. A command under a table is that of a series' last
point.
"""
# Of the papers' 100 and 60 million.
KEYS = 100000
WORKLOADS = ('A', 'C')
# "Sherman" has none of SMART's mechanisms of threads; its leaves are of 1 KB in the
# framework's figures.
PLAIN = ['--without', 'backoff,limit,tasks,throttle,doorbell']
SHERMAN = ['--variant', 'sherman'] + PLAIN
SPAN_1K = ['--span', '39']
# The radix tree begins with the caches of a long run. Its paper's cards do 45 million
# READs a second as a memory node; those of the framework's, that the profile is of, 111.
WARM = ['--warm-cache']
PROFILE = 'sim:cx6-100'
CARDS = 'sim:cx6-100,node_op_ns=22.2'
ALONE = ['--without', 'combine']
SMART_ART = ['--variant', 'smart-art']
ROWEX = ['--variant', 'art-rowex'] + ALONE + WARM
EMAIL = ['--key-type', 'email', '--key-size', '32']


def span_32(key_size=8, value_size=8):
    """As many of our entries as have the bytes of 32 with versions of a byte."""
    return ['--span', str(32 * (1 + key_size + value_size) // (8 + key_size + value_size))]


def times(workload, more, tasks):
    """
    Of papers' trees the queues at the hottest keys become long, of those that combine a
    little. Several tasks of a thread do as much in less time.
    """
    if '--variant' in more and workload in ('A', 'B', 'update'):
        return ['--scale', '0.005', '--warm-ms', '8', '--ms', '4'] \
            if more[more.index('--variant') + 1] == 'smart-art' else QUEUES
    return BRIEF if tasks > 1 else SHORT


def index_args(index, workload, nic, cns, mns, threads, more=(), keys=KEYS,
               tasks=8):
    """The arguments of a run; all trees use this one."""
    return ['index', '--index', index, '--workload', workload, '--nic', nic,
            '--keys', str(keys), '--threads', str(threads), '--tasks', str(tasks),
            '--cns', str(cns), '--mns', str(mns)] + times(workload, more, tasks) + list(more)


def server(index, workload, threads, more=()):
    """One compute node and one memory node, as in the framework's figure 12."""
    return index_args(index, workload, 'sim:cx6-200', 1, 1, threads, more)


def half(index, workload, more=(), nic=PROFILE, threads=24, **how):
    """Half of the radix tree's paper's cluster: as many compute nodes for a memory node."""
    return index_args(index, workload, nic, 8, 1, threads, more, **how)


def lines(args, *variants, value=lambda r: r['mops']):
    """A series for each (label, index, more) of variants; args(index, x, more)."""
    return [Series(f'{label} (model)', args=lambda x, i=index, m=more: args(i, x, m),
                   value=value)
            for label, index, more in variants]


def b_plus_trees(sherman_span):
    return [('Sherman', 'btree', SHERMAN + sherman_span),
            ('Sherman with combining', 'btree',
             ['--variant', 'sherman-rdwc'] + PLAIN + sherman_span),
            ('libfar B+ tree', 'btree', [])]


def radix_trees():
    return [('ART with ROWEX', 'art', ROWEX), ('SMART-ART', 'art', SMART_ART + WARM),
            ('libfar ART', 'art', WARM)]


def trees(sherman_span, *left_out):
    """All that are compared, but those of these labels."""
    return [tree for tree in b_plus_trees(sherman_span) + radix_trees()
            if tree[0] not in left_out]


def threads(workload, paper):
    return Figure(f'12-{workload}', f'Figure 12 of the framework: YCSB {workload}, one '
                  'server', 'threads', 'Mop/s', [94], lines(
                      lambda index, x, more: server(index, workload, x, more),
                      ('Sherman', 'btree', SHERMAN + SPAN_1K),
                      ('SMART-BT', 'btree', ['--variant', 'smart-bt'] + SPAN_1K),
                      ('libfar', 'btree', [])), note=paper)


def workloads(name, what, y_label, value, variants, **more):
    return Figure(name, what, 'workload', y_label, list(range(len(WORKLOADS))), lines(
        lambda index, x, more: half(index, WORKLOADS[x], more), *variants, value=value),
                  names=WORKLOADS, **more)


def figure_11(name, what, variants, note=''):
    """Throughput, and what explains it, of the same runs."""
    yield workloads(name, f'Figure 11: YCSB, integer keys, {what}', 'Mop/s',
                    lambda r: r['mops'], variants, note=note)
    for part, about, y_label, key in (
            ('p99', 'latency', 'p99, us', 'p99_us'),
            ('verbs', 'verbs', 'per operation', 'verbs_per_op'),
            ('bytes', 'bytes on the wire', 'per operation', 'wire_bytes_per_op'),
            ('attempts', 'attempts', 'per operation', 'attempts_per_op'),
            ('combined', 'answered by others', 'per operation', 'combined_per_op'),
            ('hits', 'what caches knew', 'of all', 'cache_direct')):
        yield workloads(f'{name}-{part}', f'Figure 11, {what}: {about}',
                        y_label, lambda r, k=key: r[k], variants, runs_of=name)


def redundant(op, figure, paper):
    return Figure(figure, f'Figure {figure}: redundant {op.upper()}s of 1 KB', 'clients', 'per operation',
                  [16, 64], [Series(
                      f'{op.upper()} (model)', value=lambda r: r['redundant_per_op'],
                      args=lambda x: ['micro', '--redundant', '--nic', 'sim:cx6-100',
                                      '--threads', str(x), '--op', op, '--ops', '40000'])],
                  note=f'Such as another client of the same node does too. Paper: {paper} of 64.')


# The radix tree's parts, one after another.
STEPS = (('ART with ROWEX', ['--variant', 'art-rowex'] + ALONE),
         ('inner nodes without locks', ['--variant', 'smart-art-out-of-place'] + ALONE),
         ('values in place, HOCL', ['--variant', 'smart-art-hocl'] + ALONE),
         ('lock in the leaf, E-HOCL', ['--variant', 'smart-art-e-hocl'] + ALONE),
         ('combining: SMART-ART', SMART_ART),
         ('libfar', []))


def factors():
    some = ('A', 'C')
    return Figure('15', 'Figure 15: factors', 'workload', 'Mop/s',
                  list(range(len(some))), lines(
                      lambda index, x, more: half(index, some[x], more),
                      *((label, 'art', more + WARM) for label, more in STEPS)), names=some,
                  note='Paper: A 3.0 times by the fourth, A and C 1.1 by the fifth.')


def locks():
    """Retries per update, of which half of A's operations are."""
    return Figure('16', "Figure 16: A, attempts in vain", 'threads', 'per update', [24], lines(
                      lambda index, x, more: half(index, 'A', more + WARM, threads=x),
                      *((label, 'art', more) for label, more in STEPS[2:]),
                      value=lambda r: 2 * (r['attempts_per_op'] - 1)),
                  note='Paper: HOCL 0.76, E-HOCL 0.29.')


def stale():
    return Figure('4b', 'Figure 4b: A, gets that the cache missed', 'keys', 'of all',
                  [50000, 400000], lines(
                      lambda index, x, more: half(
                          index, 'A', more + ALONE + WARM + ['--cache', '600M'], CARDS, 4,
                          keys=x),
                      ('out of place', 'art', ['--variant', 'smart-art-out-of-place']),
                      value=lambda r: 1 - r['cache_direct']), log_x=True,
                  note='Paper: 0.191 of cached addresses were wrong, with 60 million keys.')


def caches():
    return Figure('17', 'Figure 17: gets by the size of a cache, e-mail-like keys', 'KiB',
                  'hits', [1024, 8192], [Series(
                      'libfar ART (model)', value=lambda r: r['cache_direct'],
                      args=lambda x: index_args(
                          'art', 'C', 'sim:cx6-100', 1, 2, 24,
                          EMAIL + WARM + ['--cache', f'{x}K'], keys=2 * KEYS))], log_x=True)


# Those whose picture stands in the saved page.
PICTURES = ('11', '11-art', '12-C', '15', '17')
FIGURES = [*figure_11('11', 'B+ trees', b_plus_trees(span_32()),
                      'Paper, SMART of Sherman: LOAD 1.6, A 6.1, B 2.4, C 2.8, D 2.4 times.'),
           caches(), threads('C', 'Paper, at 94: SMART-BT 2.0 times Sherman.'),
           threads('B', 'Paper, at 94: SMART-BT 1.8 times Sherman.'),
           redundant('read', '4c', 0.48), redundant('write', '4d', 3.3),
           *figure_11('11-art', 'radix trees', radix_trees()), factors(), locks(),
           stale()]
