# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
The trees beside Sherman, continued: figures 3a, 4a, 12 to 14 and 18 of "SMART: A
High-Performance Adaptive Radix Tree for Disaggregated Memory" (OSDI 2023), and figure 11 with
cards that do less; with 8 compute nodes, 1 memory node, and 100,000 keys.
"""
from figures_smart_trees import HEAD, MORE as FIGURES

__all__ = ['FIGURES', 'HEAD']
