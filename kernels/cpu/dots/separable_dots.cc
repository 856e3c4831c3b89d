// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/separable_dots.h"

#include <algorithm>
#include <utility>

#include "kernels/core/base/round.h"

// The target with VNNI takes compile time, which nothing else makes up for.
#define HWY_WANT_AVX3_DL
#include "kernels/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dots/separable_dots.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/dots/pair_product-inl.h"
#include "kernels/cpu/lanes_from-inl.h"
#include "kernels/cpu/rows/byte_codes-inl.h"
#include "kernels/cpu/rows/byte_lines-inl.h"
#include "kernels/cpu/rows/rows_ahead.h"
#include "kernels/cpu/rows/source_rows-inl.h"
#include "kernels/cpu/rows/walk_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

/// The weight of tap `i` among pairs.
HWY_INLINE std::int32_t tap(const std::int32_t* pairs, int i) {
  return static_cast<std::int16_t>(static_cast<std::uint32_t>(pairs[i / 2]) >> (i % 2 * 16));
}

constexpr int kColumnStep = 1;

template <class Fetch>
HWY_INLINE void sum_columns(const std::uint8_t* const* lines, const PairTaps& taps, int begin,
                            int end, const Fetch& fetch, std::int16_t* const* sums) {
  for (int r = 0; r < kPairRows; ++r)
    for (int x = begin; x < end; ++x) {
      if (r == 0) fetch(x);
      std::int32_t sum = taps.column_start();
      for (int i = 0; i < taps.height(); ++i)
        sum += tap(taps.even_rows(), i) * lines[r + i][x];
      sums[r][x] = static_cast<std::int16_t>(sum >> taps.shift());
    }
}

HWY_INLINE void finish_row(const ComponentTask& task, const std::int16_t* sums,
                           const PairTaps& taps, std::int32_t start, int count, std::uint8_t* out) {
  with_codes(task.epilogue, task.reciprocals, Sums::kRounded, [=](const auto& code_of) {
    for (int x = 0; x < count; ++x) {
      auto sum = static_cast<std::uint32_t>(start);
      for (int j = 0; j < taps.width(); ++j)
        sum += static_cast<std::uint32_t>(tap(taps.even_columns(), j) * sums[x + j]);
      const auto word = hn::Set(Words(), static_cast<std::int32_t>(sum));
      out[x] = static_cast<std::uint8_t>(hn::GetLane(code_of(word)));
    }
  });
}

#else

/// Columns that are summed at a time, as many as a vector holds. It is known when compiling, as no
/// target with vectors of unknown size is compiled (highway_targets.h).
constexpr int kColumnStep = static_cast<int>(hn::MaxLanes(Pairs()));

/// Sums of a vector of columns for each of kPairRows rows, in two halves.
struct ColumnSums {
  hn::Vec<Words> lower[kPairRows], upper[kPairRows];
};

/// Weights of pairs of 16 bits for an output that begins with a pair, and for the next one.
struct PairWeights {
  const std::int32_t *even, *odd;

  void advance(int pairs) {
    even += pairs;
    odd += pairs;
  }
};

/// Adds the pair of `lines`, which meets the first of `weights`, to rows kFirst .. kEnd - 1. Rows 2
/// and 3 begin a pair after rows 0 and 1, and so take the weights of the pair before.
template <int kFirst, int kEnd>
HWY_INLINE void add_line_pair(const std::uint8_t* const* lines, int x, const PairWeights& weights,
                              ColumnSums& sum) {
  const Pairs d;
  const hn::Rebind<std::uint8_t, Pairs> d_codes;
  const auto first = hn::PromoteTo(d, hn::LoadU(d_codes, lines[0] + x));
  const auto second = hn::PromoteTo(d, hn::LoadU(d_codes, lines[1] + x));
  const auto low = hn::InterleaveLower(d, first, second);
  const auto high = hn::InterleaveUpper(d, first, second);
  HWY_UNROLL(4)
  for (int r = kFirst; r < kEnd; ++r) {
    const auto pair = set_pairs((r % 2 == 0 ? weights.even : weights.odd)[r < 2 ? 0 : -1]);
    sum.lower[r] = add_pair_products(sum.lower[r], low, pair);
    sum.upper[r] = add_pair_products(sum.upper[r], high, pair);
  }
}

