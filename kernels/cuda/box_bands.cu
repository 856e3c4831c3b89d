// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `box` in bands: planes of one 8-bit component under masks of any size, at a cost that
// hardly depends on them.
//
// A block has a processor, and a band of rows, as wide as the picture:
//
//   columns   a thread keeps the sums of eight columns: a row enters, a row leaves. It asks for all
//             of its rows at first, and begins with sums that a launch before has made for all
//             bands (box_band_steps.cuh);
//   ghosts    repeat the sums of other columns: borders work on both axes on their own;
//   windows   a warp makes up to 512 outputs of a row: from window to window one column enters and
//             one leaves, so that the sum of such differences, a scan, is all they need.
//
// Two barriers, and no column beside the picture is summed. All rows that a block reads were in the
// L2 cache a moment before, as its neighbours and the launch before read them, too. Where not all
// of a band's sums fit, it comes in batches of rows.
//
// That launch lets the next one begin as soon as it knows that all before it is over. So this one
// may read the picture at once, and waits for those sums only.
#include "kernels/cuda/box_band_steps.cuh"
#include "kernels/cuda/box_band_windows.cuh"
#include "kernels/cuda/box_bands.cuh"
#include "kernels/cuda/box_bands.h"

namespace convolve {
namespace {

/// Column sums of ghosts beside the picture.
template <bool kPacked, int kPitch>
class BandGhosts {
 public:
  /// `table`: a word of shared memory for each ghost.
  __device__ BandGhosts(const LaunchArguments& a, unsigned* table)
      : a_(a), table_(table), ghosts_(a.mask.width - 1) {}

  /// Finds out where ghosts lie and whose sums they repeat.
  __device__ __forceinline__ void find(int lead) const {
    const int width = a_.group.width;
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < ghosts_; i += static_cast<int>(blockDim.x)) {
      const int x = i - a_.mask.anchor_x + (i < a_.mask.anchor_x ? 0 : width);
      const int from = border_index(a_.group.border, x, width);
      table_[i] = place_of(x + lead) << 16 | (from == kNoSignal ? kNothing : place_of(from + lead));
    }
  }

  /// Fills them in, in `count` rows.
  __device__ __forceinline__ void make(unsigned* sums, int count) const {
    Sum* const row = reinterpret_cast<Sum*>(sums);
    const auto nothing =
        static_cast<Sum>(a_.group.channel[0].black * static_cast<unsigned>(a_.mask.height));
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    // So many threads share the rows of a ghost, a power of two.
    const int log = 31 - __clz(max(1, threads / max(1, ghosts_)));
#pragma unroll 1
    for (int i = thread; i < ghosts_ << log; i += threads) {
      const unsigned places = table_[i >> log];
      Sum* const to = row + (places >> 16);
      const unsigned from = places & 0xFFFFu;
#pragma unroll 4
      for (int r = i & ((1 << log) - 1); r < count; r += 1 << log)
        to[r * kRow] = from == kNothing ? nothing : row[r * kRow + from];
    }
  }

 private:
  using Sum = std::conditional_t<kPacked, std::uint16_t, std::uint32_t>;
  static constexpr int kEach = kPacked ? 2 : 1, kPlanes = band_planes(kPacked);
  static constexpr int kRow = kPlanes * kPitch * kEach;
  static constexpr unsigned kNothing = 0xFFFF;
  static_assert(kRow < static_cast<int>(kNothing));

  static __device__ __forceinline__ unsigned place_of(int place) {
    const unsigned at = static_cast<unsigned>(place), word = at / kEach;
    return (word % kPlanes * kPitch + word / kPlanes) * kEach + at % kEach;
  }

