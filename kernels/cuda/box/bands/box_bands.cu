// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `box` in bands: planes of one 8-bit component under masks of any size, at a cost that
// hardly depends on them.
//
// A block has a processor, and a band of rows, as wide as the picture:
//
//   columns   a thread has eight of them, and asks for all rows that enter and leave: how much each
//             row's column sums differ from the next one's, which fits 9 bits, and the sums of the
//             middle row, which a launch before has nearly made for all bands
//             (box_band_steps.cuh);
//   ghosts    repeat other columns: borders work on both axes on their own;
//   windows   a warp makes up to 512 outputs of a row: from window to window one column enters and
//             one leaves, so that the sum of such differences, a scan, is all they need. From the
//             middle up and down, windows of how rows differ are added to those of the row before.
//
// Two barriers, and no column beside the picture is summed. All rows that a block reads were in the
// L2 cache a moment before, as its neighbours and the launch before read them, too. Where not all
// rows of a band fit, it comes in batches.
//
// That launch lets the next one begin as soon as the picture may be read. So this one reads it at
// once, and waits for those sums only: then all before is over, as it is for that launch.
#include "kernels/cuda/box/bands/box_band_steps.cuh"
#include "kernels/cuda/box/bands/box_band_windows.cuh"
#include "kernels/cuda/box/bands/box_bands.cuh"
#include "kernels/cuda/box/bands/box_bands.h"

namespace convolve {
namespace {

CONVOLVE_HD inline BandLayout layout_of(const LaunchArguments& a, Border border) {
  return band_layout(a.group.width, a.mask.width, a.mask.anchor_x, band_repeats(border));
}

/// Ghosts that groups do not stand for.
template <int kPitch>
class BandGhosts {
 public:
  /// `table`: a word of shared memory for each ghost.
  __device__ BandGhosts(const LaunchArguments& a, const BandLayout& layout, unsigned* table)
      : a_(a),
        layout_(layout),
        table_(table),
        ghosts_(band_ghosts(layout, a.group.width, band_repeats(a.group.border))) {}

  /// Finds out where ghosts lie and which columns they repeat.
  __device__ __forceinline__ void find() const {
    const int width = a_.group.width, lead = layout_.lead;
    const auto word = [&](int x) { return static_cast<unsigned>(layout_.word_at(x + lead)); };
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x); i < ghosts_; i += static_cast<int>(blockDim.x)) {
      const int x = i - lead + (i < lead ? 0 : width);
      table_[i] = word(x) << 16 | word(border_index(a_.group.border, x, width));
    }
  }

  /// Fills them in, in `count` slots, if there are any, behind a barrier; and then there is one.
  __device__ __forceinline__ void make(uint4* slot, int count) const {
    if (ghosts_ == 0) return;
    unsigned* const slots = reinterpret_cast<unsigned*>(slot);
    const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
    // So many threads share the slots of a ghost, a power of two.
    const int log = 31 - __clz(max(1, threads / ghosts_));
#pragma unroll 1
    for (int i = thread; i < ghosts_ << log; i += threads) {
      const unsigned words = table_[i >> log];
#pragma unroll 4
      for (int slot = i & ((1 << log) - 1); slot < count; slot += 1 << log)
        slots[slot * kWords + (words >> 16)] = slots[slot * kWords + (words & 0xFFFFu)];
    }
    __syncthreads();
  }

 private:
  static constexpr int kWords = kBandQuad * band_slot_quads(kPitch);
  static_assert(kWords <= 1 << 16);

  const LaunchArguments& a_;
  const BandLayout& layout_;
  unsigned* table_;
  int ghosts_;
};

/// Registers of a thread: beside a block of 16 warps there is room for one of box_step_kernel, so
/// that rows come while that works.
constexpr int band_registers(int pitch) {
  return band_threads_most(pitch) <= kBandFewThreads ? 120 : 64;
}
#if CUDART_VERSION >= 12040
#define CONVOLVE_BAND_BOUNDS(pitch) __maxnreg__(band_registers(pitch))
#else
#define CONVOLVE_BAND_BOUNDS(pitch) __launch_bounds__(band_threads_most(pitch))
#endif

