#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Times what Python offers for the same work: PyTorch's conv2d and CuPy's ndimage.correlate.

    peers_gpu.py [--sides=3,31] [--seconds=0.1] [--commit=NAME] [--json=FILE]

GRAY8 in 4K, as bench_planes has it: frames rotate over at least twice the L2, 16 launches in a CUDA
graph where the library can be captured (the plan says so where it cannot), the result compared with
float64 at some pixels before a time counts, medians of batches, a copy of the frame's bytes sampled
beside each. Rows have the form of bench_planes':

    torch, cupy              float32 to float32, the filter alone
    torch-bytes, cupy-bytes  uint8 to uint8, with the conversions, and the border that torch lacks

Prints a table; with --json also writes one JSON object a row. A library that is not here, or a call
that fails, has no row but a line that says why.
"""

import argparse
import json
import pathlib
import statistics
import time

try:
    import numpy
except ImportError:
    numpy = None

WIDTH, HEIGHT = 3840, 2160
SIDES = [3, 7, 15, 31, 63]
LAUNCHES = 16
# Of a batch, in seconds: what takes longer is launched less often.
LONGEST_BATCH = 0.05
FEWEST_BATCHES, MOST_BATCHES = 5, 60
PROBES = 200
# Codes: sums in float32, and conversions that cut off.
FLOAT_SLACK, BYTE_SLACK = 0.01, 1.01


def make_mask(side):
    weights = numpy.random.default_rng(side).random((side, side))
    return weights / weights.sum()


def truth(picture, mask, border):
    """{(y, x): value} in float64 at corners and random pixels. Border: "zero" or "replicate"."""
    random = numpy.random.default_rng(1)
    places = [(0, 0), (0, WIDTH - 1), (HEIGHT - 1, 0), (HEIGHT - 1, WIDTH - 1)]
    places += zip(random.integers(0, HEIGHT, PROBES).tolist(),
                  random.integers(0, WIDTH, PROBES).tolist())
    window = numpy.arange(mask.shape[0]) - mask.shape[0] // 2
    expected = {}
    for y, x in places:
        rows, columns = y + window, x + window
        seen = picture[numpy.ix_(rows.clip(0, HEIGHT - 1), columns.clip(0, WIDTH - 1))].astype(float)
        if border == "zero":
            seen[(rows < 0) | (rows >= HEIGHT)] = 0
            seen[:, (columns < 0) | (columns >= WIDTH)] = 0
        expected[y, x] = float((seen * mask).sum())
    return expected


def largest_error(output, expected):
    return max(abs(float(output[y, x]) - value) for (y, x), value in expected.items())


class Torch:
    """Buffers and timing by PyTorch; CuPy's work is timed by it, too, if it runs on its stream."""

    def __init__(self):
        import torch
        if numpy is None:
            raise ImportError("no numpy beside it")
        self.torch = torch
        # Convolutions of float32 would otherwise round weights to TF32's eleven bits.
        torch.backends.cudnn.allow_tf32 = False
        torch.backends.cudnn.benchmark = True
        self.properties = torch.cuda.get_device_properties(0)
        self.stream = torch.cuda.Stream()
        self.made = {}
        self.version = f"PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}"

    def frames(self, dtype):
        """Pictures of random bytes: so many that the L2 holds none when its turn comes again."""
        if dtype not in self.made:
            size = WIDTH * HEIGHT * dtype.itemsize
            count = max(2, self.properties.L2_cache_size // size + 1)
            generator = self.torch.Generator("cuda").manual_seed(1)
            self.made[dtype] = [
                self.torch.randint(0, 256, (HEIGHT, WIDTH), device="cuda", generator=generator,
                                   dtype=self.torch.uint8).to(dtype) for _ in range(count)]
        return self.made[dtype]

    def batch(self, work, launches, capture=True):
        """A function that runs `work` `launches` times; microseconds each."""
        def launch_all():
            for k in range(launches):
                work(k)

        with self.torch.cuda.stream(self.stream):
            launch_all()
            self.torch.cuda.synchronize()
            if capture:
                graph = self.torch.cuda.CUDAGraph()
                with self.torch.cuda.graph(graph, stream=self.stream):
                    launch_all()
                launch_all = graph.replay
        start, stop = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))

        def run():
            with self.torch.cuda.stream(self.stream):
                start.record(self.stream)
                launch_all()
                stop.record(self.stream)
            stop.synchronize()
            return 1000 * start.elapsed_time(stop) / launches
        return run


