// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of samples of two bytes parted into two lines of bytes for each component, the lower bytes
// of its codes and the upper ones, ghost cells included. So kernels of bytes serve codes of 9 to 16
// bits, whatever their byte order and shift.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_WORD_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_WORD_LINES_INL_H_
#undef CONVOLVE_WORD_LINES_INL_H_
#else
#define CONVOLVE_WORD_LINES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cpu/load_line-inl.h"
#include "kernels/cpu/rows/byte_lines-inl.h"
#include "kernels/cpu/rows/source_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// The bytes of a component's codes in a row.
struct SplitLine {
  std::uint8_t* lower;
  std::uint8_t* upper;

  void set(int i, int code) const {
    lower[i] = static_cast<std::uint8_t>(code);
    upper[i] = static_cast<std::uint8_t>(code >> 8);
  }
};

/// Splits the codes of `count` samples that lie side by side, at any address, from cell `to` on.
HWY_INLINE void split_samples(const std::uint8_t* samples, int count, SampleLayout layout,
                              SplitLine line, int to) {
  const hn::ScalableTag<std::uint16_t> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d_bytes;
  const hn::RebindToSigned<decltype(d)> d_signed;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto most = hn::Set(d, static_cast<std::uint16_t>(layout.max_code));
  const auto byte = hn::Set(d, std::uint16_t{0xFF});
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto stored = hn::LoadU(d, reinterpret_cast<const std::uint16_t*>(samples) + i);
    if (layout.swap) stored = hn::Or(hn::ShiftLeft<8>(stored), hn::ShiftRight<8>(stored));
    const auto code = hn::And(hn::ShiftRightSame(stored, layout.shift), most);
    hn::StoreU(hn::DemoteTo(d_bytes, hn::BitCast(d_signed, hn::And(code, byte))), d_bytes,
               line.lower + to + i);
    hn::StoreU(hn::DemoteTo(d_bytes, hn::BitCast(d_signed, hn::ShiftRight<8>(code))), d_bytes,
               line.upper + to + i);
  }
  for (; i < count; ++i)
    line.set(to + i, decode_sample(read_sample<std::uint16_t>(samples + 2 * i), layout));
}

/// Copies cells `from`, `from` + `step`, ... of a line to its cells `to` .. `to` + `count` - 1.
HWY_INLINE void copy_cells(std::uint8_t* line, int from, int step, int count, int to) {
  if (step == 0)
    std::memset(line + to, line[from], static_cast<std::size_t>(count));
  else if (step == 1)
    std::memcpy(line + to, line + from, static_cast<std::size_t>(count));
  else
    copy_reversed(line + from, count, line + to);
}

/// Fills cells `begin` to `end` - 1 of a line that begins at column `x` of picture row `row`: they
/// lie outside of the picture, and cells `inside` to `after` - 1 hold what is in it.
HWY_INLINE void fill_split_ghosts(const ComponentTask& task, int row, int x, int begin, int end,
                                  int inside, int after, SplitLine line) {
  for (int i = begin; i < end;) {
    const GhostRun run = ghost_run(task.border, x + i, task.width, end - i);
    const int first = run.column - x;
    const int last = first + run.step * (run.length - 1);
    if (run.column == kNoSignal) {
      std::memset(line.lower + i, task.black & 0xFF, static_cast<std::size_t>(run.length));
      std::memset(line.upper + i, task.black >> 8, static_cast<std::size_t>(run.length));
    } else if (std::min(first, last) >= inside && std::max(first, last) < after) {
      copy_cells(line.lower, first, run.step, run.length, i);
      copy_cells(line.upper, first, run.step, run.length, i);
    } else {
      // A strip of a wide picture has not the columns at its other end.
      const std::uint8_t* const samples = task.src_row(row);
      for (int j = 0; j < run.length; ++j) {
        const std::ptrdiff_t column = run.column + run.step * j;
        line.set(i + j, decode_sample(read_sample<std::uint16_t>(samples + column * task.step),
                                      task.layout));
      }
    }
    i += run.length;
  }
}

/// Fills a line with `count` codes of picture row `y` from column `x` on; either may lie outside
/// the picture. `samples` is scratch for `count` samples.
static HWY_NOINLINE void load_split(const ComponentTask& task, int y, int x, int count,
                                    SplitLine line, std::uint16_t* samples) {
  const int row = border_index(task.border, y, task.height);
  if (row == kNoSignal) {
    std::memset(line.lower, task.black & 0xFF, static_cast<std::size_t>(count));
    std::memset(line.upper, task.black >> 8, static_cast<std::size_t>(count));
    return;
  }
  const int inside = std::min(std::max(-x, 0), count);
  const int after = std::min(std::max(task.width - x, inside), count);
  const std::uint8_t* from = task.src_row(row);
  if (task.step == 2) {
    from += std::ptrdiff_t{2} * (x + inside);
  } else {
    gather_samples(task, from, x + inside, after - inside, samples);
    from = reinterpret_cast<const std::uint8_t*>(samples);
  }
  split_samples(from, after - inside, task.layout, line, inside);
  fill_split_ghosts(task, row, x, 0, inside, inside, after, line);
  fill_split_ghosts(task, row, x, after, count, inside, after, line);
}

/// Where kernels of bytes read samples of two bytes: always in lines. The interface of SourceRows.
class SplitRows {
 public:
  /// `upper`: bytes from a line of lower bytes to that of upper ones. `samples`: see load_split().
  SplitRows(const GroupTask& task, int x, int cells, std::ptrdiff_t upper, std::uint16_t* samples)
      : task_(task), x_(x), cells_(cells), upper_(upper), samples_(samples) {}

  HWY_INLINE void load(int y, std::uint8_t* const* lines) const {
    for (int k = 0; k < task_.count; ++k)
      if (task_.parts[k].filtered)
        load_split(task_.parts[k].task, y, x_, cells_, {lines[k], lines[k] + upper_}, samples_);
  }

  template <class Use>
  HWY_INLINE void for_each_run(int count, const Use& use) const {
    use(0, count, false);
  }

  const std::uint8_t* in_picture(int, const std::uint8_t* line) const { return line; }

 private:
  const GroupTask& task_;
  int x_, cells_;
  std::ptrdiff_t upper_;
  std::uint16_t* samples_;
};

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
