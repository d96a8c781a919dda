#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""scripts/lib/result.py: the file of a benchmark has head, table and notes."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "..", "scripts", "lib"))
import result

CPUINFO = """\
processor\t: 0
cpu family\t: 6
model\t\t: 207
model name\t: A Processor
processor\t: 1
cpu family\t: 6
model\t\t: 207
model name\t: A Processor
"""


class Test(unittest.TestCase):
    def save(self, top, table="| a |\n", label="measured", name="bench-x"):
        path = result.save(name, label, "scripts/bench-x --rounds 3",
                           [("guest", "stock 6.1")], table, top)
        with open(path, encoding="utf-8") as f:
            return path, f.read()

    def test_machine(self):
        self.assertEqual(result.machine(CPUINFO),
                         "A Processor, family 6, model 207; 2 processors")
        self.assertEqual(result.machine("processor\t: 0\n"),
                         "unknown, family unknown, model unknown; 1 processors")

    def test_head_and_table(self):
        with tempfile.TemporaryDirectory() as top:
            path, text = self.save(top, "| a |\n|---|\n| 1 |\n")
        self.assertEqual(os.path.relpath(path, top), "docs/results/bench-x.md")
        self.assertTrue(text.startswith("# bench-x\n\n*Measured*.\n"))
        self.assertIn("| command | `scripts/bench-x --rounds 3` |\n", text)
        self.assertIn("| guest | stock 6.1 |\n", text)
        self.assertRegex(text, re.compile(r"^\| date \| \d{4}-\d\d-\d\d \|$", re.M))
        self.assertIn("\n\n| a |\n|---|\n| 1 |\n\n", text)
        self.assertTrue(text.endswith(result.NOTES + "\n"))

    def test_commit(self):
        with tempfile.TemporaryDirectory() as top:
            git = ["git", "-C", top, "-c", "user.name=n", "-c", "user.email=n@example.org"]
            os.makedirs(os.path.join(top, "docs", "results"))
            names = ["a.c", "docs/results/bench-x.md"]
            for name in names:
                with open(os.path.join(top, name), "w", encoding="utf-8") as f:
                    f.write("1")
            for args in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "m"]):
                subprocess.run(git + args, check=True)
            marks = []
            for name in reversed(names):
                with open(os.path.join(top, name), "w", encoding="utf-8") as f:
                    f.write("2")
                marks.append(result.commit(top)[-1] == "+")
        # A page that the same command has just written is no change; what is built is one.
        self.assertEqual(marks, [False, True])

    def test_notes_stay(self):
        with tempfile.TemporaryDirectory() as top:
            path, text = self.save(top, "| old |\n")
            with open(path, "a", encoding="utf-8") as f:
                f.write("\nA note.\n")
            _, text = self.save(top, "| new |\n")
        self.assertNotIn("old", text)
        self.assertIn("| new |", text)
        self.assertTrue(text.endswith(result.NOTES + "\n\nA note.\n"))
        self.assertEqual(text.count("A note."), 1)

    def test_refused(self):
        with tempfile.TemporaryDirectory() as top:
            for wrong in ({"label": "guessed"}, {"name": "../x"}):
                with self.assertRaises(ValueError):
                    self.save(top, **wrong)
            self.assertEqual(os.listdir(top), [])


if __name__ == "__main__":
    unittest.main()
