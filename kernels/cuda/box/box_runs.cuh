// SPDX-License-Identifier: LGPL-2.1-or-later
// A block of kernel `box` in runs: how it slides down its strip of the picture. box.cu says the
// idea and the layout.
#pragma once

#include "kernels/cuda/box/box_columns.cuh"
#include "kernels/cuda/box/box_pack.cuh"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

/// The strip of a block, as one of its threads sees it. A batch has kRuns runs of kBoxRun rows.
template <class Stored, bool kPacked, int kRuns>
class RunStrip {
 public:
  using Reader = BoxColumnReader<Stored, kPacked>;
  using Sums = ColumnSums<kPacked>;
  using Raw = typename Reader::Raw;
  using Packer = SamplePacker<Stored>;

  __device__ RunStrip(const LaunchArguments& arguments, unsigned char* shared)
      : arguments_(arguments),
        group_(arguments.group),
        channel_(group_.channel[blockIdx.z]),
        reader_(channel_),
        panels_(box_panels(arguments.tile_width, arguments.mask.width)),
        x0_(blockIdx.x * arguments.tile_width),
        y0_(blockIdx.y * arguments.tile_height),
        y_end_(min(y0_ + arguments.tile_height, group_.height)) {
    const BoxLayout layout = box_layout(panels_, kRows, kPacked);
    columns_ = reinterpret_cast<Sums*>(shared + layout.columns);
    prefixes_ = reinterpret_cast<unsigned*>(shared + layout.prefixes);
    run_sums_ = reinterpret_cast<Sums*>(shared + layout.run_sums);
    carry_ = reinterpret_cast<Sums*>(shared + layout.carry);
    column_sources_ = reinterpret_cast<int*>(shared + layout.column_sources);
    panel_kinds_ = reinterpret_cast<PanelKind*>(shared + layout.panel_kinds);
    row_sources_ = reinterpret_cast<const std::uint8_t**>(shared + layout.row_sources);
    // The strip's first column is the last sample on a multiple of a panel's bytes that is not to
    // the right of the first window.
    const int first = x0_ - arguments.mask.anchor_x;
    const std::intptr_t address = reinterpret_cast<std::intptr_t>(group_.src) + channel_.offset +
                                  static_cast<std::intptr_t>(first) * sizeof(Stored);
    skip_ = static_cast<int>(address / static_cast<int>(sizeof(Stored)) & (kBoxPanel - 1));
    column0_ = first - skip_;
    aligned_ = group_.step == static_cast<int>(sizeof(Stored)) &&
               group_.src_pitch % static_cast<int>(sizeof(Raw)) == 0;
  }

