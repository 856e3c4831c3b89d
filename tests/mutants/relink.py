#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plants the faults in CUDA code (faults_cuda.py) on a GPU machine, with what pack.sh packed.

    relink.py PACKED [--jobs N] [NAME...]
    relink.py PACKED --compile [--jobs N] [NAME...]

PACKED is what pack.sh made, here or on the machine that it was brought to; NAMEs select faults.
Such a machine has nvcc and a C++ compiler, but not the libraries that a build of the whole project
needs. So for each fault only the sources that include the faulty file are compiled, and the tests
are linked from these and the packed objects of all others. Then they run until one fails, first what
is most likely to notice a fault in that room; the unchanged programs must pass before. N compilers
run at once (by default one for each core), and a few tests, as each has many threads.

With --compile it does nothing but compile, which needs no GPU, into PACKED/mutants/objects/NAME/.
A later run without it takes what is there and compiles the rest; where nothing is missing it needs
no nvcc. An object's name tells the texts and options that it was made of: one that still fits is not
made again, others are removed. So --compile may be stopped, and goes on where it was. Of two that
run at once, each wants faults of its own.

Ends with `N passed, N failed`, a fault that is caught (or compiled) being one passed. Exits with 1 if
a fault survived, no longer applies or does not compile.
"""

import argparse
import concurrent.futures
import hashlib
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
    "owners_test": [],
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

    def __init__(self, folder, compilers):
        self.folder = folder
        self.source = folder / "source"
        self.objects = folder / "mutants/objects"
        self._compilers = threading.Semaphore(compilers)
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        self._nvcc = nvcc
        self._toolkit = pathlib.Path(nvcc).resolve().parent.parent
        self._texts = {str(path.relative_to(self.source)): path.read_text(encoding="utf-8")
                       for path in sorted((self.source / "kernels").rglob("*"))
                       if path.suffix in (".cu", ".cuh", ".cc", ".h")}
        self._includes = {name: set(INCLUDE.findall(text)) for name, text in self._texts.items()}
        build = (self.source / "kernels/cuda/meson.build").read_text(encoding="utf-8")
        self._only = dict(ONLY_ARCHITECTURE.findall(build))

    def text(self, path):
        return self._texts.get(path, "")

    def units_with(self, path):
        """The sources below kernels/cuda that `path` is, or that include it."""
        users = {path}
        while True:
            more = {name for name, included in self._includes.items() if users & included}
            if more <= users:
                return [name for name in self._texts if name in users and
                        name.startswith("kernels/cuda/") and name.endswith((".cu", ".cc"))]
            users |= more

    def objects_of(self, fault):
        """Unit -> where its object with the fault lies if it was compiled beforehand."""
        def named(unit):
            flat = unit.removeprefix("kernels/cuda/").replace("/", "_")
            return f"{flat}.{self._fingerprint(fault, unit)}.o"
        return {unit: self.objects / fault.name / named(unit)
                for unit in self.units_with(fault.path)}

    def compile(self, root, unit, compiled):
        """What the compiler says if it fails, or None. A file `compiled` is always a whole one."""
        compiler = "c++" if unit.endswith(".cc") else self._nvcc
        # Of this process: compilers of one that was stopped may still be writing.
        part = compiled.with_suffix(f".{os.getpid()}.part")
        with self._compilers:
            log = run_tool([compiler, *self._options(unit), "-I", str(root), "-isystem",
                            str(self._toolkit / "include"), "-c", str(root / unit), "-o", str(part)])
        if log is None:
            part.replace(compiled)
        return log

    def _options(self, unit):
        if unit.endswith(".cc"):
            return ["-std=c++17", "-O1", "-fPIC"]
        arch = self._only.get(unit.removeprefix("kernels/cuda/").removesuffix(".cu"), "90")
        return ["-std=c++17", "-O2", "-Xcompiler=-fPIC",
                f"-gencode=arch=compute_{arch},code=sm_{arch}"]

    def _fingerprint(self, fault, unit):
        """Of all that an object is made of but the compiler, which a GPU machine may not have."""
        reached = [unit]
        for name in reached:  # Which grows meanwhile.
            reached += sorted(self._includes.get(name, set()) - set(reached))
        texts = [(name, fault.planted_in(self.text(name)) if name == fault.path else self.text(name))
                 for name in sorted(reached)]
        return hashlib.sha256(repr([self._options(unit), texts]).encode()).hexdigest()[:16]

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


def run_tool(command):
    environment = {key: value for key, value in os.environ.items() if key != "LD_LIBRARY_PATH"}
    try:
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except FileNotFoundError as error:
        return str(error)
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


def compile_fault(fault, packed, objects):
    """Compiles these objects (unit -> file) with the fault: what a compiler says, or None."""
    if not objects:
        return None
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        root = pathlib.Path(folder)
        shutil.copytree(packed.source / "kernels", root / "kernels")
        faulty = fault.planted_in(packed.text(fault.path))
        (root / fault.path).write_text(faulty, encoding="utf-8")
        with concurrent.futures.ThreadPoolExecutor(len(objects)) as pool:
            logs = list(pool.map(packed.compile, [root] * len(objects), objects, objects.values()))
    return next(filter(None, logs), None)


def missing_of(objects):
    return {unit: compiled for unit, compiled in objects.items() if not compiled.is_file()}


def forget_faults_that_are_gone(packed):
    for folder in packed.objects.glob("*"):
        if folder.name not in {fault.name for fault in FAULTS}:
            shutil.rmtree(folder)


def compile_beforehand(fault, packed):
    """(compiled, what to say about it)."""
    if problem := fault.problem_in(packed.text(fault.path)):
        return False, problem
    objects = packed.objects_of(fault)
    folder = packed.objects / fault.name
    folder.mkdir(parents=True, exist_ok=True)
    for outdated in set(folder.iterdir()) - set(objects.values()):
        outdated.unlink()
    missing = missing_of(objects)
    if log := compile_fault(fault, packed, missing):
        return False, f"does not compile\n{log}"
    return True, f"{len(objects)} objects, {len(missing)} of them made now"


def try_fault(fault, packed, testing):
    """(caught, what to say about it)."""
    if problem := fault.problem_in(packed.text(fault.path)):
        return False, problem
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        root = pathlib.Path(folder)
        objects = packed.objects_of(fault)
        made = {unit: root / compiled.name for unit, compiled in missing_of(objects).items()}
        if log := compile_fault(fault, packed, made):
            return False, f"does not compile\n{log}"
        linked = list((objects | made).values())
        room = fault.path.removeprefix("kernels/cuda/").split("/")[0]
        with testing:
            for test, arguments in [*filter(None, [FIRST.get(room)]), *TESTS.items()]:
                program = root / test
                if (log := packed.link(test, linked, program)) is not None:
                    return False, f"does not link, for {test}\n{log}"
                if said := failure(program, arguments):
                    return True, f"{test}: {said}"
    return False, "MISSED: every test passed"


def check_unchanged(packed):
    with concurrent.futures.ThreadPoolExecutor(TESTED_AT_ONCE) as pool:
        programs = [packed.folder / "tests" / test for test in TESTS]
        for test, said in zip(TESTS, pool.map(failure, programs, TESTS.values())):
            if said:
                sys.exit(f"mutants: the tree as it is fails already: {test}: {said}")


def attempt_all(faults, attempt, jobs, done_well):
    """Prints how each fault fares in attempt(fault); how many do well."""
    def timed(fault):
        began = time.monotonic()
        return fault, *attempt(fault), time.monotonic() - began

    good = 0
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for done in concurrent.futures.as_completed([pool.submit(timed, f) for f in faults]):
            fault, is_good, text, seconds = done.result()
            good += is_good
            print(f"{done_well if is_good else 'FAIL':<8} {seconds:5.1f} s  {fault.name:<46} {text}",
                  flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packed", type=pathlib.Path)
    parser.add_argument("--compile", action="store_true", help="into PACKED, and test nothing")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_intermixed_args()
    faults = [f for f in FAULTS if f.cuda and (not options.names or f.name in options.names)]
    if unknown := set(options.names) - {f.name for f in faults}:
        parser.error(f"no such fault: {', '.join(sorted(unknown))}")

    start = time.monotonic()
    packed = Packed(options.packed.resolve(), options.jobs)
    if options.compile:
        forget_faults_that_are_gone(packed)
        # Those that fewest sources include first, so that a run that is stopped has made most.
        faults.sort(key=lambda fault: len(packed.units_with(fault.path)))
        done_well = "compiled"
        good = attempt_all(faults, lambda fault: compile_beforehand(fault, packed), options.jobs,
                           done_well)
    else:
        check_unchanged(packed)
        print(f"the tree as it is passes, {time.monotonic() - start:.0f} s", flush=True)
        objects = {fault: packed.objects_of(fault) for fault in faults}
        missing = {fault: len(missing_of(objects[fault])) for fault in faults}
        total = sum(map(len, objects.values()))
        print(f"{total - sum(missing.values())} of {total} objects were compiled beforehand",
              flush=True)
        # Those of which most is to be compiled take longest, and begin first.
        faults.sort(key=missing.get, reverse=True)
        testing = threading.Semaphore(TESTED_AT_ONCE)
        done_well = "caught"
        good = attempt_all(faults, lambda fault: try_fault(fault, packed, testing), options.jobs,
                           done_well)
    print(f"figure: {good} of {len(faults)} planted faults {done_well}, "
          f"{time.monotonic() - start:.0f} s")
    print(f"{good} passed, {len(faults) - good} failed")
    return 0 if faults and good == len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
