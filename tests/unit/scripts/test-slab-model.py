#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""scripts/lib/slab_model.py: a slab is held while one of its slots is used."""
import os
import sys
import unittest

sys.dont_write_bytecode = True
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', '..')
sys.path.insert(0, os.path.join(TOP, 'scripts', 'lib'))
import slab_model

TRACE = ['10.0 store 0 1', '11.0 store 3 2', '12.0 store 0 1', '13.0 free 0 1',
         '13.0 free 0 1', '14.0 free 3 1', '16.0 free 4 1']


class Test(unittest.TestCase):
    def test_replay(self):
        found = slab_model.replay(slab_model.events(TRACE), (('1', 1), ('4', 4), ('8', 8)))
        # 1 page for 1 s, 3 for 2, 2 for 1, and 1 for 2
        self.assertEqual((found['1'].sum, found['1'].peak, found['1'].held()), (11, 3, 0))
        # Slots 0 to 3 are there from 10 to 14, and 4 to 7 from 11 to 16.
        self.assertEqual((found['4'].sum, found['4'].peak), (4 * 4 + 4 * 5, 8))
        self.assertEqual((found['8'].sum, found['8'].peak), (8 * 6, 8))

    def test_rows(self):
        found = list(slab_model.rows('x', 100, 7, slab_model.events(TRACE)))
        self.assertEqual(found[0], ['x', '4 KB, no mover (model)', 11, 3, 3])
        self.assertEqual(found[2], ['x', '2 MB, no mover (model)', 512 * 6, 3, 512])
        self.assertEqual(found[-1], ['x', 'static (model)', 700, 3, 100])

    def test_nothing(self):
        self.assertEqual([s.sum for s in slab_model.replay([]).values()], [0] * 4)


if __name__ == '__main__':
    unittest.main()
