// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/box_bytes.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/core/base/round.h"
#include "kernels/core/weights/box.h"
#include "kernels/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/box_bytes.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/box_narrow-inl.h"
#include "kernels/cpu/bytes/byte_codes-inl.h"
#include "kernels/cpu/bytes/byte_lines-inl.h"
#include "kernels/cpu/bytes/rows_ahead.h"
#include "kernels/cpu/bytes/scan-inl.h"
#include "kernels/cpu/bytes/source_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Adds the codes of a line to the sums of columns `begin` .. `end` - 1; both have room for a
/// vector more.
template <class Sum>
HWY_INLINE void add_line(const std::uint8_t* line, int begin, int end, Sum* sums) {
  const SumTag<Sum> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d_codes;
  for (int i = begin; i < end; i += kColumnStep<Sum>)
    hn::Store(hn::Add(hn::Load(d, sums + i), hn::PromoteTo(d, hn::LoadU(d_codes, line + i))), d,
              sums + i);
}

/// Adds the codes of the line that the mask gains to the sums of columns `begin` .. `end` - 1 and
/// subtracts those of the line that it loses, so that each sum is loaded and stored once.
template <class Sum>
HWY_INLINE void change_line(const std::uint8_t* added, const std::uint8_t* subtracted, int begin,
                            int end, Sum* sums) {
  const SumTag<Sum> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d_codes;
  for (int i = begin; i < end; i += kColumnStep<Sum>) {
    const auto more = hn::PromoteTo(d, hn::LoadU(d_codes, added + i));
    const auto less = hn::PromoteTo(d, hn::LoadU(d_codes, subtracted + i));
    hn::Store(hn::Add(hn::Load(d, sums + i), hn::Sub(more, less)), d, sums + i);
  }
}

/// sums[0] + ... + sums[count - 1], modulo 2^16 or 2^32.
template <class Sum>
HWY_INLINE Sum sum_of(const Sum* sums, int count) {
  const SumTag<Sum> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  auto parts = hn::Zero(d);
  int i = 0;
  for (; i + lanes <= count; i += lanes)
    parts = hn::Add(parts, hn::Load(d, sums + i));
  HWY_ALIGN Sum part[hn::MaxLanes(SumTag<Sum>())];
  hn::Store(parts, d, part);
  std::uint32_t sum = 0;
  for (int k = 0; k < lanes; ++k)
    sum += static_cast<std::uint32_t>(part[k]);
  for (; i < count; ++i)
    sum += static_cast<std::uint32_t>(sums[i]);
  return static_cast<Sum>(sum);
}

/// Makes windows of a line of sums, from left to right, some at a time: window i is sums[i] + ... +
/// sums[i + width - 1].
template <class Sum>
class WindowMaker {
 public:
  WindowMaker(const Sum* sums, int width) : sums_(sums), width_(width) {
    // Narrow ones are added column by column, which takes less than a scan.
    if (width > kNarrow) before_ = sum_of(sums, width);
  }

  /// The next `count` windows. All calls but the last one make whole vectors.
  HWY_INLINE void make(int count, Sum* windows) {
    switch (width_) {
      case 1:
        return add_columns<1>(count, windows);
      case 2:
        return add_columns<2>(count, windows);
      case 3:
        return add_columns<3>(count, windows);
      case 4:
        return add_columns<4>(count, windows);
      case 5:
        return add_columns<5>(count, windows);
      default:
        return scan_columns(count, windows);
    }
  }

 private:
  static constexpr int kNarrow = 5;

  template <int kWidth>
  HWY_INLINE void add_columns(int count, Sum* windows) {
    const SumTag<Sum> d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int i = 0; i < count; i += lanes) {
      auto window = hn::Load(d, sums_ + i);
      HWY_UNROLL(8)
      for (int j = 1; j < kWidth; ++j)
        window = hn::Add(window, hn::LoadU(d, sums_ + i + j));
      hn::Store(window, d, windows + i);
    }
    sums_ += count;
  }

  /// Each window is the one before it and the column that it gains, less the one that it loses.
  HWY_INLINE void scan_columns(int count, Sum* windows) {
    const SumTag<Sum> d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    auto before = hn::Set(d, before_);
    for (int i = 0; i < count; i += lanes) {
      const auto change = hn::Sub(hn::LoadU(d, sums_ + i + width_), hn::Load(d, sums_ + i));
      const auto scan = scan_of(d, change);
      hn::Store(hn::Add(before, hn::Sub(scan.sums, change)), d, windows + i);
      before = hn::Add(before, scan.total);
    }
    before_ = hn::GetLane(before);
    sums_ += count;
  }

  const Sum* sums_;  ///< Of the next window's columns.
  int width_;
  Sum before_ = 0;  ///< The next window, if it is wide.
};

