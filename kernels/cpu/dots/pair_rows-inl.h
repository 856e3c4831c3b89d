// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of samples in lines of signed 16 bits, ghost cells included, for products of pairs. Their
// interface is that of SourceRows.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_PAIR_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_PAIR_ROWS_INL_H_
#undef CONVOLVE_PAIR_ROWS_INL_H_
#else
#define CONVOLVE_PAIR_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "kernels/core/weights/fast_fir.h"
#include "kernels/cpu/dots/pair_sums-inl.h"
#include "kernels/cpu/rows/byte_lines-inl.h"
#include "kernels/cpu/rows/word_lines-inl.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

#if CONVOLVE_DOT_PAIRS

/// All cells lie in lines.
class LineRows {
 public:
  template <class Use>
  HWY_INLINE void for_each_run(int count, const Use& use) const {
    use(0, count, false);
  }

  const std::uint8_t* in_picture(int, const std::uint8_t* line) const { return line; }
};

/// Rows of bytes.
class WidenedRows : public LineRows {
 public:
  /// `upper`: as many bytes as a line has cells, or more, in whole vectors.
  WidenedRows(const GroupTask& task, int x, int cells, std::ptrdiff_t upper)
      : task_(task), x_(x), cells_(cells), upper_(upper) {}

  /// Bytes come to the second half of a line first, from where each goes to a place before those
  /// that are still to go. Of a part that is not filtered they stay bytes.
  HWY_INLINE void load(int y, std::uint8_t* const* lines) const {
    std::uint8_t* bytes[kMaxComponents];
    for (int k = 0; k < task_.count; ++k)
      bytes[k] = lines[k] + (task_.parts[k].filtered ? upper_ : 0);
    load(y, lines, bytes);
  }

  /// Bytes come to lines of their own, and stay there. For a part that is not filtered the two
  /// lines are the same one.
  HWY_INLINE void load(int y, std::uint8_t* const* lines, std::uint8_t* const* bytes) const {
    load_parts(task_, y, x_, cells_, bytes);
    for (int k = 0; k < task_.count; ++k)
      if (task_.parts[k].filtered) widen(bytes[k], lines[k]);
  }

 private:
  HWY_INLINE void widen(const std::uint8_t* bytes, std::uint8_t* line) const {
    const Pairs d;
    const hn::Rebind<std::uint8_t, Pairs> d_bytes;
    const int lanes = static_cast<int>(hn::Lanes(d));
    for (int i = 0; i < cells_; i += lanes)
      hn::StoreU(hn::PromoteTo(d, hn::LoadU(d_bytes, bytes + i)), d,
                 reinterpret_cast<std::int16_t*>(line) + i);
  }

  const GroupTask& task_;
  int x_, cells_;
  std::ptrdiff_t upper_;
};

/// Rows of samples of two bytes: codes less line_offset(). Parts that are not filtered are left
/// out.
class JoinedRows : public LineRows {
 public:
  /// `upper`: bytes from a line of lower bytes to that of upper ones; `scratch`: both. `samples`:
  /// see load_split().
  JoinedRows(const GroupTask& task, int x, int cells, std::ptrdiff_t upper, std::uint8_t* scratch,
             std::uint16_t* samples)
      : task_(task), x_(x), cells_(cells), split_{scratch, scratch + upper}, samples_(samples) {}

  HWY_INLINE void load(int y, std::uint8_t* const* lines) const {
    for (int k = 0; k < task_.count; ++k) {
      if (!task_.parts[k].filtered) continue;
      const ComponentTask& part = task_.parts[k].task;
      load_split(part, y, x_, cells_, split_, samples_);
      join(line_offset(part.layout.max_code), lines[k]);
    }
  }

 private:
  HWY_INLINE void join(std::int32_t offset, std::uint8_t* line) const {
    const hn::RebindToUnsigned<Pairs> d;
    const hn::Rebind<std::uint8_t, Pairs> d_bytes;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const auto less = hn::Set(d, static_cast<std::uint16_t>(offset));
    for (int i = 0; i < cells_; i += lanes) {
      const auto lower = hn::PromoteTo(d, hn::LoadU(d_bytes, split_.lower + i));
      const auto upper = hn::PromoteTo(d, hn::LoadU(d_bytes, split_.upper + i));
      hn::StoreU(hn::Sub(hn::Or(lower, hn::ShiftLeft<8>(upper)), less), d,
                 reinterpret_cast<std::uint16_t*>(line) + i);
    }
  }

  const GroupTask& task_;
  int x_, cells_;
  SplitLine split_;
  std::uint16_t* samples_;
};

/// The rows as lines of `cells` cells from column `x` of the picture on. `scratch`: a line of the
/// workspace for samples of two bytes.
template <class Stored>
HWY_INLINE auto pair_rows_of(const GroupTask& task, int x, int cells, const Workspace& workspace,
                             int scratch) {
  const std::ptrdiff_t upper = upper_line(cells);
  if constexpr (sizeof(Stored) == 1)
    return WidenedRows(task, x, cells, upper);
  else
    return JoinedRows(task, x, cells, upper, workspace.source.at<std::uint8_t>(scratch),
                      workspace.samples.at<std::uint16_t>(0));
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
