#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Line coverage of the engine and the element in a CPU-only build.

    tests/coverage.py [--missing] [--build FOLDER] [--jobs N]

Builds with the compiler's counters, runs the suites unit, kernels (the quick conformance run) and
check, and adds the counters up with gcov, which comes with the compiler. A line that several
programs, templates or instruction sets compile counts once, and as run if any of them ran it.
--missing lists the lines that were not. Exits with 1 if engine or element is below 95 %.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUIRED = 95.0
SUITES = ("unit", "kernels", "check")
PARTS = {"engine": "kernels/", "element": "plugin/"}
# Not in a build without CUDA, or nothing but its absence.
LEFT_OUT = ("kernels/cuda/", "plugin/cudamemory")
# Lines that no input can reach: the compiler wants a value behind a switch over all of an enum.
UNREACHABLE = [
    re.compile(r'^  return "\?";$'),
]


def build(folder, jobs):
    if not (folder / "build.ninja").is_file():
        # Threads count atomically. One instruction set, this machine's: the others have the same
        # lines.
        run("meson", "setup", str(folder), "-Dcuda=disabled", "-Db_coverage=true",
            "-Doptimization=1", "-Dbenchmarks=disabled", "-Dexamples=disabled", "-Dpeers=disabled",
            "-Dcpp_args=-fprofile-update=atomic -DHWY_COMPILE_ONLY_STATIC -march=native "
            "-ffp-contract=off")
    run("ninja", "-C", str(folder), f"-j{jobs}")


def run(*command):
    if subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, check=False).returncode != 0:
        sys.exit(f"coverage: {' '.join(command)} failed")


def run_tests(folder):
    for counters in folder.rglob("*.gcda"):
        counters.unlink()
    # The whole conformance run and the format table take minutes and run no other lines.
    left_out = ("conformance-cpu", "format-table")
    shown = subprocess.run(["meson", "introspect", "--tests", str(folder)], capture_output=True,
                           check=True)
    suites = {test["name"]: test["suite"][0].split(":")[-1] for test in json.loads(shown.stdout)}
    names = [name for name, suite in suites.items()
             if suite in SUITES and name not in left_out]
    run("meson", "test", "-C", str(folder), "--no-rebuild", "--timeout-multiplier", "4", *names)
    run(str(folder / "tests/kernels/conformance"), "--backend=cpu", "--quick")


def count_lines(folder):
    """{path in the tree: {line: times run}}."""
    counts = collections.defaultdict(lambda: collections.defaultdict(int))
    counters = [str(path) for path in folder.rglob("*.gcda")]
    for first in range(0, len(counters), 50):
        shown = subprocess.run(["gcov", "--json-format", "--stdout"] + counters[first:first + 50],
                               cwd=folder, capture_output=True, check=True)
        for line in shown.stdout.decode().splitlines():
            for file in json.loads(line)["files"]:
                path = os.path.relpath(os.path.join(folder, file["file"]), ROOT)
                if path.startswith(tuple(PARTS.values())) and not path.startswith(LEFT_OUT):
                    for entry in file["lines"]:
                        counts[path][entry["line_number"]] += entry["count"]
    return counts


def without_unreachable(path, lines):
    text = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return {line: count for line, count in lines.items()
            if not any(pattern.search(text[line - 1]) for pattern in UNREACHABLE)}


def ranges(lines):
    """[3, 4, 5, 9] -> "3-5 9"."""
    spans = []
    for line in sorted(lines):
        if spans and spans[-1][1] == line - 1:
            spans[-1][1] = line
        else:
            spans.append([line, line])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--missing", action="store_true", help="list the lines that did not run")
    parser.add_argument("--build", default="build-coverage", help="build folder")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    folder = ROOT / options.build
    build(folder, options.jobs)
    run_tests(folder)

    per_folder = collections.defaultdict(lambda: [0, 0])
    for path, all_lines in sorted(count_lines(folder).items()):
        lines = without_unreachable(path, all_lines)
        missed = [line for line, count in lines.items() if count == 0]
        part = next(name for name, top in PARTS.items() if path.startswith(top))
        for key in (os.path.dirname(path) + "/", part):
            per_folder[key][0] += len(lines) - len(missed)
            per_folder[key][1] += len(lines)
        if missed and options.missing:
            print(f"{path}: {ranges(missed)}")
    passed = failed = 0
    for key in sorted(per_folder, key=lambda name: (name in PARTS, name)):
        covered, total = per_folder[key]
        percent = 100 * covered / total
        print(f"{'figure: ' if key in PARTS else ''}{key:<20} {covered:5} of {total:5} lines, "
              f"{percent:.1f} %")
        if key in PARTS:
            passed += percent >= REQUIRED
            failed += percent < REQUIRED
    print(f"{passed} passed, {failed} failed")
    return 0 if passed == len(PARTS) and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
