#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes the points of smart.csv, its argument, as C."""
import csv
import sys

with open(sys.argv[1], encoding='ascii') as f:
    rows = list(csv.DictReader(line for line in f if line[0] != '#'))
print('#include "model.h"\n\nconst struct model_point model_points[] = {')
for r in rows:
    print(f'\t{{ "{r["figure"]}", "{r["op"]}", "{r["policy"]}", {r["threads"]}, '
          f'{r["depth"]}, {r["throttle"]}, {r["fitted"]}, {r["mops"]} }},')
print('\t{ 0 },\n};')
