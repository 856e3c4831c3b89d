#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws what bench_planes measured: time against the side of the mask.

    plot.py BENCH.json OUTPUT.png [--format=GRAY8] [--size=4k] [--kinds=rational,rank1]

One line for each kind of mask through kernel `auto`; beside them NPP, PyTorch and CuPy where they
were measured, a copy of the frame, and the time that the FP32 units need for all taps of a mask of
full rank. Needs python3-matplotlib.
"""

import argparse
import json
import pathlib
import statistics
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402
from matplotlib.ticker import FuncFormatter, NullLocator  # noqa: E402

INK, MUTED, GRID = "#1c1f24", "#5d646e", "#e3e6ea"
# Kinds keep their colour whichever are drawn; reference lines are grey.
KINDS = {
    "rational": ("random integers", "#0b62d6"),
    "positive": ("random reals", "#8a3ffc"),
    "signed": ("random signed reals", "#d12771"),
    "rank1": ("column times row", "#00856f"),
    "box": ("box", "#b46b00"),
    "shift": ("one tap of 1", "#5c6f00"),
}
# Libraries by their rows' kernel and kind.
PEERS = [
    ("npp", "rational", "NPP FilterBorder32f", "#d6402b", "s"),
    ("torch", "positive", "PyTorch conv2d, float32", "#9a3b26", "^"),
    ("cupy", "positive", "CuPy correlate, float32", "#c2702e", "v"),
]


def read_rows(path, frame_format, size):
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows
            if row["format"] == frame_format and row["size"] == size and row["served"]]


def line_of(rows, kernel, kind, value="us"):
    """(sides, values) of one line, from left to right."""
    points = sorted((row["side"], row[value]) for row in rows
                    if row["kernel"] == kernel and row["kind"] == kind and row[value] > 0)
    return [side for side, _ in points], [time for _, time in points]


def copy_line(rows):
    """The copies beside all rows of a side, whose median is one number a side."""
    sides = sorted({row["side"] for row in rows})
    return sides, [statistics.median(row["copy_us"] for row in rows if row["side"] == side)
                   for side in sides]


def floor_line(rows):
    """One FP32 multiply-add for every tap and sample, at the rate measured in the same run."""
    times = {row["side"]: row["side"] ** 2 * row["samples"] / row["fma_per_second"] * 1e6
             for row in rows if row["fma_per_second"] > 0}
    return sorted(times), [times[side] for side in sorted(times)]


def lines_to_draw(rows, kinds):
    """(label, colour, style, marker, sides, times) of every line that has points."""
    lines = []
    for kind in kinds:
        label, colour = KINDS[kind]
        lines.append((f"auto: {label}", colour, "-", "o", *line_of(rows, "auto", kind)))
    lines += [(label, colour, "-", marker, *line_of(rows, kernel, kind))
              for kernel, kind, label, colour, marker in PEERS]
    lines.append(("FP32 floor, all taps", MUTED, "--", None, *floor_line(rows)))
    lines.append(("copy of the frame", MUTED, ":", None, *copy_line(rows)))
    return [line for line in lines if line[4]]


def spread(heights, gap, top=0.99):
    """Moves labels apart that would lie on each other, keeping their order and below `top`."""
    order = sorted(range(len(heights)), key=heights.__getitem__)
    moved = list(heights)
    for below, above in zip(order, order[1:]):
        moved[above] = max(moved[above], moved[below] + gap)
    moved[order[-1]] = min(moved[order[-1]], top)
    for below, above in reversed(list(zip(order, order[1:]))):
        moved[below] = min(moved[below], moved[above] - gap)
    return moved


def draw(lines, title, subtitle, output):
    figure, axes = pyplot.subplots(figsize=(9, 5.4), dpi=160)
    figure.subplots_adjust(left=0.09, right=0.75, top=0.85, bottom=0.11)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for _, colour, style, marker, sides, times in lines:
        axes.plot(sides, times, style, color=colour, marker=marker, markersize=5, linewidth=2)
    sides = sorted({side for line in lines for side in line[4]})
    axes.set_xticks(sides, [str(side) for side in sides])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_ylabel("microseconds a frame", color=MUTED)
    axes.set_xlabel("side K of the K x K mask", color=MUTED)
    axes.grid(True, color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=MUTED, which="both", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    # Labels at the ends of the lines instead of a legend.
    axes.set_xlim(sides[0] * 0.93, sides[-1] * 1.04)
    ends = [axes.transAxes.inverted().transform(axes.transData.transform((line[4][-1],
                                                                          line[5][-1])))[1]
            for line in lines]
    for line, height in zip(lines, spread(ends, 0.055)):
        axes.text(1.015, height, line[0], color=line[1], transform=axes.transAxes, va="center",
                  fontsize=9.5)
    figure.text(0.03, 0.945, title, color=INK, fontsize=13, weight="bold")
    figure.text(0.03, 0.9, subtitle, color=MUTED, fontsize=9)
    figure.savefig(output)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--format", default="GRAY8")
    parser.add_argument("--size", default="4k")
    parser.add_argument("--kinds", default="rational,rank1")
    options = parser.parse_args(arguments)
    kinds = options.kinds.split(",")
    if unknown := set(kinds) - set(KINDS):
        sys.exit(f"plot: no mask is of kind {', '.join(sorted(unknown))}")
    rows = read_rows(options.json, options.format, options.size)
    lines = lines_to_draw(rows, kinds)
    if not rows:
        sys.exit(f"plot: {options.json} has no times of {options.format} {options.size}")
    width, height = rows[0]["width"], rows[0]["height"]
    draw(lines, f"{options.format} {width} x {height}: time of a frame by the size of the mask",
         f"{rows[0]['device']}; commit {rows[0]['commit']}; frames stay on the device",
         options.output)
    print(f"{options.output}: {len(lines)} lines")


if __name__ == "__main__":
    main(sys.argv[1:])
