// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `box`: masks whose weights are all equal, by running sums; what an output costs does not
// depend on the mask's size. All in integers, so that nothing is rounded before the end.
//
// A block walks down a strip, a batch of rows at a time, and keeps the sum of the H rows below the
// mask for every column of the strip and its halo:
//
//   columns   a thread has eight columns of four rows: adds the row that enters, subtracts the one
//             that leaves. Runs of four rows start from what the runs above them add, which they
//             exchange through shared memory;
//   prefixes  a warp has a row: prefix sums over its column sums, a scan;
//   outputs   the same warp: a window sum is the difference of two prefix sums W apart.
//
// Before the first batch the block adds up H - 1 rows: strips are as tall as the number of
// processors allows, and what neighbours read twice comes from the L2 cache.
//
// Eight prefixes lie in nine words: a warp whose threads write or read eight adjacent ones each
// meets every bank once, whatever the distance W.
#include "kernels/cuda/box/bands/box_bands.h"
#include "kernels/cuda/box/box_columns.cuh"
#include "kernels/cuda/box/box_pack.cuh"
#include "kernels/cuda/box/strip/box_strip.h"
#include "kernels/cuda/device/overlap.cuh"

namespace convolve {
namespace {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xFFFFFFFFu;
/// Groups of a row that a warp scans at a time for each thread, so that one scan's latency hides
/// behind the other's.
constexpr int kScans = 2;

/// What a thread knows of its block's strip. A batch has kRuns runs of kBoxRun rows.
template <class Stored, bool kPacked, int kRuns>
class Strip {
 public:
  using Reader = ColumnReader<Stored, kPacked>;
  using Sums = ColumnSums<kPacked>;
  using Raw = typename Reader::Raw;
  using Packer = CodePacker<Stored>;

  __device__ Strip(const LaunchArguments& arguments, unsigned char* shared)
      : arguments_(arguments),
        group_(arguments.group),
        channel_(group_.channel[blockIdx.z]),
        reader_(channel_),
        groups_(box_groups(arguments.tile_width, arguments.mask.width)),
        x0_(blockIdx.x * arguments.tile_width),
        y0_(blockIdx.y * arguments.tile_height),
        y_end_(min(y0_ + arguments.tile_height, group_.height)) {
    const BoxLayout layout = box_layout(groups_, kRows, kPacked);
    columns_ = reinterpret_cast<Sums*>(shared + layout.columns);
    prefixes_ = reinterpret_cast<unsigned*>(shared + layout.prefixes);
    runs_ = reinterpret_cast<Sums*>(shared + layout.runs);
    state_ = reinterpret_cast<Sums*>(shared + layout.state);
    places_ = reinterpret_cast<int*>(shared + layout.places);
    kinds_ = reinterpret_cast<GroupKind*>(shared + layout.kinds);
    sources_ = reinterpret_cast<const std::uint8_t**>(shared + layout.sources);
    // The first column is the sample at or before the first window's that lies on a multiple of a
    // group's bytes.
    const int first = x0_ - arguments.mask.anchor_x;
    const std::intptr_t address = reinterpret_cast<std::intptr_t>(group_.src) + channel_.offset +
                                  static_cast<std::intptr_t>(first) * sizeof(Stored);
    skip_ = static_cast<int>(address / static_cast<int>(sizeof(Stored)) & (kBoxGroup - 1));
    column0_ = first - skip_;
    aligned_ = group_.step == static_cast<int>(sizeof(Stored)) &&
               group_.src_pitch % static_cast<int>(sizeof(Raw)) == 0;
  }