template <class Codes>
struct CodesOf {
  using Type = Codes;
};
/// Calls visit(CodesOf<Codes>()) with the fastest codes that serve.
template <int kRows, class Visit>
__device__ __forceinline__ void visit_codes(const LaunchArguments& a, Visit&& visit) {
  const bool ties = a.group.channel[0].division.ties;
  if (FloatCodes<kRows, true>::serve(a) && ties)
    visit(CodesOf<FloatCodes<kRows, true>>());
  else if (FloatCodes<kRows, false>::serve(a))
    visit(CodesOf<FloatCodes<kRows, false>>());
  else if (HubCodes::serve(a))
    visit(CodesOf<HubCodes>());
  else if (ScaledCodes<kRows>::serve(a))
    visit(CodesOf<ScaledCodes<kRows>>());
  else
    visit(CodesOf<WholeCodes>());
}

/// kSingle: a band is one batch.
template <int kPitch, int kRows, bool kWhole, bool kSingle, bool kBlocks>
__global__ void CONVOLVE_BAND_BOUNDS(kPitch)
    box_band_kernel(const __grid_constant__ LaunchArguments a) {
  constexpr int kPairs = band_slots(kRows) - 1, kSlot = band_slot_quads(kPitch);
  using Columns = BandColumns<kPitch, kRows, kWhole, kBlocks>;
  __shared__ BandStart start;
  admit_next_launch();
  auto* const slots = shared_cells<uint4>();
  auto* const middle = slots + kPairs * kSlot;
  auto* const offsets = reinterpret_cast<longlong2*>(middle + kSlot);
  auto* const blocks = reinterpret_cast<unsigned*>(offsets + a.tile_height);
  const BandLayout layout = layout_of(a, a.group.border);
  const BandGhosts<kPitch> ghosts(a, layout,
                                  blocks + (kBlocks ? (kPairs + 1) * band_slot_blocks(kPitch) : 0));
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
  const int x = static_cast<int>(threadIdx.x) * kBandWord, top = y0 - a.mask.anchor_y;
  const bool steps = a.intermediate != nullptr;
  if (threadIdx.x == blockDim.x - 32) StartFinder(a, start).find(top, steps, min(rows, kRows));
  const bool early = steps || a.settled;
  if (!early) await_previous_launch();
  const BandShare share(a.group.width);
  const bool inner = kWhole && top >= 0 && top + a.mask.height - 1 + rows <= a.group.height;
  ghosts.find();
  EightSums<false> above;
#pragma unroll 1
  for (int r = 0;; r += kRows) {
    const int count = kSingle ? rows : min(kRows, rows - r);
    Columns columns(a, layout, x, blocks);
    if (inner && count > kPairs)
      columns.store_differences(columns.inner(top + r, count), slots);
    else
      columns.store_differences(columns.outer(offsets + r, count), slots);
    __syncthreads();
    ghosts.make(slots, kPairs);
    BandWindows<kPitch, kRows, kBlocks> windows(a, layout, share, slots, blocks);
    const bool begins = r == 0 && columns.mine();
    const bool by_steps = begins && start.serves && start.steps > 0;
    if (begins && start.serves) columns.add_rows(start);
    if (begins && !start.serves) columns.add_each_row(top);
    if (r > 0) columns.go_on(above);
    if (r == 0 && early) await_previous_launch();
    // They take as long to come as windows of differences.
    if (by_steps) columns.ask_for_steps(start);
    if (share.serves) windows.find_firsts();
    if (by_steps) columns.add_steps(start);
    columns.store_middle(slots);
    if (!kSingle) above = columns.above_next();
    __syncthreads();
    ghosts.make(middle, 1);
    if (share.serves) {
      std::uint8_t* const to =
          a.group.dst + a.group.channel[0].offset + (y0 + r) * a.group.dst_pitch;
      visit_codes<kRows>(
          a, [&](auto codes) { windows.template make<typename decltype(codes)::Type>(to, count); });
    }
    if (kSingle || rows - r <= kRows) break;
    __syncthreads();
  }
}

