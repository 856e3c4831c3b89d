#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The picture of docs/cpu.md: milliseconds by mask, ours beside the others.

    plot_cpu.py RESULTS.json OUT.png

RESULTS.json is what bench_cpu wrote with --json. Needs matplotlib.
"""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # pylint: disable=wrong-import-position

# Title of a panel -> how the names of its masks begin.
PANELS = {"integers to 127": "integers-", "reals": "reals-", "Gaussians, by sigma": "gaussian:",
          "boxes": "box:"}
MARKERS = "os^Dv"


def read(path):
    """{contender: {mask: ms}} of GRAY8 in 1080p with one thread."""
    times = {}
    with open(path, encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if (row["format"], row["size"], row["threads"]) == ("GRAY8", "1080p", 1):
                times.setdefault(row["contender"], {})[row["mask"]] = row["ms"]
    return times


def draw(axes, title, begin, times):
    values = set()
    for marker, (name, by_mask) in zip(MARKERS, times.items()):
        points = [(float(mask[len(begin):]), ms) for mask, ms in by_mask.items()
                  if mask.startswith(begin)]
        if points:
            axes.plot(*zip(*sorted(points)), marker=marker, markersize=4, label=name)
            values.update(value for value, _ in points)
    axes.set(title=title, xscale="log", yscale="log")
    axes.set_xticks(sorted(values), [f"{value:g}" for value in sorted(values)])
    axes.minorticks_off()
    axes.grid(True, which="both", alpha=0.2)


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    times = read(sys.argv[1])
    figure, panels = plt.subplots(1, len(PANELS), figsize=(14, 4), sharey=True)
    for axes, (title, begin) in zip(panels, PANELS.items()):
        draw(axes, title, begin, times)
    panels[0].set_ylabel("ms a frame of GRAY8, 1920x1080, one thread")
    for axes in (panels[0], panels[-1]):  # Copies are beside boxes alone.
        axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(pathlib.Path(sys.argv[2]), dpi=90)
    return 0


if __name__ == "__main__":
    sys.exit(main())