  __device__ void run() {
    place_columns();
    __syncthreads();
    warm_up();
    find_sources(y0_);
    __syncthreads();
    const int row = threadIdx.x / kWarp;
    unsigned* const prefixes = prefixes_ + row * groups_ * kBoxPitch;
    const bool ghosts = has_ghosts();
    int now = 0;
    for (int y = y0_; y < y_end_; y += kRows, now ^= 1) {
      sum_columns(y, now);
      __syncthreads();
      if (ghosts) {
        mirror_columns();
        __syncthreads();
      }
      if (y + kRows < y_end_) find_sources(y + kRows);
      if (y + row < y_end_) {
        make_prefixes(columns_ + row * groups_, prefixes);
        __syncwarp();
        make_outputs(y + row, prefixes);
      }
      __syncthreads();
    }
  }

 private:
  static constexpr int kInWord = Packer::kInWord;
  static constexpr int kWords = Packer::kWords;
  static constexpr int kRows = kRuns * kBoxRun;
  static constexpr int kThreads = kRuns * kBoxLanes;

  /// Where each column comes from. Ghosts repeat columns: that of a border works on both axes on
  /// its own, so where the block has that column their sums need not be made twice.
  __device__ void place_columns() const {
    for (int c = threadIdx.x; c < groups_ * kBoxGroup; c += kThreads) {
      const int x = border_index(group_.border, column0_ + c, group_.width);
      places_[c] = x == kNoSignal ? kNoPlace : x * group_.step;
    }
    __syncthreads();
    for (int g = threadIdx.x; g < groups_; g += kThreads) {
      const int* places = places_ + g * kBoxGroup;
      // Only cells side by side have their first and last one as far apart.
      const bool side_by_side =
          places[0] != kNoPlace &&
          places[kBoxGroup - 1] - places[0] == static_cast<int>(sizeof(Raw) - sizeof(Stored));
      const std::uint8_t* first = group_.src + channel_.offset + places[0];
      kinds_[g] =
          aligned_ && side_by_side && reinterpret_cast<std::uintptr_t>(first) % sizeof(Raw) == 0
              ? kWhole
              : kGathered;
    }
    __syncthreads();
    if (!has_ghosts()) return;
    for (int g = threadIdx.x; g < groups_; g += kThreads)
      if (!is_inside(g)) mirror(g);
  }

  /// True if some columns of the block lie beside the picture.
  __device__ bool has_ghosts() const {
    return column0_ < 0 || column0_ + groups_ * kBoxGroup > group_.width;
  }

  /// True if all columns of group `g` lie in the picture.
  __device__ bool is_inside(int g) const {
    const int x = column0_ + g * kBoxGroup;
    return g >= 0 && g < groups_ && x >= 0 && x + kBoxGroup <= group_.width;
  }

  /// Makes group `g` repeat columns of the block, if they are all in groups inside the picture.
  __device__ void mirror(int g) const {
    int* places = places_ + g * kBoxGroup;
    int from[kBoxGroup];
#pragma unroll
    for (int i = 0; i < kBoxGroup; ++i) {
      const int x = border_index(group_.border, column0_ + g * kBoxGroup + i, group_.width);
      from[i] = kNoPlace;
      if (x == kNoSignal) continue;
      // One column before the block's first would read as kNoPlace, too: it is none of the block's.
      from[i] = x - column0_;
      if (from[i] < 0 || !is_inside(from[i] / kBoxGroup)) return;
    }
#pragma unroll
    for (int i = 0; i < kBoxGroup; ++i)
      places[i] = from[i];
    kinds_[g] = kMirrored;
  }

  /// The row at any y, from the component's first sample on; null without signal.
  __device__ const std::uint8_t* row_at(int y) const {
    y = border_index(group_.border, y, group_.height);
    return y == kNoSignal ? nullptr
                          : group_.src + sample_offset(group_, channel_, group_.src_pitch, 0, y);
  }

