// SPDX-License-Identifier: LGPL-2.1-or-later
// What all CUDA kernels share: cells in, sums out, the arithmetic between them, and the way from a
// run-time choice to a template. The loops are the kernels' own.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/core/base/border.h"
#include "kernels/core/base/epilogue.h"
#include "kernels/core/base/sample.h"
#include "kernels/core/weights/arithmetic.h"
#include "kernels/cuda/device/variant.h"

namespace convolve {

/// Threads that a processor of the architecture in hand keeps at most (CUDA Programming Guide,
/// technical specifications): launch bounds that ask for more do not compile.
#if __CUDA_ARCH__ == 750
constexpr int kProcessorThreads = 1024;
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1100
constexpr int kProcessorThreads = 1536;
#else
constexpr int kProcessorThreads = 2048;
#endif

/// The epilogue in double, out of line: long, rare beside the float one, and inlined several times
/// over it would push the kernels' loops out of the instruction cache.
static __device__ __noinline__ int finish_in_double(double sum, const Epilogue& e) {
  return finish(sum, e.wide, e.max_code);
}

/// finish_linear() in the low 16 bits, whatever lies above: for codes that are packed at once. The
/// addition is that of round_to_even(), whose last subtraction can go.
static __device__ __forceinline__ int finish_linear_low_bits(float sum, const EpilogueOf<float>& e,
                                                             int max_code) {
  const float code = clamp_to(e.base + e.scale * sum, 0.0f, static_cast<float>(max_code));
  return __float_as_int(__fadd_rn(code, 12582912.0f));
}

/// How one accumulator adds up. `Cell` holds an input value (code - black, an integer of at most 17
/// bits) in shared memory or a register: 4 bytes in all of them.
template <Accumulator accumulator>
struct Arithmetic;

template <>
struct Arithmetic<Accumulator::kFloat32> {
  using Cell = float;
  using Weight = float;
  using Sum = float;
  static __device__ void mac(Sum& sum, Weight weight, Cell cell) { sum = fmaf(weight, cell, sum); }
  static __device__ int code(Sum sum, const Epilogue& e) {
    return e.in_float ? finish(sum, e.narrow, e.max_code) : finish_in_double(sum, e);
  }
};

/// Signed sums: the planner proved that none leaves int32.
template <>
struct Arithmetic<Accumulator::kInt32> {
  using Cell = int;
  using Weight = std::int32_t;
  using Sum = std::int32_t;
  static __device__ void mac(Sum& sum, Weight weight, Cell cell) { sum += weight * cell; }
  static __device__ int code(Sum sum, const Epilogue& e) { return finish_in_double(sum, e); }
};

template <>
struct Arithmetic<Accumulator::kFloat64> {
  using Cell = float;  // Exact, and half the shared memory of a double.
  using Weight = double;
  using Sum = double;
  static __device__ void mac(Sum& sum, Weight weight, Cell cell) {
    sum = fma(weight, static_cast<double>(cell), sum);
  }
  static __device__ int code(Sum sum, const Epilogue& e) { return finish_in_double(sum, e); }
};

template <>
struct Arithmetic<Accumulator::kWide> {
  using Cell = int;
  using Weight = WideWeight;
  using Sum = WideSum;
  static __device__ void mac(Sum& sum, const Weight& weight, Cell cell) {
#pragma unroll
    for (int l = 0; l < kWideLimbs; ++l)
      sum.limb[l] += static_cast<std::int64_t>(weight.limb[l]) * cell;
  }
  static __device__ int code(const Sum& sum, const Epilogue& e) {
    return finish_in_double(wide_value(sum), e);
  }
};

/// Reads the mask from global memory. Its twin for the constant bank is in bank.cuh.
struct GlobalStorage {
  template <class Weight>
  static __device__ const Weight* weights(const MaskArguments& mask) {
    return static_cast<const Weight*>(mask.global);
  }
};

/// The block's dynamic shared memory.
template <class Cell>
__device__ inline Cell* shared_cells() {
  extern __shared__ __align__(16) unsigned char shared_memory[];
  return reinterpret_cast<Cell*>(shared_memory);
}

/// Bytes from the start of a plane to the sample at (x, y). Planes may be larger than 2 GiB.
__device__ inline std::int64_t sample_offset(const GroupArguments& group,
                                             const ChannelArguments& channel, std::int64_t pitch,
                                             int x, int y) {
  return y * pitch + static_cast<std::int64_t>(x) * group.step + channel.offset;
}

/// The stored sample at (x, y) inside the picture. The source is read-only while a kernel runs.
template <class Stored>
__device__ inline Stored load_stored(const GroupArguments& group, const ChannelArguments& channel,
                                     int x, int y) {
  return __ldg(reinterpret_cast<const Stored*>(
      group.src + sample_offset(group, channel, group.src_pitch, x, y)));
}

/// A row of cells of one channel, ghost cells included: at(x) is the value (code - black) of the
/// cell at any x. What is the same for all cells lies in registers, so that the loops around it
/// keep little more than the load.
template <class Cell, class Stored>
struct Row {
  const std::uint8_t* first;  ///< Sample 0; null for a ghost row without signal.
  int width;
  int step;
  Border border;
  SampleLayout layout;
  int black;