/// Windows of 32 bits from window `i` on, less `black`.
template <class Sum>
HWY_INLINE hn::Vec<Words> load_windows(const Sum* windows, int i, hn::Vec<Words> black) {
  const Words d;
  const hn::Rebind<Sum, Words> d_sum;
  if constexpr (sizeof(Sum) == sizeof(std::int32_t))
    return hn::Sub(hn::Load(d, windows + i), black);
  else
    return hn::Sub(hn::PromoteTo(d, hn::Load(d_sum, windows + i)), black);
}

#if HWY_TARGET != HWY_SCALAR

/// Codes of the `count` windows of `width` columns of `sums` to `out`. `windows` has room for
/// kBoxWindows.
HWY_INLINE void divide_columns(const NarrowBoxDivision& division, const std::uint16_t* sums,
                               int width, int count, std::uint16_t* windows, std::uint8_t* out) {
  const SumTag<std::uint16_t> d;
  const Divider divider(division);
  WindowMaker<std::uint16_t> maker(sums, width);
  for (int begin = 0; begin < count; begin += kBoxWindows) {
    const int made = std::min(kBoxWindows, count - begin);
    maker.make(made, windows);
    divider.divide(
        made, [=](int i) HWY_ATTR { return hn::Load(d, windows + i); }, out + begin);
  }
}

#endif

/// Codes of the `count` windows of `width` columns of `sums`, of which `black` is subtracted, to
/// `out`. `windows` has room for kBoxWindows.
template <class Sum>
HWY_INLINE void finish_columns(const BytePart& part, const Sum* sums, int width, std::int32_t black,
                               int count, Sum* windows, std::uint8_t* out) {
#if HWY_TARGET != HWY_SCALAR
  if constexpr (sizeof(Sum) == sizeof(std::uint16_t))
    if (part.division.serves)
      return divide_columns(part.division, sums, width, count, windows, out);
#endif
  const ComponentTask& task = part.task;
  const auto none = hn::Set(Words(), black);
  with_codes(task.epilogue, task.reciprocals, Sums::kExact, [=](const auto& codes_of) HWY_ATTR {
    WindowMaker<Sum> maker(sums, width);
    for (int begin = 0; begin < count; begin += kBoxWindows) {
      const int made = std::min(kBoxWindows, count - begin);
      maker.make(made, windows);
#if HWY_TARGET == HWY_SCALAR
      for (int i = 0; i < made; ++i)
        out[begin + i] =
            static_cast<std::uint8_t>(hn::GetLane(codes_of(load_windows(windows, i, none))));
#else
      const int words = static_cast<int>(hn::Lanes(Words()));
      for (int i = 0; i < made; i += 4 * words) {
        const hn::Vec<Words> codes[4] = {codes_of(load_windows(windows, i, none)),
                                         codes_of(load_windows(windows, i + words, none)),
                                         codes_of(load_windows(windows, i + 2 * words, none)),
                                         codes_of(load_windows(windows, i + 3 * words, none))};
        store_codes(pack_words_in_order(codes), made - i, out + begin + i);
      }
#endif
    }
  });
}

/// Row `y` of the area from the sums of its columns. Parts that are not filtered are copied.
template <class Sum>
HWY_INLINE void finish_row(const ByteTask& task, const BoxMask& mask, const Area& area, int y,
                           const BoxLines<Sum>& lines) {
  const std::uint8_t* codes[kMaxComponents];
  for (int k = 0; k < task.count; ++k) {
    const ComponentTask& part = task.parts[k].task;
    std::uint8_t* const out =
        task.lies_alone() ? part.dst_row(area.y + y) + area.x : lines.codes[k];
    codes[k] = out;
    if (!task.parts[k].filtered) continue;
    finish_columns(task.parts[k], lines.sums[k], mask.width, part.black * mask.width * mask.height,
                   area.width, lines.windows, out);
  }
  copy_others(task, area, y, lines.line, codes);
  if (!task.lies_alone()) store_parts(task, area.y + y, area.x, area.width, codes);
}

/// Adds row `y` of the source, of which `line` has what is not read in the picture.
template <class Sum>
HWY_INLINE void add_row(const SourceRows& source, int y, const std::uint8_t* line, int columns,
                        Sum* sums) {
  source.for_each_run(columns, [&](int begin, int end, bool in_picture) HWY_ATTR {
    add_line(in_picture ? source.in_picture(y, line) : line, begin, end, sums);
  });
}

/// Columns between two prefetches: few enough to spread them over a row, and four cache lines, so
/// that the loop over columns is seldom left.
constexpr int kPrefetched = 256;