  /// State: the sums for the first output row without its window's last row.
  __device__ void warm_up() {
    const int top = y0_ - arguments_.mask.anchor_y;
    const int end = arguments_.mask.height - 1;
    // Rows begin .. middle lie in the picture, one after the other.
    const int begin = min(max(-top, 0), end), middle = max(min(group_.height - top, end), begin);
    // A run takes every kRuns-th row of each part.
    const int run = threadIdx.x / kBoxLanes;
    for (int g = threadIdx.x % kBoxLanes; g < groups_; g += kBoxLanes) {
      if (kinds_[g] == kMirrored) continue;
      const int* places = places_ + g * kBoxGroup;
      const bool whole = kinds_[g] == kWhole;
      Sums sums;
#pragma unroll 4
      for (int i = run; i < begin; i += kRuns)
        sums.add(reader_.read(row_at(top + i), places, whole));
      if (whole) {
        const std::int64_t stride = kRuns * group_.src_pitch;
        const std::uint8_t* row = row_at(top + begin + run) + places[0];
#pragma unroll 8
        for (int i = begin + run; i < middle; i += kRuns, row += stride)
          sums.add(reader_.decode(Reader::load(row, 0)));
      } else {
#pragma unroll 4
        for (int i = begin + run; i < middle; i += kRuns)
          sums.add(reader_.gather(row_at(top + i), places));
      }
#pragma unroll 4
      for (int i = middle + run; i < end; i += kRuns)
        sums.add(reader_.read(row_at(top + i), places, whole));
      sums.store(runs_ + run * groups_ + g);
    }
    __syncthreads();
    for (int g = threadIdx.x; g < groups_; g += kThreads)
      sum_before(kRuns, g, Sums()).store(state_ + g);
  }

  /// `start` and what the first `count` runs add to group `g`.
  __device__ Sums sum_before(int count, int g, Sums start) const {
#pragma unroll
    for (int r = 0; r < kRuns; ++r) {
      if (r >= count) break;
      Sums part;
      part.load(runs_ + r * groups_ + g);
      start.add(part);
    }
    return start;
  }

  /// The rows that enter and leave with each row of the batch at `y`: entering row r at [2 r]. Rows
  /// below the tile are summed with the others, whatever they hold.
  __device__ void find_sources(int y) const {
    const int i = threadIdx.x;
    if (i >= 2 * kRows) return;
    const int top = y + i / 2 - arguments_.mask.anchor_y;
    sources_[i] = row_at(i % 2 == 0 ? top + arguments_.mask.height - 1 : top);
  }

  /// True if one of these rows has no signal.
  __device__ bool lacks_rows(int y) const {
    const int top = y - arguments_.mask.anchor_y;
    return group_.border == Border::kZero &&
           (top < 0 || top + kRows + arguments_.mask.height - 1 > group_.height);
  }

  /// Column sums of the batch at `y`. `now` says which row of the state is that before it.
  __device__ void sum_columns(int y, int now) {
    const int lane = threadIdx.x % kBoxLanes, run = threadIdx.x / kBoxLanes;
    const std::uint8_t* const* sources = sources_ + 2 * kBoxRun * run;
    const bool rows_lack = lacks_rows(y);
#pragma unroll 1
    for (int first = 0; first < groups_; first += kBoxLanes) {
      const int g = first + lane;
      const bool active = g < groups_ && kinds_[g] != kMirrored;
      const int* places = places_ + g * kBoxGroup;
      Sums enter[kBoxRun], leave[kBoxRun], sums;
      if (active && kinds_[g] == kWhole && !rows_lack) {
        const unsigned place = static_cast<unsigned>(places[0]);
        Raw raw[2 * kBoxRun];
#pragma unroll
        for (int r = 0; r < 2 * kBoxRun; ++r)
          raw[r] = Reader::load(sources[r], place);
#pragma unroll
        for (int r = 0; r < kBoxRun; ++r) {
          enter[r] = reader_.decode(raw[2 * r]);
          leave[r] = reader_.decode(raw[2 * r + 1]);
        }
      } else if (active) {
#pragma unroll
        for (int r = 0; r < kBoxRun; ++r) {
          enter[r] = reader_.gather(sources[2 * r], places);
          leave[r] = reader_.gather(sources[2 * r + 1], places);
        }
      }
      if (kRuns > 1) {
#pragma unroll
        for (int r = 0; r < kBoxRun; ++r) {
          sums.add(enter[r]);
          sums.subtract(leave[r]);
        }
        if (active) sums.store(runs_ + run * groups_ + g);
        __syncthreads();
      }
      if (!active) continue;

      sums.load(state_ + now * groups_ + g);
      sums = sum_before(run, g, sums);
      Sums* to = columns_ + run * kBoxRun * groups_ + g;
#pragma unroll
      for (int r = 0; r < kBoxRun; ++r, to += groups_) {
        sums.add(enter[r]);
        sums.store(to);
        sums.subtract(leave[r]);
      }
      if (run == kRuns - 1) sums.store(state_ + (now ^ 1) * groups_ + g);
    }
  }

