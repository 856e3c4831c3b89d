// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `coarsened`: several outputs per thread, in registers (ECE408 lecture 9, last slides).
//
// One output per thread reads one cell from shared memory for each multiply-add, and shared memory
// feeds only 32 of an SM's 128 multipliers. Here a thread owns a register tile of kColumns x kRows
// outputs. A window of cells, read once from a row of the tile, serves all kColumns outputs of a
// row and all kRows rows of outputs that see it under different mask rows; a weight, read once,
// serves kColumns outputs. So a chunk of kColumns weights costs 6 + 8 wide shared loads for 256
// multiply-adds, and the multipliers become the limit.
#include <type_traits>

#include "kernels/cuda/bank.cuh"
#include "kernels/cuda/overlap.cuh"
#include "kernels/cuda/tile_load.cuh"

namespace convolve {
namespace {

constexpr int kThreadsX = 16;
constexpr int kThreadsY = 8;
constexpr int kThreads = kThreadsX * kThreadsY;
constexpr int kRows = 4;     ///< Output rows of a thread: adjacent.
constexpr int kHalf = 4;     ///< Output columns of a thread: four, and four half a tile further,
constexpr int kColumns = 8;  ///< so that 16-byte reads of neighbours hit different banks.
constexpr int kTileWidth = kThreadsX * kColumns;
constexpr int kTileHeight = kThreadsY * kRows;
static_assert(kTileWidth == kCoarsenedTileWidth && kTileHeight == kCoarsenedTileHeight,
              "plans show another tile");
constexpr int kSecondHalf = kTileWidth / 2;

/// Shared memory that a block takes unless the mask is so wide that kFewestRows rows need more.
constexpr std::size_t kSharedBudget = 48 * 1024;
constexpr int kFewestRows = 8;

/// Blocks that an SM should hold: some load or store while others multiply. More of them leave a
/// thread fewer registers, 72 with seven; from ten weights in a row on that spills. On an H200 at
/// 4K: 39.9, 41.0 and 44.2 us with 7, 6 and 5 blocks at 9x9; 372 and 360 with 6 and 5 at 31x31.
template <class A>
constexpr int resident_blocks(int chunk, int rest) {
  return sizeof(typename A::Sum) > 4 ? 1 : (chunk != 0 ? 5 : (rest > 9 ? 6 : 7));
}

/// Cells of a row of the tile: the outputs and the halo. No wide read runs past whole quads.
__host__ __device__ constexpr int tile_pitch(int mask_width) {
  return padded(kTileWidth + mask_width - 1);
}
__host__ __device__ constexpr int weight_pitch(int mask_width) {
  return padded(mask_width);
}

/// Reads N values from shared memory, 16 bytes at a time if `from` is Aligned to that.
template <bool Aligned, int N, class T>
__device__ void read_row(const T* from, T (&to)[N]) {
  if constexpr (Aligned && sizeof(T) == 4 && N % 4 == 0) {
#pragma unroll
    for (int i = 0; i < N; i += 4) {
      const int4 four = *reinterpret_cast<const int4*>(from + i);
      const int word[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if constexpr (std::is_same_v<T, float>)
          to[i + j] = __int_as_float(word[j]);
        else
          to[i + j] = word[j];
      }
    }
  } else {
#pragma unroll
    for (int i = 0; i < N; ++i)
      to[i] = from[i];
  }
}

/// Output rows of a thread that see a row of cells: those whose mask row lies in the mask.
struct Seen {
  int first, last;
};

/// Adds what `Taps` adjacent weights of every mask row that sees this row of cells contribute.
/// `cells`: the thread's window, from the column of the first weight. `weights`: the first weight
/// of the mask row by which the thread's first output row sees it; output row t is t rows above.
template <int Taps, bool Aligned, class A>
__device__ __forceinline__ void add_taps(typename A::Sum (&sum)[kRows][kColumns],
                                         const typename A::Cell* cells,
                                         const typename A::Weight* weights, int pitch, Seen seen) {
  using Cell = typename A::Cell;
  using Weight = typename A::Weight;
  // Padded to whole wide reads; what they read too much lies in the row's padding.
  constexpr int kWindow = Aligned ? padded(kHalf + Taps - 1) : kHalf + Taps - 1;
  constexpr int kTaps = Aligned ? padded(Taps) : Taps;
  Cell left[kWindow], right[kWindow];
  read_row<Aligned>(cells, left);
  read_row<Aligned>(cells + kSecondHalf, right);
#pragma unroll
  for (int t = 0; t < kRows; ++t) {
    if (t < seen.first || t > seen.last) continue;
    Weight weight[kTaps];
    read_row<Aligned>(weights - t * pitch, weight);
#pragma unroll
    for (int k = 0; k < Taps; ++k)
#pragma unroll
      for (int x = 0; x < kHalf; ++x) {
        A::mac(sum[t][x], weight[k], left[k + x]);
        A::mac(sum[t][kHalf + x], weight[k], right[k + x]);
      }
  }
}

/// Four adjacent samples in the form that they are stored in.
template <class Stored>
union FourSamples {
  static constexpr int kWords = sizeof(Stored);
  unsigned word[kWords];
  Stored sample[4];

