// SPDX-License-Identifier: LGPL-2.1-or-later
// Window sums of kernel `box` in bands, from the lines of a batch to stored code values. A warp
// makes a warp tile of some rows, from the middle row up or down: the windows of the middle row
// first, then from row to row by how much they change.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/core/shape/box_bands.h"
#include "kernels/cuda/box/bands/box_band_quantisers.cuh"
#include "kernels/cuda/box/bands/box_bands.cuh"
#include "kernels/cuda/box/box_scan.cuh"

namespace convolve {
namespace {

/// What a warp makes of a batch: a tile of at most 32 panels, in some of the rows from the middle
/// one up or down.
struct BandWarpTile {
  /// To be constructed before a thread holds column sums, while registers are free: the volatile
  /// assembly keeps the compiler from postponing or repeating the computation.
  __device__ __forceinline__ explicit BandWarpTile(int width) {
    const int all = divide_up(width, kBandPanel);
    const int warp = static_cast<int>(threadIdx.x / 32), warps = static_cast<int>(blockDim.x / 32);
    const int tiles = divide_up(all, 32), each = divide_up(all, tiles);
    const int tile_warps = warps / tiles, tile = warp / tile_warps,
              index = warp - tile * tile_warps;
    const int up = tile_warps / 2;  // A tile has at least two warps.
    down = index >= up ? 1 : 0;
    warps_sharing = down != 0 ? tile_warps - up : up;
    rank = index - down * up;
    first = tile * each;
    lanes = min(each, all - first);
    active = tile < tiles;
    asm volatile("" : "+r"(first), "+r"(lanes), "+r"(warps_sharing), "+r"(rank), "+r"(down));
  }

  int first, lanes;  ///< Panels, one a lane.
  int down;          ///< 1: rows from the middle one down; 0: rows above it, the lowest first.
  int warps_sharing, rank;  ///< How many warps divide these rows, and this one's number.
  bool active;              ///< False for warps without a tile.
};

/// The words of a panel's columns, and of one vector more, as a window may begin within a vector.
constexpr int kPanelVectors = kBandPhases + 1;
struct PanelWords {
  unsigned word[kPanelVectors * kBandVector];
  __device__ __forceinline__ void set(int vector, const uint4& words) {
    word[kBandVector * vector] = words.x;
    word[kBandVector * vector + 1] = words.y;
    word[kBandVector * vector + 2] = words.z;
    word[kBandVector * vector + 3] = words.w;
  }
};

/// Calls visit(std::integral_constant<int, shift>()) for a shift below a vector's columns, the same
/// for all lanes, so that words are addressed by constants and stay in registers.
template <class Visit>
__device__ __forceinline__ void visit_shift(int shift, Visit&& visit) {
  if (shift < 2) {
    if (shift == 0)
      visit(std::integral_constant<int, 0>());
    else
      visit(std::integral_constant<int, 1>());
  } else {
    if (shift == 2)
      visit(std::integral_constant<int, 2>());
    else
      visit(std::integral_constant<int, 3>());
  }
}

/// How lanes add up the first window of a warp tile from panel sums: whole panels of the picture
/// are divided among the lanes, and each lane has one word besides. Those are the columns before
/// the first whole panel and after the last one, fewer than 16 of either; two lanes that these
/// leave free have a ghost each, which counts for all ghosts on its side.
struct FirstWindow {
  __device__ __forceinline__ FirstWindow(const LaunchArguments& a, const BandLayout& layout,
                                         int first) {
    constexpr int kLeft = kBandPanel - 1, kRight = 2 * kBandPanel - 1;
    const int lane = static_cast<int>(threadIdx.x % 32), width = a.group.width;
    const int from = first * kBandPanel - a.mask.anchor_x, to = from + a.mask.width;
    const int begin = max(from, 0), end = min(to, width);
    panel = divide_up(begin, kBandPanel);
    panels_end = end / kBandPanel;
    int column = lane < kBandPanel ? begin + lane : panels_end * kBandPanel + lane - kBandPanel;
    times = column < (lane < kBandPanel ? panel * kBandPanel : end) ? 1 : 0;
    if (lane == kLeft || lane == kRight) {
      column = lane == kLeft ? -1 : width;
      times = lane == kLeft ? begin - from : to - end;
    }
    word = times > 0 ? layout.word_at(column + layout.lead) : 0;
  }

