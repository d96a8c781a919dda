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
                      ('libfar B+ tree', 'btree', [])),
                  names=WORKLOADS)


def skew():
    return Figure('18a', 'Figure 18a: half gets, half updates, by skew', 'theta', 'Mop/s',
                  [0.5, 0.8, 0.9, 0.99], lines(
                      lambda index, x, more: cluster(
                          index, 'A', list(more) + ['--theta', str(x)]),
                      ('Sherman', 'btree', SHERMAN + SPAN_32),
                      ('libfar B+ tree', 'btree', [])))


def scans():
    return Figure('14', 'Figure 14: YCSB E by value size', 'bytes', 'Mop/s',
                  [8, 64, 256], lines(
                      lambda index, x, more: cluster(
                          index, 'E', list(more) + ['--value-size', str(x)], keys=50000),
                      ('Sherman', 'btree', SHERMAN),
                      ('libfar B+ tree', 'btree', [])), log_x=True)


FIGURES = [threads(w) for w in 'ABC'] + [workloads(), skew(), scans()]
