#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plants the faults in CUDA code (faults_cuda.py) on a GPU machine, with what pack.sh packed.

    relink.py PACKED [--jobs N] [NAME...]

Such a machine has nvcc and a C++ compiler, but not the libraries that a build of the whole project
needs. So for each fault only the sources that include the faulty file are compiled, and the tests
are linked from these and the packed objects of all others. Then they run until one fails, first what
is most likely to notice a fault in that room; the unchanged programs must pass before. Several
faults are compiled at once, and a few are tested, as each test has many threads.

Ends with `N passed, N failed`, a caught fault being one passed. Exits with 1 if a fault survived,
no longer applies or does not compile.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from faults import FAULTS
from scratch import GTEST_FAILURE, OUR_FAILURE

INCLUDE = re.compile(r'^#include "(kernels/[^"]+)"', re.M)
# Instructions that only one architecture has: kernels/cuda/meson.build says which sources have them.
ONLY_ARCHITECTURE = re.compile(r"'([\w/]+)': '(\d+a)'")
# Program -> arguments. Each ends within half a minute where nothing is wrong: of the classes a part
# is run, as a fault that one picture of thousands shows is for the whole class to find.
TESTS = {
    "conformance": ["--backend=cuda", "--quick"],
    "order_test": [],
    "in_flight_test": [],
    "epilogues_test": [],
    "alpha_test": ["--backend=cuda", "--quick"],
    "decisions_test": [],
    "alignments_test": ["--every=4"],
    "instances_test": [],
    "large_box_test": [],
    "sizes_test": ["--every=7"],
}
# Room below kernels/cuda -> the test, with its arguments, that runs before all others.
FIRST = {room: ("conformance", [*TESTS["conformance"], f"--kernel={kernel}"])
         for room, kernel in {"box": "box", "coarsened": "coarsened", "separable": "separable",
                              "shift": "shift", "spline": "separable", "tensor": "tensor"}.items()}
FIRST |= {"alpha": ("alpha_test", TESTS["alpha_test"]),
          "runtime": ("in_flight_test", TESTS["in_flight_test"]),
          "job": ("in_flight_test", TESTS["in_flight_test"])}
TESTED_AT_ONCE = 3
LONGEST_TEST = 300  # Seconds. A test that takes longer has noticed something.


class Packed:
    """The packed sources and objects, and how to compile and link with them."""

    def __init__(self, folder):
        self.folder = folder
        self.source = folder / "source"
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        self._nvcc = nvcc
        self._toolkit = pathlib.Path(nvcc).resolve().parent.parent
        cuda = self.source / "kernels/cuda"
        self._only = dict(ONLY_ARCHITECTURE.findall((cuda / "meson.build").read_text("utf-8")))
        self._units = [path for path in cuda.rglob("*") if path.suffix in (".cu", ".cc")]

    def text(self, path):
        file = self.source / path
        return file.read_text(encoding="utf-8") if file.is_file() else ""

    def units_with(self, path):
        """The sources below kernels/cuda that `path` is, or that include it."""
        users = {path}
        while True:
            more = {name for name in self._files() if users & set(INCLUDE.findall(self.text(name)))}
            if more <= users:
                return [name for name in map(self._name, self._units) if name in users]
            users |= more

    def compile(self, root, unit, compiled):
        """What the compiler says if it fails, or None."""
        include = ["-I", str(root), "-isystem", str(self._toolkit / "include")]
        if unit.endswith(".cc"):
            command = ["c++", "-std=c++17", "-O1", "-fPIC", *include]
        else:
            name = unit.removeprefix("kernels/cuda/").removesuffix(".cu")
            arch = self._only.get(name, "90")
            command = [self._nvcc, "-std=c++17", "-O2", "-Xcompiler=-fPIC",
                       f"-gencode=arch=compute_{arch},code=sm_{arch}", *include]
        return run_tool([*command, "-c", str(root / unit), "-o", str(compiled)])

    def link(self, test, objects, program):
        """The same. What is in `objects` comes first and so stands for its packed namesake."""
        link = self.folder / "link"
        # This compiler's own C++ library, linked in: the packed one may be older.
        return run_tool(["c++", "-static-libstdc++", "-static-libgcc", "-o", str(program),
                         *map(str, sorted((link / test).glob("*.o"))), *map(str, objects),
                         "-Wl,--start-group", *map(str, sorted(link.glob("*.a"))),
                         str(self._toolkit / "lib64/libcudart_static.a"), "-Wl,--end-group",
                         *map(str, (self.folder / "lib").glob("libhwy.so*")),
                         "-pthread", "-ldl", "-lrt"])

    def _name(self, file):
        return str(file.relative_to(self.source))

    def _files(self):
        return [self._name(path) for path in (self.source / "kernels").rglob("*")
                if path.suffix in (".cu", ".cuh", ".cc", ".h")]


