#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What .ci/test-summary and .ci/steps.sh count, and what they name a skip, on made-up output."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

CI = pathlib.Path(__file__).resolve().parent.parent.parent / ".ci"

GTEST = "[==========] 3 tests ran.\n[  PASSED  ] 3 tests.\n"
GTEST_ALL_SKIPPED = ("order_test.cc:243: Skipped\nno CUDA device\n\n[  SKIPPED ] Order.A (0 ms)\n"
                     "order_test.cc:261: Skipped\nno CUDA device\n\n[  SKIPPED ] Order.B (0 ms)\n"
                     "[  PASSED  ] 0 tests.\n[  SKIPPED ] 2 tests, listed below:\n")
GTEST_ONE_SKIPPED = ("book_test.cc:55: Skipped\nno CUDA device\n\n[  SKIPPED ] Book.Gpu (0 ms)\n"
                     "[  PASSED  ] 4 tests.\n[  SKIPPED ] 1 test, listed below:\n")
GTEST_FAILED = "[  PASSED  ] 4 tests.\n[  FAILED  ] 2 tests, listed below:\n\n 2 FAILED TESTS\n"


def program(output, result="OK", name="program"):
    return {"name": name, "result": result, "duration": 0.1, "stdout": output}


def summary(*programs):
    """(exit status, lines before the last one that are not a program's, the last line)."""
    with tempfile.TemporaryDirectory() as folder:
        log = pathlib.Path(folder) / "testlog.json"
        log.write_text("".join(json.dumps(p) + "\n" for p in programs), encoding="utf-8")
        done = subprocess.run([CI / "test-summary", log], capture_output=True, text=True,
                              check=False)
    lines = done.stdout.splitlines()
    return done.returncode, lines[len(programs):-1], lines[-1]


def steps(script):
    """(exit status, lines of output) of a run with these steps."""
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", f". {CI}/steps.sh\n{script}\nfinish"],
                          capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


class Summary(unittest.TestCase):
    def test_programs_say_how_many_tests_they_hold(self):
        self.assertEqual(summary(program(GTEST), program("5 passed, 0 failed\n")),
                         (0, [], "8 passed, 0 failed"))

    def test_a_program_without_an_account_is_one_test(self):
        self.assertEqual(summary(program("")), (0, [], "1 passed, 0 failed"))

    def test_a_program_that_ran_nothing_is_a_skip(self):
        for output in ("[  PASSED  ] 0 tests.\n", "0 passed, 0 failed\n"):
            self.assertEqual(
                summary(program(GTEST), program(output, name="cudaconvolve:unit / empty")),
                (0, ["skipped: empty (ran nothing)"], "3 passed, 0 failed"))

    def test_a_program_that_skipped_all_its_tests_passes_none(self):
        self.assertEqual(summary(program(GTEST), program(GTEST_ALL_SKIPPED, name="order")),
                         (0, ["skipped: order (2 tests: no CUDA device)"], "3 passed, 0 failed"))

    def test_a_single_skip_is_named_beside_what_passed(self):
        self.assertEqual(summary(program(GTEST_ONE_SKIPPED, name="book")),
                         (0, ["skipped: book (no CUDA device)"], "4 passed, 0 failed"))

    def test_a_program_that_cannot_run_gives_its_reason(self):
        self.assertEqual(
            summary(program(GTEST), program("SKIP: no driver\n", "SKIP", "alpha-cuda"),
                    program("cannot run: No module named 'cv2'\n", "SKIP", "opencv")),
            (0, ["skipped: alpha-cuda (no driver)", "skipped: opencv (No module named 'cv2')"],
             "3 passed, 0 failed"))

    def test_nothing_but_skips_is_a_failure(self):
        self.assertEqual(summary(program("", "SKIP"))[0], 1)

    def test_a_crash_is_a_failure_whatever_passed_before(self):
        self.assertEqual(summary(program("", "FAIL"), program(GTEST, "TIMEOUT")),
                         (1, [], "3 passed, 2 failed"))

    def test_failed_tests_are_counted(self):
        self.assertEqual(summary(program(GTEST_FAILED, "FAIL")), (1, [], "4 passed, 2 failed"))

    def test_what_stands_beside_is_summed_and_is_no_test(self):
        self.assertEqual(
            summary(program("beside: 500 mutations\n1 passed, 0 failed\n"),
                    program("beside: 20 peer pairs\n1 passed, 0 failed\n"),
                    program("beside: 22 peer pairs\n1 passed, 0 failed\n")),
            (0, ["beside: 500 mutations", "beside: 42 peer pairs"], "3 passed, 0 failed"))


class Steps(unittest.TestCase):
    def test_the_last_account_of_each_step_is_summed(self):
        status, lines = steps("step one printf '9 passed, 0 failed\\n2 passed, 0 failed\\n'\n"
                              "step two echo '3 passed, 0 failed'")
        self.assertEqual((status, lines[-1]), (0, "5 passed, 0 failed"))

    def test_skips_and_what_stands_beside_come_to_the_end(self):
        account = "beside: {} peer pairs\\nskipped: order (no GPU)\\n1 passed, 0 failed\\n"
        status, lines = steps(f"step one printf '{account.format(40)}'\n"
                              f"step two printf '{account.format(2)}'")
        self.assertEqual(status, 0)
        self.assertEqual(lines[-4:], ["beside: 42 peer pairs", "skipped: order (no GPU), in one",
                                      "skipped: order (no GPU), in two", "2 passed, 0 failed"])

    def test_lines_of_single_programs_are_not_counted_again(self):
        status, lines = steps("step one printf 'beside: 7 mutations\\n1 passed, 0 failed\\n"
                              "more\\nbeside: 7 mutations\\n1 passed, 0 failed\\n'")
        self.assertEqual((status, lines[-2:]), (0, ["beside: 7 mutations", "1 passed, 0 failed"]))

    def test_a_step_that_ran_nothing_is_a_skip(self):
        status, lines = steps("step one echo '0 passed, 0 failed'\n"
                              "step two echo '1 passed, 0 failed'")
        self.assertEqual((status, lines[-2:]),
                         (0, ["skipped: one (ran nothing)", "1 passed, 0 failed"]))

    def test_a_failing_step_fails_the_run(self):
        status, lines = steps("step one echo '1 passed, 0 failed'\nstep two false")
        self.assertEqual((status, lines[-1]), (1, "1 passed, 1 failed"))


if __name__ == "__main__":
    outcome = unittest.main(exit=False).result
    bad = len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - bad} passed, {bad} failed")
    sys.exit(0 if outcome.wasSuccessful() else 1)
