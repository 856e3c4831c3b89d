#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The CPU backend beside OpenCV (Debian's and PyPI's newest), FFmpeg and gaussianblur, and boxes
beside a copy of the frame.

    bench_cpu.py [--build=build-cpu] [--rounds=7] [--threads=1] [--cells=REGEX] [--json=FILE]

Our element runs in a pipeline whose source costs nothing; OpenCV's functions are called on random
pictures. In a round each contender has its turn in each cell, so that what else the machine does
meets all alike; a time is the median of the rounds. Before its time counts, ours is compared with
OpenCV's picture: no sample may differ by more than OpenCV's own rounding takes, one or two codes.

Prints a table; with --json also writes one JSON object a row. Needs numpy; packages that are not
here have no column but a line that says so. Nothing else should run meanwhile.
"""

import argparse
import json
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

import numpy

from cells import FORMATS, SIZES, all_cells
from contenders import Copy, Ffmpeg, OpenCv, gaussianblur, newest_opencv, ours

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "peers"))
# Codes. OpenCV computes in float, and Gaussians of 8 bits in fixed point, twice rounded.
MOST_DIFFERENCE = {"filter2d": 1, "box": 1, "gaussian": 2}


def contenders(build):
    found = [ours(build)]
    try:
        found.append(OpenCv("/usr/bin/python3"))
    except (OSError, ValueError) as error:
        print(f"no OpenCV of the distribution: {error}")
    newest = newest_opencv(build / "bench-cpu-python")
    if newest is not None:
        found.append(newest)
    if shutil.which("ffmpeg"):
        found.append(Ffmpeg())
    else:
        print("no ffmpeg")
    if subprocess.run(["gst-inspect-1.0", "--exists", "gaussianblur"], check=False).returncode == 0:
        found.append(gaussianblur(build))
    else:
        print("no gaussianblur")
    found.append(Copy())
    return found


def largest_difference(build, cell, opencv):
    """Between our picture and OpenCV's, in codes; None where they are not compared."""
    if cell.format not in ("GRAY8", "GRAY16_LE"):
        return None
    import os
    os.environ.update(GST_PLUGIN_PATH_1_0=str(build / "plugin"), CUDACONVOLVE_TEST_BACKEND="cpu",
                      GST_REGISTRY_1_0=str(build / "bench-cpu.registry"))
    from element import Filter
    width, height = SIZES[cell.size]
    depth = 8 if cell.format == "GRAY8" else 16
    codes = numpy.random.default_rng(2).integers(0, 1 << depth, (height, width)).astype(
        numpy.uint8 if depth == 8 else numpy.uint16)
    with Filter(cell.format, width, height) as element:
        mine = element.run_plane(codes, mask=cell.mask_text(), border="mirror",
                                 normalize="auto")
    theirs = opencv.picture(cell, codes)
    return int(abs(mine.astype(int) - theirs.astype(int)).max())


def measure(cells, threads, rounds, all_contenders):
    """{(cell, threads, contender's name): times}."""
    times = {}
    for n in range(rounds):
        for cell in cells:
            for count in threads:
                for contender in all_contenders:
                    ms = contender.measure(cell, count)
                    if ms is not None:
                        times.setdefault((cell, count, contender.name), []).append(ms)
        print(f"round {n + 1} of {rounds}", file=sys.stderr, flush=True)
    return times


def print_table(cells, threads, names, times, plans):
    print(f"| mask | format, size | threads | {' | '.join(names)} | x the faster OpenCV | plan |")
    print(f"|---|---|---:|{'---:|' * len(names)}---:|---|")
    for cell in cells:
        for count in threads:
            median = {name: statistics.median(times[cell, count, name]) for name in names
                      if (cell, count, name) in times}
            opencv = [ms for name, ms in median.items() if name.startswith("OpenCV")]
            ahead = f"{min(opencv) / median[names[0]]:.2f}" if opencv else ""
            columns = " | ".join(f"{median[name]:.3g}" if name in median else "" for name in names)
            print(f"| {cell.name} | {cell.format} {cell.size} | {count} | {columns} | {ahead} | "
                  f"{plans.get((cell, count), '')} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build-cpu"))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", default="1", help="a list such as 1,2")
    parser.add_argument("--cells", default="", help="only those whose label has this pattern")
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()

    build = options.build.resolve()
    cells = [cell for cell in all_cells() if re.search(options.cells, cell.label)]
    threads = [int(word) for word in options.threads.split(",")]
    everybody = contenders(build)
    opencv = [one for one in everybody if isinstance(one, OpenCv)]
    wrong = 0
    for cell in cells if opencv else []:
        difference = largest_difference(build, cell, opencv[0])
        if difference is not None and difference > MOST_DIFFERENCE[cell.kind]:
            print(f"FAIL {cell.label}: {difference} codes from {opencv[0].name}")
            wrong += 1
    times = measure(cells, threads, options.rounds, everybody)
    names = [one.name for one in everybody]
    print_table(cells, threads, names, times, everybody[0].plans)
    if options.json:
        with options.json.open("w", encoding="utf-8") as out:
            for (cell, count, name), list_of_ms in times.items():
                print(json.dumps({
                    "mask": cell.name, "format": cell.format, "size": cell.size, "threads": count,
                    "contender": name, "ms": statistics.median(list_of_ms), "rounds": list_of_ms,
                    "samples": cell.samples, "commit": options.commit,
                    "plan": everybody[0].plans.get((cell, count), "")}), file=out)
    print(f"figure: {len(cells)} cells, {len(FORMATS)} formats, {wrong} wrong")
    return 1 if wrong or not cells else 0


if __name__ == "__main__":
    sys.exit(main())