  __device__ void run() {
    find_column_sources();
    __syncthreads();
    sum_initial_rows();
    find_row_sources(y0_);
    __syncthreads();
    const int row = threadIdx.x / kWarp;
    unsigned* const prefixes = prefixes_ + row * panels_ * kBoxPrefixPitch;
    const bool ghosts = has_ghosts();
    int current = 0;
    for (int y = y0_; y < y_end_; y += kRows, current ^= 1) {
      sum_columns(y, current);
      __syncthreads();
      if (ghosts) {
        repeat_columns();
        __syncthreads();
      }
      if (y + kRows < y_end_) find_row_sources(y + kRows);
      if (y + row < y_end_) {
        make_prefixes(columns_ + row * panels_, panels_, prefixes);
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
  static constexpr int kThreads = kRuns * kBoxRunThreads;

  /// Finds where each column comes from. The border is applied to columns and rows independently,
  /// so a ghost column has the sums of the column it repeats: where the block has that column, they
  /// need not be made twice.
  __device__ void find_column_sources() const {
    for (int c = threadIdx.x; c < panels_ * kBoxPanel; c += kThreads) {
      const int x = border_index(group_.border, column0_ + c, group_.width);
      column_sources_[c] = x == kNoSignal ? kNoSource : x * group_.step;
    }
    __syncthreads();
    for (int g = threadIdx.x; g < panels_; g += kThreads) {
      const int* sources = column_sources_ + g * kBoxPanel;
      // Eight sources are adjacent exactly if the last is seven samples after the first: ghosts
      // that run backwards or repeat a column are not.
      const bool side_by_side =
          sources[0] != kNoSource &&
          sources[kBoxPanel - 1] - sources[0] == static_cast<int>(sizeof(Raw) - sizeof(Stored));
      const std::uint8_t* first = group_.src + channel_.offset + sources[0];
      panel_kinds_[g] =
          aligned_ && side_by_side && reinterpret_cast<std::uintptr_t>(first) % sizeof(Raw) == 0
              ? kVector
              : kGathered;
    }
    __syncthreads();
    if (!has_ghosts()) return;
    for (int g = threadIdx.x; g < panels_; g += kThreads)
      if (!is_inside(g)) repeat(g);
  }

  /// True if some columns of the block lie beside the picture.
  __device__ bool has_ghosts() const {
    return column0_ < 0 || column0_ + panels_ * kBoxPanel > group_.width;
  }

  /// True if the block has panel `g` and all of its columns lie in the picture.
  __device__ bool is_inside(int g) const {
    const int x = column0_ + g * kBoxPanel;
    return g >= 0 && g < panels_ && x >= 0 && x + kBoxPanel <= group_.width;
  }

  /// Makes panel `g` copy the sums of other columns, if they are all in panels that the block has
  /// and that lie inside the picture.
  __device__ void repeat(int g) const {
    int* sources = column_sources_ + g * kBoxPanel;
    int from[kBoxPanel];
#pragma unroll
    for (int i = 0; i < kBoxPanel; ++i) {
      const int x = border_index(group_.border, column0_ + g * kBoxPanel + i, group_.width);
      from[i] = kNoSource;
      if (x == kNoSignal) continue;
      // The column just before the block's first would be mistaken for kNoSource, but the block
      // does not have it.
      from[i] = x - column0_;
      if (from[i] < 0 || !is_inside(from[i] / kBoxPanel)) return;
    }
#pragma unroll
    for (int i = 0; i < kBoxPanel; ++i)
      sources[i] = from[i];
    panel_kinds_[g] = kRepeated;
  }

  /// The row that the border gives for any y, from the component's first sample on; null without
  /// signal.
  __device__ const std::uint8_t* row_at(int y) const {
    y = border_index(group_.border, y, group_.height);
    return y == kNoSignal ? nullptr
                          : group_.src + sample_offset(group_, channel_, group_.src_pitch, 0, y);
  }

  /// Makes the column sums that the first batch begins with: those of the first output row without
  /// the last row of its window.
  __device__ void sum_initial_rows() {
    const int top = y0_ - arguments_.mask.anchor_y;
    const int end = arguments_.mask.height - 1;
    // Rows begin to middle - 1 lie in the picture, one after the other.
    const int begin = min(max(-top, 0), end), middle = max(min(group_.height - top, end), begin);
    // The threads of run r add up every kRuns-th row from row r on.
    const int run = threadIdx.x / kBoxRunThreads;
    for (int g = threadIdx.x % kBoxRunThreads; g < panels_; g += kBoxRunThreads) {
      if (panel_kinds_[g] == kRepeated) continue;
      const int* sources = column_sources_ + g * kBoxPanel;
      const bool vector = panel_kinds_[g] == kVector;
      Sums sums;
#pragma unroll 4
      for (int i = run; i < begin; i += kRuns)
        sums.add(reader_.read(row_at(top + i), sources, vector));
      if (vector) {
        const std::int64_t stride = kRuns * group_.src_pitch;
        const std::uint8_t* row = row_at(top + begin + run) + sources[0];
#pragma unroll 8
        for (int i = begin + run; i < middle; i += kRuns, row += stride)
          sums.add(reader_.decode(Reader::load(row, 0)));
      } else {
#pragma unroll 4
        for (int i = begin + run; i < middle; i += kRuns)
          sums.add(reader_.gather(row_at(top + i), sources));
      }
#pragma unroll 4
      for (int i = middle + run; i < end; i += kRuns)
        sums.add(reader_.read(row_at(top + i), sources, vector));
      sums.store(run_sums_ + run * panels_ + g);
    }
    __syncthreads();
    for (int g = threadIdx.x; g < panels_; g += kThreads)
      add_runs_before(kRuns, g, Sums()).store(carry_ + g);
  }

  /// `sums`, and what the first `count` runs add to them in panel `g`.
  __device__ Sums add_runs_before(int count, int g, Sums sums) const {
#pragma unroll
    for (int r = 0; r < kRuns; ++r) {
      if (r >= count) break;
      Sums part;
      part.load(run_sums_ + r * panels_ + g);
      sums.add(part);
    }
    return sums;
  }

  /// Finds the rows of the batch at `y`: [2 r] is the row that enters with its row r, [2 r + 1] the
  /// row that leaves after it. Rows below the tile are found and summed like the others; nobody
  /// stores their outputs.
  __device__ void find_row_sources(int y) const {
    const int i = threadIdx.x;
    if (i >= 2 * kRows) return;
    const int top = y + i / 2 - arguments_.mask.anchor_y;
    row_sources_[i] = row_at(i % 2 == 0 ? top + arguments_.mask.height - 1 : top);
  }

  /// True if one of the rows that the batch at `y` reads may have no signal.
  __device__ bool lacks_rows(int y) const {
    const int top = y - arguments_.mask.anchor_y;
    return group_.border == Border::kZero &&
           (top < 0 || top + kRows + arguments_.mask.height - 1 > group_.height);
  }

  /// Makes the column sums of the batch at `y`. `current`: the row of `carry_` with the sums before
  /// the batch; those after it go to the other one.
  __device__ void sum_columns(int y, int current) {
    const int lane = threadIdx.x % kBoxRunThreads, run = threadIdx.x / kBoxRunThreads;
    const std::uint8_t* const* rows = row_sources_ + 2 * kBoxRun * run;
    const bool lacks_signal = lacks_rows(y);
#pragma unroll 1
    for (int first = 0; first < panels_; first += kBoxRunThreads) {
      const int g = first + lane;
      const bool active = g < panels_ && panel_kinds_[g] != kRepeated;
      const int* sources = column_sources_ + g * kBoxPanel;
      Sums enter[kBoxRun], leave[kBoxRun], sums;
      if (active && panel_kinds_[g] == kVector && !lacks_signal) {
        const unsigned offset = static_cast<unsigned>(sources[0]);
        Raw raw[2 * kBoxRun];
#pragma unroll
        for (int r = 0; r < 2 * kBoxRun; ++r)
          raw[r] = Reader::load(rows[r], offset);
#pragma unroll
        for (int r = 0; r < kBoxRun; ++r) {
          enter[r] = reader_.decode(raw[2 * r]);
          leave[r] = reader_.decode(raw[2 * r + 1]);
        }
      } else if (active) {
#pragma unroll
        for (int r = 0; r < kBoxRun; ++r) {
          enter[r] = reader_.gather(rows[2 * r], sources);
          leave[r] = reader_.gather(rows[2 * r + 1], sources);
        }
      }
      if (kRuns > 1) {
#pragma unroll
        for (int r = 0; r < kBoxRun; ++r) {
          sums.add(enter[r]);
          sums.subtract(leave[r]);
        }
        if (active) sums.store(run_sums_ + run * panels_ + g);
        __syncthreads();
      }
      if (!active) continue;

      sums.load(carry_ + current * panels_ + g);
      sums = add_runs_before(run, g, sums);
      Sums* to = columns_ + run * kBoxRun * panels_ + g;
#pragma unroll
      for (int r = 0; r < kBoxRun; ++r, to += panels_) {
        sums.add(enter[r]);
        sums.store(to);
        sums.subtract(leave[r]);
      }
      if (run == kRuns - 1) sums.store(carry_ + (current ^ 1) * panels_ + g);
    }
  }

  /// Copies the column sums of ghosts from the columns that they repeat.
  __device__ void repeat_columns() const {
    using Column = std::conditional_t<kPacked, std::uint16_t, std::uint32_t>;
    auto* sums = reinterpret_cast<Column*>(columns_);
    const int pitch = panels_ * kBoxPanel;
    const auto no_signal_sum =
        static_cast<Column>(channel_.black * static_cast<unsigned>(arguments_.mask.height));
    for (int c = threadIdx.x; c < pitch; c += kThreads) {
      if (panel_kinds_[c / kBoxPanel] != kRepeated) continue;
      const int from = column_sources_[c];
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        sums[r * pitch + c] = from == kNoSource ? no_signal_sum : sums[r * pitch + from];
    }
  }

  /// Makes the outputs of row `y` of the picture, by one warp.
  __device__ void make_outputs(int y, const unsigned* prefixes) const {
    const BoxDivision division = channel_.division;
    const Epilogue& epilogue = channel_.epilogue;
    const SampleLayout layout = channel_.layout;
    if (division.plain) {
      make_outputs(y, prefixes, [&](const unsigned(&sum)[kBoxPanel], unsigned(&word)[kWords]) {
        Packer::pack_quotients(sum, division, layout, word);
      });
    } else if (division.serves) {
      make_outputs(y, prefixes, [&](const unsigned(&sum)[kBoxPanel], unsigned(&word)[kWords]) {
        Packer::pack(word, layout,
                     [&](int i) { return box_code(sum[i], division, epilogue.max_code); });
      });
    } else {
      const double black =
          static_cast<double>(channel_.black) * arguments_.mask.width * arguments_.mask.height;
      make_outputs(y, prefixes, [&](const unsigned(&sum)[kBoxPanel], unsigned(&word)[kWords]) {
        Packer::pack(word, layout, [&](int i) {
          const double difference = static_cast<double>(sum[i]) - black;
          return epilogue.in_float
                     ? finish(static_cast<float>(difference), epilogue.narrow, epilogue.max_code)
                     : finish_in_double(difference, epilogue);
        });
      });
    }
  }

  /// The byte offset of prefix sum `p`. It is the same for all threads, so that an address takes
  /// one addition.
  static __device__ int prefix_at(int p) {
    return (p + p / kBoxPanel) * 4;
  }

  template <class Pack>
  __device__ void make_outputs(int y, const unsigned* prefixes, Pack&& pack_codes) const {
    const int end = min(arguments_.tile_width, group_.width - x0_);
    std::uint8_t* const row =
        group_.dst + sample_offset(group_, channel_, group_.dst_pitch, x0_, y);
    const bool aligned = group_.step == static_cast<int>(sizeof(Stored)) &&
                         reinterpret_cast<std::uintptr_t>(row) % sizeof(Raw) == 0;
    const int window = skip_ + arguments_.mask.width;
    int low[kBoxPanel], high[kBoxPanel];
#pragma unroll
    for (int i = 0; i < kBoxPanel; ++i) {
      low[i] = prefix_at(skip_ + i);
      high[i] = prefix_at(window + i);
    }
#pragma unroll 1
    for (int g = threadIdx.x % kWarp; g * kBoxPanel < end; g += kWarp) {
      const auto* from = reinterpret_cast<const unsigned char*>(prefixes + g * kBoxPrefixPitch);
      unsigned sum[kBoxPanel], word[kWords];
#pragma unroll
      for (int i = 0; i < kBoxPanel; ++i)
        sum[i] = *reinterpret_cast<const unsigned*>(from + high[i]) -
                 *reinterpret_cast<const unsigned*>(from + low[i]);
      pack_codes(sum, word);
      if (aligned && (g + 1) * kBoxPanel <= end) {
        Raw* to = reinterpret_cast<Raw*>(row) + g;
        if constexpr (sizeof(Stored) == 1)
          *to = make_uint2(word[0], word[1]);
        else
          *to = make_uint4(word[0], word[1], word[2], word[3]);
      } else {
        store_each(row, g * kBoxPanel, end, word);
      }
    }
  }

  /// Stores the samples of a panel from x on that lie before `end`, one by one.
  __device__ void store_each(std::uint8_t* row, int x, int end, unsigned (&word)[kWords]) const {
#pragma unroll
    for (int i = 0; i < kBoxPanel; ++i, ++x)
      if (x < end)
        *reinterpret_cast<Stored*>(row + static_cast<unsigned>(x * group_.step)) =
            static_cast<Stored>(word[i / kInWord] >> (i % kInWord * 8 * sizeof(Stored)));
  }

  const LaunchArguments& arguments_;
  const GroupArguments& group_;
  const ChannelArguments& channel_;
  Reader reader_;
  int panels_;
  int x0_, y0_, y_end_;
  int column0_, skip_;  ///< The picture's column at the strip's first; the strip's columns before
                        ///< its first window.
  bool aligned_;        ///< Panels in the picture can be loaded as vectors.
  Sums *columns_, *run_sums_, *carry_;
  unsigned* prefixes_;
  int* column_sources_;
  PanelKind* panel_kinds_;
  const std::uint8_t** row_sources_;
};

}  // namespace
}  // namespace convolve
