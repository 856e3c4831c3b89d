// SPDX-License-Identifier: LGPL-2.1-or-later
// The basic kernel: one thread for each output, picture and mask from global memory.
//
// PMPP 7.2, Fig. 7.6, taken to two dimensions as exercise 8 asks. Each of the K x K steps loads a
// cell and a weight, 8 bytes for one multiplication and one addition: 0.25 floating-point
// operations a byte, so the memory system sets the pace, not the arithmetic. Every kernel beside
// this one removes some of these loads.
//
// Neighbouring threads do share what they load, through L1 and L2: the caches that the chapter's
// first GPUs did not have, and the reason why this kernel is not as slow as the ratio says.
#include "kernels/cuda/book/one_output.cuh"

namespace convolve {
namespace {

template <class Arithmetic, class Stored>
__global__ void basic(const __grid_constant__ LaunchArguments arguments) {
  using Cell = typename Arithmetic::Cell;
  using Weight = typename Arithmetic::Weight;
  const GroupArguments& group = arguments.group;
  const MaskArguments& mask = arguments.mask;

  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= group.width || y >= group.height) return;

  const Weight* weights = GlobalStorage::weights<Weight>(mask);
  for (int c = 0; c < group.channels; ++c) {
    const ChannelArguments& channel = group.channel[c];
    if (!channel.filtered) {
      copy_sample<Stored>(group, channel, x, y);
      continue;
    }
    // The book's N_start_point, here on both axes.
    const int start_x = x - mask.anchor_x;
    const int start_y = y - mask.anchor_y;
    typename Arithmetic::Sum sum{};
    for (int i = 0; i < mask.height; ++i) {
      const auto row = cell_row<Cell, Stored>(group, channel, start_y + i);
      // The book asks at every step whether the cell is a ghost; once a row is enough.
      if (row.covers(start_x, mask.width)) {
        for (int j = 0; j < mask.width; ++j)
          Arithmetic::mac(sum, weights[i * mask.width + j], row.inner(start_x + j));
      } else {
        for (int j = 0; j < mask.width; ++j)
          Arithmetic::mac(sum, weights[i * mask.width + j], row.at(start_x + j));
      }
    }
    store_sum<Arithmetic, Stored>(group, channel, x, y, sum);
  }
}

Kernel select(const LaunchArguments& arguments) {
  return select_types(arguments, [](auto arithmetic, auto stored) -> Kernel {
    return basic<decltype(arithmetic), decltype(stored)>;
  });
}

}  // namespace

const Variant kBasicVariant = {KernelKind::kBasic, false, nullptr, load_one_output<select>,
                               launch_one_output<select>};

}  // namespace convolve