template <class Sum>
HWY_INLINE void filter(const ByteTask& task, const BoxMask& mask, const Area& area,
                       const Workspace& workspace) {
  const BoxLines<Sum> lines(workspace);
  const int columns = area.width + mask.width - 1;
  constexpr int kStep = kColumnStep<Sum>;
  const SourceRows source(task, area.x - mask.anchor_x, columns, {kStep, kStep});
  RowsAhead ahead(task.parts[0].task, task.count, area);
  const auto stopped = [&] { return task.parts[0].task.stopped(); };
  const int top = area.y - mask.anchor_y;

  for (int k = 0; k < task.count; ++k)
    std::fill_n(lines.sums[k], columns + 1, Sum{0});
  for (int i = 0; i < mask.height - 1; ++i) {
    if (stopped()) return;
    source.load(top + i, lines.line);
    for (int k = 0; k < task.count; ++k)
      add_row(source, top + i, lines.line[k], columns, lines.sums[k]);
  }
  for (int y = 0; y < area.height; ++y) {
    if (stopped()) return;
    const int gained = top + y + mask.height - 1;
    source.load(gained, lines.line);
    if (y > 0) source.load(top + y - 1, lines.above);
    ahead.clear();
    ahead.read(gained + kRowsAhead, gained + kRowsAhead + 1);
    ahead.write(area.y + y + kRowsAhead, area.y + std::min(y + kRowsAhead + 1, area.height));
    for (int k = 0; k < task.count; ++k)
      if (y == 0)
        add_row(source, gained, lines.line[k], columns, lines.sums[k]);
      else
        source.for_each_run(columns, [&](int begin, int end, bool in_picture) HWY_ATTR {
          const std::uint8_t *added = lines.line[k], *subtracted = lines.above[k];
          if (in_picture) added = source.in_picture(gained, added);
          if (in_picture) subtracted = source.in_picture(top + y - 1, subtracted);
          for (int x = begin; x < end; x += kPrefetched) {
            ahead.fetch(k, columns, x, std::min(kPrefetched, end - x));
            change_line(added, subtracted, x, std::min(end, x + kPrefetched), lines.sums[k]);
          }
        });
    finish_row(task, mask, area, y, lines);
  }
}

/// Codes below the mask add up to a sum of 16 bits.
bool sums_fit_16(const BoxMask& mask) {
  return static_cast<std::int64_t>(mask.width) * mask.height * 255 <= 0xFFFF;
}

void box_bytes(const ByteTask& task, const BoxMask& mask, const Area& area,
               const Workspace& workspace) {
#if HWY_TARGET != HWY_SCALAR
  if (is_narrow_box(mask.width, mask.height) && divides_narrowly(task))
    return mask.width == 3 ? filter_narrow<3>(task, mask, area, workspace)
                           : filter_narrow<5>(task, mask, area, workspace);
#endif
  if (sums_fit_16(mask))
    filter<std::uint16_t>(task, mask, area, workspace);
  else
    filter<std::int32_t>(task, mask, area, workspace);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(box_bytes);

namespace {

/// Lines of a worker beside the codes that rows become, which lie where other kernels have sums.
constexpr int kLines = 3 * kMaxComponents + 1;
static_assert(kMaxComponents <= kBlockRows);

}  // namespace

bool BoxBytes::serves(const FrameFormat& format, const Mask& mask) {
  constexpr std::int64_t kMostTaps = INT32_MAX / 255;
  return mask.taps() <= kMostTaps && all_filtered(format, [](const Component& c) {
           return c.max_code() == 255 && c.shift == 0;
         });
}

Result<BoxBytes> BoxBytes::make(const FrameFormat& format, const BoxMask& mask, int workers) {
  const GroupExtent extent = largest_group(format);
  const int widest = extent.width, parts = extent.parts;
  BoxBytes made;
  made.mask_ = mask;
  const int ring = is_narrow_box(mask.width, mask.height) ? parts * mask.height : 0;
  made.strip_width_ =
      choose_strip_width(widest, mask.width, 2 * parts + 1 + ring / 2, sizeof(std::int32_t));
  WorkspaceShape shape;
  shape.intermediate_lines = ring;
  shape.cell_bytes = sizeof(std::int32_t);
  shape.strip_width = std::min(made.strip_width_, round_up(widest, kStripStep));
  shape.source_width = std::max(shape.strip_width + mask.width, kBoxWindows);
  shape.source_lines = kLines;
  Result<Workspaces> workspaces = Workspaces::make(shape, workers);
  if (!workspaces.ok()) return workspaces.status();
  made.workspaces_ = std::move(workspaces.value());
  return made;
}

void BoxBytes::filter(const ByteTask& task, const Area& area, int worker) const {
  HWY_DYNAMIC_DISPATCH(box_bytes)(task, mask_, area, workspaces_[worker]);
}

}  // namespace convolve
#endif