  /// Of each code the low bits count, as many as Stored has.
  __device__ void encode(const int (&code)[4], const SampleLayout& layout) {
    if constexpr (kWords == 1) {
      word[0] = __byte_perm(__byte_perm(code[0], code[1], 0x0040),
                            __byte_perm(code[2], code[3], 0x0040), 0x5410)
                << layout.shift;
    } else {
      const unsigned order = layout.swap ? 0x2301 : 0x3210;
      for (int i = 0; i < 2; ++i)
        word[i] = __byte_perm(__byte_perm(code[2 * i], code[2 * i + 1], 0x5410) << layout.shift, 0,
                              order);
    }
  }

  __device__ void store(std::uint8_t* to) const {
    if constexpr (kWords == 1)
      *reinterpret_cast<unsigned*>(to) = word[0];
    else
      *reinterpret_cast<uint2*>(to) = make_uint2(word[0], word[1]);
  }
};

/// The code of a sum, out of line: of the types wider than a register a thread has 32 copies.
template <class A>
__device__ __noinline__ int code_out_of_line(typename A::Sum sum, const Epilogue& epilogue) {
  return A::code(sum, epilogue);
}

/// Takes a thread's results through its own slots of shared memory, where a loop can index them:
/// written out for 32 registers, epilogue and stores would be longer than the filter itself and
/// miss the instruction cache. Sums of 4 bytes wait there, wider ones as codes.
template <class A>
struct Slots {
  using Sum = typename A::Sum;
  static constexpr bool kHoldSums = sizeof(Sum) == 4;
  using Value = std::conditional_t<kHoldSums, Sum, int>;

  Value* slot;  ///< of outputs 4 i to 4 i + 3 at slot[4 * i * kThreads]

  __device__ void put(const Sum (&sum)[kRows][kColumns], const Epilogue& epilogue) {
#pragma unroll
    for (int i = 0; i < kRows * kColumns; i += 4) {
      int four[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        const Sum& s = sum[i / kColumns][i % kColumns + j];
        if constexpr (std::is_same_v<Sum, float>)
          four[j] = __float_as_int(s);
        else if constexpr (kHoldSums)
          four[j] = s;
        else
          four[j] = code_out_of_line<A>(s, epilogue);
      }
      *reinterpret_cast<int4*>(slot + i * kThreads) = make_int4(four[0], four[1], four[2], four[3]);
    }
  }