/// Adds all pairs of lines.
HWY_INLINE void add_line_pairs(const std::uint8_t* const* lines, const PairTaps& taps, int x,
                               ColumnSums& sum) {
  const int pairs = taps.line_pairs();
  PairWeights weights{taps.even_rows(), taps.odd_rows()};
  add_line_pair<0, 2>(lines, x, weights, sum);
  for (int p = 1; p < pairs - 1; ++p) {
    weights.advance(1);
    // Hides that the weights lie a step further on: the compiler would keep them in registers, of
    // which there are too few.
    asm("" : "+r"(weights.even), "+r"(weights.odd));
    add_line_pair<0, kPairRows>(lines + 2 * p, x, weights, sum);
  }
  weights.advance(1);
  add_line_pair<2, kPairRows>(lines + 2 * (pairs - 1), x, weights, sum);
}

/// Column sums of kPairRows rows, from codes `begin` .. `end` - 1 of each line that they read.
/// Calls `fetch` with each column that begins a vector of sums.
template <class Fetch>
HWY_INLINE void sum_columns(const std::uint8_t* const* lines, const PairTaps& taps, int begin,
                            int end, const Fetch& fetch, std::int16_t* const* sums) {
  const Pairs d;
  const auto start = hn::Set(Words(), taps.column_start());
  for (int x = begin; x < end; x += kColumnStep) {
    fetch(x);
    ColumnSums sum = {{start, start, start, start}, {start, start, start, start}};
    add_line_pairs(lines, taps, x, sum);
    // Interleaved within blocks of 16 bytes, and put together within them again.
    HWY_UNROLL(4)
    for (int r = 0; r < kPairRows; ++r)
      hn::Store(hn::ReorderDemote2To(d, hn::ShiftRightSame(sum.lower[r], taps.shift()),
                                     hn::ShiftRightSame(sum.upper[r], taps.shift())),
                d, sums[r] + x);
  }
}

/// Vectors of column sums that a step of the row pass reads: enough for its loads to take no longer
/// than its products.
constexpr int kRowVectors = 4;

/// Totals of the even and of the odd outputs of each vector of sums.
using RowTotals = hn::Vec<Words>[kRowVectors][2];

/// Adds the products of a pair of columns to the totals of a vector of sums.
HWY_INLINE void add_pair(hn::Vec<Pairs> sums, hn::Vec<Pairs> even, hn::Vec<Pairs> odd,
                         hn::Vec<Words> (&totals)[2]) {
  totals[0] = add_pair_products(totals[0], even, sums);
  totals[1] = add_pair_products(totals[1], odd, sums);
}

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

/// Adds pairs kPair .. kPairs - 1 of some weights, of which the first begins at the sums `at`:
/// shifted in registers, as nearly all loads of them would lie in two lines of the cache.
template <int kPairs, int kPair = 0>
HWY_INLINE void add_shifted_pairs(const PairWeights& weights,
                                  const hn::Vec<Pairs> (&at)[kRowVectors + 1], RowTotals& totals) {
  const auto even = set_pairs(weights.even[kPair]), odd = set_pairs(weights.odd[kPair]);
  HWY_UNROLL(4)
  for (int v = 0; v < kRowVectors; ++v)
    add_pair(lanes_from<kPair>(Pairs(), at[v], at[v + 1]), even, odd, totals[v]);
  if constexpr (kPair + 1 < kPairs) add_shifted_pairs<kPairs, kPair + 1>(weights, at, totals);
}

/// Adds kPairs pairs of weights, of which the first begins at `sums`.
template <int kPairs>
HWY_INLINE void add_few_pairs(const PairWeights& weights, const std::int16_t* sums,
                              RowTotals& totals) {
  const Pairs d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  hn::Vec<Pairs> at[kRowVectors + 1];
  HWY_UNROLL(4)
  for (int v = 0; v < kRowVectors; ++v)
    at[v] = hn::LoadU(d, sums + v * lanes);
  // One pair needs no next vector, which could lie behind the line.
  at[kRowVectors] = kPairs > 1 ? hn::LoadU(d, sums + kRowVectors * lanes) : hn::Zero(d);
  add_shifted_pairs<kPairs>(weights, at, totals);
}

