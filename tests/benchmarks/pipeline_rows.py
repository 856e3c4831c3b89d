# SPDX-License-Identifier: LGPL-2.1-or-later
"""The table of whole pipelines, from what `bench_pipelines --json` wrote; for results.py."""

import re

SIZES = {"4k": "4K"}
HEADS = ["size", "format", "pipelines", "elements", "mask", "buffers", "frames a round", "frames/s",
         "slowest/mean", "p50 us", "p99 us", "CPU us a frame", "bus, frames/s", "% of bus"]
TEXTS = (0, 1, 3, 4, 5)  # Columns that stand at the left.


def buffers(row):
    """Whose buffers the source got: elements may have none to offer."""
    return "offered" if row["pool"] == "offered" and row["pool_got"] != "its own" else "foreign"


def of_bus(row):
    """What the bus lets through, and the row's share: of the rounds the medians."""
    if row["bus_per_second"] <= 0:
        return ["-", "-"]
    return [f"{row['bus_per_second']:.0f}", f"{100 * row['bus_share']:.0f}"]


def cells(row):
    """A line of the table. Rows have their own column for the mask, and all run on CUDA."""
    elements = re.sub(r" (backend=cuda|mask=%MASK%)", "", row["elements"])
    return [SIZES.get(row["size"], row["size"]), row["format"], str(row["pipelines"]),
            f"`{elements}`", row["mask"] or "-", buffers(row), str(row["frames"]),
            f"{row['per_second']:.0f}", f"{row['slowest_to_mean']:.2f}", f"{row['p50_us']:.0f}",
            f"{row['p99_us']:.0f}", f"{row['cpu_us']:.0f}", *of_bus(row)]
