#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the tables of RESULTS.md from the output folder of one run of tests/gpu/run.sh.

    results.py FOLDER [--results RESULTS.md] [--check]

A table stands between `<!-- table: NAME -->` and `<!-- end -->`; all other text stays as it is.
Each table says the device, the driver and the commit of the run. What FOLDER must hold:

    machine.txt, table.txt    of every run; table.txt says which suites ran, and `suites` is a copy
    speed.json                of the suite `speed`: `speed FORMAT` for each format, and `peers`
    grid.json                 of the suite `grid`: `grid` and `ledger`
    benchmark.json            of the suite `benchmark`: `book`
    pipelines.json            of the suite `pipelines_speed`: `pipelines`

Tables of suites that did not run stay as they are, and `suites` unless the run has every suite
that the table has now. With --check nothing is written, and the exit status is 1 if a table would
change. It is 1, too, if the files are of different commits or devices, if a suite that ran has
failed or its file is missing, if the commit is unknown or had changes on top, and if a marker is
wrong.
"""

import argparse
import json
import pathlib
import re
import statistics
import sys

import ledger
import pipeline_rows

HERE = pathlib.Path(__file__).resolve().parent
OPENING, END = re.compile(r"<!-- table: (.*?) -->$"), "<!-- end -->"
SOURCES = {"speed": "speed.json", "grid": "grid.json", "benchmark": "benchmark.json",
           "pipelines_speed": "pipelines.json"}
FORMATS = ["GRAY8", "NV12", "I420", "RGBA", "BGR", "YUY2", "P010", "GRAY16"]
SIZES = {"4k": "4K", "1080p": "1080p"}
LINES = [("auto", "rational"), ("npp", "rational"), ("auto", "positive"), ("auto", "rank1"),
         ("auto", "box"), ("auto", "signed"), ("auto", "shift")]
PEERS = {"torch": "PyTorch conv2d, float32", "torch-bytes": "the same, bytes to bytes",
         "cupy": "CuPy ndimage.correlate, float32", "cupy-bytes": "the same, bytes to bytes"}
BOOK_KERNELS = ["basic", "constant", "tiled-input", "tiled-output", "cached-halo", "coarsened",
                "separable"]
NAMES = ["suites", "grid", "ledger", "peers", "book", "pipelines",
         *(f"speed {name}" for name in FORMATS)]


class Refusal(Exception):
    """Why nothing is written."""


class Run:
    """One output folder: its machine, its suites, and the rows of those that measure."""

    def __init__(self, folder):
        self.folder = folder
        machine = dict(line.split(": ", 1) for line in self.lines("machine.txt") if ": " in line)
        if {"device", "commit"} - machine.keys() or "," not in machine["device"]:
            raise Refusal(f"{folder}/machine.txt: no device with its driver, or no commit")
        self.device, self.driver = machine["device"].split(", ")[:2]
        self.commit = machine["commit"]
        if self.commit == "unknown" or self.commit.endswith("-dirty"):
            raise Refusal(f"{folder}/machine.txt: commit {self.commit} is not one commit")
        self.suites = {line.split()[0]: line
                       for line in self.lines("table.txt")[1:] if line.strip()}
        self.rows = {suite: self.read(suite, name) for suite, name in SOURCES.items()
                     if suite in self.suites}

    def lines(self, name):
        path = self.folder / name
        if not path.is_file():
            raise Refusal(f"{path} is missing")
        return path.read_text(encoding="utf-8").splitlines()

    def read(self, suite, name):
        """The rows of a file, all of this machine and commit."""
        if self.suites[suite].split()[1] != "ok":
            raise Refusal(f"{self.folder}/table.txt: the suite {suite} failed")
        rows = [json.loads(line) for line in self.lines(name)]
        if not rows:
            raise Refusal(f"{self.folder / name} has no rows")
        for row in rows:
            for found, wanted in ((row["commit"], self.commit),
                                  (row["device"].split(",")[0], self.device)):
                if found != wanted:
                    raise Refusal(f"{self.folder / name} has rows of {found}, not {wanted}")
        return rows

    def setting(self):
        return f"{self.device}, driver {self.driver}, commit {self.commit}:"


def markdown(heads, rows, texts):
    """A table; the columns at the positions `texts` stand at the left, numbers at the right."""
    rule = "".join("---|" if k in texts else "---:|" for k in range(len(heads)))
    return [f"| {' | '.join(heads)} |".replace("|  |", "| |", 1), f"|{rule}",
            *(f"| {' | '.join(row)} |" for row in rows)]


def speed_table(rows, frame_format):
    """Kinds of masks by sides; None if the run has not measured the format."""
    rows = [row for row in rows if row["format"] == frame_format and row["size"] in SIZES
            and (row["kernel"], row["kind"]) in LINES]
    if not rows:
        return None
    sides = sorted({row["side"] for row in rows})
    cells = {(row["size"], row["kernel"], row["kind"], row["side"]):
             f"{row['us']:.1f} ({row['us'] / row['copy_us']:.2f})" for row in rows if row["served"]}
    table = []
    for size, shown in SIZES.items():
        for line in LINES:
            times = [cells.get((size, *line, side), "-") for side in sides]
            if set(times) != {"-"}:
                table.append([shown, *line, *times])
    heads = ["size", "kernel", "mask"] + [f"{side}x{side}" for side in sides]
    return markdown(heads, table, (0, 1, 2))


def peers_table(rows):
    rows = [row for row in rows if row["kernel"] in PEERS and row["served"]]
    if not rows:
        return None
    sides = sorted({row["side"] for row in rows})
    times = {(row["kernel"], row["side"]): row["us"] for row in rows}

    def shown(kernel, side):
        us = times.get((kernel, side))
        return "-" if us is None else f"{us:.{0 if us >= 1000 else 1}f}"
    return markdown([""] + [f"{side}x{side}" for side in sides],
                    [[label, *(shown(kernel, side) for side in sides)]
                     for kernel, label in PEERS.items()], (0,))


def grid_table(cells):
    """The sentence of grid.log's last line."""
    def part(fault):
        return f"{100 * statistics.mean(not cell[fault] for cell in cells):.1f} %"
    return [f"{len(cells)} cells, choice within 10 % or 0.5 us of the best in "
            f"{part('worse_choice')}, prediction within 30 % in {part('bad_prediction')}"]


