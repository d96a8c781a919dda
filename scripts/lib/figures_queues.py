# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
A closed network of queues: tasks that compute, and then wait for a request. For scripts/figures.

Exact mean value analysis: it knows no randomness, and each station serves in order of arrival.
"""


def mva(tasks, think_us, delay_us, demand_us):
    """
    Requests per us of all tasks together, and the part of the time that each station is busy.

    think_us: a task computes between two requests; delay_us: of a request, where nobody waits
    for anybody; demand_us: of a request at each station that serves one at a time.
    """
    waiting = [0.0] * len(demand_us)
    rate = 0.0
    for n in range(1, tasks + 1):
        stay = [d * (1 + q) for d, q in zip(demand_us, waiting)]
        rate = n / (think_us + delay_us + sum(stay))
        waiting = [rate * s for s in stay]
    return rate, [rate * d for d in demand_us]