def run_tool(command):
    environment = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return None if done.returncode == 0 else done.stdout.decode(errors="replace")


def failure(program, arguments):
    """What the test says is wrong, or None if it passes."""
    environment = {**os.environ, "GTEST_FAIL_FAST": "1", "CUDACONVOLVE_REQUIRE_GPU": "1"}
    try:
        run = subprocess.run([str(program), *arguments], env=environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             timeout=LONGEST_TEST, check=False)
    except subprocess.TimeoutExpired:
        return f"still running after {LONGEST_TEST} s"
    if run.returncode == 0:
        return None
    output = run.stdout.decode(errors="replace")
    for pattern in (GTEST_FAILURE, OUR_FAILURE):
        if match := pattern.search(output):
            return match[1]
    return (f"died of signal {-run.returncode}" if run.returncode < 0
            else f"exit status {run.returncode}")


def try_fault(fault, packed, testing):
    """(caught, what to say about it)."""
    text = packed.text(fault.path)
    if problem := fault.problem_in(text):
        return False, problem
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        root = pathlib.Path(folder)
        shutil.copytree(packed.source / "kernels", root / "kernels")
        (root / fault.path).write_text(fault.planted_in(text), encoding="utf-8")
        units = packed.units_with(fault.path)
        objects = [root / f"{index}.o" for index in range(len(units))]
        with concurrent.futures.ThreadPoolExecutor(len(units)) as pool:
            for log in pool.map(packed.compile, [root] * len(units), units, objects):
                if log is not None:
                    return False, f"does not compile\n{log}"
        room = fault.path.removeprefix("kernels/cuda/").split("/")[0]
        with testing:
            for test, arguments in [*filter(None, [FIRST.get(room)]), *TESTS.items()]:
                program = root / test
                if (log := packed.link(test, objects, program)) is not None:
                    return False, f"does not link, for {test}\n{log}"
                if said := failure(program, arguments):
                    return True, f"{test}: {said}"
    return False, "MISSED: every test passed"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packed", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    faults = [f for f in FAULTS if f.cuda and (not options.names or f.name in options.names)]
    if unknown := set(options.names) - {f.name for f in faults}:
        parser.error(f"no such fault: {', '.join(sorted(unknown))}")

    start = time.monotonic()
    packed = Packed(options.packed.resolve())
    with concurrent.futures.ThreadPoolExecutor(TESTED_AT_ONCE) as pool:
        programs = [packed.folder / "tests" / test for test in TESTS]
        for test, said in zip(TESTS, pool.map(failure, programs, TESTS.values())):
            if said:
                sys.exit(f"mutants: the tree as it is fails already: {test}: {said}")
    print(f"the tree as it is passes, {time.monotonic() - start:.0f} s", flush=True)

    testing = threading.Semaphore(TESTED_AT_ONCE)

    def timed(fault):
        began = time.monotonic()
        return fault, *try_fault(fault, packed, testing), time.monotonic() - began

    # Those that most sources include take longest, and begin first.
    faults.sort(key=lambda fault: len(packed.units_with(fault.path)), reverse=True)
    caught = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(timed, f) for f in faults]):
            fault, is_caught, text, seconds = done.result()
            caught += is_caught
            print(f"{'caught' if is_caught else 'FAIL  '} {seconds:5.1f} s  {fault.name:<46} {text}",
                  flush=True)
    print(f"figure: {caught} of {len(faults)} planted faults caught, "
          f"{time.monotonic() - start:.0f} s")
    print(f"{caught} passed, {len(faults) - caught} failed")
    return 0 if faults and caught == len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