def short_plan(row):
    """A plan without what the table says elsewhere: kernel, time, size of the mask."""
    return re.sub(r"(, about \S+ us)? \(\d+x\d+, as asked\)$", "",
                  row["plan"].removeprefix(f"cuda {row['kernel']} "))


def book_table(rows):
    """The kernels of the book by sides, a picture beside the other."""
    served = {(row["picture"], row["side"], row["kernel"]): row for row in rows if row["served"]}
    pictures = list(dict.fromkeys(row["picture"] for row in rows))
    columns = ["us", "p10 - p90", "copy us", "x copy", "floor us", "% of FMA rate",
               "faster than basic"]
    heads = ["K", "kernel"] + [f"{SIZES[picture]} {column}" if column == "us" else column
                               for picture in pictures for column in columns]
    heads += ["loads cut, predicted", "counted", "plan"]

    def number(value, decimals):
        return f"{value:.{decimals}f}" if value > 0 else "-"
    table = []
    for side in sorted({row["side"] for row in rows}):
        for kernel in BOOK_KERNELS:
            found = [served.get((picture, side, kernel)) for picture in pictures]
            if not any(found):
                continue
            line = [str(side), kernel]
            for picture, row in zip(pictures, found):
                basic = served.get((picture, side, "basic"))
                line += ["-"] * len(columns) if row is None else [
                    f"{row['us']:.2f}", f"{row['us_p10']:.2f} - {row['us_p90']:.2f}",
                    f"{row['copy_us']:.2f}", f"{row['us'] / row['copy_us']:.2f}",
                    number(row["floor_us"], 2), number(100 * row["floor_us"] / row["us"], 1),
                    f"{basic['us'] / row['us']:.2f}" if basic else "-"]
            last = [row for row in found if row][-1]
            table.append(line + [number(last["predicted_reduction"], 1),
                                 number(last["counted_reduction"], 1), short_plan(last)])
    return markdown(heads, table, (1, len(heads) - 1))


def pipelines_table(rows):
    return markdown(pipeline_rows.HEADS, [pipeline_rows.cells(row) for row in rows],
                    pipeline_rows.TEXTS)


def suites_table(run, present):
    """table.txt, unless the run lacks a suite that the table has now: a part is not the whole."""
    block = present[present.index("```") + 2:-1] if "```" in present else []
    shown = {line.split()[0] for line in block if line.strip() and not line.startswith("```")}
    missing = sorted(shown - run.suites.keys())
    if missing:
        print(f"suites stays as it is: this run is without {' '.join(missing)}")
        return None
    return ["```", run.lines("table.txt")[0], *run.suites.values(), "```"]


def table_of(name, run, present):
    """The lines of a table, or None if the run has nothing for it."""
    if name == "suites":
        return suites_table(run, present)
    if name == "book":
        return book_table(run.rows["benchmark"]) if "benchmark" in run.rows else None
    if name in ("grid", "ledger"):
        make = grid_table if name == "grid" else ledger.form_lines
        return make(run.rows["grid"]) if "grid" in run.rows else None
    if name == "pipelines":
        return pipelines_table(run.rows["pipelines_speed"]) if "pipelines_speed" in run.rows else None
    if "speed" not in run.rows:
        return None
    if name == "peers":
        return peers_table(run.rows["speed"])
    return speed_table(run.rows["speed"], name.split()[1])


def rewritten(text, run):
    """The text with the run's tables, and the names of those that have changed."""
    lines, result, changed, k = text.splitlines(), [], [], 0
    while k < len(lines):
        opening = OPENING.match(lines[k])
        if lines[k] == END:
            raise Refusal(f"line {k + 1}: {END} without a table")
        result.append(lines[k])
        k += 1
        if not opening:
            continue
        name = opening[1]
        if name not in NAMES:
            raise Refusal(f"line {k}: no table is called {name!r}; there are: {', '.join(NAMES)}")
        end = next((j for j in range(k, len(lines)) if lines[j] == END or OPENING.match(lines[j])),
                   None)
        if end is None or lines[end] != END:
            raise Refusal(f"line {k}: the table {name} has no {END}")
        present = lines[k:end]
        table = table_of(name, run, present)
        wanted = present if table is None else [run.setting(), "", *table]
        if wanted != present:
            changed.append(name)
        result += [*wanted, END]
        k = end + 1
    return "\n".join(result) + "\n", changed


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--results", type=pathlib.Path, default=HERE / "RESULTS.md")
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    try:
        text, changed = rewritten(options.results.read_text(encoding="utf-8"), Run(options.folder))
    except Refusal as refusal:
        print(f"results.py: {refusal}", file=sys.stderr)
        return 1
    if not options.check:
        options.results.write_text(text, encoding="utf-8")
    print(f"{'would change' if options.check else 'changed'}: {', '.join(changed) or 'nothing'}")
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