  int panel, panels_end;  ///< The whole panels.
  int times, word;  ///< How often the window has the lane's word, and where that is in a line.
};

/// The windows of a lane's panel.
template <int kPitch, int kRows, bool kPanelSums>
class BandWindows {
 public:
  __device__ __forceinline__ BandWindows(const LaunchArguments& a, const BandLayout& layout,
                                         const BandWarpTile& tile, const uint4* lines,
                                         const unsigned* panel_sums)
      : a_(a),
        layout_(layout),
        tile_(tile),
        lines_(lines + tile.down * kPairsASide * kLine),
        panel_sums_(panel_sums + tile.down * kPairsASide * kLinePanels),
        middle_(lines + kPairs * kLine),
        middle_panel_sums_(panel_sums + kPairs * kLinePanels),
        leaves_(layout.shift),
        enters_((layout.shift + a.mask.width) % kBandVector) {
    // Lanes after the tile's last panel compute that panel again, and store nothing.
    const int panel = tile.first + min(lane(), tile.lanes - 1);
    leaving_[0] = nearest(panel);
    leaving_[1] = nearest(panel + 1);
    const int vector = (layout.shift + a.mask.width) / kBandVector;
    const int phase = vector % kBandPhases, after = panel + vector / kBandPhases;
    const int from = nearest(after), next = nearest(after + 1);
#pragma unroll
    for (int i = 0; i < kPanelVectors; ++i)
      entering_[i] = phase + i < kBandPhases ? from + (phase + i) * kPitch
                                             : next + (phase + i - kBandPhases) * kPitch;
  }

  /// Sums the differences over the tile's first window, for every row of the batch. Lane i keeps
  /// the change to the ith row from the middle.
  __device__ __forceinline__ void sum_first_windows() {
    unsigned low[kPairsASide] = {}, high[kPairsASide] = {};
    const auto add = [&](const unsigned(&sum)[kPairsASide], unsigned times) {
#pragma unroll
      for (int i = 0; i < kPairsASide; ++i) {
        low[i] += times * low_of(sum[i]);
        high[i] += times * high_of(sum[i]);
      }
    };
    unsigned sum[kPairsASide];
    if constexpr (kPanelSums) {
      const FirstWindow window(a_, layout_, tile_.first);
      unsigned word[kPairsASide];
      sum_panels(window, lines_, panel_sums_, sum, word);
      add(sum, 1);
      add(word, static_cast<unsigned>(window.times));
    } else {
      int left = a_.mask.width, panel = tile_.first;
#pragma unroll 1
      for (; left > kMostColumns; left -= kMostColumns, panel += kMostColumns / kBandPanel) {
        sum_vectors(lines_, panel, kMostColumns, sum);
        add(sum, 1);
      }
      sum_vectors(lines_, panel, left, sum);
      add(sum, 1);
    }
#pragma unroll
    for (int i = 0; i < kPairsASide; ++i) {
      low[i] = warp_sum(low[i]);
      high[i] = warp_sum(high[i]);
      first_changes_ = lane() == 2 * i ? low[i] : lane() == 2 * i + 1 ? high[i] : first_changes_;
    }
  }