  /// Column sums of ghosts that repeat other columns of the batch.
  __device__ void mirror_columns() const {
    using Column = std::conditional_t<kPacked, std::uint16_t, std::uint32_t>;
    auto* sums = reinterpret_cast<Column*>(columns_);
    const int pitch = groups_ * kBoxGroup;
    const auto nothing =
        static_cast<Column>(channel_.black * static_cast<unsigned>(arguments_.mask.height));
    for (int c = threadIdx.x; c < pitch; c += kThreads) {
      if (kinds_[c / kBoxGroup] != kMirrored) continue;
      const int from = places_[c];
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        sums[r * pitch + c] = from == kNoPlace ? nothing : sums[r * pitch + from];
    }
  }

  /// Exclusive prefix sums of a row, by one warp.
  __device__ void make_prefixes(const Sums* columns, unsigned* prefixes) const {
    const int lane = threadIdx.x % kWarp;
    unsigned before = 0;
#pragma unroll 1
    for (int first = 0; first < groups_; first += kScans * kWarp) {
      Sums sums[kScans];
      unsigned total[kScans], sum[kScans];
#pragma unroll
      for (int s = 0; s < kScans; ++s) {
        if (first + s * kWarp + lane < groups_) sums[s].load(columns + first + s * kWarp + lane);
        total[s] = sum[s] = sums[s].total();
      }
#pragma unroll
      for (int distance = 1; distance < kWarp; distance *= 2)
#pragma unroll
        for (int s = 0; s < kScans; ++s) {
          const unsigned other = __shfl_up_sync(kAllLanes, sum[s], distance);
          if (lane >= distance) sum[s] += other;
        }
#pragma unroll
      for (int s = 0; s < kScans; ++s) {
        const unsigned start = before + sum[s] - total[s];
        before += __shfl_sync(kAllLanes, sum[s], kWarp - 1);
        if (first + s * kWarp + lane < groups_)
          sums[s].store_prefixes(start, prefixes + (first + s * kWarp + lane) * kBoxPitch);
      }
    }
  }

  /// Row `y` of the picture, by one warp.
  __device__ void make_outputs(int y, const unsigned* prefixes) const {
    const BoxDivision division = channel_.division;
    const Epilogue& epilogue = channel_.epilogue;
    const SampleLayout layout = channel_.layout;
    if (division.plain) {
      make_outputs(y, prefixes, [&](const unsigned(&sum)[kBoxGroup], unsigned(&word)[kWords]) {
        Packer::pack_quotients(sum, division, layout, word);
      });
    } else if (division.serves) {
      make_outputs(y, prefixes, [&](const unsigned(&sum)[kBoxGroup], unsigned(&word)[kWords]) {
        Packer::pack(word, layout,
                     [&](int i) { return box_code(sum[i], division, epilogue.max_code); });
      });
    } else {
      const double black =
          static_cast<double>(channel_.black) * arguments_.mask.width * arguments_.mask.height;
      make_outputs(y, prefixes, [&](const unsigned(&sum)[kBoxGroup], unsigned(&word)[kWords]) {
        Packer::pack(word, layout, [&](int i) {
          const double difference = static_cast<double>(sum[i]) - black;
          return epilogue.in_float
                     ? finish(static_cast<float>(difference), epilogue.narrow, epilogue.max_code)
                     : finish_in_double(difference, epilogue);
        });
      });
    }
  }