  /// The i-th four values: two fours a row.
  __device__ void get(int i, Value (&values)[4]) const {
    read_row<true>(slot + i * 4 * kThreads, values);
  }
};

/// Stores the thread's outputs, whose first is (x, y). `code` makes a code of what the slots hold;
/// bits above those of Stored do not count.
template <class A, class Stored, class Code>
__device__ void store_codes(const GroupArguments& group, const ChannelArguments& channel, int x,
                            int y, const Slots<A>& slots, Code&& code) {
  constexpr std::size_t kBytes = kHalf * sizeof(Stored);
  const SampleLayout layout = channel.layout;
  const std::int64_t pitch = group.dst_pitch;
  std::uint8_t* to = group.dst + sample_offset(group, channel, pitch, x, y);
  // Four adjacent samples go in one access where the layout allows.
  const bool whole = group.step == static_cast<int>(sizeof(Stored)) &&
                     x + kSecondHalf + kHalf <= group.width &&
                     (reinterpret_cast<std::uintptr_t>(to) | pitch) % kBytes == 0;
#pragma unroll 1
  for (int t = 0; t < kRows && y + t < group.height; ++t, to += pitch) {
    FourSamples<Stored> half[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      typename Slots<A>::Value values[kHalf];
      slots.get(2 * t + h, values);
      int codes[kHalf];
#pragma unroll
      for (int i = 0; i < kHalf; ++i)
        codes[i] = code(values[i]);
      half[h].encode(codes, layout);
    }
    if (whole) {
      half[0].store(to);
      half[1].store(to + kSecondHalf * sizeof(Stored));
    } else {
#pragma unroll
      for (int i = 0; i < kColumns; ++i) {
        const int dx = i < kHalf ? i : kSecondHalf + i - kHalf;
        if (x + dx < group.width)
          *reinterpret_cast<Stored*>(to + dx * group.step) = half[i / kHalf].sample[i % kHalf];
      }
    }
  }
}

/// The same, with the way to the codes chosen once a thread. Constants of the epilogue are copied
/// first: read where they are used they would come through the constant cache for every output.
template <class A, class Stored>
__device__ void store_tile(const GroupArguments& group, const ChannelArguments& channel, int x,
                           int y, const Slots<A>& slots) {
  using Value = typename Slots<A>::Value;
  const Epilogue& epilogue = channel.epilogue;
  if constexpr (!Slots<A>::kHoldSums) {
    store_codes<A, Stored>(group, channel, x, y, slots, [](int code) { return code; });
    return;
  }
  if constexpr (std::is_same_v<Value, float>) {
    const EpilogueOf<float> narrow = epilogue.narrow;
    const int max_code = epilogue.max_code;
    if (epilogue.in_float && !narrow.divide) {
      store_codes<A, Stored>(group, channel, x, y, slots, [=](float sum) {
        return finish_linear_low_bits(sum, narrow, max_code);
      });
      return;
    }
    if (epilogue.in_float) {
      store_codes<A, Stored>(group, channel, x, y, slots,
                             [=](float sum) { return finish(sum, narrow, max_code); });
      return;
    }
  }
  store_codes<A, Stored>(group, channel, x, y, slots, [&epilogue](Value sum) {
    return finish_in_double(static_cast<double>(sum), epilogue);
  });
}

/// Copies `rows` rows of the mask to shared memory, `pitch` weights apart.
template <class Weight>
__device__ void stage_weights(const LaunchArguments& arguments, int first, int rows, int pitch,
                              Weight* weights) {
  const unsigned width = static_cast<unsigned>(arguments.mask.width);
  const bool constant = arguments.storage == MaskStorage::kConstantMemory;
  const Weight* from = (constant ? ConstantStorage::weights<Weight>(arguments.mask)
                                 : GlobalStorage::weights<Weight>(arguments.mask)) +
                       static_cast<unsigned>(first) * width;
  const unsigned count = static_cast<unsigned>(rows) * width;
#pragma unroll 1
  for (unsigned i = threadIdx.y * 32 + threadIdx.x; i < count; i += kThreads) {
    const unsigned r = i / width;
    weights[r * static_cast<unsigned>(pitch - static_cast<int>(width)) + i] = from[i];
  }
}

template <class Stored>
__device__ void copy_tile(const GroupArguments& group, const ChannelArguments& channel, int x0,
                          int y0) {
  for (int y = y0 + threadIdx.y; y < min(y0 + kTileHeight, group.height); y += kThreads / 32)
    for (int x = x0 + threadIdx.x; x < min(x0 + kTileWidth, group.width); x += 32)
      copy_sample<Stored>(group, channel, x, y);
}

/// Filters one tile of one channel. The mask is Chunk * n + Rest columns wide; tall masks, whose
/// input tile would not fit, go in segments of `segment_rows` rows. Sample type and mask storage
/// matter only at the tile's rim, so they are run-time choices: that keeps the module small.
template <int Chunk, int Rest, class A>
__global__ void __launch_bounds__(kThreads, resident_blocks<A>(Chunk, Rest))
    coarsened_kernel(const __grid_constant__ LaunchArguments arguments, int segment_rows) {
  using Cell = typename A::Cell;
  using Weight = typename A::Weight;
  const GroupArguments& group = arguments.group;
  const MaskArguments& mask = arguments.mask;
  const ChannelArguments& channel = group.channel[blockIdx.z];
  admit_next_launch();
  await_previous_launch();
  constexpr bool kAligned = Chunk % 4 == 0;  // Then every chunk starts on 16 bytes.
  constexpr bool kNarrow = Chunk == 0;
  const int mask_width = kNarrow ? Rest : mask.width;
  const bool bytes = group.sample_bytes == 1;
  const int lane = threadIdx.x, line = threadIdx.y;  // as warps: 32 x 4
  const int thread_x = lane % kThreadsX;             // as a tile: 16 x 8
  const int thread_y = line * 2 + lane / kThreadsX;
  const int tile_x = blockIdx.x * kTileWidth, tile_y = blockIdx.y * kTileHeight;

  if (!channel.filtered) {
    if (bytes)
      copy_tile<std::uint8_t>(group, channel, tile_x, tile_y);
    else
      copy_tile<std::uint16_t>(group, channel, tile_x, tile_y);
    return;
  }

  const int cell_pitch = tile_pitch(mask_width), mask_pitch = weight_pitch(mask_width);
  Cell* tile = shared_cells<Cell>();
  Weight* weights = reinterpret_cast<Weight*>(
      tile + static_cast<std::size_t>(kTileHeight + segment_rows - 1) * cell_pitch);
  const std::uint8_t** source_rows =
      reinterpret_cast<const std::uint8_t**>(weights + segment_rows * mask_pitch);
  // What `rows` mask rows from `first` on need: cells, where stored outputs see them, and weights.
  const auto bring = [&](int first, int rows, auto effort) {
    const TileBox box = {tile_x - mask.anchor_x, tile_y - mask.anchor_y + first,
                         min(kTileWidth, group.width - tile_x) + mask.width - 1,
                         min(kTileHeight, group.height - tile_y) + rows - 1, cell_pitch};
    const auto load = [&](auto stored) {
      const TileLoader<kThreads / 32, decltype(effort)::value, Cell, decltype(stored)> loader(
          group, channel, box, source_rows);
      loader.find_rows();
      __syncthreads();
      loader.load(tile);
    };
    if (bytes)
      load(std::uint8_t{});
    else
      load(std::uint16_t{});
    stage_weights(arguments, first, rows, mask_pitch, weights);
    __syncthreads();
  };

  // Nearly all masks are one segment. Its load is written out before the loop: there no sums occupy
  // registers yet, so more words can be on their way at once.
  int first = 0, rows = min(segment_rows, mask.height);
  bring(first, rows, std::integral_constant<int, 12>{});
  typename A::Sum sum[kRows][kColumns] = {};
#pragma unroll 1
  for (;;) {
    const Cell* cells = tile + thread_y * kRows * cell_pitch + thread_x * kHalf;
    const Weight* weight = weights;
    const auto add_row = [&](Seen seen) {
      int k = 0;
      if constexpr (Chunk != 0) {
#pragma unroll 1
        for (; k + Chunk + Rest <= mask.width; k += Chunk)
          add_taps<Chunk, kAligned, A>(sum, cells + k, weight + k, mask_pitch, seen);
      }
      add_taps<Rest, kAligned, A>(sum, cells + k, weight + k, mask_pitch, seen);
      cells += cell_pitch;
      weight += mask_pitch;
    };
    constexpr Seen kAll = {0, kRows - 1};
    if (kNarrow && rows >= kRows) {
      // Written out, the first and last rows of the window ask nothing.
#pragma unroll
      for (int row = 0; row < kRows - 1; ++row)
        add_row({0, row});
#pragma unroll 1
      for (int row = kRows - 1; row < rows; ++row)
        add_row(kAll);
#pragma unroll
      for (int row = 1; row < kRows; ++row)
        add_row({row, kRows - 1});
    } else {
#pragma unroll 1
      for (int row = 0; row < rows + kRows - 1; ++row) {
        if (row >= kRows - 1 && row < rows)
          add_row(kAll);
        else
          add_row({max(0, row - rows + 1), min(row, kRows - 1)});
      }
    }
    __syncthreads();  // Slower warps still read what comes now to be overwritten.
    first += segment_rows;
    if (first >= mask.height) break;
    rows = min(segment_rows, mask.height - first);
    bring(first, rows, std::integral_constant<int, 1>{});
  }

  // The tile has been read: its memory is at least the 16 KB that the slots take.
  Slots<A> slots = {reinterpret_cast<typename Slots<A>::Value*>(tile) + 4 * (line * 32 + lane)};
  slots.put(sum, channel.epilogue);
  const int x = tile_x + thread_x * kHalf, y = tile_y + thread_y * kRows;
  if (bytes)
    store_tile<A, std::uint8_t>(group, channel, x, y, slots);
  else
    store_tile<A, std::uint16_t>(group, channel, x, y, slots);
}

using CoarsenedKernel = void (*)(LaunchArguments, int);

/// For 4-byte arithmetics one kernel for each width up to 12 and for each way that a wider one
/// ends, so that no multiply-add is wasted: chunks of 8 and then 5 to 12 weights.
template <class A>
CoarsenedKernel select_by_width(int mask_width) {
  static constexpr CoarsenedKernel kNarrow[] = {
      coarsened_kernel<0, 1, A>,  coarsened_kernel<0, 2, A>,  coarsened_kernel<0, 3, A>,
      coarsened_kernel<0, 4, A>,  coarsened_kernel<0, 5, A>,  coarsened_kernel<0, 6, A>,
      coarsened_kernel<0, 7, A>,  coarsened_kernel<0, 8, A>,  coarsened_kernel<0, 9, A>,
      coarsened_kernel<0, 10, A>, coarsened_kernel<0, 11, A>, coarsened_kernel<0, 12, A>};
  static constexpr CoarsenedKernel kWide[] = {
      coarsened_kernel<8, 5, A>,  coarsened_kernel<8, 6, A>, coarsened_kernel<8, 7, A>,
      coarsened_kernel<8, 8, A>,  coarsened_kernel<8, 9, A>, coarsened_kernel<8, 10, A>,
      coarsened_kernel<8, 11, A>, coarsened_kernel<8, 12, A>};
  return mask_width <= 12 ? kNarrow[mask_width - 1] : kWide[(mask_width - 5) % 8];
}

CoarsenedKernel select_kernel(const LaunchArguments& arguments) {
  switch (arguments.accumulator) {
    case Accumulator::kFloat32:
      return select_by_width<Arithmetic<Accumulator::kFloat32>>(arguments.mask.width);
    case Accumulator::kInt32:
      return select_by_width<Arithmetic<Accumulator::kInt32>>(arguments.mask.width);
    case Accumulator::kFloat64:
      return coarsened_kernel<1, 1, Arithmetic<Accumulator::kFloat64>>;
    case Accumulator::kWide:
      break;
  }
  return coarsened_kernel<1, 1, Arithmetic<Accumulator::kWide>>;
}

/// Mask rows that one input tile serves, and the shared memory of that.
struct Segment {
  int rows;
  std::size_t bytes;
};

Segment segment_of(const LaunchArguments& arguments) {
  const int width = arguments.mask.width;
  const std::size_t cell_row = static_cast<std::size_t>(tile_pitch(width)) * 4 + sizeof(void*);
  const std::size_t row_bytes =
      cell_row + weight_pitch(width) * weight_bytes(arguments.accumulator);
  const std::size_t fixed = (kTileHeight - 1) * cell_row;
  std::size_t rows = fixed < kSharedBudget ? (kSharedBudget - fixed) / row_bytes : 0;
  if (rows < kFewestRows) rows = kFewestRows;
  const std::size_t height = static_cast<std::size_t>(arguments.mask.height);
  if (rows > height) rows = height;
  return {static_cast<int>(rows), fixed + rows * row_bytes};
}

cudaError_t load(const LaunchArguments& arguments) {
  return load_kernel(select_kernel(arguments), segment_of(arguments).bytes);
}

cudaError_t launch(const LaunchArguments& arguments, cudaStream_t stream) {
  const Segment segment = segment_of(arguments);
  dim3 grid = grid_of_tiles(arguments.group, kTileWidth, kTileHeight);
  grid.z = static_cast<unsigned>(arguments.group.channels);
  return launch_overlapping(select_kernel(arguments), grid, dim3(32, kThreads / 32), segment.bytes,
                            stream, arguments, segment.rows);
}

}  // namespace

const Variant kCoarsenedVariant = {KernelKind::kCoarsened, true, upload_mask, load, launch};

}  // namespace convolve