  /// 0 <= x < width, and the row has a signal. A row is far shorter than 2 GiB.
  __device__ Cell inner(int x) const {
    const auto* sample = reinterpret_cast<const Stored*>(first + static_cast<unsigned>(x * step));
    return static_cast<Cell>(decode_sample(__ldg(sample), layout) - black);
  }

  /// All of the `count` cells from `x` on may be read with inner().
  __device__ bool covers(int x, int count) const {
    return first != nullptr && x >= 0 && x + count <= width;
  }

  __device__ Cell at(int x) const {
    x = border_index(border, x, width);
    return x == kNoSignal || first == nullptr ? Cell(0) : inner(x);
  }
};

/// The row at any y. The source is read-only while a kernel runs.
template <class Cell, class Stored>
__device__ inline Row<Cell, Stored> cell_row(const GroupArguments& group,
                                             const ChannelArguments& channel, int y) {
  y = border_index(group.border, y, group.height);
  const std::uint8_t* first =
      y == kNoSignal ? nullptr : group.src + sample_offset(group, channel, group.src_pitch, 0, y);
  return {first, group.width, group.step, group.border, channel.layout, channel.black};
}

template <class Stored>
__device__ inline void store_stored(const GroupArguments& group, const ChannelArguments& channel,
                                    int x, int y, Stored stored) {
  *reinterpret_cast<Stored*>(group.dst + sample_offset(group, channel, group.dst_pitch, x, y)) =
      stored;
}

/// Rounds, clamps and stores the sum for the output at (x, y).
template <class Arithmetic, class Stored>
__device__ inline void store_sum(const GroupArguments& group, const ChannelArguments& channel,
                                 int x, int y, const typename Arithmetic::Sum& sum) {
  const int code = Arithmetic::code(sum, channel.epilogue);
  store_stored(group, channel, x, y, encode_sample<Stored>(code, channel.layout));
}

/// What an unfiltered channel gets, bit for bit.
template <class Stored>
__device__ inline void copy_sample(const GroupArguments& group, const ChannelArguments& channel,
                                   int x, int y) {
  store_stored(group, channel, x, y, load_stored<Stored>(group, channel, x, y));
}

/// What the kernels of a .cu are called with: everything is constant over the grid.
using Kernel = void (*)(LaunchArguments);

/// Returns select(Arithmetic<...>{}, Stored{}) for the types that `arguments` asks for.
template <class Select>
auto select_types(const LaunchArguments& arguments, Select&& select) {
  const auto with_sample = [&](auto arithmetic) {
    return arguments.group.sample_bytes == 1 ? select(arithmetic, std::uint8_t{})
                                             : select(arithmetic, std::uint16_t{});
  };
  switch (arguments.accumulator) {
    case Accumulator::kFloat32:
      return with_sample(Arithmetic<Accumulator::kFloat32>{});
    case Accumulator::kInt32:
      return with_sample(Arithmetic<Accumulator::kInt32>{});
    case Accumulator::kFloat64:
      return with_sample(Arithmetic<Accumulator::kFloat64>{});
    case Accumulator::kWide:
      break;
  }
  return with_sample(Arithmetic<Accumulator::kWide>{});
}

/// Blocks of `tile_width` x `tile_height` outputs that cover the group. Tiles of one row still stay
/// below the 65535 blocks that grid.y allows, as pictures have at most 32768 rows.
inline dim3 grid_of_tiles(const GroupArguments& group, int tile_width, int tile_height) {
  const auto tiles = [](int cells, int tile) {
    return static_cast<unsigned>((static_cast<std::int64_t>(cells) + tile - 1) / tile);
  };
  return dim3(tiles(group.width, tile_width), tiles(group.height, tile_height));
}

/// Makes `kernel` (a __global__ function of any signature) load now, and lets its blocks ask for
/// `shared_bytes`. Above the 48 KB that need no asking the limit becomes all the device has: it
/// holds for the function, not for the launch, so a second job must never lower it.
template <class Function>
cudaError_t load_kernel(Function* kernel, std::size_t shared_bytes) {
  cudaFuncAttributes attributes;
  cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  if (error != cudaSuccess || shared_bytes + attributes.sharedSizeBytes <= 48 * 1024) return error;
  int device = 0, most = 0;
  if ((error = cudaGetDevice(&device)) != cudaSuccess) return error;
  error = cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  if (error != cudaSuccess) return error;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              most - static_cast<int>(attributes.sharedSizeBytes));
}

/// Blocks of `threads` threads without dynamic shared memory that the current device holds at once.
template <class Function>
cudaError_t resident_blocks(Function* kernel, int threads, int* blocks) {
  int device = 0, processors = 0, each = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess)
    error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (error == cudaSuccess)
    error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, 0);
  *blocks = each * processors;
  return error;
}

/// Enqueues `kernel`; unlike <<<>>> it returns the launch's own error.
inline cudaError_t launch_kernel(Kernel kernel, dim3 grid, dim3 block, std::size_t shared_bytes,
                                 LaunchArguments arguments, cudaStream_t stream) {
  void* parameters[] = {&arguments};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, parameters,
                          shared_bytes, stream);
}

}  // namespace convolve
