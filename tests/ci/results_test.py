#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""tests/benchmarks/results.py on a made-up run: what it rewrites, what it refuses, --check."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(__file__).resolve().parent.parent / "benchmarks" / "results.py"
SETTING = "NVIDIA Test, driver 1.2.3, commit abc1234:\n\n"
SPEED = "<!-- table: speed GRAY8 -->\nolder\n<!-- end -->\n"


def speed_row(**others):
    return {"device": "NVIDIA Test, L2 1 MiB", "commit": "abc1234", "format": "GRAY8", "size": "4k",
            "kind": "rational", "side": 3, "kernel": "auto", "served": True, "us": 8.0,
            "copy_us": 4.0} | others


def cell(**others):
    return {"device": "NVIDIA Test", "commit": "abc1234", "chosen": "box-runs",
            "worse_choice": False, "bad_prediction": False,
            "kernels": {"box-runs": {"us": 1.0}, "coarsened": {"us": 1.5}}} | others


def book_row(kernel, **others):
    return {"device": "NVIDIA Test", "commit": "abc1234", "picture": "4k", "side": 3,
            "kernel": kernel, "served": True, "us": 20.0, "us_p10": 19.0, "us_p90": 21.0,
            "copy_us": 4.0, "floor_us": 2.0, "predicted_reduction": 0, "counted_reduction": 7.9,
            "plan": f"cuda {kernel} float32, about 6 us (3x3, as asked)"} | others


def pipeline_row(**others):
    return {"device": "NVIDIA Test, driver 1.2.3", "commit": "abc1234", "size": "4k",
            "format": "NV12", "pipelines": 1, "pool": "offered", "pool_got": "GstVideoBufferPool",
            "elements": "cudaconvolve backend=cuda mask=%MASK%", "mask": "reals-9", "frames": 500,
            "per_second": 800.4, "slowest_to_mean": 1.0, "p50_us": 1200.4, "p99_us": 1500.0,
            "cpu_us": 99.6, "bus_per_second": 1600.0, "bus_share": 0.512} | others


