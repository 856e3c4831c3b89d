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

#include "kernels/cpu/bytes/byte_codes-inl.h"
#include "kernels/cpu/bytes/byte_lines-inl.h"
#include "kernels/cpu/bytes/rows_ahead.h"
#include "kernels/cpu/bytes/source_rows-inl.h"
#include "kernels/cpu/dots/pair_product-inl.h"

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
        sum += static_cast<std::uint32_t>(tap(taps.row().data(), j) * sums[x + j]);
      const auto word = hn::Set(Words(), static_cast<std::int32_t>(sum));
      out[x] = static_cast<std::uint8_t>(hn::GetLane(code_of(word)));
    }
  });
}

#else

/// Columns that are summed at a time, as many as a vector holds. It is known when compiling, as no
/// target with vectors of unknown size is compiled (highway_targets.h).
constexpr int kColumnStep = static_cast<int>(hn::MaxLanes(Pairs()));

/// Column sums of kPairRows rows, from codes `begin` .. `end` - 1 of each line that they read.
/// Calls `fetch` with each column that begins a vector of sums.
template <class Fetch>
HWY_INLINE void sum_columns(const std::uint8_t* const* lines, const PairTaps& taps, int begin,
                            int end, const Fetch& fetch, std::int16_t* const* sums) {
  const Pairs d;
  const hn::Rebind<std::uint8_t, Pairs> d_codes;
  const int pairs = taps.line_pairs();
  const std::int32_t* const even_rows = taps.even_rows();
  const std::int32_t* const odd_rows = taps.odd_rows();
  const auto start = hn::Set(Words(), taps.column_start());
  for (int x = begin; x < end; x += kColumnStep) {
    fetch(x);
    hn::Vec<Words> lower[kPairRows] = {start, start, start, start};
    hn::Vec<Words> upper[kPairRows] = {start, start, start, start};
    auto even_before = hn::Zero(d), odd_before = hn::Zero(d);
    for (int p = 0; p < pairs; ++p) {
      const auto first = hn::PromoteTo(d, hn::LoadU(d_codes, lines[2 * p] + x));
      const auto second = hn::PromoteTo(d, hn::LoadU(d_codes, lines[2 * p + 1] + x));
      const auto low = hn::InterleaveLower(d, first, second);
      const auto high = hn::InterleaveUpper(d, first, second);
      const auto even = set_pairs(even_rows[p]), odd = set_pairs(odd_rows[p]);
      lower[0] = add_pair_products(lower[0], low, even);
      upper[0] = add_pair_products(upper[0], high, even);
      lower[1] = add_pair_products(lower[1], low, odd);
      upper[1] = add_pair_products(upper[1], high, odd);
      lower[2] = add_pair_products(lower[2], low, even_before);
      upper[2] = add_pair_products(upper[2], high, even_before);
      lower[3] = add_pair_products(lower[3], low, odd_before);
      upper[3] = add_pair_products(upper[3], high, odd_before);
      even_before = even;
      odd_before = odd;
    }
    // Interleaved within blocks of 16 bytes, and put together within them again.
    for (int r = 0; r < kPairRows; ++r)
      hn::Store(hn::ReorderDemote2To(d, hn::ShiftRightSame(lower[r], taps.shift()),
                                     hn::ShiftRightSame(upper[r], taps.shift())),
                d, sums[r] + x);
  }
}

/// Codes of `count` outputs of a row from its column sums. Even and odd outputs have vectors of
/// their own, as their pairs begin at even and odd sums.
HWY_INLINE void finish_row(const ComponentTask& task, const std::int16_t* sums,
                           const PairTaps& taps, std::int32_t start, int count, std::uint8_t* out) {
  const int pairs = static_cast<int>(taps.row().size());
  const std::int32_t* const weights = taps.row().data();
  with_codes(task.epilogue, task.reciprocals, Sums::kRounded, [=](const auto& codes_of) HWY_ATTR {
    const Pairs d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const auto first = hn::Set(Words(), start);
    for (int x = 0; x < count; x += 2 * lanes) {
      hn::Vec<Words> totals[4] = {first, first, first, first};
      for (int j = 0; j < pairs; ++j) {
        const auto pair = set_pairs(weights[j]);
        const std::int16_t* const from = sums + x + 2 * j;
        totals[0] = add_pair_products(totals[0], pair, hn::LoadU(d, from));
        totals[1] = add_pair_products(totals[1], pair, hn::LoadU(d, from + 1));
        totals[2] = add_pair_products(totals[2], pair, hn::LoadU(d, from + lanes));
        totals[3] = add_pair_products(totals[3], pair, hn::LoadU(d, from + lanes + 1));
      }
      const hn::Vec<Words> codes[4] = {codes_of(totals[0]), codes_of(totals[1]),
                                       codes_of(totals[2]), codes_of(totals[3])};
      store_codes(pack_even_and_odd(codes), count - x, out + x);
    }
  });
}

