# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The trees beside Sherman, continued: Table 1 and figures 3, 4a, 12 to 14 and 18 of "SMART: A
High-Performance Adaptive Radix Tree for Disaggregated Memory" (OSDI 2023), and figure 11 with
cards that do less. As in [far-smart-trees](far-smart-trees.md) there are 8 compute nodes and 1
memory node. That is what the paper's figures 3 and 4a have, and half of the 16 and 2 of the
others. There are 100,000 keys for 60 million, so that the hottest ones have more of the
accesses; curves have 2 to 4 points. The memory node does 45 million READs a second, as the
paper's cards.
"""
from figures_run import Figure, Series
from figures_smart_trees import (ALONE, CARDS, EMAIL, HEAD, ROWEX, SHERMAN, SMART_ART, WARM,
                                 half, lines, span_32, times, trees)

__all__ = ['FIGURES', 'HEAD']

# What the motivation has: keys and values are 96 bytes together.
LONG = EMAIL + ['--value-size', '64']
ITEM = 96
SPAN_LONG = span_32(32, 64)
NO_CACHE = ['--without', 'cache']
# Without --warm-cache, which needs a cache.
ART = ['--variant', 'art-rowex'] + ALONE


def run(index, workload, more, threads=32, tasks=1, cns=8):
    """The arguments of a run. Of more the lists behind --without become one."""
    more = list(more)
    without = []
    while '--without' in more:
        i = more.index('--without')
        without.append(more[i + 1])
        del more[i:i + 2]
    if without:
        more += ['--without', ','.join(without)]
    return ['index', '--index', index, '--workload', workload, '--nic', CARDS, '--keys',
            '100000', '--threads', str(threads), '--tasks', str(tasks), '--cns', str(cns),
            '--mns', '1'] + times(workload, more, tasks) + more


def no_cache():
    return Figure('3a', 'Figure 3a: C without a cache, keys of 32 and values of 64 bytes',
                  'clients of a compute node', 'Mop/s', [2, 32], lines(
                      lambda index, x, more: run(index, 'C', LONG + more + NO_CACHE, threads=x),
                      ('Sherman', 'btree', SHERMAN + SPAN_LONG), ('ART', 'art', ART),
                      ('libfar B+ tree', 'btree', []), ('libfar ART', 'art', [])))


def spans():
    """What makes Sherman's leaves longer."""
    return Figure('3b', 'Figure 3b: C without a cache, by key size and entries of a leaf',
                  'bytes', 'Mop/s', [8, 256], lines(
                      lambda index, x, more: run(
                          index, 'C', ['--key-size', str(x), '--value-size', '64'] + more +
                          NO_CACHE, threads=8),
                      *((f'Sherman, {span}', 'btree', SHERMAN + ['--span', str(span)])
                        for span in (16, 32, 64)), ('ART', 'art', ART)), log_x=True)


def cache_sizes():
    """0: none. Those of the radix tree begin full, those of the other one become so."""
    def args(index, x, more):
        cache = ['--cache', f'{x}K'] if x else NO_CACHE
        warm = WARM if x and index == 'art' else []
        return run(index, 'C', LONG + more + warm + cache)
    return Figure('3c', 'Figure 3c: C by cache size, keys of 32 and values of 64 bytes',
                  'KiB', 'Mop/s', [0, 256, 4096], lines(
                      args, ('Sherman', 'btree', SHERMAN + SPAN_LONG), ('ART', 'art', ART)),
                  note='Paper, with enough: Sherman 4.17, ART about 45.')


def latency(name, of, key):
    """A point for each number of clients; throughput is what it shows them by."""
    def series(label, index, more):
        return Series(f'{label} (model)', x_value=lambda r: r['mops'], value=lambda r: r[key],
                      args=lambda x: run(index, 'C', LONG + more, threads=x))
    return Figure(name, f'Figure 3d: C with a cache, {of} by throughput', 'Mop/s', f'{of}, us',
                  [1, 8, 32, 64],
                  [series('Sherman', 'btree', SHERMAN + SPAN_LONG),
                   series('ART', 'art', ART + WARM)], log_y=True,
                  note='Of 1 to 64 clients of each compute node.',
                  runs_of='' if name == '3d' else '3d')


# The paper's one without anything is not one of ours.
WHOLE_NODES = 'B+ tree that writes whole nodes'
TABLE_1 = (('ART', 'art', ART + WARM), ('Sherman', 'btree', SHERMAN + SPAN_LONG),
           ('libfar ART', 'art', ALONE + WARM), ('libfar B+ tree', 'btree', ALONE),
           (WHOLE_NODES, '', []))


def gets_of(x):
    return run(TABLE_1[x][1], 'C', LONG + TABLE_1[x][2], cns=1)


def updates_of(x):
    """Of one client: nobody is in the way."""
    more = LONG + TABLE_1[x][2] + ['--ms', '200']
    return run(TABLE_1[x][1], 'update', more, cns=1, threads=1)