  /// The byte where prefix `p` lies, which is the same for all threads: an address takes no more
  /// than one addition.
  static __device__ int prefix_at(int p) {
    return (p + p / kBoxGroup) * 4;
  }

  template <class Pack>
  __device__ void make_outputs(int y, const unsigned* prefixes, Pack&& pack_codes) const {
    const int end = min(arguments_.tile_width, group_.width - x0_);
    std::uint8_t* const row =
        group_.dst + sample_offset(group_, channel_, group_.dst_pitch, x0_, y);
    const bool aligned = group_.step == static_cast<int>(sizeof(Stored)) &&
                         reinterpret_cast<std::uintptr_t>(row) % sizeof(Raw) == 0;
    const int window = skip_ + arguments_.mask.width;
    int low[kBoxGroup], high[kBoxGroup];
#pragma unroll
    for (int i = 0; i < kBoxGroup; ++i) {
      low[i] = prefix_at(skip_ + i);
      high[i] = prefix_at(window + i);
    }
#pragma unroll 1
    for (int g = threadIdx.x % kWarp; g * kBoxGroup < end; g += kWarp) {
      const auto* from = reinterpret_cast<const unsigned char*>(prefixes + g * kBoxPitch);
      unsigned sum[kBoxGroup], word[kWords];
#pragma unroll
      for (int i = 0; i < kBoxGroup; ++i)
        sum[i] = *reinterpret_cast<const unsigned*>(from + high[i]) -
                 *reinterpret_cast<const unsigned*>(from + low[i]);
      pack_codes(sum, word);
      if (aligned && (g + 1) * kBoxGroup <= end) {
        Raw* to = reinterpret_cast<Raw*>(row) + g;
        if constexpr (sizeof(Stored) == 1)
          *to = make_uint2(word[0], word[1]);
        else
          *to = make_uint4(word[0], word[1], word[2], word[3]);
      } else {
        store_each(row, g * kBoxGroup, end, word);
      }
    }
  }

  /// Up to eight samples from x on, each by itself.
  __device__ void store_each(std::uint8_t* row, int x, int end, unsigned (&word)[kWords]) const {
#pragma unroll
    for (int i = 0; i < kBoxGroup; ++i, ++x)
      if (x < end)
        *reinterpret_cast<Stored*>(row + static_cast<unsigned>(x * group_.step)) =
            static_cast<Stored>(word[i / kInWord] >> (i % kInWord * 8 * sizeof(Stored)));
  }

  const LaunchArguments& arguments_;
  const GroupArguments& group_;
  const ChannelArguments& channel_;
  Reader reader_;
  int groups_;
  int x0_, y0_, y_end_;
  int column0_, skip_;  ///< Picture column of the first column; columns before the first window.
  bool aligned_;        ///< Groups of samples can be loaded as one.
  Sums *columns_, *runs_, *state_;
  unsigned* prefixes_;
  int* places_;
  GroupKind* kinds_;
  const std::uint8_t** sources_;
};

template <class Stored, bool kPacked, int kRuns>
__global__ void __launch_bounds__(kRuns* kBoxLanes, kPacked ? 8 / kRuns : 4 / kRuns)
    box_kernel(const __grid_constant__ LaunchArguments arguments) {
  const GroupArguments& group = arguments.group;
  const ChannelArguments& channel = group.channel[blockIdx.z];
  admit_next_launch();
  await_previous_launch();
  if (channel.filtered) {
    Strip<Stored, kPacked, kRuns>(arguments, shared_cells<unsigned char>()).run();
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
  const int groups = box_groups(arguments.tile_width, arguments.mask.width);
  return box_layout(groups, arguments.batch_rows, arguments.packed).bytes;
}

cudaError_t upload(const void*, std::size_t, int, cudaStream_t) {
  return cudaErrorNotSupported;  // The mask is its size: nothing to upload.
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