  /// Makes the lane's outputs in the warp's rows of a batch of `count` rows, the first of which
  /// lies at `to`.
  template <class Quantiser>
  __device__ __forceinline__ void make(std::uint8_t* to, int count) const {
    const int x = (tile_.first + lane()) * kBandPanel;
    const int columns = lane() < tile_.lanes ? min(kBandPanel, a_.group.width - x) : 0;
    const bool aligned =
        (reinterpret_cast<std::uintptr_t>(to) | static_cast<std::uintptr_t>(a_.group.dst_pitch)) %
            kBandPanel ==
        0;
    const std::int64_t pitch = tile_.down != 0 ? a_.group.dst_pitch : -a_.group.dst_pitch;
    to += x + kMiddle * a_.group.dst_pitch;
    // Rows are numbered from the middle row, 0, on. Warps that go down make it; those that go up
    // begin with row 1.
    const int first = 1 - tile_.down, last = tile_.down != 0 ? count - kMiddle : kMiddle + 1;
    const int rows = max(0, last - first);
    const int begin = first + rows * tile_.rank / tile_.warps_sharing;
    const int end = first + rows * (tile_.rank + 1) / tile_.warps_sharing;
    const auto store = [&](int row, const Quantiser& quantiser) {
      // In a short batch rows above the middle may lie below the batch's end.
      if (row < begin || row >= end || (tile_.down == 0 && kMiddle - row >= count)) return;
      store_codes(to + row * pitch, quantiser, aligned, columns);
    };
    Quantiser quantiser(a_);
    {
      PanelWords in, out;
      unsigned window[kBandPanel + 1], before[1];
      load(middle_, in, out);
      const unsigned partial = sum_middle();
      window[0] = 0;
      slide(in, out, window);
      before[0] = window[kBandPanel];
      exclusive_scan(before);
      quantiser.begin(warp_sum(partial) + before[0], window);
    }
    store(0, quantiser);
    const uint4* line = lines_;
#pragma unroll 1
    for (int row = 1; row < end; row += 2, line += kLine) {
      PanelWords in, out;
      unsigned relative[kBandPanel + 1], before[2];
      relative[0] = kExcess << 16 | kExcess;
      load(line, in, out);
      slide(in, out, relative);
      before[0] = (relative[kBandPanel] & 0xFFFFu) - kExcess;
      before[1] = (relative[kBandPanel] >> 16) - kExcess;
      exclusive_scan(before);
      quantiser.template add<0>(
          __shfl_sync(kAllLanes, first_changes_, row - 1) + before[0] - kExcess, relative);
      store(row, quantiser);
      quantiser.template add<1>(__shfl_sync(kAllLanes, first_changes_, row) + before[1] - kExcess,
                                relative);
      store(row + 1, quantiser);
    }
  }

 private:
  static constexpr int kLinePanels = band_line_panels(kPitch);
  /// The most columns whose differences lanes can add up, by whole vectors, in 16 bits with a sign.
  static constexpr int kMostColumns = 32 * kBandVector * 30;
  static_assert((kMostColumns / 32 + 2 * kBandVector) * 255 <= 0x7FFF &&
                kMostColumns % kBandPanel == 0);
  static_assert(!kPanelSums ||
                divide_up(band_line_panels(kPitch), 32) * kBandPanel * 255 <= 0x7FFF);
  static constexpr int kLine = band_line_vectors(kPitch), kPairs = band_lines(kRows) - 1;
  static constexpr int kPairsASide = kPairs / 2, kMiddle = kPairs;
  /// Added to both halves of a pair, so that no half is negative and borrows from the other.
  static constexpr unsigned kExcess = 1u << 15;

  static __device__ __forceinline__ int lane() {
    return static_cast<int>(threadIdx.x % 32);
  }
  __device__ __forceinline__ int nearest(int panel) const {
    return min(max(panel, layout_.first), layout_.last) - layout_.first;
  }

  __device__ __forceinline__ void load(const uint4* line, PanelWords& in, PanelWords& out) const {
#pragma unroll
    for (int i = 0; i < kPanelVectors; ++i) {
      in.set(i, line[entering_[i]]);
      out.set(i, line[i < kBandPhases ? leaving_[0] + i * kPitch : leaving_[1]]);
    }
  }
  /// Slides the window over the lane's panel: relative[i + 1] is relative[i] with the column that
  /// enters and without the one that leaves. The last entry is for the first window of the next
  /// lane.
  __device__ __forceinline__ void slide(const PanelWords& in, const PanelWords& out,
                                        unsigned (&relative)[kBandPanel + 1]) const {
    visit_shift(enters_, [&](auto enters) {
      visit_shift(leaves_, [&](auto leaves) {
#pragma unroll
        for (int i = 0; i < kBandPanel; ++i)
          relative[i + 1] = relative[i] + in.word[decltype(enters)::value + i] -
                            out.word[decltype(leaves)::value + i];
      });
    });
  }

