# SPDX-License-Identifier: LGPL-2.1-or-later
"""Who is timed by bench_cpu. Each has a name and measure(cell, threads): milliseconds a frame, or
None where it does not do that."""

import ctypes
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import numpy

from cells import SIZES

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 0.15  # Of one measurement.
OPENCV_CHANNELS = {"GRAY8": (1, 8), "GRAY16_LE": (1, 16), "BGR": (3, 8), "RGBA": (4, 8)}


class Pipeline:
    """An element of GStreamer in a pipeline whose source costs nothing: bench_pipelines."""

    def __init__(self, build, name, elements, environment=None):
        self.name = name
        self._build, self._elements = build, elements
        self._environment = {**os.environ, "GST_PLUGIN_PATH_1_0": str(build / "plugin"),
                             "GST_REGISTRY_1_0": str(build / "bench-cpu.registry"),
                             **(environment or {})}
        self.plans = {}

    def measure(self, cell, threads):
        elements = self._elements(cell, threads)
        if elements is None:
            return None
        with tempfile.NamedTemporaryFile(suffix=".json") as result:
            command = [self._build / "tests/benchmarks/pipelines/bench_pipelines", "--rounds=1",
                       "--warm-up=3", "--frames=8", f"--seconds={SECONDS}", "--pool=foreign",
                       f"--sizes={cell.size}", f"--formats={cell.format}",
                       f"--elements={elements}", f"--json={result.name}"]
            run = subprocess.run(command, env=self._environment, capture_output=True, text=True,
                                 check=False)
            if run.returncode != 0:
                raise RuntimeError(f"{self.name}, {cell.label}: {run.stdout[-400:]} {run.stderr}")
            row = json.load(result)
        self.plans[cell, threads] = row.get("plan", "")
        return 1e3 / row["per_second"]


def ours(build, name="cudaconvolve", environment=None):
    return Pipeline(build, name, lambda cell, threads:
                    f"cudaconvolve backend=cpu threads={threads} border=mirror "
                    f'mask="{cell.mask_text()}"', environment)


def gaussianblur(build):
    """GStreamer's own element, which takes AYUV alone, four samples a pixel: I420 is converted for
    it, and what it makes is converted back."""
    def elements(cell, _threads):
        blur = f"gaussianblur sigma={cell.value:g}"
        if cell.kind != "gaussian" or cell.format not in ("AYUV", "I420"):
            return None
        return blur if cell.format == "AYUV" else (
            f"videoconvert ! {blur} ! videoconvert ! video/x-raw,format=I420")
    return Pipeline(build, "gaussianblur", elements)


class Copy:
    """Frames copied by the C library, so many that none is in the cache when its turn comes again:
    what boxes, whose time hardly depends on their size, are measured by."""

    name = "copy"
    FRAMES = 8

    def __init__(self):
        self._frames = {}

    def measure(self, cell, threads):
        if cell.kind != "box" or cell.format != "GRAY8" or threads != 1:
            return None
        width, height = SIZES[cell.size]
        if cell.size not in self._frames:
            random = numpy.random.default_rng(3)
            self._frames[cell.size] = [
                (random.integers(0, 256, width * height, numpy.uint8),
                 numpy.ones(width * height, numpy.uint8)) for _ in range(self.FRAMES)]
        copied, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < SECONDS:
            for source, destination in self._frames[cell.size]:
                ctypes.memmove(destination.ctypes.data, source.ctypes.data, source.size)
                copied += 1
        return 1e3 * (time.perf_counter() - begin) / copied


class OpenCv:
    """A version of OpenCV, in the interpreter that has it."""

    def __init__(self, interpreter):
        self._worker = subprocess.Popen([interpreter, HERE / "opencv_worker.py"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.name = "OpenCV " + json.loads(self._worker.stdout.readline())["version"]

    def measure(self, cell, threads):
        task = self._task(cell, threads)
        return None if task is None else self._ask(task)["ms"]

    def picture(self, cell, codes):
        """What it makes of `codes`, rows of samples."""
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/picture"
            codes.tofile(path)
            self._ask({**self._task(cell, 1), "seconds": 0, "picture": path})
            return numpy.fromfile(path + ".out", codes.dtype).reshape(codes.shape)

    def _task(self, cell, threads):
        if cell.format not in OPENCV_CHANNELS:
            return None
        channels, depth = OPENCV_CHANNELS[cell.format]
        width, height = SIZES[cell.size]
        weights = cell.weights()[0].tolist() if cell.kind == "filter2d" else []
        return {"kind": cell.kind, "value": cell.value, "weights": weights, "channels": channels,
                "depth": depth, "width": width, "height": height, "threads": threads,
                "seconds": SECONDS}

    def _ask(self, task):
        self._worker.stdin.write(json.dumps(task) + "\n")
        self._worker.stdin.flush()
        return json.loads(self._worker.stdout.readline())


def newest_opencv(folder):
    """PyPI's newest, in an environment of its own; None, with a line that says why, without it."""
    python = folder / "bin/python3"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=False)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "opencv-python-headless"],
                       check=False)
    try:
        return OpenCv(python)
    except (OSError, ValueError) as error:
        print(f"no OpenCV of PyPI: {error}")
        return None


class Ffmpeg:
    """FFmpeg's `convolution`: squares of 3, 5 and 7 of whole weights. The time of a frame is that of
    many frames with the filter, without the time of as many frames without it."""

    def __init__(self):
        version = subprocess.run(["ffmpeg", "-version"], capture_output=True, text=True, check=True)
        self.name = "FFmpeg " + re.match(r"ffmpeg version (\S+)", version.stdout)[1]

    def measure(self, cell, threads):
        side = int(cell.value)
        if cell.kind != "filter2d" or side not in (3, 5, 7) or cell.format != "GRAY8" or \
                not cell.name.startswith("integers"):
            return None
        text = cell.mask_text().split("/", maxsplit=1)
        matrix = " ".join(text[0].replace(";", " ").split())
        rate = 1 / float(text[1])
        frames = {3: 60, 5: 20, 7: 10}[side]
        with_filter = self._seconds(cell, threads, frames, f"convolution=0m={matrix}:0rdiv={rate}")
        return 1e3 * (with_filter - self._seconds(cell, threads, frames, "null")) / frames

    @staticmethod
    def _seconds(cell, threads, frames, graph):
        width, height = SIZES[cell.size]
        run = subprocess.run(
            ["ffmpeg", "-nostdin", "-hide_banner", "-benchmark", "-threads", str(threads),
             "-filter_threads", str(threads), "-f", "lavfi", "-i",
             f"color=gray:s={width}x{height},format=gray,loop=-1:1,trim=end_frame={frames}",
             "-vf", graph, "-f", "null", "-"], capture_output=True, text=True, check=True)
        return float(re.search(r"rtime=([\d.]+)s", run.stderr)[1])
