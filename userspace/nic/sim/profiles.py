#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes the profiles that are its arguments as C: names and texts in turn."""
import json
import os
import sys

print('const char *const sim_profile_texts[] = {')
for path in sys.argv[1:]:
    name = os.path.basename(path).removesuffix('.ini')
    with open(path, encoding='ascii') as f:
        print(f'\t{json.dumps(name)}, {json.dumps(f.read())},')
print('\t0,\n};')