  /// The lane's partial sums of the first `columns` columns of the window that begins in `panel`,
  /// in kLines adjacent lines, by vectors.
  template <int kLines>
  __device__ __forceinline__ void sum_vectors(const uint4* lines, int panel, int columns,
                                              unsigned (&sum)[kLines]) const {
    const int end = leaves_ + columns, vectors = divide_up(end, kBandVector);
#pragma unroll
    for (int i = 0; i < kLines; ++i)
      sum[i] = 0;
    int at_panel = panel + lane() / kBandPhases;
#pragma unroll 1
    for (int vector = lane(); vector < vectors; vector += 32, at_panel += 32 / kBandPhases) {
      const uint4* const at = lines + lane() % kBandPhases * kPitch + nearest(at_panel);
#pragma unroll
      for (int i = 0; i < kLines; ++i) {
        const uint4 words = at[i * kLine];
        sum[i] += words.x + words.y;
        sum[i] += words.z + words.w;
      }
    }
    // The first vector may begin before the window, and the last one end after it: some lanes take
    // one word each away again.
    const int outside = lane() < leaves_ ? lane() : end + lane() - leaves_;
    if (outside >= vectors * kBandVector) return;
    const int vector = outside / kBandVector;
    const auto* const at =
        reinterpret_cast<const unsigned*>(lines + vector % kBandPhases * kPitch +
                                          nearest(panel + vector / kBandPhases)) +
        outside % kBandVector;
#pragma unroll
    for (int i = 0; i < kLines; ++i)
      sum[i] -= at[i * kLine * kBandVector];
  }

  /// The lane's partial sums of the tile's first window, by panel sums, and its word besides, which
  /// counts window.times times.
  template <int kLines>
  __device__ __forceinline__ void sum_panels(const FirstWindow& window, const uint4* lines,
                                             const unsigned* panel_sums, unsigned (&sum)[kLines],
                                             unsigned (&word)[kLines]) const {
    const auto* const words = reinterpret_cast<const unsigned*>(lines);
#pragma unroll
    for (int i = 0; i < kLines; ++i) {
      sum[i] = 0;
      word[i] = words[i * kLine * kBandVector + window.word];
    }
#pragma unroll 1
    for (int panel = window.panel + lane(); panel < window.panels_end; panel += 32)
#pragma unroll
      for (int i = 0; i < kLines; ++i)
        sum[i] += panel_sums[i * kLinePanels + panel];
  }

  /// The lane's partial sum of the tile's first window in the middle row.
  __device__ __forceinline__ unsigned sum_middle() const {
    unsigned sum[1];
    if constexpr (!kPanelSums) {
      sum_vectors(middle_, tile_.first, a_.mask.width, sum);
      return sum[0];
    } else {
      const FirstWindow window(a_, layout_, tile_.first);
      unsigned word[1];
      sum_panels(window, middle_, middle_panel_sums_, sum, word);
      return sum[0] + static_cast<unsigned>(window.times) * word[0];
    }
  }

  template <class Quantiser>
  __device__ __forceinline__ void store_codes(std::uint8_t* to, const Quantiser& quantiser,
                                              bool aligned, int columns) const {
    unsigned code[kBandPanel / 4];
    quantiser.quantise(code);
    if (aligned && columns == kBandPanel) {
      *reinterpret_cast<uint4*>(to) = make_uint4(code[0], code[1], code[2], code[3]);
    } else if (columns > 0) {
#pragma unroll
      for (int i = 0; i < kBandPanel; ++i)
        if (i < columns) to[i] = static_cast<std::uint8_t>(code[i / 4] >> (8 * (i % 4)));
    }
  }

  const LaunchArguments& a_;
  const BandLayout& layout_;
  const BandWarpTile& tile_;
  const uint4* lines_;
  const unsigned* panel_sums_;
  const uint4* middle_;
  const unsigned* middle_panel_sums_;
  int leaves_, enters_;  ///< Columns of its vector before the first that leaves, or enters.
  int leaving_[2], entering_[kPanelVectors];
  unsigned first_changes_ = 0;
};

}  // namespace
}  // namespace convolve
