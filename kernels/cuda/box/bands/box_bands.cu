// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `box` in bands: masks of equal weights over planes of one 8-bit component, at a cost that
// hardly depends on the size of the mask.
//
// A block has a processor to itself, and a band of rows as wide as the picture:
//
//   columns   a thread has eight columns. It stores by how much each row's column sums differ from
//             the next row's, which fits 9 bits, and the column sums of the middle row of the
//             batch. These are a sum of a few checkpoints, which a launch before has made
//             (box_band_checkpoints.cuh), and a few rows;
//   ghosts    are copied from other columns, as the border treats columns and rows independently;
//   windows   a warp makes up to 512 outputs of a row. From each window to the next one column
//             enters and one leaves, so that window sums are a scan of differences. First come
//             the windows of the middle row; then, upwards and downwards, windows of the
//             differences are added to those of the row before.
//
// Layout: all of this is in lines of shared memory (box_bands.h), two rows of differences a word.
// So a band of 17 rows is one batch with two barriers, and no column beside the picture is summed.
// Bands that do not fit come in several batches.
//
// What binds (H100, 4K, 63x63): first the L2 cache, where all rows a block reads have just been
// read by its neighbours and by the launch before; from then on instructions, of which the scan
// takes a fifth and quantisers a quarter, at 55 % of the issue slots (tests/benchmarks/RESULTS.md).
//
// The launch of the checkpoints lets this one begin as soon as the picture may be read. So this
// kernel reads the picture at once, and awaits the previous launch only before it reads
// checkpoints; then all launches before it are over, as the previous one has awaited them. Without
// checkpoints it reads at once only if no launch that may still run writes the picture.
#include "kernels/cuda/box/bands/box_band_checkpoints.cuh"
#include "kernels/cuda/box/bands/box_band_windows.cuh"
#include "kernels/cuda/box/bands/box_bands.cuh"
#include "kernels/cuda/box/bands/box_bands.h"

namespace convolve {
namespace {

CONVOLVE_HD inline BandLayout layout_of(const LaunchArguments& a, Border border) {
  return band_layout(a.group.width, a.mask.width, a.mask.anchor_x, band_repeats(border));
}

/// Ghosts that have to be copied one by one, because the border does not repeat one column.
template <int kPitch>
class BandGhosts {
 public:
  /// `table`: a word of shared memory for each of these ghosts.
  __device__ BandGhosts(const LaunchArguments& a, const BandLayout& layout, unsigned* table)
      : a_(a),
        layout_(layout),
        table_(table),
        ghosts_(band_ghosts(layout, a.group.width, band_repeats(a.group.border))) {}

  /// Notes where each ghost lies in a line, and the column that it repeats.
  __device__ __forceinline__ void find() const {
    const int width = a_.group.width, lead = layout_.lead;
    const auto word = [&](int x) { return static_cast<unsigned>(layout_.word_at(x + lead)); };
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < ghosts_; i += static_cast<int>(blockDim.x)) {
      const int x = i - lead + (i < lead ? 0 : width);
      table_[i] = word(x) << 16 | word(border_index(a_.group.border, x, width));
    }
  }

  /// Copies the ghosts of `count` lines. The caller has passed a barrier since columns were stored;
  /// there is another one at the end, unless there are no ghosts.
  __device__ __forceinline__ void make(uint4* line, int count) const {
    if (ghosts_ == 0) return;
    unsigned* const lines = reinterpret_cast<unsigned*>(line);
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    // The logarithm of how many threads share the lines of one ghost.
    const int log = 31 - __clz(max(1, threads / ghosts_));
#pragma unroll 1
    for (int i = thread; i < ghosts_ << log; i += threads) {
      const unsigned words = table_[i >> log];
#pragma unroll 4
      for (int line = i & ((1 << log) - 1); line < count; line += 1 << log)
        lines[line * kWords + (words >> 16)] = lines[line * kWords + (words & 0xFFFFu)];
    }
    __syncthreads();
  }

 private:
  static constexpr int kWords = kBandVector * band_line_vectors(kPitch);
  static_assert(kWords <= 1 << 16);