def amplification():
    return Figure('1', 'Table 1: amplification, entries of 96 bytes', 'tree',
                  'bytes of verbs per byte', [0, 1, 2, 3],
                  [Series('READ by a get (model)', args=gets_of,
                          value=lambda r: r['payload_bytes_per_op'] / ITEM),
                   Series('READ by a get (paper)', known=[(0, 1.10), (1, 33.0), (4, 32.7)]),
                   Series('written by an update (model)', args=updates_of,
                          value=lambda r: r['written_bytes_per_op'] / ITEM),
                   Series('written by an update (paper)',
                          known=[(0, 1.10), (1, 1.01), (4, 32.7)]),
                   Series('all of an update (model)', args=updates_of,
                          value=lambda r: r['payload_bytes_per_op'] / ITEM)],
                  names=tuple(tree[0] for tree in TABLE_1),
                  note="The paper's are of its formulas, which count no READ of an update.")


def amplification_hits():
    return Figure('1-hits', 'Table 1: what caches knew of the entries or leaves', 'tree', 'of all',
                  [0, 1, 2, 3], [Series('gets (model)', args=gets_of,
                                        value=lambda r: r['cache_direct'])],
                  names=tuple(tree[0] for tree in TABLE_1), runs_of='1')


def inserts():
    return Figure('4a', 'Figure 4a: LOAD without a cache', 'clients of a compute node', 'Mop/s',
                  [2, 32], lines(
                      lambda index, x, more: run(index, 'LOAD', LONG + more + NO_CACHE, threads=x),
                      ('ART with ROWEX', 'art', ART), ('libfar ART', 'art', [])))


def cards():
    some = ('C', 'D')
    return Figure('11-cards', 'Figure 11: YCSB, integer keys', 'workload', 'Mop/s',
                  list(range(len(some))), lines(
                      lambda index, x, more: half(index, some[x], more, CARDS),
                      *trees(span_32(), 'Sherman with combining', 'ART with ROWEX',
                             'SMART-ART')), names=some)


def strings():
    some = ('A', 'C')
    return Figure('12', 'Figure 12: YCSB, e-mail-like keys of 32 bytes', 'workload', 'Mop/s',
                  list(range(len(some))), lines(
                      lambda index, x, more: run(index, some[x], EMAIL + more, threads=24,
                                                 tasks=8),
                      *trees(span_32(32), 'Sherman with combining')), names=some)


def scalability():
    return Figure('13', 'Figure 13: A, by clients of a compute node', 'clients', 'Mop/s',
                  [8, 56], lines(
                      lambda index, x, more: run(index, 'A', more, threads=x),
                      *trees(span_32(), 'Sherman with combining')),
                  note='Paper: ART collapses as clients become more, SMART does not.')


SIZED = [('Sherman', 'btree', SHERMAN), ('libfar B+ tree', 'btree', []),
         ('ART with ROWEX', 'art', ROWEX), ('libfar ART', 'art', WARM)]


def sized(workload, key_size, value_size, more, index, **how):
    """Of Sherman as many bytes as 32 of its entries have."""
    more = ['--key-size', str(key_size), '--value-size', str(value_size)] + more
    if 'sherman' in more:
        more = more + span_32(key_size, value_size)
    return run(index, workload, more, **how)


def by_sizes(name, what, xs, args, **more):
    """Values of the B+ tree have at most 256 bytes."""
    series = lines(args, *SIZED)
    for one, (_, index, _) in zip(series, SIZED):
        one.xs = [x for x in xs if index == 'art' or x <= 256]
    return Figure(name, what, 'bytes', 'Mop/s', xs, series, log_x=True, **more)


def scans():
    """With as many clients for each memory node as the paper's 128 for two."""
    return by_sizes('14', 'Figure 14: E by value size', [8, 256, 1024],
                    lambda index, x, more: sized('E', 8, x, more, index, threads=8))


def skew():
    """Figure 18 has 16 clients for each compute node."""
    return Figure('18a', 'Figure 18a: half gets, half updates, by skew', 'theta', 'Mop/s',
                  [0.5, 0.99], lines(
                      lambda index, x, more: run(
                          index, 'A', more + ['--theta', str(x)], threads=16),
                      *trees(span_32(), 'Sherman with combining')),
                  note='Paper, from 0.5 to 0.99: Sherman falls 7.4 times, ART and SMART 2.6.')


def key_sizes():
    return by_sizes('18b', 'Figure 18b: C by key size', [8, 256],
                    lambda index, x, more: sized('C', x, 8, more, index, threads=16),
                    note='Paper, from 8 to 256: Sherman falls 14 times, ART and SMART 1.3.')


def value_sizes():
    return by_sizes('18c', 'Figure 18c: C by value size', [8, 256, 1024],
                    lambda index, x, more: sized('C', 8, x, more, index, threads=16),
                    note='Paper, from 8 to 1,024: Sherman falls 64 times, ART 3.4, SMART 3.1.')


# Those whose picture stands in the saved page.
PICTURES = ('3c', '12', '13', '18a')
FIGURES = [amplification(), amplification_hits(), no_cache(), spans(), cache_sizes(),
           latency('3d', 'p50', 'p50_us'), latency('3d-p99', 'p99', 'p99_us'), inserts(), cards(),
           strings(), scalability(), scans(), skew(), key_sizes(), value_sizes()]
