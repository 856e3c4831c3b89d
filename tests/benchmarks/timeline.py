#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws when copies and kernels ran, from what tests/gpu/timeline.cc noted: a panel for each file.

    timeline.py OUTPUT.png LABEL=FILE.json... [--microseconds=600] [--title=TEXT]

A panel begins with the copy to the GPU before the kernel that is in the middle of the run, and
says which part of the time that is drawn each lane is busy. Needs python3-matplotlib.
"""

import argparse
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

INK, MUTED, GRID = "#1c1f24", "#5d646e", "#e3e6ea"
LANES = [("to the GPU", "#0b62d6"), ("kernels", "#00856f"), ("back", "#b46b00")]


def lane_of(record):
    """The index of a record's lane; None for copies within the device."""
    return {"up": 0, "down": 2, "device": None}.get(record["what"], 1)


def read(path, microseconds):
    """(lane, begin, length) of all that falls into the part drawn, in microseconds from its start."""
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    # What bench_pipelines measures the bus with are copies alone: kernels tell where frames are.
    kernels = sorted(record["begin"] for record in records if lane_of(record) == 1)
    middle = kernels[len(kernels) // 2] if kernels else 0
    start = max((record["begin"] for record in records
                 if record["what"] == "up" and record["begin"] <= middle), default=None)
    if start is None:
        sys.exit(f"timeline: {path} has no kernel behind a copy to the GPU")
    bars = []
    for record in records:
        begin, end = (record[name] - start for name in ("begin", "end"))
        lane = lane_of(record)
        begin, end = max(begin, 0) / 1000, min(end / 1000, microseconds)
        if lane is not None and begin < end:
            bars.append((lane, begin, end - begin))
    return bars


def busy(bars, lane):
    """Microseconds in which something of the lane runs."""
    total, until = 0, 0
    for begin, length in sorted((begin, length) for which, begin, length in bars if which == lane):
        end = begin + length
        total += max(0, end - max(begin, until))
        until = max(until, end)
    return total


def draw_panel(axes, label, bars, microseconds):
    for lane, (name, colour) in enumerate(LANES):
        # A gap between bars shows where one ends and the next begins.
        axes.broken_barh([(begin, length) for which, begin, length in bars if which == lane],
                         (lane - 0.36, 0.72), color=colour, edgecolor="white", linewidth=0.6)
        axes.text(microseconds * 1.01, lane, f"{100 * busy(bars, lane) / microseconds:.0f} %",
                  color=MUTED, va="center", fontsize=9)
    axes.set_yticks(range(len(LANES)), [name for name, _ in LANES])
    axes.set_ylim(len(LANES) - 0.5, -0.5)
    axes.set_xlim(0, microseconds)
    axes.set_title(label, color=INK, fontsize=10, loc="left")
    axes.grid(True, axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=MUTED, length=0, labelsize=9)
    for spine in axes.spines.values():
        spine.set_visible(False)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("panels", nargs="+", metavar="LABEL=FILE")
    parser.add_argument("--microseconds", type=float, default=600)
    parser.add_argument("--title", default="")
    options = parser.parse_args(arguments)
    panels = []
    for panel in options.panels:
        label, equals, path = panel.rpartition("=")
        if not equals:
            sys.exit(f"timeline: {panel} is not LABEL=FILE")
        panels.append((label, read(pathlib.Path(path), options.microseconds)))
    height = 1.5 * len(panels) + 0.9
    figure, all_axes = pyplot.subplots(len(panels), 1, figsize=(9, height), dpi=160, squeeze=False)
    figure.subplots_adjust(left=0.12, right=0.93, top=1 - 0.75 / height, bottom=0.5 / height,
                           hspace=0.65)
    for axes, (label, bars) in zip(all_axes[:, 0], panels):
        draw_panel(axes, label, bars, options.microseconds)
    all_axes[-1][0].set_xlabel("microseconds", color=MUTED)
    figure.text(0.02, 1 - 0.33 / height, options.title, color=INK, fontsize=13, weight="bold")
    figure.savefig(options.output)
    print(f"{options.output}: {len(panels)} panels")


if __name__ == "__main__":
    main(sys.argv[1:])
