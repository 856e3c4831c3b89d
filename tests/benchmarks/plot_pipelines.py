#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws what bench_pipelines measured: frames a second of one pipeline, beside the bus.

    plot_pipelines.py PIPELINES.json OUTPUT.png [--format=NV12] [--mask=reals-9]

One panel for each size: cudaconvolve in the pools that it offers, one frame at a time, and from
buffers of others; cudaupload ! cudadownload from both kinds of buffers. The broken line is what
the bus lets through both ways at once. Needs python3-matplotlib.
"""

import argparse
import json
import pathlib
import statistics
import sys

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

INK, MUTED, GRID, OURS, PEER = "#1c1f24", "#5d646e", "#e3e6ea", "#0b62d6", "#d6402b"
# From top to bottom: label, words of the elements, words that they lack, buffers, colour.
BARS = [
    ("cudaconvolve, frames in flight", "cudaconvolve", "async-depth=", "offered", OURS),
    ("one frame at a time", "async-depth=0", "cudaupload", "offered", OURS),
    ("from buffers of others", "cudaconvolve", "async-depth=", "foreign", OURS),
    ("cudaupload ! cudadownload", "cudaupload", "cudaconvolve", "offered", PEER),
    ("the same, buffers of others", "cudaupload", "cudaconvolve", "foreign", PEER),
]


def find(rows, words, lacking, buffers):
    """The row of a bar, or None."""
    found = [row for row in rows if words in row["elements"] and lacking not in row["elements"] and
             row["pool"] == buffers]
    return found[0] if found else None


def draw_panel(axes, rows, first):
    size = f"{rows[0]['width']} x {rows[0]['height']}"
    # Each row has its own figure, as the bus was when it ran.
    bus = statistics.median(row["bus_per_second"] for row in rows)
    axes.axvline(bus, color=MUTED, linestyle="--", linewidth=1.5)
    axes.text(bus, -0.72, f"bus {bus:,.0f}", color=MUTED, ha="center", fontsize=9,
              bbox={"facecolor": "white", "edgecolor": "none", "pad": 1})
    for place, (label, words, lacking, buffers, colour) in enumerate(BARS):
        row = find(rows, words, lacking, buffers)
        if row is None:
            continue
        value = row["per_second"]
        axes.barh(place, value, height=0.62, color=colour)
        inside = value > bus / 3
        axes.text(value + bus * (-0.015 if inside else 0.015), place, f"{value:,.0f}",
                  color="white" if inside else INK, ha="right" if inside else "left", va="center",
                  fontsize=9)
    axes.set_yticks(range(len(BARS)), [bar[0] for bar in BARS] if first else [""] * len(BARS))
    axes.set_ylim(len(BARS) - 0.5, -1.0)
    axes.set_xlim(0, bus * 1.18)
    axes.set_xlabel(f"frames a second, {size}", color=MUTED)
    axes.grid(True, axis="x", color=GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=MUTED, which="both", length=0)
    axes.tick_params(axis="y", colors=INK, labelsize=9)
    for spine in axes.spines.values():
        spine.set_visible(False)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--format", default="NV12")
    parser.add_argument("--mask", default="reals-9")
    options = parser.parse_args(arguments)
    rows = [json.loads(line) for line in options.json.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["format"] == options.format and row["pipelines"] == 1 and
            row["mask"] in (options.mask, "") and not row["live_fps"]]
    panels = [[row for row in rows if row["size"] == size] for size in ("1080p", "4k")]
    panels = [panel for panel in panels if panel]
    if not panels:
        sys.exit(f"plot_pipelines: {options.json} has no rows of {options.format}, {options.mask}")
    figure, all_axes = pyplot.subplots(1, len(panels), figsize=(9, 3.6), dpi=160, squeeze=False)
    figure.subplots_adjust(left=0.245, right=0.985, top=0.8, bottom=0.15, wspace=0.06)
    for number, panel in enumerate(panels):
        draw_panel(all_axes[0][number], panel, number == 0)
    row = panels[0][0]
    figure.text(0.02, 0.93, f"Whole pipelines: {options.format} in system memory, 9x9 mask of reals"
                if options.mask == "reals-9" else
                f"Whole pipelines: {options.format} in system memory, {options.mask}",
                color=INK, fontsize=13, weight="bold")
    figure.text(0.02, 0.865, f"{row['device']}; commit {row['commit']}", color=MUTED, fontsize=9)
    figure.savefig(options.output)
    print(f"{options.output}: {len(panels)} panels")


if __name__ == "__main__":
    main(sys.argv[1:])
