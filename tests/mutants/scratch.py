# SPDX-License-Identifier: LGPL-2.1-or-later
"""A copy of the source tree with a build folder, in which faults are planted one at a time."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SUITES = ("unit", "check", "kernels")  # In the order in which they run.
CUDA_TESTS = ("conformance-cuda", "order", "owners", "decisions", "alpha-cuda")  # Of the suite kernels.
# A program that takes this many times as long as without a fault, and a while, has noticed it.
PATIENCE = 10
LEAST_TIME_LIMIT = 60
SHORTER = {"--full": "--quick", "--every=1": "--every=17"}
GTEST_FAILURE = re.compile(r"^\[  FAILED  \] ([^ (,]+)", re.M)
OUR_FAILURE = re.compile(r"^FAIL (.*)$", re.M)


def gst_cuda():
    """Frames in CUDA memory are tested without the CUDA backend where the libraries are."""
    nvcc = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")
    found = subprocess.run(["pkg-config", "--exists", "gstreamer-cuda-1.0"], check=False)
    return "enabled" if nvcc and found.returncode == 0 else "disabled"


class ScratchError(Exception):
    """The unchanged tree does not build or pass."""


def _source_files():
    """Tracked files and new ones; in an unpacked archive, everything but build folders."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.decode().split("\0") if name]
        return [name for name in names if (ROOT / name).is_file()]
    return [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")
            if path.is_file() and not path.relative_to(ROOT).parts[0].startswith("build")]


class Test:
    """A test program as meson knows it."""

    def __init__(self, entry, targets):
        self.name = entry["name"]
        self.suite = entry["suite"][0].split(":")[-1]
        # The full runs take minutes and would not catch more.
        self._command = [SHORTER.get(word, word) for word in entry["cmd"]]
        self._environment = {**os.environ, **entry["env"], "GTEST_FAIL_FAST": "1"}
        self.targets = [target for name in entry["depends"] for target in targets[name]]
        self.seconds = None

    def failure(self):
        """What the program says is wrong, or None if it passes, which its first run must."""
        limit = None if self.seconds is None else max(LEAST_TIME_LIMIT, PATIENCE * self.seconds)
        start = time.monotonic()
        try:
            run = subprocess.run(self._command, env=self._environment, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return f"still running after {limit:.0f} s"
        if self.seconds is None:
            self.seconds = time.monotonic() - start
        if run.returncode == 0:
            return None
        output = run.stdout.decode(errors="replace")
        for pattern in (GTEST_FAILURE, OUR_FAILURE):
            if match := pattern.search(output):
                return match[1]
        return (f"died of signal {-run.returncode}" if run.returncode < 0
                else f"exit status {run.returncode}")


class Scratch:
    """The copy. `tests` are its test programs, the quickest of each suite first."""

    def __init__(self, folder, options):
        self._source = pathlib.Path(folder) / "source"
        self._build = pathlib.Path(folder) / "build"
        self._options = options
        self._planted = None
        self.tests = []
        self.build_log = ""
        for name in _source_files():
            (self._source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, self._source / name)

    def original(self, path):
        return (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).is_file() else ""

    def prepare(self):
        """Builds the copy and runs its tests, which must pass."""
        # One instruction set is enough to see a fault and compiles in a fifth of the time: this
        # machine's, as the baseline of a compiler may have no vectors.
        options = ["-Doptimization=1", "-Ddebug=false", "-Dbenchmarks=disabled",
                   "-Dexamples=disabled", "-Dpeers=disabled", "-Dfuzzing=disabled",
                   "-Dcpp_args=-DHWY_COMPILE_ONLY_STATIC -march=native -ffp-contract=off"]
        if self._options.cuda:
            options += ["-Dcuda=enabled", f"-Dcuda-archs={self._options.cuda_archs}"]
        else:
            options += ["-Dcuda=disabled", f"-Dgst-cuda={gst_cuda()}"]
        self._run(["meson", "setup", str(self._build), str(self._source)] + options)
        targets = {target["id"]: [os.path.relpath(name, self._build)
                                  for name in target["filename"]]
                   for target in self._introspect("--targets")}
        self.tests = [test for test in (Test(entry, targets)
                                        for entry in self._introspect("--tests"))
                      if self._is_wanted(test)]
        wanted = sorted({name for test in self.tests for name in test.targets})
        self._run(["ninja", "-C", str(self._build), f"-j{self._options.jobs}"] + wanted)
        for test in self.tests:
            if failure := test.failure():
                raise ScratchError(f"the tree as it is fails already: {test.name}: {failure}")
        self.tests.sort(key=lambda test: (SUITES.index(test.suite), test.seconds))

    def plant(self, fault):
        """Puts the last fault's file back and plants the next."""
        if self._planted not in (None, fault.path):
            shutil.copyfile(ROOT / self._planted, self._source / self._planted)
        faulty = fault.planted_in(self.original(fault.path))
        (self._source / fault.path).write_text(faulty, encoding="utf-8")
        self._planted = fault.path

    def build(self, test):
        """Builds what `test` needs; False if that fails."""
        made = subprocess.run(["ninja", "-C", str(self._build), f"-j{self._options.jobs}"] +
                              test.targets, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        self.build_log = made.stdout.decode(errors="replace")
        return made.returncode == 0

    def _is_wanted(self, test):
        if self._options.cuda:
            return test.name in CUDA_TESTS
        return test.suite in SUITES

    def _introspect(self, what):
        shown = subprocess.run(["meson", "introspect", what, str(self._build)],
                               capture_output=True, check=True)
        return json.loads(shown.stdout)

    @staticmethod
    def _run(command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise ScratchError(f"{' '.join(command)}\n{done.stdout.decode(errors='replace')}")
