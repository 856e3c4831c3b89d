#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What tests/mutants/relink.py compiles, keeps and links, with made-up sources and compilers."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

MUTANTS = pathlib.Path(__file__).resolve().parent.parent / "mutants"
sys.dont_write_bytecode = True  # A check leaves nothing behind in the tree.
sys.path.insert(0, str(MUTANTS))
import relink

SOURCES = {
    "meson.build": "",
    "box/tile.cuh": "right tile\n",
    "box/box.cu": '#include "kernels/cuda/box/tile.cuh"\nright box\n',
    "box/runs.cu": '#include "kernels/cuda/box/tile.cuh"\nruns\n',
    "job/job.cc": "right job\n",
}
FAULTS = '''
from fault import Fault
FAULTS = [
    Fault("tile", "kernels/cuda/box/tile.cuh", "right", "FAULTY", cuda=True),
    Fault("box", "kernels/cuda/box/box.cu", "right", "FAULTY", cuda=True),
    Fault("job", "kernels/cuda/job/job.cc", "right", "FAULTY", cuda=True),
    Fault("harmless", "kernels/cuda/job/job.cc", "right", "left", cuda=True),
    Fault("broken", "kernels/cuda/job/job.cc", "right", "ERROR", cuda=True),
    Fault("stale", "kernels/cuda/job/job.cc", "gone", "", cuda=True),
    Fault("host", "kernels/core/base/border.h", "", ""),
]
'''
# An object is the text of a source and its headers, and a program fails if a fault is in it. What
# has been compiled is noted.
COMPILER = '''#!/usr/bin/python3
import pathlib, sys
words = sys.argv[1:]
output = pathlib.Path(words[words.index("-o") + 1])
if "-c" in words:
    source = pathlib.Path(words[words.index("-c") + 1])
    with open({log!r}, "a") as log:
        print(source.name, file=log)
    text = source.read_text()
    if "include" in text:
        text += source.with_name("tile.cuh").read_text()
    output.write_text(text)
    sys.exit("no such word" if "ERROR" in text else 0)
objects = [pathlib.Path(word) for word in words if word.endswith(".o") and word != str(output)]
faulty = any("FAULTY" in one.read_text() for one in objects)
output.write_text("#!/bin/sh\\n" + ("echo FAIL a case; exit 1" if faulty else ""))
output.chmod(0o755)
'''


