// SPDX-License-Identifier: LGPL-2.1-or-later
// What all CUDA kernels share: loading cells, storing sums, the arithmetic between them, and the
// selection of a template instance at run time. The loops are in the kernels themselves.
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

/// Most resident threads of a multiprocessor of the architecture that is compiled for (CUDA
/// Programming Guide, technical specifications): launch bounds that ask for more do not compile.
#if __CUDA_ARCH__ == 750
constexpr int kProcessorThreads = 1024;
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1100
constexpr int kProcessorThreads = 1536;
#else
constexpr int kProcessorThreads = 2048;
#endif

/// The mask of __shfl_sync() and the like in which all lanes of a warp take part.
inline constexpr unsigned kAllLanes = 0xFFFFFFFFu;

/// The epilogue in double. Out of line: it is long and rarely needed, and if it were inlined
/// several times the loops of the kernels would not fit the instruction cache.
static __device__ __noinline__ int finish_in_double(double sum, const Epilogue& e) {
  return finish(sum, e.wide, e.max_code);
}

/// finish_linear() in the low 16 bits; the bits above are undefined. For codes that are packed
/// next. The addition is that of round_to_even(), whose final subtraction is not needed here.
static __device__ __forceinline__ int finish_linear_low_bits(float sum, const EpilogueOf<float>& e,
                                                             int max_code) {
  const float code = clamp_to(e.base + e.scale * sum, 0.0f, static_cast<float>(max_code));
  return __float_as_int(__fadd_rn(code, 12582912.0f));
}

/// How sums are made in one accumulator. `Cell` holds an input value (code - black, an integer of
/// at most 17 bits) in shared memory or a register; it has 4 bytes in all of them.
template <Accumulator accumulator>
struct Arithmetic;

template <>
struct Arithmetic<Accumulator::kFloat32> {
  using Cell = float;
  using Weight = float;
  using Sum = float;
  static __device__ void mac(Sum& sum, Weight weight, Cell cell) { sum = fmaf(weight, cell, sum); }
  static __device__ int quantise(Sum sum, const Epilogue& e) {
    return e.in_float ? finish(sum, e.narrow, e.max_code) : finish_in_double(sum, e);
  }
};

/// In signed integers: the planner has proven that no sum leaves int32.
template <>
struct Arithmetic<Accumulator::kInt32> {
  using Cell = int;
  using Weight = std::int32_t;
  using Sum = std::int32_t;
  static __device__ void mac(Sum& sum, Weight weight, Cell cell) { sum += weight * cell; }
  static __device__ int quantise(Sum sum, const Epilogue& e) { return finish_in_double(sum, e); }
};

template <>
struct Arithmetic<Accumulator::kFloat64> {
  using Cell = float;  // Exact, and half the shared memory of a double.
  using Weight = double;
  using Sum = double;
  static __device__ void mac(Sum& sum, Weight weight, Cell cell) {
    sum = fma(weight, static_cast<double>(cell), sum);
  }
  static __device__ int quantise(Sum sum, const Epilogue& e) { return finish_in_double(sum, e); }
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
  static __device__ int quantise(const Sum& sum, const Epilogue& e) {
    return finish_in_double(wide_value(sum), e);
  }
};

/// Reads the mask from global memory. ConstantStorage (bank.cuh) reads it from the constant bank.
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

/// The stored sample at (x, y), which must lie in the picture. No launch writes the source while a
/// kernel runs, so it is read by way of the read-only cache.
template <class Stored>
__device__ inline Stored load_stored(const GroupArguments& group, const ChannelArguments& channel,
                                     int x, int y) {
  return __ldg(reinterpret_cast<const Stored*>(
      group.src + sample_offset(group, channel, group.src_pitch, x, y)));
}

/// A row of cells of one channel, ghost cells included: at(x) is the value (code - black) of the
/// cell at any x. What all cells have in common is kept in registers, so that loops over x do
/// little more than load.
template <class Cell, class Stored>
struct Row {
  const std::uint8_t* first;  ///< Sample 0; null for a ghost row without signal.
  int width;
  int step;
  Border border;
  SampleLayout layout;
  int black;

  /// The cell at x; 0 <= x < width, and the row must have a signal. A row is far shorter than 2
  /// GiB.
  __device__ Cell inner(int x) const {
    const auto* sample = reinterpret_cast<const Stored*>(first + static_cast<unsigned>(x * step));
    return static_cast<Cell>(decode_sample(__ldg(sample), layout) - black);
  }

  /// True if all `count` cells from `x` on may be read with inner().
  __device__ bool covers(int x, int count) const {
    return first != nullptr && x >= 0 && x + count <= width;
  }

  __device__ Cell at(int x) const {
    x = border_index(border, x, width);
    return x == kNoSignal || first == nullptr ? Cell(0) : inner(x);
  }
};

/// The row at any y, ghost rows included.
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

/// Quantises the sum for the output at (x, y), and stores it.
template <class Arithmetic, class Stored>
__device__ inline void store_sum(const GroupArguments& group, const ChannelArguments& channel,
                                 int x, int y, const typename Arithmetic::Sum& sum) {
  const int code = Arithmetic::quantise(sum, channel.epilogue);
  store_stored(group, channel, x, y, encode_sample<Stored>(code, channel.layout));
}

/// Copies a sample of a channel that is not filtered, bit for bit.
template <class Stored>
__device__ inline void copy_sample(const GroupArguments& group, const ChannelArguments& channel,
                                   int x, int y) {
  store_stored(group, channel, x, y, load_stored<Stored>(group, channel, x, y));
}

/// A kernel. Its arguments are constant over the grid.
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

/// A grid of blocks of `tile_width` x `tile_height` outputs that cover the group. Even tiles of one
/// row keep within the 65535 blocks that grid.y allows, as pictures have at most 32768 rows.
inline dim3 grid_of_tiles(const GroupArguments& group, int tile_width, int tile_height) {
  const auto tiles = [](int cells, int tile) {
    return static_cast<unsigned>((static_cast<std::int64_t>(cells) + tile - 1) / tile);
  };
  return dim3(tiles(group.width, tile_width), tiles(group.height, tile_height));
}

/// Makes `kernel`, a __global__ function of any signature, load now, and allows its blocks
/// `shared_bytes` of dynamic shared memory. Above the default limit of 48 KB the limit is raised to
/// all that the device has: it belongs to the function, not to the launch, so a second job must
/// never lower it.
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

/// Sets `blocks` to the number of blocks of `threads` threads, without dynamic shared memory, that
/// the current device holds at once.
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

/// Enqueues `kernel`. Unlike <<<>>> it returns the error of this launch, not of an earlier one.
inline cudaError_t launch_kernel(Kernel kernel, dim3 grid, dim3 block, std::size_t shared_bytes,
                                 LaunchArguments arguments, cudaStream_t stream) {
  void* parameters[] = {&arguments};
  return cudaLaunchKernel(reinterpret_cast<const void*>(kernel), grid, block, parameters,
                          shared_bytes, stream);
}

}  // namespace convolve