def torch_works(base, mask):
    """name, plan, border, slack, work and output of each way through PyTorch."""
    torch, functional = base.torch, base.torch.nn.functional
    side = mask.shape[0]
    weights = torch.tensor(mask, dtype=torch.float32, device="cuda")[None, None]
    floats, count = base.frames(torch.float32), LAUNCHES
    outputs = [None] * count

    def convolve(k):
        outputs[k % count] = functional.conv2d(floats[k % len(floats)][None, None], weights,
                                               padding=side // 2)
    plan = f"{base.version}: conv2d, float32 without TF32, zero border"
    yield "torch", plan, "zero", FLOAT_SLACK, floats[0], convolve, lambda: outputs[0][0, 0]

    pictures = base.frames(torch.uint8)

    def convolve_bytes(k):
        picture = pictures[k % len(pictures)][None, None].to(torch.float32)
        padded = functional.pad(picture, (side // 2,) * 4, mode="replicate")
        sums = functional.conv2d(padded, weights)
        outputs[k % count] = sums.round_().clamp_(0, 255).to(torch.uint8)
    plan = f"{base.version}: to float32, pad, conv2d, round, clamp, to uint8"
    yield ("torch-bytes", plan, "replicate", BYTE_SLACK, pictures[0], convolve_bytes,
           lambda: outputs[0][0, 0])


def cupy_works(base, mask):
    import cupy
    from cupyx.scipy import ndimage
    weights = cupy.asarray(mask, dtype=cupy.float32)
    if hasattr(cupy.cuda.Stream, "from_external"):
        stream = cupy.cuda.Stream.from_external(base.stream)
    else:
        stream = cupy.cuda.ExternalStream(base.stream.cuda_stream)
    for name, dtype, slack in (("cupy", base.torch.float32, FLOAT_SLACK),
                               ("cupy-bytes", base.torch.uint8, BYTE_SLACK)):
        frames = [cupy.asarray(frame) for frame in base.frames(dtype)]
        outputs = [cupy.empty_like(frame) for frame in frames]

        def correlate(k, frames=frames, outputs=outputs):
            with stream:
                ndimage.correlate(frames[k % len(frames)], weights, mode="nearest",
                                  output=outputs[k % len(frames)])
        plan = f"CuPy {cupy.__version__}: ndimage.correlate, {frames[0].dtype}, mode nearest"
        yield (name, plan, "replicate", slack, base.torch.as_tensor(frames[0], device="cuda"),
               correlate, lambda outputs=outputs: cupy.asnumpy(outputs[0]))


def spread(values):
    ordered = sorted(values)
    at = [ordered[int(share * (len(ordered) - 1) + 0.5)] for share in (0.1, 0.9)]
    return statistics.median(ordered), at[0], at[1]


def measure(base, copies, seconds, work):
    """(spread of the work, median of the copies, a remark)."""
    once = base.batch(work, 1, capture=False)
    each = min(once() for _ in range(2)) / 1e6
    launches = max(2, min(LAUNCHES, int(LONGEST_BATCH / each)))
    remark = ""
    try:
        run = base.batch(work, launches)
    except RuntimeError:
        base.torch.cuda.synchronize()
        run, remark = base.batch(work, launches, capture=False), ", not in a graph"
    times, copy_times = [], []
    start = time.monotonic()
    while len(times) < MOST_BATCHES and (len(times) < FEWEST_BATCHES or
                                         time.monotonic() - start < seconds):
        times.append(run())
        copy_times.append(copies())
    return spread(times), statistics.median(copy_times), remark


def rows_of(base, side, options, copies):
    mask = make_mask(side)
    for works in (torch_works, cupy_works):
        try:
            for name, plan, border, slack, picture, work, output in works(base, mask):
                with base.torch.cuda.stream(base.stream):
                    work(0)
                base.torch.cuda.synchronize()
                result = output()
                result = result if isinstance(result, numpy.ndarray) else result.cpu().numpy()
                expected = truth(picture.cpu().numpy(), mask, border)
                error = largest_error(result, expected)
                if error > slack:
                    print(f"no row of {name} {side}x{side}: wrong by {error:.3g}")
                    continue
                times, copy, remark = measure(base, copies, options.seconds, work)
                yield {
                    "backend": "cuda", "device": base.properties.name, "commit": options.commit,
                    "fma_per_second": 0, "format": "GRAY8", "size": "4k", "width": WIDTH,
                    "height": HEIGHT, "bytes": WIDTH * HEIGHT, "samples": WIDTH * HEIGHT,
                    "kind": "positive", "side": side, "kernel": name, "served": True,
                    "us": times[0], "us_p10": times[1], "us_p90": times[2], "copy_us": copy,
                    "floor_us": 0, "predicted_us": 0,
                    "plan": f"{plan}{remark}, at most {error:.2g} codes off"}
        except Exception as failure:  # Whatever a library that is half there may raise.
            print(f"no rows of {works.__name__} {side}x{side}: {failure!r}"[:300])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sides", default=",".join(map(str, SIDES)))
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--commit", default="unknown")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    rows = []
    try:
        base = Torch()
    except Exception as failure:
        print(f"no rows of PyTorch and CuPy: {failure!r}")
    else:
        frames = base.frames(base.torch.uint8)
        targets = [base.torch.empty_like(frame) for frame in frames]
        copies = base.batch(lambda k: targets[k % len(frames)].copy_(frames[k % len(frames)]),
                            LAUNCHES)
        for side in map(int, options.sides.split(",")):
            for row in rows_of(base, side, options, copies):
                rows.append(row)
                print(f"{row['kernel']:12} {side:3}  {row['us']:10.1f} us "
                      f"({row['us'] / row['copy_us']:.2f} copies)  {row['plan']}", flush=True)
    if options.json:
        options.json.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
