// SPDX-License-Identifier: LGPL-2.1-or-later
// The basic kernel with its mask in constant memory: PMPP 7.3, Fig. 7.8, in two dimensions.
//
// The mask is small, does not change while the grid runs, and all threads read its weights in the
// same order: what constant memory is made for. Its cache serves a whole warp with one broadcast,
// so a step's 8 bytes of DRAM traffic become 4 and the ratio doubles to 0.5 operations a byte.
// Nothing else differs from basic.cu, and the difference between the two is the lesson.
#include "kernels/cuda/book/one_output.cuh"
#include "kernels/cuda/device/bank.cuh"

namespace convolve {
namespace {

template <class Arithmetic, class Stored>
__global__ void constant(const __grid_constant__ LaunchArguments arguments) {
  using Cell = typename Arithmetic::Cell;
  using Weight = typename Arithmetic::Weight;
  const GroupArguments& group = arguments.group;
  const MaskArguments& mask = arguments.mask;

  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= group.width || y >= group.height) return;

  // Only i and j choose a weight, never the thread: the condition for the broadcast.
  const Weight* weights = ConstantStorage::weights<Weight>(mask);
  for (int c = 0; c < group.channels; ++c) {
    const ChannelArguments& channel = group.channel[c];
    if (!channel.filtered) {
      copy_sample<Stored>(group, channel, x, y);
      continue;
    }
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
    return constant<decltype(arithmetic), decltype(stored)>;
  });
}

}  // namespace

const Variant kConstantVariant = {KernelKind::kConstant, true, upload_mask, load_one_output<select>,
                                  launch_one_output<select>};

}  // namespace convolve
