# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Figures 3, 4, 5, 7, 8, 9, 13 and 14 and Table 1, and what figure 10 explains, of "Scaling Up Memory
Disaggregated Applications with SMART" (ASPLOS 2024), on the model of a
ConnectX-6 at 200 Gb/s.
"""
from figures_run import COLLAPSE, QUEUES, SHORT, Figure, Series

HEAD = """
*model*: of this program, in virtual time; RACE and SMART-HT are the paper's
mechanisms as this project built them. *paper*: of the authors. A command under
a table is that of a series' last point.
"""
NIC = 'sim:cx6-200'
# The paper has 100 million, which need 16 GB. With so many the hottest key has 7.4 % of the
# accesses instead of 4.8 %.
KEYS = 200000
# Times between changes of table 1 are as much shorter than the paper's, and so are the
# epochs of throttling there; elsewhere they are a hundredth of its 8 and 480 ms.
CHANGE_SCALE = 0.02
POLICIES = ['shared-qp', 'multiplexed-4', 'multiplexed-2', 'per-thread-qp',
            'per-thread-doorbell']
THREADS = [48, 96]
# What RACE has of it all.
RACE = ['--variant', 'race', '--without',
        'combine,handover,cache,backoff,limit,tasks,throttle,doorbell']


def micro(**options):
    args = ['micro', '--nic', NIC]
    for name, value in options.items():
        args += ['--' + name.replace('_', '-'), str(value)]
    return args


def hash_args(workload, threads, cns=1, more=()):
    return ['index', '--index', 'hash', '--workload', workload, '--nic', NIC,
            '--keys', str(KEYS), '--threads', str(threads), '--tasks', '8',
            '--cns', str(cns), '--mns', '2'] + list(more)


def race_args(workload, threads, cns=1, more=()):
    times = {'C': SHORT, 'B': QUEUES}.get(workload, COLLAPSE)
    return hash_args(workload, threads, cns, RACE + times + list(more))


def libfar_args(workload, threads, cns=1, more=()):
    return hash_args(workload, threads, cns, SHORT + list(more))


def smart_args(workload, threads, cns=1, off='', more=()):
    """With the paper's mechanisms; off: but without these."""
    without = 'combine,handover,cache' + (',' + off if off else '')
    times = SHORT if workload == 'C' else QUEUES
    return hash_args(workload, threads, cns, ['--without', without] + times + list(more))


def both(key, label, args, **more):
    """The paper's numbers, and the model's of the same thing."""
    return [Series(f'{label} (model)', args=args, **more),
            Series(f'{label} (paper)', key=key)]


def checked(label, x, **where):
    """
    Points of "far bench model", which has the paper's numbers beside ours: rows in
    which the fields are so, by field x.
    """
    def reader(column):
        def point(row):
            if any(row[name] != str(value) for name, value in where.items()):
                return None
            return float(row[x]), float(row[column])
        return point
    return [Series(f'{label} (model)', point=reader('model_mops')),
            Series(f'{label} (paper)', point=reader('paper_mops'))]


def policies(op):
    series = []
    for policy in POLICIES:
        series += checked(policy, 'threads', figure='3', op=op, policy=policy)
    return Figure(f'3-{op}', f'Figure 3: {op.upper()} of 8 bytes, depth 8, by how '
                  'threads share queue pairs', 'threads', 'Mop/s', [], series)


def depths(op):
    series = []
    for threads in (12, 24, 48, 72, 96):
        series += checked(f'{threads} threads', 'depth', figure='4', op=op,
                          threads=threads)
    return Figure(f'4-{op}', f'Figure 4: {op.upper()} of 8 bytes by requests '
                  'outstanding per thread', 'depth', 'Mop/s', [], series)


def dram():
    series = [Series(f'{t} threads (model)', args=lambda x, t=t: micro(
        op='read', threads=t, depth=x, size=8, policy='per-thread-doorbell', ops=300000),
        value=lambda r: r['dram_bytes_per_wr']) for t in (12, 48, 96)]
    series.append(Series('96 threads (paper)', key='96'))
    return Figure('4-dram', 'Figure 4: traffic of host memory per work request',
                  'depth', 'bytes', [1, 8, 16, 32], series, paper='4-dram')


def outliers():
    """The paper's figure 10 is of transactions; what it explains shows in bare READs."""
    return Figure('10-doorbells', 'Figure 10: doorbells in order of creation, 2 '
                  'memory nodes', 'threads', 'Mop/s',
                  [32, 40, 48, 56, 64, 72, 80, 88, 96],
                  [Series('queue pair per thread (model)', args=lambda x: micro(
                      op='read', threads=x, depth=8, size=8, mns=2,
                      policy='per-thread-qp', ops=60000))])


def conflicts():
    return [
        Figure('5-threads', 'Figure 5: updates without conflict avoidance, theta 0.99',
               'threads', 'Mop/s', [1, 8, 16],
               both('threads', 'RACE', lambda x: race_args('update', x)), paper='5'),
        Figure('5-theta', 'Figure 5: updates without conflict avoidance, 16 threads',
               'theta', 'Mop/s', [0, 0.9, 0.99],
               both('theta', 'RACE', lambda x: race_args(
                   'update', 16, more=['--theta', str(x)])), paper='5'),
    ]


