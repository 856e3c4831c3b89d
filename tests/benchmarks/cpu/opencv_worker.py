# SPDX-License-Identifier: LGPL-2.1-or-later
"""Times OpenCV for bench_cpu, in an interpreter of its own, as two versions are compared.

Reads a JSON object a line: {"kind", "value", "weights", "channels", "depth", "width", "height",
"threads", "seconds", "picture"}, and answers each with {"ms"}: the median time of a call that runs
again and again for so many seconds, on random pictures that change places. With "picture", a file,
the result of one call on the picture there is written behind it. The first line that it writes says
its version. Borders are OpenCV's default, BORDER_REFLECT_101.
"""

import json
import statistics
import sys
import time

import cv2
import numpy

BUFFERS = 4


def function(task):
    kind, value = task["kind"], task["value"]
    if kind == "gaussian":
        # As large as ours.
        radius = int(numpy.ceil(3 * value))
        size = (2 * radius + 1, 2 * radius + 1)
        return lambda src, dst: cv2.GaussianBlur(src, size, value, dst)
    if kind == "box":
        size = (int(value), int(value))
        return lambda src, dst: cv2.blur(src, size, dst)
    weights = numpy.array(task["weights"], numpy.float32)
    return lambda src, dst: cv2.filter2D(src, -1, weights, dst)


def main():
    print(json.dumps({"version": cv2.__version__}), flush=True)
    random = numpy.random.default_rng(1)
    for line in sys.stdin:
        task = json.loads(line)
        cv2.setNumThreads(task["threads"])
        shape = (task["height"], task["width"], task["channels"])
        kind = numpy.uint8 if task["depth"] == 8 else numpy.uint16
        run = function(task)
        sources = [random.integers(0, 1 << task["depth"], shape).astype(kind)
                   for _ in range(BUFFERS)]
        results = [numpy.empty(shape, kind) for _ in range(BUFFERS)]
        if task.get("picture"):
            picture = numpy.fromfile(task["picture"], kind).reshape(shape)
            run(picture, results[0])
            results[0].tofile(task["picture"] + ".out")
        run(sources[0], results[0])
        times = []
        end = time.perf_counter() + task["seconds"]
        while not times or time.perf_counter() < end:
            n = len(times) % BUFFERS
            begin = time.perf_counter()
            run(sources[n], results[n])
            times.append(time.perf_counter() - begin)
        print(json.dumps({"ms": 1e3 * statistics.median(times)}), flush=True)


if __name__ == "__main__":
    main()
