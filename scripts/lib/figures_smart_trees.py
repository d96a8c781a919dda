# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The B+ tree and the radix tree beside Sherman, on models of ConnectX-6: figure 12 of "Scaling Up
Memory Disaggregated Applications with SMART" (ASPLOS 2024) at 200 Gb/s, and figures 11,
14, 15 and 18 of "SMART: A High-Performance Adaptive Radix Tree for Disaggregated
Memory" (OSDI 2023) at 100 Gb/s. Populations and times are far below the papers', and caches
begin as after a long run.
"""
from figures_run import Figure, Series

# Of the papers 100 and 60 million.
KEYS = 200000
# ms of virtual time, before and within what is measured.
MS = (1, 1)
WORKLOADS = ('LOAD', 'A', 'B', 'C', 'D', 'E')
# "Sherman" has none of SMART's mechanisms of threads; its leaves are of 1 KB in the
# framework's figures. A span of 22 has the bytes of 32 entries with versions of a byte.
SHERMAN = ['--variant', 'sherman', '--without', 'backoff,limit,tasks,throttle,doorbell']
SPAN_1K = ['--span', '39']
SPAN_32 = ['--span', '22']
# The radix tree begins with the caches of a long run. Its paper's cards do 45 million
# READs a second as a memory node; those of the framework's, that the profile is of, 111.
WARM = ['--warm-cache']
CARDS = 'sim:cx6-100,node_op_ns=22.2'
ALONE = ['--without', 'combine']
SMART_ART = ['--variant', 'smart-art']
ROWEX = ['--variant', 'art-rowex'] + ALONE + WARM


def index_args(index, workload, nic, cns, mns, threads, more=(), keys=KEYS, ms=MS):
    """The arguments of a run; all trees use this one."""
    return ['index', '--index', index, '--workload', workload, '--nic', nic,
            '--keys', str(keys), '--threads', str(threads), '--tasks', '8',
            '--cns', str(cns), '--mns', str(mns), '--warm-ms', str(ms[0]),
            '--ms', str(ms[1])] + list(more)


def server(index, workload, threads, more=()):
    """One compute node and one memory node, as in the framework's figure 12."""
    return index_args(index, workload, 'sim:cx6-200', 1, 1, threads, more)


def cluster(index, workload, more=(), **how):
    """The cluster of the radix tree's paper."""
    return index_args(index, workload, 'sim:cx6-100', 16, 2, 24, more, **how)


def lines(args, *variants):
    """A series for each (label, index, more) of variants; args(index, x, more)."""
    return [Series(f'{label} (model)', args=lambda x, i=index, m=more: args(i, x, m))
            for label, index, more in variants]


def threads(workload):
    return Figure(f'12-{workload}', f'Figure 12 of the framework: YCSB {workload}, one '
                  'server', 'threads', 'Mop/s', [2, 16, 48, 94], lines(
                      lambda index, x, more: server(index, workload, x, more),
                      ('Sherman', 'btree', SHERMAN + SPAN_1K),
                      ('Sherman with speculation', 'btree',
                       ['--variant', 'smart-bt'] + SHERMAN[2:] + SPAN_1K),
                      ('SMART-BT', 'btree', ['--variant', 'smart-bt'] + SPAN_1K),
                      ('libfar', 'btree', [])))


def workloads():
    return Figure('11', 'Figure 11: YCSB, 16 compute nodes of 24 threads, integer keys',
                  'workload', 'Mop/s', list(range(len(WORKLOADS))), lines(
                      lambda index, x, more: cluster(index, WORKLOADS[x], more),
                      ('Sherman', 'btree', SHERMAN + SPAN_32),
                      ('Sherman with combining', 'btree',
                       ['--variant', 'sherman-rdwc'] + SHERMAN[2:] + SPAN_32),
                      ('libfar B+ tree', 'btree', []),
                      ('ART with ROWEX', 'art', ROWEX),
                      ('SMART-ART', 'art', SMART_ART + WARM),
                      ('libfar ART', 'art', WARM)),
                  names=WORKLOADS)


def skew():
    return Figure('18a', 'Figure 18a: half gets, half updates, by skew', 'theta', 'Mop/s',
                  [0.5, 0.8, 0.9, 0.99], lines(
                      lambda index, x, more: cluster(
                          index, 'A', list(more) + ['--theta', str(x)]),
                      ('Sherman', 'btree', SHERMAN + SPAN_32),
                      ('libfar B+ tree', 'btree', []),
                      ('ART with ROWEX', 'art', ROWEX),
                      ('libfar ART', 'art', WARM)))


def scans():
    return Figure('14', 'Figure 14: YCSB E by value size', 'bytes', 'Mop/s',
                  [8, 64, 256], lines(
                      lambda index, x, more: cluster(
                          index, 'E', list(more) + ['--value-size', str(x)], keys=50000),
                      ('Sherman', 'btree', SHERMAN),
                      ('libfar B+ tree', 'btree', []),
                      ('libfar ART', 'art', WARM)), log_x=True)


def redundant(op, figure, paper):
    return Figure(figure, f'Figure {figure}: {op.upper()}s of 1 KB that another client of the '
                  f'same node does too (paper: {paper} of 64)', 'clients', 'per operation',
                  [16, 32, 48, 64], [Series(
                      f'{op.upper()} (model)', value=lambda r: r['redundant_per_op'],
                      args=lambda x: ['micro', '--redundant', '--nic', 'sim:cx6-100',
                                      '--threads', str(x), '--op', op, '--ops', '40000'])])


def locks():
    """Retries per update, of which half of A's operations are."""
    return Figure('16', "Figure 16: A, attempts in vain per update (paper: HOCL 0.76, E-HOCL "
                  '0.29)', 'threads', 'per update', [8, 16, 24], [
                      Series(f'{label} (model)', args=lambda x, m=more: index_args(
                          'art', 'A', CARDS, 16, 2, x, m + WARM, ms=(5, 5)),
                             value=lambda r: 2 * (r['attempts_per_op'] - 1))
                      for label, more in (
                          ('HOCL', ['--variant', 'smart-art-hocl'] + ALONE),
                          ('E-HOCL', ['--variant', 'smart-art-e-hocl'] + ALONE),
                          ('E-HOCL with combining', SMART_ART),
                          ('libfar', []))])


def stale():
    return Figure('4b', 'Figure 4b: A, cached addresses that were wrong (paper: 0.191 out of '
                  'place)', 'threads', 'of all', [1, 2, 4], [
                      Series(f'{label} (model)', args=lambda x, m=more: index_args(
                          'art', 'A', CARDS, 8, 1, x, m + ALONE + WARM),
                             value=lambda r: 1 - r['cache_hit'])
                      for label, more in (
                          ('in place', []),
                          ('out of place', ['--variant', 'smart-art-out-of-place']))])


def caches():
    return Figure('17', 'Figure 17: gets by the size of a cache, e-mail-like keys', 'KiB',
                  'hits', [512, 1024, 2048, 4096, 8192], [Series(
                      'libfar ART (model)', value=lambda r: r['cache_hit'],
                      args=lambda x: index_args(
                          'art', 'C', 'sim:cx6-100', 1, 2, 24,
                          ['--key-type', 'email', '--key-size', '32', '--warm-cache',
                           '--cache', f'{x}K']))], log_x=True)


FIGURES = [threads(w) for w in 'ABC'] + [
    redundant('read', '4c', 0.48), redundant('write', '4d', 3.3), stale(), workloads(), skew(),
    scans(), locks(), caches()]