#else

/// Adds kPairs pairs of weights, of which the first begins at `sums`.
template <int kPairs>
HWY_INLINE void add_few_pairs(const PairWeights& weights, const std::int16_t* sums,
                              RowTotals& totals) {
  const Pairs d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  // Hides that the next pairs lie a step further on: the compiler would keep in memory what it has
  // loaded, as some of it is wanted again then.
  asm("" : "+r"(sums));
  HWY_UNROLL(4)
  for (int j = 0; j < kPairs; ++j) {
    const auto even = set_pairs(weights.even[j]), odd = set_pairs(weights.odd[j]);
    HWY_UNROLL(4)
    for (int v = 0; v < kRowVectors; ++v)
      add_pair(load_pairs(sums + 2 * j + v * lanes), even, odd, totals[v]);
  }
}

#endif

/// Adds all pairs of the weights, four in a step as far as there are so many.
HWY_INLINE void add_pairs(PairWeights weights, int pairs, const std::int16_t* sums,
                          RowTotals& totals) {
  for (; pairs >= 4; pairs -= 4, sums += 8) {
    add_few_pairs<4>(weights, sums, totals);
    weights.advance(4);
  }
  if (pairs == 3) return add_few_pairs<3>(weights, sums, totals);
  if (pairs == 2) return add_few_pairs<2>(weights, sums, totals);
  if (pairs == 1) return add_few_pairs<1>(weights, sums, totals);
}

/// Codes of `count` outputs of a row from its column sums. Even and odd outputs have vectors of
/// their own and read the same pairs of sums, with weights a tap apart.
HWY_INLINE void finish_row(const ComponentTask& task, const std::int16_t* sums,
                           const PairTaps& taps, std::int32_t start, int count, std::uint8_t* out) {
  const int pairs = taps.column_pairs();
  const PairWeights weights{taps.even_columns(), taps.odd_columns()};
  with_codes(task.epilogue, task.reciprocals, Sums::kRounded, [=](const auto& codes_of) HWY_ATTR {
    const int lanes = static_cast<int>(hn::Lanes(Pairs()));
    const auto first = hn::Set(Words(), start);
    for (int x = 0; x < count; x += kRowVectors * lanes) {
      RowTotals totals = {{first, first}, {first, first}, {first, first}, {first, first}};
      add_pairs(weights, pairs, sums + x, totals);
      HWY_UNROLL(2)
      for (int v = 0; v < kRowVectors; v += 2) {
        const hn::Vec<Words> codes[4] = {codes_of(totals[v][0]), codes_of(totals[v][1]),
                                         codes_of(totals[v + 1][0]), codes_of(totals[v + 1][1])};
        const int at = x + v * lanes;
        if (at < count) store_codes(Bytes(), pack_even_and_odd(codes), count - at, out + at);
      }
    }
  });
}

#endif

/// Rows of an area, each loaded once to a ring of lines for each part.
class PairedRows {
 public:
  using Stored = std::uint8_t;
  static constexpr int kRows = kPairRows;

  PairedRows(const RowTask& task, int group, const Area& area, const Workspace& workspace,
             const PairTaps& taps)
      : task_(task.groups[group]),
        area_(area),
        workspace_(workspace),
        taps_(taps),
        window_(2 * taps.line_pairs()),
        columns_(area.width + taps.width() - 1),
        top_(area.y - taps.anchor_y()),
        source_(task_, area.x - taps.anchor_x(), columns_, {kColumnStep, kColumnStep}),
        ahead_(task, group, area) {
    for (int r = 0; r < kPairRows; ++r)
      sums_[r] = workspace.sums.at<std::int16_t>(r);
  }