#endif

/// Walks down the area with a ring of lines for each part: each is loaded once per area.
void filter_pairs(const ByteTask& task, const PairTaps& taps, const Area& area,
                  const Workspace& workspace) {
  const int window = 2 * taps.line_pairs();
  const auto line = [&](int part, int index) {
    return workspace.source.at<std::uint8_t>(part * window + index % window);
  };
  const bool direct = task.lies_alone();
  const auto lines = reinterpret_cast<const std::uint8_t**>(workspace.table);
  std::int16_t* sums[kPairRows];
  for (int r = 0; r < kPairRows; ++r)
    sums[r] = workspace.sums.at<std::int16_t>(r);
  const int columns = area.width + taps.width() - 1;
  const int top = area.y - taps.anchor_y();
  const SourceRows source(task, area.x - taps.anchor_x(), columns, {kColumnStep, kColumnStep});
  RowsAhead ahead(task.parts[0].task, task.count, area);
  int loaded = 0;
  for (int y = 0; y < area.height && !task.parts[0].task.stopped(); y += kPairRows) {
    const int rows = std::min(kPairRows, area.height - y);
    const int needed = taps.height() + rows - 1;
    for (; loaded < y + needed; ++loaded) {
      std::uint8_t* to[kMaxComponents];
      for (int k = 0; k < task.count; ++k)
        to[k] = line(k, loaded);
      source.load(top + loaded, to);
    }
    ahead.clear();
    ahead.read(top + loaded, top + loaded + kPairRows);
    ahead.write(area.y + y + rows, area.y + std::min(y + rows + kPairRows, area.height));
    const std::uint8_t* codes[kPairRows][kMaxComponents];
    for (int k = 0; k < task.count; ++k) {
      const BytePart& part = task.parts[k];
      if (part.filtered) {
        source.for_each_run(columns, [&](int begin, int end, bool in_picture) HWY_ATTR {
          for (int i = 0; i < window; ++i) {
            // Below the last row a sum may read any line: nobody wants what comes of it.
            const int row = y + std::min(i, needed - 1);
            lines[i] = line(k, row);
            if (in_picture) lines[i] = source.in_picture(top + row, lines[i]);
          }
          sum_columns(
              lines, taps, begin, end,
              [&](int x) HWY_ATTR { ahead.fetch(k, columns, x, kColumnStep); }, sums);
        });
      }
      for (int r = 0; r < rows; ++r) {
        std::uint8_t* const out = direct
                                      ? part.task.dst_row(area.y + y + r) + area.x
                                      : workspace.intermediate.at<std::uint8_t>(k * kPairRows + r);
        codes[r][k] = part.filtered ? out : line(k, y + r + taps.anchor_y()) + taps.anchor_x();
        if (part.filtered) finish_row(part.task, sums[r], taps, part.digits.start, area.width, out);
      }
    }
    for (int r = 0; r < rows && !direct; ++r)
      store_parts(task, area.y + y + r, area.x, area.width, codes[r]);
  }
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
  Result<Workspaces> workspaces = Workspaces::make(shape, workers);
  if (!workspaces.ok()) return workspaces.status();
  made.workspaces_ = std::move(workspaces.value());
  return made;
}

void SeparableDots::filter(const ByteTask& task, const Area& area, int worker) const {
  HWY_DYNAMIC_DISPATCH(filter_pairs)(task, taps_, area, workspaces_[worker]);
}

}  // namespace convolve
#endif
