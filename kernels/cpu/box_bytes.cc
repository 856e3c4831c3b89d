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
#include "kernels/cpu/bytes/walk_rows-inl.h"

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
        store_codes(Bytes(), pack_words_in_order(codes), made - i, out + begin + i);
      }
#endif
    }
  });
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

/// Rows of an area.
template <class Sum>
class BoxRows {
 public:
  using Stored = std::uint8_t;
  static constexpr int kRows = 1;

  BoxRows(const RowTask& task, int group, const Area& area, const Workspace& workspace,
          const BoxMask& mask)
      : task_(task.groups[group]),
        area_(area),
        lines_(workspace),
        mask_(mask),
        columns_(area.width + mask.width - 1),
        top_(area.y - mask.anchor_y),
        source_(task_, area.x - mask.anchor_x, columns_, {kColumnStep<Sum>, kColumnStep<Sum>}),
        ahead_(task, group, area) {}

  void filter(int y, int, const std::uint8_t* (*codes)[kMaxComponents]) {
    if (y == 0 && !start()) return;
    const int gained = top_ + y + mask_.height - 1;
    source_.load(gained, lines_.line);
    if (y > 0) source_.load(top_ + y - 1, lines_.above);
    ahead_.next_block(gained + kRowsAhead, 1, area_.y + y + kRowsAhead);
    for (int k = 0; k < task_.count; ++k) {
      if (!task_.parts[k].filtered) continue;
      if (y == 0)
        add_row(source_, gained, lines_.line[k], columns_, lines_.sums[k]);
      else
        change_row(k, gained, top_ + y - 1);
    }
    for (int k = 0; k < task_.count; ++k) {
      const ComponentTask& part = task_.parts[k].task;
      std::uint8_t* const out =
          task_.lies_alone() ? part.dst_row(area_.y + y) + area_.x : lines_.codes[k];
      codes[0][k] = out;
      if (task_.parts[k].filtered)
        finish_columns(task_.parts[k], lines_.sums[k], mask_.width,
                       part.black * mask_.width * mask_.height, area_.width, lines_.windows, out);
    }
    copy_others(task_, area_, y, lines_.line, codes[0]);
  }

 private:
  /// Adds up the rows before the last one below the mask. False if the frame is no longer wanted.
  bool start() {
    for (int k = 0; k < task_.count; ++k)
      std::fill_n(lines_.sums[k], columns_ + 1, Sum{0});
    for (int i = 0; i < mask_.height - 1; ++i) {
      if (task_.parts[0].task.stopped()) return false;
      source_.load(top_ + i, lines_.line);
      for (int k = 0; k < task_.count; ++k)
        if (task_.parts[k].filtered)
          add_row(source_, top_ + i, lines_.line[k], columns_, lines_.sums[k]);
    }
    return true;
  }

  /// Adds picture row `gained` to the sums of part `k`, and subtracts row `lost`.
  void change_row(int k, int gained, int lost) {
    source_.for_each_run(columns_, [&](int begin, int end, bool in_picture) HWY_ATTR {
      const std::uint8_t *added = lines_.line[k], *subtracted = lines_.above[k];
      if (in_picture) added = source_.in_picture(gained, added);
      if (in_picture) subtracted = source_.in_picture(lost, subtracted);
      for (int x = begin; x < end; x += kPrefetched) {
        ahead_.fetch(k, columns_, x, std::min(kPrefetched, end - x));
        change_line(added, subtracted, x, std::min(end, x + kPrefetched), lines_.sums[k]);
      }
    });
  }

  const ByteTask& task_;
  const Area area_;
  BoxLines<Sum> lines_;
  const BoxMask& mask_;
  int columns_;
  int top_;  ///< Picture row of the first row that is added.
  SourceRows source_;
  RowsAhead ahead_;
};

/// Codes below the mask add up to a sum of 16 bits.
bool sums_fit_16(const BoxMask& mask) {
  return static_cast<std::int64_t>(mask.width) * mask.height * 255 <= 0xFFFF;
}

void box_bytes(const RowTask& task, const BoxMask& mask, const Area& area,
               const Workspace* workspaces) {
#if HWY_TARGET != HWY_SCALAR
  if (is_narrow_box(mask.width, mask.height) && divides_narrowly(task))
    return mask.width == 3 ? walk_rows<NarrowBoxRows<3>>(task, area, workspaces, mask)
                           : walk_rows<NarrowBoxRows<5>>(task, area, workspaces, mask);
#endif
  if (sums_fit_16(mask))
    walk_rows<BoxRows<std::uint16_t>>(task, area, workspaces, mask);
  else
    walk_rows<BoxRows<std::int32_t>>(task, area, workspaces, mask);
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
  Result<Workspaces> workspaces = Workspaces::make(shape, workers, extent.groups);
  if (!workspaces.ok()) return workspaces.status();
  made.workspaces_ = std::move(workspaces.value());
  return made;
}

void BoxBytes::filter(const RowTask& task, const Area& area, int worker) const {
  HWY_DYNAMIC_DISPATCH(box_bytes)(task, mask_, area, workspaces_.of(worker));
}

}  // namespace convolve
#endif