  const LaunchArguments& a_;
  const BandLayout& layout_;
  unsigned* table_;
  int ghosts_;
};

/// Registers of a thread. A block of 16 warps leaves room for a block of box_checkpoint_kernel on
/// its processor, so that a band reads its rows while that still runs.
constexpr int band_registers(int pitch) {
  return band_threads_most(pitch) <= kBandFewThreads ? 120 : 64;
}
#if CUDART_VERSION >= 12040
#define CONVOLVE_BAND_BOUNDS(pitch) __maxnreg__(band_registers(pitch))
#else
#define CONVOLVE_BAND_BOUNDS(pitch) __launch_bounds__(band_threads_most(pitch))
#endif

template <class Quantiser>
struct QuantiserTag {
  using Type = Quantiser;
};
/// Calls visit(QuantiserTag<Quantiser>()) with the fastest quantiser that supports the launch.
template <int kRows, class Visit>
__device__ __forceinline__ void visit_quantiser(const LaunchArguments& a, Visit&& visit) {
  const bool ties = a.group.channel[0].division.ties;
  if (FloatQuantiser<kRows, true>::supports(a) && ties)
    visit(QuantiserTag<FloatQuantiser<kRows, true>>());
  else if (FloatQuantiser<kRows, false>::supports(a))
    visit(QuantiserTag<FloatQuantiser<kRows, false>>());
  else if (SignQuantiser::supports(a))
    visit(QuantiserTag<SignQuantiser>());
  else
    visit(QuantiserTag<GeneralQuantiser>());
}

/// kSingle: a band is one batch. kPanelSums: lines have panel sums.
template <int kPitch, int kRows, bool kSingle, bool kPanelSums>
__global__ void CONVOLVE_BAND_BOUNDS(kPitch)
    box_band_kernel(const __grid_constant__ LaunchArguments a) {
  constexpr int kPairs = band_lines(kRows) - 1, kLine = band_line_vectors(kPitch);
  using Columns = BandColumns<kPitch, kRows, kPanelSums>;
  __shared__ InitialSum initial;
  admit_next_launch();
  auto* const lines = shared_cells<uint4>();
  auto* const middle = lines + kPairs * kLine;
  auto* const offsets = reinterpret_cast<longlong2*>(middle + kLine);
  auto* const panel_sums = reinterpret_cast<unsigned*>(offsets + a.tile_height);
  const BandLayout layout = layout_of(a, a.group.border);
  const BandGhosts<kPitch> ghosts(
      a, layout, panel_sums + (kPanelSums ? (kPairs + 1) * band_line_panels(kPitch) : 0));
  const int bands = static_cast<int>(gridDim.x);
  const int band = band_of_block(static_cast<int>(blockIdx.x), bands);
  const int y0 = band_top(a.group.height, band, bands);
  const int rows = band_top(a.group.height, band + 1, bands) - y0;
  for (int r = static_cast<int>(threadIdx.x); r < rows; r += static_cast<int>(blockDim.x)) {
    const int leaving = y0 + r - a.mask.anchor_y;
    const int leaves = border_index(a.group.border, leaving, a.group.height);
    const int enters = border_index(a.group.border, leaving + a.mask.height - 1, a.group.height);
    offsets[r] = make_longlong2(enters == kNoSignal ? kNoOffset : enters * a.group.src_pitch,
                                leaves == kNoSignal ? kNoOffset : leaves * a.group.src_pitch);
  }
  __syncthreads();
  const int x = static_cast<int>(threadIdx.x) * kBandColumnsAThread, top = y0 - a.mask.anchor_y;
  const bool checkpoints = a.intermediate != nullptr;
  if (threadIdx.x == blockDim.x - 32)
    InitialSumFinder(a, initial).find(top, checkpoints, min(rows, kRows));
  const bool early = checkpoints || a.settled;
  if (!early) await_previous_launch();
  const BandWarpTile tile(a.group.width);
  const bool interior = top >= 0 && top + a.mask.height - 1 + rows <= a.group.height;
  ghosts.find();
  EightSums<false> above;
#pragma unroll 1
  for (int r = 0;; r += kRows) {
    const int count = kSingle ? rows : min(kRows, rows - r);
    Columns columns(a, layout, x, panel_sums);
    if (interior && count > kPairs)
      columns.store_differences(columns.interior(top + r, count), lines);
    else
      columns.store_differences(columns.border(offsets + r, count), lines);
    __syncthreads();
    ghosts.make(lines, kPairs);
    BandWindows<kPitch, kRows, kPanelSums> windows(a, layout, tile, lines, panel_sums);
    const bool begins = r == 0 && columns.inside();
    const bool by_checkpoints = begins && initial.serves && initial.checkpoints > 0;
    if (begins && initial.serves) columns.add_initial_rows(initial);
    if (begins && !initial.serves) columns.add_all_initial_rows(top);
    if (r > 0) columns.continue_from(above);
    if (r == 0 && early) await_previous_launch();
    // The loads take about as long as the windows of differences, which are summed meanwhile.
    if (by_checkpoints) columns.prefetch_checkpoints(initial);
    if (tile.active) windows.sum_first_windows();
    if (by_checkpoints) columns.add_checkpoints(initial);
    columns.store_middle(lines);
    if (!kSingle) above = columns.sums_above_next();
    __syncthreads();
    ghosts.make(middle, 1);
    if (tile.active) {
      std::uint8_t* const to =
          a.group.dst + a.group.channel[0].offset + (y0 + r) * a.group.dst_pitch;
      visit_quantiser<kRows>(a, [&](auto quantiser) {
        windows.template make<typename decltype(quantiser)::Type>(to, count);
      });
    }
    if (kSingle || rows - r <= kRows) break;
    __syncthreads();
  }
}

template <int kPitch, int kRows>
Kernel select_batches(const LaunchArguments& a, bool repeats) {
  if constexpr (band_may_have_panel_sums(kPitch, kRows))
    if (band_has_panel_sums(a.mask.width, repeats, kPitch, kRows, a.tile_height))
      return box_band_kernel<kPitch, kRows, true, true>;
  // A band of one batch needs no loop. Usual pictures have such bands where they are narrow or a
  // batch is large; panoramas, and small pictures on small GPUs, make do with a loop of one turn.
  if constexpr (kPitch == band_pitch(0) || kRows == kBandMostBatch)
    if (a.tile_height <= kRows) return box_band_kernel<kPitch, kRows, true, false>;
  return box_band_kernel<kPitch, kRows, false, false>;
}
template <int kPitch>
Kernel select_rows(const LaunchArguments& a, bool repeats) {
  constexpr int kFew = band_rows(kPitch, kBandFewBatch), kMost = band_rows(kPitch, kBandMostBatch);
  return band_rows(kPitch, a.batch_rows) == kMost ? select_batches<kPitch, kMost>(a, repeats)
                                                  : select_batches<kPitch, kFew>(a, repeats);
}
Kernel select_kernel(const LaunchArguments& a, Border border) {
  const int pitch = layout_of(a, border).pitch;
  const bool repeats = band_repeats(border);
  return pitch == band_pitch(0)   ? select_rows<band_pitch(0)>(a, repeats)
         : pitch == band_pitch(1) ? select_rows<band_pitch(1)>(a, repeats)
         : pitch == band_pitch(2) ? select_rows<band_pitch(2)>(a, repeats)
         : pitch == band_pitch(3) ? select_rows<band_pitch(3)>(a, repeats)
                                  : select_rows<band_pitch(4)>(a, repeats);
}

std::size_t shared_bytes(const LaunchArguments& a, Border border) {
  return band_bytes(layout_of(a, border), a.group.width, a.mask.width, band_repeats(border),
                    a.batch_rows, a.tile_height);
}

/// The kernel that makes checkpoints before the bands, and the shared memory of its blocks.
struct CheckpointLaunch {
  CheckpointLaunch(const LaunchArguments& a, Border border) {
    const int stages = band_checkpoint_stages(a.group.height, shared_bytes(a, border));
    kernel = stages == kBandWarpIntervals ? box_checkpoint_kernel<kBandWarpIntervals>
                                          : box_checkpoint_kernel<kBandFewStages>;
    bytes = band_checkpoint_block_bytes(a.group.height, stages);
  }
  Kernel kernel;
  std::size_t bytes;
};

}  // namespace

