#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What each form gives and what it costs: the ledger of RESULTS.md, as Markdown.

    ledger.py GRID.json [GRID.json...] [--build FOLDER]

GRID.json is what `bench_planes --grid --json` wrote: the time of every candidate in every cell of
formats, sizes and masks. A form is worth what the cells lose without it: those whose next best
form is more than 5 % slower, and by how much. The second set of columns leaves out the forms that
need compute capability 9.0, as older GPUs do. Candidates whose prediction was hopeless were not
measured and count as absent, so that a loss is the least that can be said.

With --build, a build folder with CUDA, a second table has the sources: kernels, compile seconds (of
ninja's log: what stood beside the compiler counts, too), bytes of its object and lines of its room.
"""

import argparse
import collections
import json
import pathlib
import re
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NOTICEABLE = 1.05
HOPPER_FORMS = {"tensor-warpgroups", "tensor-split-warpgroups"}
STUB = re.compile(r"L(\d+)(__device_stub__\S*)")
FORM_ROW = re.compile(r'\{\s*Form::\w+,\s*KernelKind::\w+,\s*CostClass::\w+,\s*\d+,\s*"([^"]*)",'
                      r'\s*"([^"]*)"')


def forms():
    """(name, room) of each form, in the order of their table."""
    return FORM_ROW.findall((ROOT / "kernels/core/plan/forms.cc").read_text(encoding="utf-8"))


def measured_times(cell):
    return {form: row["us"] for form, row in cell["kernels"].items() if row.get("us")}


def losses(cells, absent):
    """Form -> for each cell that it is noticeably missed in, the slowdown; None: nothing is left."""
    missed = collections.defaultdict(list)
    for cell in cells:
        times = {form: us for form, us in measured_times(cell).items() if form not in absent}
        if not times:
            continue
        form = min(times, key=times.get)
        others = [us for other, us in times.items() if other != form]
        slowdown = min(others) / times[form] if others else None
        if slowdown is None or slowdown > NOTICEABLE:
            missed[form].append(slowdown)
    return missed


def describe(slowdowns):
    """Cells, of them those without another candidate, median and largest slowdown."""
    known = [slowdown for slowdown in slowdowns if slowdown is not None]
    alone = len(slowdowns) - len(known)
    spread = f"{statistics.median(known):.2f}, {max(known):.2f}" if known else ""
    return f"{len(slowdowns)}{f' ({alone} alone)' if alone else ''}", spread


def form_lines(cells):
    """The first table, line by line; cells are the rows of GRID.json."""
    chosen = collections.Counter(cell["chosen"] for cell in cells)
    tried = collections.Counter(form for cell in cells for form in measured_times(cell))
    everywhere, older = losses(cells, set()), losses(cells, HOPPER_FORMS)
    lines = [f"{len(cells)} cells", "",
             "| form | measured | chosen | missed | median, most "
             "| missed before 9.0 | median, most |",
             "| --- | --- | --- | --- | --- | --- | --- |"]
    for form, _ in forms():
        if form in tried:
            row = [form, str(tried[form]), str(chosen[form]), *describe(everywhere[form])]
            row += ["", ""] if form in HOPPER_FORMS else describe(older[form])
            lines.append(f"| {' | '.join(row)} |")
    return lines


def compile_seconds(build):
    seconds = {}
    for line in (build / ".ninja_log").read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) == 5 and fields[3].endswith(".cu.o"):
            seconds[fields[3]] = (int(fields[1]) - int(fields[0])) / 1000
    return seconds


def kernels_in(compiled):
    """How many kernels an object has: nvcc makes a host function for each that launches it, which
    may be inlined, but its statics keep its name, whose length stands before it.
    """
    symbols = subprocess.run(["nm", str(compiled)], capture_output=True, text=True, check=True)
    return len({match[2][:int(match[1])] for match in STUB.finditer(symbols.stdout)})


def lines_of_room(room):
    return sum(len(path.read_text(encoding="utf-8").splitlines())
               for path in (ROOT / "kernels/cuda" / room).iterdir()
               if path.suffix in (".cu", ".cuh", ".cc", ".h"))


def print_sources(build):
    seconds = compile_seconds(build)
    rooms = {path.stem: str(path.parent.relative_to(ROOT / "kernels/cuda"))
             for path in (ROOT / "kernels/cuda").rglob("*.cu")}
    in_room = collections.defaultdict(list)
    for form, room in forms():
        in_room[room].append(form)
    print("\n| source | kernels | compile s | object bytes | lines of its room | forms |")
    print("| --- | --- | --- | --- | --- | --- |")
    for stem, room in sorted(rooms.items(), key=lambda item: (item[1], item[0])):
        compiled = build / "kernels/cuda" / f"{stem}.cu.o"
        if compiled.is_file():
            print(f"| {room}/{stem} | {kernels_in(compiled)} "
                  f"| {seconds[str(compiled.relative_to(build))]:.1f} "
                  f"| {compiled.stat().st_size} | {lines_of_room(room)} "
                  f"| {', '.join(in_room[room])} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("grids", nargs="+", type=pathlib.Path, metavar="GRID.json")
    parser.add_argument("--build", type=pathlib.Path, help="a build folder with CUDA")
    options = parser.parse_args()
    cells = [json.loads(line) for grid in options.grids
             for line in grid.read_text(encoding="utf-8").splitlines()]
    print("\n".join(form_lines(cells)))
    if options.build:
        print_sources(options.build)


if __name__ == "__main__":
    main()