  const LaunchArguments& a_;
  unsigned* table_;
  int ghosts_;
};

/// Registers of a thread: beside a block of 16 warps there is room for one of box_step_kernel, so
/// that rows come while that works.
constexpr int band_registers(bool packed, int pitch) {
  return band_threads_most(packed, pitch) <= kBandFewThreads ? 120 : 64;
}
#if CUDART_VERSION >= 12040
#define CONVOLVE_BAND_BOUNDS(packed, pitch) __maxnreg__(band_registers(packed, pitch))
#else
#define CONVOLVE_BAND_BOUNDS(packed, pitch) __launch_bounds__(band_threads_most(packed, pitch))
#endif

template <bool kPacked, int kPitch, bool kWhole>
__global__ void CONVOLVE_BAND_BOUNDS(kPacked, kPitch)
    box_band_kernel(const __grid_constant__ LaunchArguments a) {
  constexpr int kWords = kBandRowWords<kPacked, kPitch>;
  using Columns = BandColumns<kPacked, kPitch, kWhole>;
  __shared__ BandStart start;
  admit_next_launch();
  auto* const sums = shared_cells<unsigned>();
  const BandLayout layout = band_layout(a.group.width, a.mask.width, a.mask.anchor_x, kPacked);
  auto* const offsets = reinterpret_cast<longlong2*>(sums + a.batch_rows * kWords);
  const BandGhosts<kPacked, kPitch> ghosts(a, reinterpret_cast<unsigned*>(offsets + a.tile_height));
  const int y0 =
      band_top(a.group.height, static_cast<int>(blockIdx.x), static_cast<int>(gridDim.x));
  const int rows =
      band_top(a.group.height, static_cast<int>(blockIdx.x) + 1, static_cast<int>(gridDim.x)) - y0;
  for (int r = static_cast<int>(threadIdx.x); r < rows; r += static_cast<int>(blockDim.x)) {
    const int leaving = y0 + r - a.mask.anchor_y;
    const int leaves = border_index(a.group.border, leaving, a.group.height);
    const int enters = border_index(a.group.border, leaving + a.mask.height - 1, a.group.height);
    offsets[r] = make_longlong2(enters == kNoSignal ? kNoOffset : enters * a.group.src_pitch,
                                leaves == kNoSignal ? kNoOffset : leaves * a.group.src_pitch);
  }
  __syncthreads();
  const int x = static_cast<int>(threadIdx.x) * kBandWord, top = y0 - a.mask.anchor_y;
  const bool steps = a.intermediate != nullptr;
  if (threadIdx.x == blockDim.x - 32)
    StartFinder<kPacked>(a, start).find(top, steps, min(rows, a.batch_rows));
  if (!steps) await_previous_launch();
  const BandShare share(a.group.width);
  Columns columns(a, layout.lead, x);
  const bool inner = kWhole && top >= 0 && top + a.mask.height - 1 + rows <= a.group.height;
  const auto begin = [&](int r, int count) {
    if (inner)
      columns.begin_inner(top + r, count);
    else
      columns.begin(offsets + r, count);
  };
  begin(0, min(rows, a.batch_rows));
  ghosts.find(layout.lead);
  __syncthreads();
  if (columns.mine() && start.serves) columns.add_rows(start);
  if (columns.mine() && !start.serves) columns.add_each_row(top);
  if (steps) await_previous_launch();
  if (columns.mine() && start.serves) columns.add_steps(start);
#pragma unroll 1
  for (int r = 0;;) {
    const int count = min(a.batch_rows, rows - r);
    columns.walk(count, sums);
    r += count;
    const int more = min(a.batch_rows, rows - r);
    if (Columns::kAsksEarly && more > 0) begin(r, more);
    __syncthreads();
    ghosts.make(sums, count);
    __syncthreads();
    make_windows<kPacked, kPitch>(a, layout, share, sums, y0 + r - count, count);
    if (more <= 0) break;
    if (!Columns::kAsksEarly) begin(r, more);
    __syncthreads();
  }
}

BandLayout layout_of(const LaunchArguments& a) {
  return band_layout(a.group.width, a.mask.width, a.mask.anchor_x, a.packed);
}

template <bool kPacked, int kPitch>
Kernel select_loads(bool whole) {
  return whole ? box_band_kernel<kPacked, kPitch, true> : box_band_kernel<kPacked, kPitch, false>;
}

Kernel select_kernel(const LaunchArguments& a, bool whole) {
  const int pitch = layout_of(a).pitch;
  if (!a.packed)
    return pitch == band_pitch(false, 0) ? select_loads<false, band_pitch(false, 0)>(whole)
                                         : select_loads<false, band_pitch(false, 1)>(whole);
  return pitch == band_pitch(true, 0)   ? select_loads<true, band_pitch(true, 0)>(whole)
         : pitch == band_pitch(true, 1) ? select_loads<true, band_pitch(true, 1)>(whole)
                                        : select_loads<true, band_pitch(true, 2)>(whole);
}

std::size_t shared_bytes(const LaunchArguments& a) {
  return band_bytes(layout_of(a).pitch, a.packed, a.batch_rows, a.tile_height, a.mask.width - 1);
}

}  // namespace

// How rows are aligned is not known before there are pictures.
cudaError_t load_box_bands(const LaunchArguments& arguments) {
  cudaError_t error =
      load_kernel(box_step_kernel, band_step_bytes(arguments.group.height, arguments.packed));
  for (const bool whole : {false, true})
    if (error == cudaSuccess)
      error = load_kernel(select_kernel(arguments, whole), shared_bytes(arguments));
  return error;
}

cudaError_t launch_box_bands(const LaunchArguments& arguments, cudaStream_t stream) {
  const GroupArguments& group = arguments.group;
  const dim3 threads(static_cast<unsigned>(max(band_threads(group.width), kBandFewThreads)));
  LaunchArguments a = arguments;
  if (group.height < kBandStep) a.intermediate = nullptr;
  if (a.intermediate != nullptr) {
    const int layer = band_layer_steps(group.height, a.packed);
    const dim3 grid(static_cast<unsigned>(divide_up(group.width, kBandStepColumns)),
                    static_cast<unsigned>(divide_up(band_steps(group.height), layer)));
    const cudaError_t error =
        launch_overlapping(box_step_kernel, grid, dim3(kStepThreads),
                           band_step_bytes(group.height, a.packed), stream, a);
    if (error != cudaSuccess) return error;
  }
  const dim3 bands(static_cast<unsigned>(min(a.tile_width, group.height)));
  return launch_overlapping(select_kernel(a, whole_columns(group)), bands, threads, shared_bytes(a),
                            stream, a);
}

}  // namespace convolve
