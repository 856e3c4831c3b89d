#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Plants one fault after another (faults.py) and checks that the tests catch each.

    tests/mutants/run.py [--cuda] [--jobs N] [--list] [NAME...]

Works on a copy of the source tree in a temporary folder; the tree itself is only read. The copy is
built once and must pass. Then each fault is applied, what depends on it is built anew, and the
suites unit, check and kernels run, of each the quickest program first, until one fails. With --cuda
it is the faults in CUDA code, and a few tests of the kernels on a GPU (CUDA_TESTS in scratch.py)
instead; relink.py does the same where no build is. NAMEs select faults, --list shows them.

Ends with `N passed, N failed`, a caught fault being one passed. Exits with 1 if a fault survived,
no longer applies or does not compile.
"""

import argparse
import contextlib
import os
import sys
import tempfile
import time

from faults import FAULTS
from scratch import Scratch, ScratchError


def check_faults(faults, scratch):
    """What keeps faults from being planted, one line each."""
    for fault in faults:
        if problem := fault.problem_in(scratch.original(fault.path)):
            yield f"{fault.name}: {problem}"


def try_fault(fault, scratch):
    """(caught, what to say about it)."""
    scratch.plant(fault)
    for test in scratch.tests:
        if not scratch.build(test):
            return False, f"does not compile, for {test.name}\n{scratch.build_log}"
        failure = test.failure()
        # A test that fails by chance has not seen the fault.
        if failure and test.failure():
            return True, f"{test.name}: {failure}"
        if failure:
            print(f"UNSTEADY {test.name}: {failure}, and passed when run again", flush=True)
    return False, "MISSED: every test passed"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cuda", action="store_true", help="the faults in CUDA code; needs a GPU")
    parser.add_argument("--cuda-archs", default="90", help="with --cuda: the GPU's architecture")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--list", action="store_true", help="list the faults and stop")
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()

    faults = [f for f in FAULTS if f.cuda == options.cuda]
    if unknown := set(options.names) - {f.name for f in faults}:
        parser.error(f"no such fault: {', '.join(sorted(unknown))}")
    if options.names:
        faults = [f for f in faults if f.name in options.names]
    if options.list:
        for fault in faults:
            print(f"{fault.name:<34} {fault.path}")
        return 0

    start = time.monotonic()
    caught = 0
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mutants-"))
        scratch = Scratch(folder, options)
        problems = list(check_faults(faults, scratch))
        if problems:
            print("\n".join(problems))
            print(f"0 passed, {len(problems)} failed")
            return 1
        scratch.prepare()
        print(f"the tree as it is: {len(scratch.tests)} programs pass, "
              f"{time.monotonic() - start:.0f} s", flush=True)
        # Neighbours in the table share a file, so that a file is seldom compiled only to be put
        # back.
        for fault in sorted(faults, key=lambda f: f.path):
            began = time.monotonic()
            is_caught, text = try_fault(fault, scratch)
            caught += is_caught
            print(f"{'caught' if is_caught else 'FAIL  '} {time.monotonic() - began:5.1f} s  "
                  f"{fault.name:<34} {text}", flush=True)
    seconds = time.monotonic() - start
    print(f"figure: {caught} of {len(faults)} planted faults caught, {seconds:.0f} s")
    print(f"{caught} passed, {len(faults) - caught} failed")
    return 0 if faults and caught == len(faults) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ScratchError as error:
        sys.exit(f"mutants: {error}")
