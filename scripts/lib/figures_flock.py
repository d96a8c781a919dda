# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Figures 2.2, 4.1 to 4.7 and 4.11 to 4.13 of "Scaling RDMA RPCs with FLOCK" (S. Monga, 2021; SOSP
2021 has the same), on the model of a ConnectX-5 at 100 Gb/s: 23 clients, one server of 32 threads,
requests and responses of 64 bytes. Figures 4.8 to 4.10 are of transactions, which are not here.
"""
from figures_run import Figure, Series

HEAD = """
*model*: of this program, in virtual time. Ours is *combine*; queue pairs for each thread, or under
a lock for 2 or 4, and *datagrams*, which do as FaSST and eRPC, are the paper's baselines as this
project built them. Two parameters were fitted on the ratios to a queue pair each, two on figure
2.2a, two on 2.2b. How fast threads notice what wakes them, wake_ns, was chosen with the degree of
coalescing in view, so that figure 4.5 and what follows from it at one outstanding request are no
checks either. Half and twice each parameter of cards, receives, wake-ups and the round trip (by
hand, short runs): combine has 1.6 to 2.4 times the rate of a queue pair each and 1.5 to 3.7 times
that of datagrams at 32 threads and 8 outstanding, and placing threads pays 1.1 to 1.7 times. Three
directions do not hold: with twice qp_slots or node_op_ns READs do not slow down up to 1,408 queue
pairs; with twice write_op_ns or link_byte_ns a queue pair each is slower than datagrams; and with
one outstanding request a message has 2.7 requests with half of wake_ns and 1.1 with twice as much,
for 1.5. Leaders that look for others once, when they begin, have 1.00 whatever the load, and those
that look again what is below: neither has the paper's 1.74 times datagrams for one thread of a
client, since a message costs the card 23 ns and datagrams the processors of the server 32 ns.
*paper*: what its text says; it has no numbers beside its pictures, so that its ratios are compared.
A command under a table is that of a series' last point.
"""
NIC = 'sim:cx5-100'
CLIENTS = 23
THREADS = [1, 4, 8, 16, 32, 48]
SHARED = [16, 32, 48]
# 256 active queue pairs of 23 clients: what the server's division comes to if all ask alike.
QPS = 11
ROUNDS = 60


def rpc(threads=32, outstanding=8, variant='combine', cns=CLIENTS, qps=0, more=()):
    """
    Each request that is outstanding is answered ROUNDS times, or more. Groups of threads that
    send together take longer to become as large as they stay.
    """
    least = 1000000 if variant == 'combine' and threads > 1 else 150000
    ops = max(least, cns * threads * outstanding * ROUNDS)
    args = ['rpc', '--nic', NIC, '--cns', str(cns), '--threads', str(threads), '--outstanding',
            str(outstanding), '--server-threads', '32', '--variant', variant, '--ops', str(ops)]
    if variant == 'combine':
        args += ['--qps', str(qps or min(threads, QPS))]
    return args + list(more)


def reads():
    return Figure('2.2a', 'Figure 2.2a: READs of 16 bytes by queue pairs', 'queue pairs', 'Mop/s',
                  [22, 44, 88, 176, 352, 704, 1056, 1408], [
                      Series('READ (model)', args=lambda x: [
                          'micro', '--nic', NIC, '--cns', '22', '--threads', str(x), '--depth',
                          '1', '--size', '16', '--ops', '100000'])], log_x=True,
                  note='22 clients, each thread with a queue pair and one READ under way. Paper: '
                       'fastest from 176 to 704 queue pairs, then a sharp drop.')


def senders():
    """Of a client; the paper names 352 in all."""
    return Figure('2.2b', "Figure 2.2b: part of a datagram server's time that is receives",
                  'threads of a client', '%', [1, 4, 8, 16], [
                      Series('datagrams (model)',
                             args=lambda x: rpc(x, 1, 'datagram', cns=22),
                             value=lambda r: 100 * r['receive_share']),
                      Series('datagrams (paper)', known=[(16, 90)])],
                  note='22 clients. Posting receives, and polling that finds something.')


def systems(name, title, y_label, key, outstanding, **more):
    """Figures 4.1 to 4.3, ours beside datagrams."""
    return Figure(f'{name}-{outstanding}', f'Figure {name}: {title}, {outstanding} outstanding',
                  'threads of a client', y_label, THREADS, [
                      Series('combine (model)', args=lambda x: rpc(x, outstanding),
                             value=lambda r: r[key]),
                      Series('datagrams (model)',
                             args=lambda x: rpc(x, outstanding, 'datagram'),
                             value=lambda r: r[key])], **more)


def all_systems():
    for outstanding in (1, 4, 8):
        first = f'4.1-{outstanding}'
        yield systems('4.1', 'throughput', 'Mop/s', 'mops', outstanding)
        yield systems('4.2', 'median latency', 'us', 'p50_us', outstanding, runs_of=first)
        yield systems('4.3', '99th percentile', 'us', 'p99_us', outstanding, runs_of=first)


VARIANTS = [('combine', 'combine'), ('per-thread-qp', 'a queue pair each'),
            ('lock-2', 'a lock for 2'), ('lock-4', 'a lock for 4')]


def sharing(name, title, y_label, key, **more):
    return Figure(name, f'Figure 4.4: {title}, 8 outstanding', 'threads of a client', y_label,
                  SHARED, [Series(f'{label} (model)', args=lambda x, v=variant: rpc(x, 8, v),
                                  value=lambda r: r[key]) for variant, label in VARIANTS], **more)


OUTSTANDING = [1, 4, 8]


def degree():
    return Figure('4.5-degree', 'Figure 4.5: requests of a message, 32 threads',
                  'outstanding requests', 'requests', OUTSTANDING, [
                      Series('combine (model)', args=lambda x: rpc(32, x),
                             value=lambda r: r['degree']),
                      Series('combine (paper)', known=[(1, 1.56), (4, 1.7), (8, 2.0)])])


def coalescing():
    return Figure('4.5', 'Figure 4.5: throughput by coalescing, 32 threads',
                  'outstanding requests', 'times that without', OUTSTANDING, [
                      Series('combine (model)', args=lambda x: rpc(32, x),
                             per=lambda x: rpc(32, x, more=['--without', 'coalescing'])),
                      Series('combine (paper)', known=[(1, 1.4), (4, 1.7), (8, 1.7)])],
                  note='Half of wake_ns makes all threads of a queue pair send together; with '
                       'twice as much those of one outstanding request hardly ever meet.')


def placing():
    def with_it(x):
        return rpc(32, 8, more=['--large', str(x)])

    def without(x):
        return rpc(32, 8, qps=16, more=['--large', str(x), '--without', 'placing'])
    return Figure('4.6', 'Figure 4.6: placing threads, a tenth with large requests',
                  'bytes of large requests', 'times that without', [128, 256, 512, 1024, 2048], [
                      Series('combine (model)', args=with_it, per=without)], log_x=True,
                  note='Without: two threads share a queue pair, whatever they send. Paper: up to '
                       '1.5 times. From 1,024 bytes on the link is full either way, and threads '
                       'of large requests that have a queue pair of their own send more of them.')


NODES = [46, 92, 184, 368]


def nodes():
    return Figure('4.7', 'Figure 4.7: clients of one or two threads, 8 outstanding', 'clients',
                  'Mop/s', NODES, [
                      Series('one thread (model)', args=lambda x: rpc(1, 8, cns=x)),
                      Series('two, a queue pair (model)', args=lambda x: rpc(2, 8, cns=x, qps=1)),
                      Series('two, one each (model)',
                             args=lambda x: rpc(2, 8, 'per-thread-qp', cns=x)),
                      Series('datagrams, one thread (model)',
                             args=lambda x: rpc(1, 8, 'datagram', cns=x))],
                  note='Each client has a card of its own here; in the paper 16 share one.')


EACH = 'per-thread-qp'
# (what, run, run that it is compared with, paper)
FITTED = [(f'{threads} threads', rpc(threads), rpc(threads, variant=EACH), paper)
          for threads, paper in ((32, 1.62), (48, 2.33))]
GROWTH = [('16 to 32 threads', rpc(32, 1), rpc(16, 1), 1.25),
          ('32 to 48 threads', rpc(48, 1), rpc(32, 1), 1.47)]
RATES = [
    ('one thread, 368 clients, beside datagrams', rpc(1, cns=368), rpc(1, 8, 'datagram', cns=368),
     1.74),
    ('two on a queue pair, 46 clients', rpc(2, cns=46, qps=1), rpc(2, 8, EACH, cns=46), 1.3),
    ('two on a queue pair, 368 clients', rpc(2, cns=368, qps=1), rpc(2, 8, EACH, cns=368), 1.1),
    ('placing threads, 512 bytes', rpc(32, more=['--large', '512']),
     rpc(32, qps=16, more=['--large', '512', '--without', 'placing']), 1.5),
]
MEDIANS = [(f'{threads} threads, {outstanding} outstanding', rpc(threads, outstanding, 'datagram'),
            rpc(threads, outstanding), paper)
           for threads, outstanding, paper in ((32, 1, 2), (32, 8, 2.9), (48, 8, 3.9))]
TAILS = [(f'{threads} threads', rpc(threads), rpc(threads, variant=EACH), paper)
         for threads, paper in ((32, 0.73), (48, 0.51))]


def ratios(name, title, rows, key, note=''):
    return Figure(name, title, 'what', 'times', list(range(len(rows))),
                  [Series('ratio (model)', args=lambda x: rows[x][1], per=lambda x: rows[x][2],
                          value=lambda r: r[key]),
                   Series('ratio (paper)', known=[(x, row[3]) for x, row in enumerate(rows)])],
                  names=tuple(row[0] for row in rows), note=note)


INDEX_CLIENTS = 22
INDEX_THREADS = [1, 4, 8, 16, 32]
# What a get and a scan of the B+ tree on mem take: "far bench rpc --workload index".
COSTS = (3935, 14079)


def index(threads, outstanding=8, variant='combine', part=1):
    """part: of the costs one is taken."""
    args = rpc(threads, outstanding, variant, cns=INDEX_CLIENTS)
    # The index bounds the rate; a request that is outstanding is answered 20 times, or more.
    args[args.index('--ops') + 1] = str(max(100000, INDEX_CLIENTS * threads * outstanding * 20))
    return args + ['--workload', 'index', '--get-ns', str(COSTS[0] // part), '--scan-ns',
                   str(COSTS[1] // part)]


def indexes(name, title, y_label, outstanding, *keys, **more):
    """keys: (what, key of the results)."""
    return Figure(f'{name}-{outstanding}', f'Figure {name}: index, {title}, {outstanding} '
                  'outstanding', 'threads of a client', y_label, INDEX_THREADS, [
                      Series(f'{label}{what} (model)',
                             args=lambda x, v=variant: index(x, outstanding, v),
                             value=lambda r, k=key: r[k])
                      for variant, label in (('combine', 'combine'), ('datagram', 'datagrams'))
                      for what, key in keys], **more)


def all_indexes():
    for outstanding in (1, 8):
        first = f'4.11-{outstanding}'
        yield indexes('4.11', 'throughput', 'Mop/s', outstanding, ('', 'mops'),
                      note='22 clients, 90 % gets and 10 % scans of 64 keys. Handlers spend '
                           f'{COSTS[0]} and {COSTS[1]} ns, measured of this B+ tree; the paper '
                           'has HydraList on other processors.')
        yield indexes('4.12', 'median latency', 'us', outstanding, (', get', 'get_p50_us'),
                      (', scan', 'scan_p50_us'), runs_of=first)
        yield indexes('4.13', '99th percentile', 'us', outstanding, (', get', 'get_p99_us'),
                      (', scan', 'scan_p99_us'), runs_of=first)


INDEX = [('16 threads, 8 outstanding', index(16), index(16, 8, 'datagram'), 1),
         ('32 threads, 8 outstanding', index(32), index(32, 8, 'datagram'), 1.4)]
PARTS = [1, 2, 4]


def parts():
    return Figure('index-costs', 'Throughput of an index beside datagrams, 32 threads, 8 '
                  'outstanding', 'part of the costs, one in', 'times', PARTS, [
                      Series('ratio (model)', args=lambda x: index(32, part=x),
                             per=lambda x: index(32, 8, 'datagram', x))],
                  note='A faster index leaves more of the server to what brings its requests.')


ALIKE = [QPS, 32]


def alike():
    return Figure('alike', 'Clients that ask alike, 32 threads, 8 outstanding',
                  'queue pairs of a client', 'Mop/s, us, queue pairs', ALIKE, [
                      Series(f'{label} (model)', args=lambda x: rpc(32, 8, qps=x),
                             value=lambda r, k=key: r[k])
                      for label, key in (('Mop/s', 'mops'), ('p50, us', 'p50_us'),
                                         ('p99, us', 'p99_us'),
                                         ('active, the fewest of a client', 'active_least'),
                                         ('active, the most', 'active_most'))],
                  note='The server lets 256 of all queue pairs be active.')


PICTURES = ('2.2a', '4.1-1', '4.1-8', '4.2-8', '4.4', '4.5', '4.7',
            '4.11-8')
FIGURES = [ratios('each', 'Throughput beside a queue pair each, 8 outstanding', FITTED, 'mops'),
           ratios('growth', 'Throughput by threads, 1 outstanding', GROWTH, 'mops'),
           ratios('rates', 'Ratios of throughput', RATES, 'mops',
                  'Two on a queue pair: the paper has 1.1 to 1.3 from 46 to 368 clients, and does '
                  'not say which is where.'),
           ratios('medians', 'Median latency of datagrams, beside combine', MEDIANS, 'p50_us'),
           ratios('tails', '99th percentile of combine, beside a queue pair each, 8 outstanding',
                  TAILS, 'p99_us'),
           ratios('index', 'Throughput of an index beside datagrams', INDEX, 'mops'),
           reads(), senders(), *all_systems(), sharing('4.4', 'throughput', 'Mop/s', 'mops'),
           sharing('4.4-p50', 'median latency', 'us', 'p50_us', runs_of='4.4'),
           sharing('4.4-p99', '99th percentile', 'us', 'p99_us', runs_of='4.4'),
           degree(), coalescing(), placing(), nodes(), *all_indexes(), parts(), alike()]