class Relink(unittest.TestCase):
    def setUp(self):
        # A TestCase's clean-up, and not a with block, ends the folder's life with the test's.
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.packed = pathlib.Path(folder.name)
        self.log = self.packed / "log"
        for path, text in SOURCES.items():
            self.write(f"source/kernels/cuda/{path}", text)
        for name in ("fault.py", "relink.py", "scratch.py"):
            (self.packed / "mutants").mkdir(exist_ok=True)
            shutil.copy(MUTANTS / name, self.packed / "mutants")
        self.write("mutants/faults.py", FAULTS)
        for name in ("c++", "nvcc"):
            self.program(f"bin/{name}", COMPILER.format(log=str(self.log)))
        for name in relink.TESTS:
            self.program(f"tests/{name}", "#!/bin/sh\n")

    def write(self, path, text):
        (self.packed / path).parent.mkdir(parents=True, exist_ok=True)
        (self.packed / path).write_text(text, encoding="utf-8")

    def program(self, path, text):
        self.write(path, text)
        (self.packed / path).chmod(0o755)

    def relink(self, *arguments):
        """(exit status, output, what was compiled)."""
        self.log.write_text("", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-B", self.packed / "mutants/relink.py", self.packed, *arguments],
            env={"PATH": f"{self.packed / 'bin'}:/usr/bin:/bin"}, capture_output=True, text=True,
            check=False)
        return (done.returncode, done.stdout + done.stderr,
                sorted(self.log.read_text(encoding="utf-8").split()))

    def objects(self, fault):
        return sorted(path.name.split(".")[0]
                      for path in (self.packed / "mutants/objects" / fault).glob("*.o"))

    def test_each_source_that_includes_the_faulty_file_is_compiled(self):
        status, output, compiled = self.relink("--compile", "--jobs", "2", "tile", "job")
        self.assertEqual((status, compiled), (0, ["box.cu", "job.cc", "runs.cu"]), output)
        self.assertIn("2 passed, 0 failed", output)
        self.assertEqual(self.objects("tile"), ["box_box", "box_runs"])

    def test_what_fits_is_not_made_again_and_what_does_not_is_removed(self):
        self.relink("--compile", "tile")
        self.assertEqual(self.relink("--compile", "box", "tile")[2], ["box.cu"])
        self.write("source/kernels/cuda/box/runs.cu", '#include "kernels/cuda/box/tile.cuh"\n')
        self.assertEqual(self.relink("--compile", "tile", "box")[2], ["runs.cu"])
        self.write("source/kernels/cuda/box/tile.cuh", "another right tile\n")
        self.assertEqual(self.relink("--compile", "box", "tile")[2], ["box.cu", "box.cu", "runs.cu"])
        self.assertEqual(self.objects("tile"), ["box_box", "box_runs"])
        self.write("mutants/faults.py", FAULTS.replace('"right", "FAULTY"', '"right", "wrong"', 1))
        self.assertEqual(self.relink("--compile", "box", "tile")[2], ["box.cu", "runs.cu"])

    def test_what_a_fault_left_that_is_gone_is_removed(self):
        self.relink("--compile", "job", "box")
        self.write("mutants/faults.py", FAULTS.replace('"job"', '"work"'))
        self.assertEqual(self.relink("--compile", "work")[2], ["job.cc"])
        self.assertEqual(sorted(path.name for path in (self.packed / "mutants/objects").iterdir()),
                         ["box", "work"])

    def test_what_a_compiler_left_behind_when_it_was_stopped_is_no_object(self):
        self.relink("--compile", "job")
        made, = (self.packed / "mutants/objects/job").iterdir()
        made.rename(made.with_suffix(".part"))
        self.assertEqual(self.relink("--compile", "job")[2], ["job.cc"])
        self.assertEqual(self.objects("job"), ["job_job"])

    def test_faults_that_do_not_apply_or_compile_fail_and_others_are_made(self):
        status, output, _ = self.relink("--compile", "broken", "stale", "job")
        self.assertEqual(status, 1)
        self.assertRegex(output, r"(?s)FAIL .* broken .* does not compile\nno such word")
        self.assertRegex(output, r"FAIL .* stale .* its text occurs 0 times in \S+, not once")
        self.assertIn("1 passed, 2 failed", output)
        self.assertEqual((self.objects("job"), self.objects("broken")), (["job_job"], []))

    def test_what_was_compiled_beforehand_is_linked(self):
        self.relink("--compile", "tile", "job")
        for name in ("c++", "nvcc"):
            self.program(f"bin/{name}", COMPILER.format(log=str(self.log)).replace(
                'if "-c" in words:', 'if "-c" in words:\n    sys.exit("no compiler")'))
        status, output, _ = self.relink("tile", "job")
        self.assertEqual(status, 0, output)
        self.assertIn("3 of 3 objects were compiled beforehand", output)
        self.assertRegex(output, r"caught .* tile .* conformance: a case\n")
        self.assertIn("figure: 2 of 2 planted faults caught", output)

    def test_what_is_missing_is_compiled_and_not_kept(self):
        self.relink("--compile", "tile")
        for _ in range(2):
            status, output, compiled = self.relink("tile", "job")
            self.assertEqual((status, compiled), (0, ["job.cc"]), output)
            self.assertIn("2 of 3 objects were compiled beforehand", output)

    def test_a_fault_that_no_test_sees_is_missed(self):
        status, output, _ = self.relink("harmless", "job")
        self.assertEqual(status, 1)
        self.assertRegex(output, r"FAIL .* harmless .* MISSED: every test passed")
        self.assertIn("1 passed, 1 failed", output)

    def test_the_tree_as_it_is_must_pass(self):
        self.program("tests/sizes_test", "#!/bin/sh\nexit 3\n")
        status, output, compiled = self.relink("job")
        self.assertEqual((status, compiled), (1, []))
        self.assertIn("the tree as it is fails already: sizes_test: exit status 3", output)


if __name__ == "__main__":
    outcome = unittest.main(exit=False).result
    bad = len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - bad} passed, {bad} failed")
    sys.exit(0 if outcome.wasSuccessful() else 1)