def scale_out(workload):
    series = both('race', 'RACE', lambda x: race_args(workload, 96, x))
    series += both('smart-ht', 'SMART-HT', lambda x: smart_args(workload, 96, x))
    series.append(Series('libfar (model)', args=lambda x: libfar_args(workload, 96, x)))
    return Figure(f'7-{workload}', f'Figure 7: YCSB {workload}, 96 threads per compute '
                  'node, 2 memory nodes', 'compute nodes', 'Mop/s',
                  [1, 6], series, paper=f'7-{workload}', log_y=True)


def breakdown(workload):
    off = 'backoff,limit,tasks'
    series = both('race', 'RACE', lambda x: race_args(workload, x))
    series += both('allocation', '+ doorbells', lambda x: smart_args(
        workload, x, off=off + ',throttle'))
    series += both('throttle', '+ throttling', lambda x: smart_args(workload, x, off=off))
    series += both('smart-ht', '+ conflict avoidance', lambda x: smart_args(workload, x))
    series.append(Series('libfar (model)', args=lambda x: libfar_args(workload, x)))
    return Figure(f'8-{workload}', f'Figure 8: YCSB {workload}, one compute node, '
                  'mechanism by mechanism', 'threads', 'Mop/s', THREADS, series,
                  paper=f'8-{workload}')


def latency():
    rates = [400000, 2700000, 8000000, 20000000]
    figures = []
    for name, field, what in (('9', 'p50_us', 'median'), ('9-p99', 'p99_us', 'p99')):
        series = []
        for key, label, args in (('race', 'RACE', race_args),
                                 ('smart-ht', 'SMART-HT', smart_args),
                                 ('', 'libfar', libfar_args)):
            pair = both(key, label, lambda x, a=args: a(
                'C', 96, more=['--rate', str(x)]), value=lambda r, f=field: r[f],
                        x_value=lambda r: r['mops'])
            series += pair if key else pair[:1]
        figures.append(Figure(name, f'Figure 9: {what} latency by throughput, YCSB C, '
                              '96 threads', 'Mop/s', 'us', rates, series, paper=name,
                              log_y=True))
    return figures


def throttling():
    figures = []
    for name, x in (('13a', 'threads'), ('13b', 'depth')):
        series = []
        for label, policy, throttle in (
                ('queue pair per thread', 'per-thread-qp', 0),
                ('doorbell per thread', 'per-thread-doorbell', 0),
                ('+ throttling', 'per-thread-doorbell', 1)):
            series += checked(label, x, figure=name, policy=policy,
                              throttle=throttle)
        what = 'depth 16' if x == 'threads' else '96 threads'
        figures.append(Figure(name, f'Figure 13: READs of 8 bytes, {what}: throttling',
                              x, 'Mop/s', [], series))
    return figures


def changing():
    def args(depth, more):
        return lambda x: micro(op='read', threads='36..96', depth=depth, size=8,
                               change_ms=f'{x * CHANGE_SCALE:g}', ops=1200000,
                               policy='per-thread-doorbell') + more
    series = both('per-thread-doorbell', 'without throttling', args(64, []))
    series += both('throttle', 'with throttling', args(
        64, [f'--throttle={CHANGE_SCALE}']))
    series.append(Series('always depth 20 (model)', args=args(20, [])))
    return Figure('table1', 'Table 1: READs of 8 bytes, depth 64, 36 to 96 threads, '
                  'changing', 'ms between changes', 'Mop/s',
                  [8, 32, 512], series, paper='table1', log_x=True)


def avoidance():
    steps = [('none', 'none', 'backoff,limit,tasks'), ('backoff', '+ backoff',
             'limit,tasks'), ('limit', '+ dynamic limit', 'tasks'),
             ('tasks', '+ task throttling', '')]
    figures = []
    for name, field, unit in (('14', 'mops', 'Mop/s'),
                              ('14-attempts', 'attempts_per_op',
                               'attempts per operation')):
        series = []
        for key, label, off in steps:
            series += both(key, label, lambda x, o=off: smart_args('update', x, off=o),
                           value=lambda r, f=field: r[f])
        series.append(Series('libfar (model)', args=lambda x: libfar_args('update', x),
                             value=lambda r, f=field: r[f]))
        figures.append(Figure(name, 'Figure 14: updates, conflict avoidance step by step',
                              'threads', unit, THREADS, series,
                              paper=name, log_y=name == '14'))
    return figures


# Those whose picture stands in the saved page.
PICTURES = ('4-dram', '5-theta', '7-A', '7-C', '9', '13a')
FIGURES = ([policies('read'), policies('write'), depths('read'), depths('write'), dram()]
           + conflicts()
           + [scale_out(w) for w in 'ABC']
           + [breakdown(w) for w in 'ABC']
           + latency() + [outliers()] + throttling() + [changing()] + avoidance())
