#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Planted faults (tests/mutants) can be planted in the tree as it is, and their tests are there.

Planting them takes long or needs a GPU, so whoever changes a line that a fault names learns it here.
"""

import collections
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True  # A check leaves nothing behind in the tree.
sys.path.insert(0, str(ROOT / "tests/mutants"))
import relink
from faults import FAULTS
from scratch import CUDA_TESTS


def text(path):
    return (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).is_file() else ""


class Faults(unittest.TestCase):
    def test_each_has_a_name_of_its_own(self):
        counts = collections.Counter(fault.name for fault in FAULTS)
        self.assertEqual([name for name, count in counts.items() if count > 1], [])

    def test_each_names_a_file(self):
        self.assertEqual([f"{fault.name}: no {fault.path}" for fault in FAULTS
                          if not (ROOT / fault.path).is_file()], [])

    def test_each_finds_its_text_once(self):
        self.assertEqual([f"{fault.name}: {problem}" for fault in FAULTS
                          if (problem := fault.problem_in(text(fault.path)))], [])

    def test_each_changes_its_text(self):
        self.assertEqual([fault.name for fault in FAULTS if fault.old == fault.new], [])

    def test_those_marked_as_cuda_are_those_that_only_a_build_with_cuda_compiles(self):
        build = text("kernels/cuda/meson.build")
        listed = build.split("staging_sources = files(")[1].split(")")[0]
        without = {f"kernels/cuda/{name}" for name in re.findall("'(.*)'", listed)}
        self.assertEqual([fault.name for fault in FAULTS
                          if fault.cuda != fault.path.startswith("kernels/cuda/")
                          and not (fault.path in without and not fault.cuda)], [])

    def test_relink_finds_sources_that_include_each(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "source").symlink_to(ROOT)
            packed = relink.Packed(pathlib.Path(folder), 1)
        # Linked before the packed objects, these would stand for what is packed.
        others = {"kernels/cuda/cuda_stub.cc", "kernels/cuda/runtime/fault.cu"}
        for fault in FAULTS:
            units = set(packed.units_with(fault.path)) if fault.cuda else {"any"}
            self.assertTrue(units and not units & others, f"{fault.name}: {sorted(units)}")

    def test_no_two_are_one(self):
        counts = collections.Counter((fault.path, fault.planted_in(text(fault.path)))
                                     for fault in FAULTS)
        self.assertEqual([path for (path, _), count in counts.items() if count > 1], [])


class Tests(unittest.TestCase):
    """Of which a name that is wrong is seen only where they would run."""

    def test_relink_runs_programs_that_are_built(self):
        self.assertEqual([test for test in relink.TESTS
                          if not text(f"tests/kernels/{test}.cc")], [])

    def test_relink_knows_rooms_and_kernels(self):
        kernels = set(re.findall(r'\{KernelKind::\w+,\s*"([^"]+)"',
                                 text("kernels/core/plan/forms.cc")))
        for room, (_, arguments) in relink.FIRST.items():
            with self.subTest(room=room):
                self.assertTrue((ROOT / "kernels/cuda" / room).is_dir())
                for argument in arguments:
                    if argument.startswith("--kernel="):
                        self.assertIn(argument.removeprefix("--kernel="), kernels)

    def test_run_knows_the_tests_on_cuda(self):
        # Those of each backend are named by what stands before it.
        build = text("tests/kernels/meson.build")
        self.assertEqual([name for name in CUDA_TESTS
                          if f"'{name.removesuffix('cuda')}'" not in build], [])


if __name__ == "__main__":
    outcome = unittest.main(exit=False).result
    bad = len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - bad} passed, {bad} failed")
    sys.exit(0 if outcome.wasSuccessful() else 1)
