// SPDX-License-Identifier: LGPL-2.1-or-later
// What both ways of box over bytes have in common: the lines of a worker, parts that are
// copied, and the division of 16 bits.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_BOX_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_BOX_LINES_INL_H_
#undef CONVOLVE_BOX_LINES_INL_H_
#else
#define CONVOLVE_BOX_LINES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/box/box_bytes.h"
#include "kernels/cpu/rows/byte_lines-inl.h"
#include "kernels/cpu/rows/row_task.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Windows of 16 bits.
using NarrowTag = hn::ScalableTag<std::uint16_t>;

/// Columns that are summed at a time, as many as a vector holds. It is known when compiling, as no
/// target with vectors of unknown size is compiled (highway_targets.h).
inline constexpr int kColumnStep = static_cast<int>(hn::MaxLanes(NarrowTag()));

/// The lines of a worker. Windows have 16 bits where a Divider makes their codes, as twice as many
/// are added at once, or else 32: see empty_window().
template <class Sum>
struct BoxLines {
  std::uint8_t* gained[kBoxRows][kMaxComponents];  ///< Codes of a row, ghost cells included,
  std::uint8_t* lost[kBoxRows][kMaxComponents];    ///< of the one that the mask has left,
  std::uint8_t* codes[kBoxRows][kMaxComponents];   ///< and those that a row becomes.
  Sum* windows[kMaxComponents];                    ///< Sums of the codes below the mask,
  std::uint8_t* pivots[kMaxComponents];  ///< and the codes that they are kept less: PivotedWindows.
  std::int32_t* columns[kMaxComponents];  ///< Sums that the first windows are made of.

  /// Lines of `cells` codes with ghost cells.
  BoxLines(const Workspace& workspace, int cells) {
    const std::ptrdiff_t bytes = BoxBytes::code_line_bytes(cells);
    for (int k = 0; k < kMaxComponents; ++k) {
      for (int r = 0; r < kBoxRows; ++r) {
        gained[r][k] = workspace.source.at<std::uint8_t>(k) + r * bytes;
        lost[r][k] = workspace.source.at<std::uint8_t>(kMaxComponents + k) + r * bytes;
        codes[r][k] = workspace.source.at<std::uint8_t>(2 * kMaxComponents + k) + r * bytes;
      }
      windows[k] = workspace.source.at<Sum>(3 * kMaxComponents + k);
      pivots[k] = workspace.source.at<std::uint8_t>(4 * kMaxComponents + k);
      columns[k] = workspace.source.at<std::int32_t>(5 * kMaxComponents + k);
    }
  }
};

/// True if `holds` is true of all parts that are filtered.
template <class Holds>
HWY_INLINE bool all_filtered_parts(const RowTask& task, const Holds& holds) {
  return std::all_of(task.groups, task.groups + task.count, [&holds](const GroupTask& group) {
    return std::all_of(group.parts, group.parts + group.count,
                       [&holds](const GroupPart& part) { return !part.filtered || holds(part); });
  });
}

/// The codes of parts that are not filtered are those of the source. `lines` is scratch.
HWY_INLINE void copy_others(const GroupTask& task, const Area& area, int y,
                            std::uint8_t* const* lines, const std::uint8_t** codes) {
  if (task.all_filtered()) return;
  load_parts(task, area.y + y, area.x, area.width, lines);
  for (int k = 0; k < task.count; ++k)
    if (!task.parts[k].filtered) codes[k] = lines[k];
}

#if HWY_TARGET != HWY_SCALAR

/// Codes of windows by a division of 16 bits.
class Divider {
 public:
  explicit Divider(const NarrowBoxDivision& division)
      : offset_(hn::Set(NarrowTag(), division.offset)),
        reciprocal_(hn::Set(NarrowTag(), division.reciprocal)),
        shift_(division.shift) {}

  /// Codes of the `count` windows that `window_at` makes, a vector at a time, to `out`.
  template <class WindowAt>
  HWY_INLINE void divide(int count, const WindowAt& window_at, std::uint8_t* out) const {
    const NarrowTag d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    int i = 0;
    for (; i + lanes <= count; i += lanes)
      hn::StoreU(codes_of(window_at(i)), Codes(), out + i);
    if (i < count) {
      HWY_ALIGN std::uint8_t last[hn::MaxLanes(NarrowTag())];
      hn::Store(codes_of(window_at(i)), Codes(), last);
      std::memcpy(out + i, last, static_cast<std::size_t>(count - i));
    }
  }

  /// The codes in 16 bits.
  HWY_INLINE hn::Vec<NarrowTag> quotients(hn::Vec<NarrowTag> windows) const {
    return hn::ShiftRightSame(hn::MulHigh(hn::Add(windows, offset_), reciprocal_), shift_);
  }

 private:
  using Codes = hn::Rebind<std::uint8_t, NarrowTag>;

  HWY_INLINE hn::Vec<Codes> codes_of(hn::Vec<NarrowTag> windows) const {
    return hn::DemoteTo(Codes(), hn::BitCast(hn::RebindToSigned<NarrowTag>(), quotients(windows)));
  }

  hn::Vec<NarrowTag> offset_, reciprocal_;
  int shift_;
};

/// True if the codes of all parts are made by a Divider.
HWY_INLINE bool divides_narrowly(const RowTask& task) {
  return all_filtered_parts(task,
                            [](const GroupPart& part) { return part.narrow_division.serves; });
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