class Results(unittest.TestCase):
    def setUp(self):
        # A TestCase's clean-up, and not a with block, ends the folder's life with the test's.
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.write("machine.txt", "device: NVIDIA Test, 1.2.3, 80 MiB\ncommit: abc1234\n")
        self.suites("speed ok")
        self.rows("speed.json", speed_row())

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")

    def suites(self, *lines):
        self.write("table.txt", "\n".join(["suite result", *lines]) + "\n")

    def rows(self, name, *rows):
        self.write(name, "".join(json.dumps(row) + "\n" for row in rows))

    def run_on(self, text, *options):
        """(exit status, the text afterwards, what was said)."""
        self.write("RESULTS.md", text)
        results = self.folder / "RESULTS.md"
        command = [sys.executable, PROGRAM, self.folder, "--results", results, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, results.read_text(encoding="utf-8"), done.stdout + done.stderr

    def refuses(self, why, text=SPEED):
        status, after, said = self.run_on(text)
        self.assertEqual((status, after), (1, text))
        self.assertIn(why, said)

    def makes(self, name, table):
        text = f"before\n<!-- table: {name} -->\n{{}}<!-- end -->\nafter\n"
        status, after, said = self.run_on(text.format("older\n"))
        self.assertEqual((status, after), (0, text.format(SETTING + table)), said)
        self.assertEqual(self.run_on(after, "--check")[0], 0)

    def test_a_speed_table_has_masks_by_sides_and_prose_stays(self):
        self.rows("speed.json", speed_row(side=5, us=10), speed_row(), speed_row(size="640x480"),
                  speed_row(kind="shift", served=False), speed_row(kind="box", size="1080p"))
        self.makes("speed GRAY8", "| size | kernel | mask | 3x3 | 5x5 |\n|---|---|---|---:|---:|\n"
                                  "| 4K | auto | rational | 8.0 (2.00) | 10.0 (2.50) |\n"
                                  "| 1080p | auto | box | 8.0 (2.00) | - |\n")

    def test_peers_are_named_and_long_times_have_no_decimals(self):
        self.rows("speed.json", speed_row(kernel="torch", us=1234.5),
                  speed_row(kernel="cupy", us=70.25, side=7))
        self.makes("peers", "| | 3x3 | 7x7 |\n|---|---:|---:|\n"
                            "| PyTorch conv2d, float32 | 1234 | - |\n"
                            "| the same, bytes to bytes | - | - |\n"
                            "| CuPy ndimage.correlate, float32 | - | 70.2 |\n"
                            "| the same, bytes to bytes | - | - |\n")

    def test_the_grid_is_one_line(self):
        self.suites("grid ok")
        self.rows("grid.json", cell(), cell(worse_choice=True), cell(), cell())
        self.makes("grid", "4 cells, choice within 10 % or 0.5 us of the best in 75.0 %, "
                           "prediction within 30 % in 100.0 %\n")

    def test_the_ledger_has_what_is_missed_without_a_form(self):
        self.suites("grid ok")
        self.rows("grid.json", cell())
        self.makes("ledger", "1 cells\n\n| form | measured | chosen | missed | median, most | "
                             "missed before 9.0 | median, most |\n"
                             "| --- | --- | --- | --- | --- | --- | --- |\n"
                             "| coarsened | 1 | 0 | 0 |  | 0 |  |\n"
                             "| box-runs | 1 | 1 | 1 | 1.50, 1.50 | 1 | 1.50, 1.50 |\n")

    def test_the_book_is_held_against_basic(self):
        self.suites("benchmark ok")
        self.rows("benchmark.json", book_row("basic"), book_row("coarsened", us=10.0),
                  book_row("separable", served=False))
        self.makes("book", "| K | kernel | 4K us | p10 - p90 | copy us | x copy | floor us | "
                           "% of FMA rate | faster than basic | loads cut, predicted | counted | "
                           "plan |\n|---:|---|" + "---:|" * 9 + "---|\n"
                           "| 3 | basic | 20.00 | 19.00 - 21.00 | 4.00 | 5.00 | 2.00 | 10.0 | "
                           "1.00 | - | 7.9 | float32 |\n"
                           "| 3 | coarsened | 10.00 | 19.00 - 21.00 | 4.00 | 2.50 | 2.00 | 20.0 | "
                           "2.00 | - | 7.9 | float32 |\n")

    def test_pipelines_are_named_by_their_elements_and_buffers(self):
        self.suites("pipelines_speed ok")
        self.rows("pipelines.json", pipeline_row(),
                  pipeline_row(size="1080p", pool_got="its own", elements="identity", mask="",
                               bus_per_second=0.0))
        self.makes("pipelines",
                   "| size | format | pipelines | elements | mask | buffers | frames a round | "
                   "frames/s | slowest/mean | p50 us | p99 us | CPU us a frame | "
                   "bus, frames/s | % of bus |\n"
                   "|---|---|---:|---|---|---|" + "---:|" * 8 + "\n"
                   "| 4K | NV12 | 1 | `cudaconvolve` | reals-9 | offered | 500 | 800 | 1.00 | "
                   "1200 | 1500 | 100 | 1600 | 51 |\n"
                   "| 1080p | NV12 | 1 | `identity` | - | foreign | 500 | 800 | 1.00 | 1200 | "
                   "1500 | 100 | - | - |\n")

    def test_suites_are_a_copy_with_the_last_of_each(self):
        self.suites("book ok 1", "speed ok 2", "book ok 3")
        self.makes("suites", "```\nsuite result\nbook ok 3\nspeed ok 2\n```\n")

    def test_suites_stay_where_the_run_has_fewer(self):
        text = "<!-- table: suites -->\n```\nsuite result\nspeed ok\nstorm ok\n```\n<!-- end -->\n"
        status, after, said = self.run_on(text)
        self.assertEqual((status, after), (0, text))
        self.assertIn("without storm", said)

    def test_a_table_of_a_suite_that_did_not_run_stays(self):
        text = "<!-- table: book -->\nolder\n<!-- end -->\n"
        self.assertEqual(self.run_on(text)[:2], (0, text))

    def test_check_writes_nothing_and_names_what_would_change(self):
        status, after, said = self.run_on(SPEED, "--check")
        self.assertEqual((status, after, said), (1, SPEED, "would change: speed GRAY8\n"))

    def test_rows_of_another_commit_or_device_are_refused(self):
        self.rows("speed.json", speed_row(), speed_row(commit="def5678"))
        self.refuses("rows of def5678, not abc1234")
        self.rows("speed.json", speed_row(), speed_row(device="NVIDIA Other"))
        self.refuses("rows of NVIDIA Other, not NVIDIA Test")

    def test_files_that_are_missing_or_empty_are_refused(self):
        self.rows("speed.json")
        self.refuses("speed.json has no rows")
        for name in ("speed.json", "table.txt", "machine.txt"):
            (self.folder / name).unlink()
            self.refuses(f"{name} is missing")

    def test_a_suite_that_failed_is_refused(self):
        self.suites("speed FAIL")
        self.refuses("the suite speed failed")

    def test_what_is_not_one_commit_is_refused(self):
        for commit in ("unknown", "abc1234-dirty"):
            self.write("machine.txt", f"device: NVIDIA Test, 1.2.3, 80 MiB\ncommit: {commit}\n")
            self.refuses(f"{commit} is not one commit")

    def test_wrong_markers_are_refused(self):
        self.refuses("line 1: no table is called 'sped'", "<!-- table: sped -->\n<!-- end -->\n")
        self.refuses("line 1: the table peers has no <!-- end -->", "<!-- table: peers -->\n")
        self.refuses("line 1: the table peers has no", "<!-- table: peers -->\n" + SPEED)
        self.refuses("line 1: <!-- end --> without a table", "<!-- end -->\n")

    def test_all_markers_of_the_results_are_known(self):
        text = (PROGRAM.parent / "RESULTS.md").read_text(encoding="utf-8")
        self.suites("fault ok")
        status, after, said = self.run_on(text)
        self.assertEqual((status, after), (0, text), said)


if __name__ == "__main__":
    outcome = unittest.main(exit=False).result
    bad = len(outcome.failures) + len(outcome.errors)
    print(f"{outcome.testsRun - bad} passed, {bad} failed")
    sys.exit(0 if outcome.wasSuccessful() else 1)