// Which kernels run is known only with the pictures: the border may change, and a field, which has
// fewer rows, may take other stages. So all of them are loaded, and both kernels that make
// checkpoints are given the most shared memory that either may need.
cudaError_t load_box_bands(const LaunchArguments& arguments) {
  constexpr std::size_t kMostBytes = kBandCheckpointWarps * kBandWarpIntervals * kBandIntervalBytes;
  cudaError_t error = load_kernel(box_checkpoint_kernel<kBandWarpIntervals>, kMostBytes);
  if (error == cudaSuccess) error = load_kernel(box_checkpoint_kernel<kBandFewStages>, kMostBytes);
  for (const Border border : {Border::kReplicate, Border::kMirror})
    if (error == cudaSuccess)
      error = load_kernel(select_kernel(arguments, border), shared_bytes(arguments, border));
  return error;
}

cudaError_t launch_box_bands(const LaunchArguments& arguments, cudaStream_t stream) {
  const GroupArguments& group = arguments.group;
  const dim3 threads(static_cast<unsigned>(band_block_threads(group.width)));
  LaunchArguments a = arguments;
  if (group.height < kBandInterval) a.intermediate = nullptr;
  if (a.intermediate != nullptr) {
    const dim3 grid(static_cast<unsigned>(divide_up(group.width, kBandCheckpointColumns)),
                    static_cast<unsigned>(divide_up(band_intervals(group.height),
                                                    band_block_intervals(group.height))));
    const CheckpointLaunch checkpoints(a, group.border);
    const cudaError_t error = launch_overlapping(checkpoints.kernel, grid, dim3(kCheckpointThreads),
                                                 checkpoints.bytes, stream, a);
    if (error != cudaSuccess) return error;
  }
  const dim3 bands(static_cast<unsigned>(min(a.tile_width, group.height)));
  return launch_overlapping(select_kernel(a, group.border), bands, threads,
                            shared_bytes(a, group.border), stream, a);
}

}  // namespace convolve