template <int kPitch, int kRows, bool kWhole>
Kernel select_batches(const LaunchArguments& a, bool repeats) {
  if (band_has_blocks(a.mask.width, repeats, kPitch, kRows, a.tile_height))
    return box_band_kernel<kPitch, kRows, kWhole, true, band_may_have_blocks(kPitch, kRows)>;
  return a.tile_height <= kRows ? box_band_kernel<kPitch, kRows, kWhole, true, false>
                                : box_band_kernel<kPitch, kRows, kWhole, false, false>;
}
template <int kPitch, int kRows>
Kernel select_loads(const LaunchArguments& a, bool repeats, bool whole) {
  return whole ? select_batches<kPitch, kRows, true>(a, repeats)
               : select_batches<kPitch, kRows, false>(a, repeats);
}
template <int kPitch>
Kernel select_rows(const LaunchArguments& a, bool repeats, bool whole) {
  constexpr int kFew = band_rows(kPitch, kBandFewBatch), kMost = band_rows(kPitch, kBandMostBatch);
  return band_rows(kPitch, a.batch_rows) == kMost ? select_loads<kPitch, kMost>(a, repeats, whole)
                                                  : select_loads<kPitch, kFew>(a, repeats, whole);
}
Kernel select_kernel(const LaunchArguments& a, Border border, bool whole) {
  const int pitch = layout_of(a, border).pitch;
  const bool repeats = band_repeats(border);
  return pitch == band_pitch(0)   ? select_rows<band_pitch(0)>(a, repeats, whole)
         : pitch == band_pitch(1) ? select_rows<band_pitch(1)>(a, repeats, whole)
         : pitch == band_pitch(2) ? select_rows<band_pitch(2)>(a, repeats, whole)
         : pitch == band_pitch(3) ? select_rows<band_pitch(3)>(a, repeats, whole)
                                  : select_rows<band_pitch(4)>(a, repeats, whole);
}

std::size_t shared_bytes(const LaunchArguments& a, Border border) {
  return band_bytes(layout_of(a, border), a.group.width, a.mask.width, band_repeats(border),
                    a.batch_rows, a.tile_height);
}

/// The kernel that sums steps before bands of so many bytes, and the bytes of its blocks.
struct StepLaunch {
  StepLaunch(const LaunchArguments& a, Border border) {
    const int stages = band_step_stages(a.group.height, shared_bytes(a, border));
    kernel = stages == kBandWarpSteps ? box_step_kernel<kBandWarpSteps>
                                      : box_step_kernel<kBandFewStages>;
    bytes = band_step_bytes(a.group.height, stages);
  }
  Kernel kernel;
  std::size_t bytes;
};

}  // namespace

// How rows are aligned is not known before there are pictures, the border may change, and a field,
// which has fewer rows, may take other stages. So both kernels of steps are told of the most.
cudaError_t load_box_bands(const LaunchArguments& arguments) {
  constexpr std::size_t kMostBytes = kBandStepWarps * kBandWarpSteps * kBandStepBytes;
  cudaError_t error = load_kernel(box_step_kernel<kBandWarpSteps>, kMostBytes);
  if (error == cudaSuccess) error = load_kernel(box_step_kernel<kBandFewStages>, kMostBytes);
  for (const Border border : {Border::kReplicate, Border::kMirror})
    for (const bool whole : {false, true})
      if (error == cudaSuccess)
        error =
            load_kernel(select_kernel(arguments, border, whole), shared_bytes(arguments, border));
  return error;
}

cudaError_t launch_box_bands(const LaunchArguments& arguments, cudaStream_t stream) {
  const GroupArguments& group = arguments.group;
  const dim3 threads(static_cast<unsigned>(band_block_threads(group.width)));
  LaunchArguments a = arguments;
  if (group.height < kBandStep) a.intermediate = nullptr;
  if (a.intermediate != nullptr) {
    const dim3 grid(
        static_cast<unsigned>(divide_up(group.width, kBandStepColumns)),
        static_cast<unsigned>(divide_up(band_steps(group.height), band_block_steps(group.height))));
    const StepLaunch steps(a, group.border);
    const cudaError_t error =
        launch_overlapping(steps.kernel, grid, dim3(kStepThreads), steps.bytes, stream, a);
    if (error != cudaSuccess) return error;
  }
  const dim3 bands(static_cast<unsigned>(min(a.tile_width, group.height)));
  return launch_overlapping(select_kernel(a, group.border, whole_columns(group)), bands, threads,
                            shared_bytes(a, group.border), stream, a);
}

}  // namespace convolve