  void filter(int y, int rows, const std::uint8_t* (*codes)[kMaxComponents]) {
    const bool direct = task_.lies_alone();
    const int needed = taps_.height() + rows - 1;
    load(y + needed);
    ahead_.next_block(top_ + loaded_, kPairRows, area_.y + y + rows);
    for (int k = 0; k < task_.count; ++k) {
      const GroupPart& part = task_.parts[k];
      if (part.filtered) sum_part(k, y, needed);
      for (int r = 0; r < rows; ++r) {
        std::uint8_t* const out = direct
                                      ? part.task.dst_row(area_.y + y + r) + area_.x
                                      : workspace_.intermediate.at<std::uint8_t>(k * kPairRows + r);
        codes[r][k] = part.filtered ? out : line(k, y + r + taps_.anchor_y()) + taps_.anchor_x();
        if (part.filtered)
          finish_row(part.task, sums_[r], taps_, part.digits.start, area_.width, out);
      }
    }
  }

 private:
  std::uint8_t* line(int part, int index) const {
    return workspace_.source.at<std::uint8_t>(part * window_ + index % window_);
  }

  /// Loads the rows before row `end` of the area and its halo.
  void load(int end) {
    for (; loaded_ < end; ++loaded_) {
      std::uint8_t* to[kMaxComponents];
      for (int k = 0; k < task_.count; ++k)
        to[k] = line(k, loaded_);
      source_.load(top_ + loaded_, to);
    }
  }

  /// The column sums of part `k` for rows from `y` on, which need `needed` lines.
  void sum_part(int k, int y, int needed) {
    const auto lines = reinterpret_cast<const std::uint8_t**>(workspace_.table);
    source_.for_each_run(columns_, [&](int begin, int end, bool in_picture) HWY_ATTR {
      for (int i = 0; i < window_; ++i) {
        // Below the last row a sum may read any line: nobody wants what comes of it.
        const int row = y + std::min(i, needed - 1);
        lines[i] = line(k, row);
        if (in_picture) lines[i] = source_.in_picture(top_ + row, lines[i]);
      }
      sum_columns(
          lines, taps_, begin, end,
          [&](int x) HWY_ATTR { ahead_.fetch(k, columns_, x, kColumnStep); }, sums_);
    });
  }

  const GroupTask& task_;
  const Area area_;
  const Workspace& workspace_;
  const PairTaps& taps_;
  int window_;
  int columns_;
  int top_;  ///< Picture row of the first line.
  SourceRows source_;
  RowsAhead ahead_;
  std::int16_t* sums_[kPairRows];
  int loaded_ = 0;  ///< Lines.
};

void filter_pairs(const RowTask& task, const PairTaps& taps, const Area& area,
                  const Workspace* workspaces) {
  walk_rows<PairedRows>(task, area, workspaces, taps);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(filter_pairs);

static_assert(kPairRows <= kBlockRows, "a line of sums for each row");

Result<SeparableDots> SeparableDots::make(const FrameFormat& format, const Mask& mask,
                                          const SeparableIntegers& weights, int workers) {
  const GroupExtent extent = largest_group(format);
  SeparableDots made;
  made.taps_ = PairTaps(mask, weights);
  const int halo = mask.width - 1, window = 2 * made.taps_.line_pairs();
  made.strip_width_ = choose_strip_width(extent.width, halo, extent.parts * window, 1);
  WorkspaceShape shape;
  shape.cell_bytes = sizeof(std::int16_t);
  shape.strip_width = std::min(made.strip_width_, round_up(extent.width, kStripStep)) + halo;
  shape.source_width = shape.strip_width;
  shape.source_lines = extent.parts * window;
  shape.intermediate_lines = extent.parts * kPairRows;
  shape.table_lines = window;
  Result<Workspaces> workspaces = Workspaces::make(shape, workers, extent.groups);
  if (!workspaces.ok()) return workspaces.status();
  made.workspaces_ = std::move(workspaces.value());
  return made;
}

void SeparableDots::filter(const RowTask& task, const Area& area, int worker) const {
  HWY_DYNAMIC_DISPATCH(filter_pairs)(task, taps_, area, workspaces_.of(worker));
}

}  // namespace convolve
#endif
