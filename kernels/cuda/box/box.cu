// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `box` in runs: masks whose weights are all equal, by running sums in integers, so that the
// cost of an output does not depend on the size of the mask, and nothing is rounded before the end.
// It serves every sample format, where strips and bands take planes of one 8-bit component only.
//
// A block slides down a strip of the picture, a batch of 4, 8 or 16 rows at a time. For every
// column of the strip and its halo it keeps the sum of the H - 1 rows that the next output row
// shares with the last one:
//
//   columns   a thread has a panel of eight columns and a run of four rows: it adds the row that
//             enters and subtracts the row that leaves. Each run begins with what the runs above it
//             add, which threads exchange through shared memory;
//   prefixes  a warp has a row: an exclusive scan over its column sums;
//   outputs   the same warp: a window sum is the difference of two prefix sums W apart.
//
// Layout: eight prefix sums lie in nine words of shared memory, so that threads which access the
// same one of each panel's eight use every bank once, at any distance W.
//
// What binds: before its first batch a block adds up H - 1 rows, so strips are as tall as the
// number of processors allows; the rows that neighbouring blocks read twice come from the L2 cache.
// Within a batch it is the latency of memory and barriers where a processor has few blocks, and the
// number of instructions where it has many (see the cost model in box_tile.cc).
#include "kernels/cuda/box/bands/box_bands.h"
#include "kernels/cuda/box/box_runs.cuh"
#include "kernels/cuda/box/strip/box_strip.h"
#include "kernels/cuda/device/overlap.cuh"

namespace convolve {
namespace {

template <class Stored, bool kPacked, int kRuns>
__global__ void __launch_bounds__(kRuns* kBoxRunThreads, kPacked ? 8 / kRuns : 4 / kRuns)
    box_kernel(const __grid_constant__ LaunchArguments arguments) {
  const GroupArguments& group = arguments.group;
  const ChannelArguments& channel = group.channel[blockIdx.z];
  admit_next_launch();
  await_previous_launch();
  if (channel.filtered) {
    RunStrip<Stored, kPacked, kRuns>(arguments, shared_cells<unsigned char>()).run();
    return;
  }
  const int x0 = blockIdx.x * arguments.tile_width, y0 = blockIdx.y * arguments.tile_height;
  const int width = min(arguments.tile_width, group.width - x0);
  const int y_end = min(y0 + arguments.tile_height, group.height);
  for (int y = y0 + threadIdx.x / kWarp; y < y_end; y += blockDim.x / kWarp)
    for (int x = threadIdx.x % kWarp; x < width; x += kWarp)
      copy_sample<Stored>(group, channel, x0 + x, y);
}

template <class Stored, bool kPacked>
Kernel select_runs(int rows) {
  switch (rows / kBoxRun) {
    case 1:
      return box_kernel<Stored, kPacked, 1>;
    case 2:
      return box_kernel<Stored, kPacked, 2>;
    default:
      return box_kernel<Stored, kPacked, kBoxMostRows / kBoxRun>;
  }
}

Kernel select_kernel(const LaunchArguments& arguments) {
  const int rows = arguments.batch_rows;
  if (arguments.group.sample_bytes == 1)
    return arguments.packed ? select_runs<std::uint8_t, true>(rows)
                            : select_runs<std::uint8_t, false>(rows);
  return arguments.packed ? select_runs<std::uint16_t, true>(rows)
                          : select_runs<std::uint16_t, false>(rows);
}

std::size_t shared_bytes(const LaunchArguments& arguments) {
  const int panels = box_panels(arguments.tile_width, arguments.mask.width);
  return box_layout(panels, arguments.batch_rows, arguments.packed).bytes;
}

cudaError_t upload(const void*, std::size_t, int, cudaStream_t) {
  return cudaErrorNotSupported;  // There are no weights to upload.
}

cudaError_t load(const LaunchArguments& arguments) {
  if (arguments.box_form == BoxForm::kBands) return load_box_bands(arguments);
  if (arguments.box_form == BoxForm::kStrips) return load_box_strip(arguments);
  return load_kernel(select_kernel(arguments), shared_bytes(arguments));
}

cudaError_t launch(const LaunchArguments& arguments, cudaStream_t stream) {
  if (arguments.box_form == BoxForm::kBands) return launch_box_bands(arguments, stream);
  if (arguments.box_form == BoxForm::kStrips) return launch_box_strip(arguments, stream);
  dim3 grid = grid_of_tiles(arguments.group, arguments.tile_width, arguments.tile_height);
  grid.z = static_cast<unsigned>(arguments.group.channels);
  return launch_overlapping(select_kernel(arguments), grid,
                            dim3(static_cast<unsigned>(arguments.batch_rows * kWarp)),
                            shared_bytes(arguments), stream, arguments);
}

}  // namespace

const Variant kBoxVariant = {KernelKind::kBox, false, upload, load, launch};

}  // namespace convolve
