// SPDX-License-Identifier: LGPL-2.1-or-later
// From samples in memory to a line of differences from black, ghost cells included, so that inner
// loops never test for a border.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_LOAD_LINE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_LOAD_LINE_INL_H_
#undef CONVOLVE_LOAD_LINE_INL_H_
#else
#define CONVOLVE_LOAD_LINE_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/component_task.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Channel `channel` of the pixels at `pixels` of `channels` samples each.
template <class D, class Stored = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_channel(D d, const Stored* pixels, int channels, int channel) {
  hn::Vec<D> v0, v1, v2, v3;
  if (channels == 2) {
    hn::LoadInterleaved2(d, pixels, v0, v1);
    return channel == 0 ? v0 : v1;
  }
  if (channels == 3) {
    hn::LoadInterleaved3(d, pixels, v0, v1, v2);
    return channel == 0 ? v0 : channel == 1 ? v1 : v2;
  }
  hn::LoadInterleaved4(d, pixels, v0, v1, v2, v3);
  return channel == 0 ? v0 : channel == 1 ? v1 : channel == 2 ? v2 : v3;
}

/// Copies `count` samples from `x` of a source row to `samples`, side by side.
template <class Stored>
HWY_INLINE void gather_samples(const ComponentTask& task, const std::uint8_t* row, int x, int count,
                               Stored* samples) {
  const std::uint8_t* src = row + static_cast<std::ptrdiff_t>(x) * task.step;
  int i = 0;
  if (task.channels >= 2 && task.channels <= 4) {
    const hn::ScalableTag<Stored> d;
    const int lanes = static_cast<int>(hn::Lanes(d));
    const Stored* pixels = reinterpret_cast<const Stored*>(src) - task.channel;
    // The last pixel is left to the loop below: the row may end before its other samples do.
    for (; i + lanes < count; i += lanes)
      hn::StoreU(load_channel(d, pixels + i * task.channels, task.channels, task.channel), d,
                 samples + i);
  }
  for (; i < count; ++i)
    samples[i] = read_sample<Stored>(src + static_cast<std::ptrdiff_t>(i) * task.step);
}

/// Turns `count` samples that lie side by side, at any address, into differences from black: float,
/// double or int32.
template <class Real, class Stored>
HWY_INLINE void convert_samples(const ComponentTask& task, const std::uint8_t* samples, int count,
                                Real* line) {
  const hn::ScalableTag<Real> d;
  const hn::Rebind<Stored, decltype(d)> d_stored;
  const hn::Rebind<std::int32_t, decltype(d)> d_code;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const SampleLayout layout = task.layout;
  const int black = task.black;
  const auto black_code = hn::Set(d_code, black);
  const auto max_code = hn::Set(d_code, layout.max_code);
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto stored = hn::LoadU(d_stored, reinterpret_cast<const Stored*>(samples) + i);
    if constexpr (sizeof(Stored) == 2)
      if (layout.swap) stored = hn::Or(hn::ShiftLeft<8>(stored), hn::ShiftRight<8>(stored));
    const auto code = hn::ShiftRightSame(hn::PromoteTo(d_code, stored), layout.shift);
    const auto difference = hn::Sub(hn::And(code, max_code), black_code);
    if constexpr (hwy::IsSame<Real, std::int32_t>())
      hn::StoreU(difference, d, line + i);
    else if constexpr (sizeof(Real) == sizeof(float))
      hn::StoreU(hn::ConvertTo(d, difference), d, line + i);
    else
      hn::StoreU(hn::PromoteTo(d, difference), d, line + i);
  }
  for (; i < count; ++i) {
    const Stored stored = read_sample<Stored>(samples + i * static_cast<int>(sizeof(Stored)));
    line[i] = static_cast<Real>(decode_sample(stored, layout) - black);
  }
}

/// Ghost cells side by side that read cells side by side, or all the same cell.
struct GhostRun {
  int column;  ///< What the first one reads, or kNoSignal.
  int step;    ///< From what one reads to what the next one reads: -1, 0 or 1.
  int length;
};

/// The run that begins at column `x`, outside of a row of `width` cells, of `most` cells at most.
HWY_INLINE GhostRun ghost_run(Border border, int x, int width, int most) {
  const int column = border_index(border, x, width);
  if (border == Border::kReplicate || border == Border::kZero) return {column, 0, most};
  const int step = border_index(border, x + 1, width) - column;
  if (step == 1) return {column, step, std::min(most, width - column)};
  if (step == -1) return {column, step, std::min(most, column + 1)};
  return {column, 0, 1};
}

/// Fills cells `begin` to `end` - 1 of a line that begins at column `x` of picture row `row`: they
/// lie outside of the picture, and cells `inside` to `after` - 1 hold what is in it. kTurns
/// components take turns in the task's one: what is beside them comes from whole pixels.
template <int kTurns, class Real, class Stored>
void fill_ghost_cells(const ComponentTask& task, int row, int x, int begin, int end, int inside,
                      int after, Real* line) {
  for (int i = begin; i < end;) {
    const GhostRun run =
        ghost_run(task.border, (x + i) / kTurns, task.width / kTurns, (end - i) / kTurns);
    const int first = run.column * kTurns - x, step = run.step * kTurns;
    const int last = first + step * (run.length - 1);
    if (run.column == kNoSignal) {
      std::fill_n(line + i, run.length * kTurns, Real(0));
    } else if (std::min(first, last) >= inside && std::max(first, last) < after) {
      for (int j = 0; j < run.length; ++j)
        for (int k = 0; k < kTurns; ++k)
          line[i + j * kTurns + k] = line[first + step * j + k];
    } else {
      // A strip of a wide picture has not the columns at its other end.
      const std::uint8_t* const samples = task.src_row(row);
      for (int j = 0; j < run.length; ++j)
        for (int k = 0; k < kTurns; ++k) {
          const std::ptrdiff_t column = x + first + step * j + k;
          const Stored stored = read_sample<Stored>(samples + column * task.step);
          line[i + j * kTurns + k] =
              static_cast<Real>(decode_sample(stored, task.layout) - task.black);
        }
    }
    i += run.length * kTurns;
  }
}

/// Fills `line` with `count` cells of picture row `row` from column `x` on, of which cells `inside`
/// to `after` - 1 lie in the picture: they come from `samples`, where theirs lie side by side.
template <int kTurns, class Real, class Stored>
HWY_INLINE void convert_line(const ComponentTask& task, int row, int x, int count, int inside,
                             int after, const std::uint8_t* samples, Real* line) {
  convert_samples<Real, Stored>(task, samples, after - inside, line + inside);
  fill_ghost_cells<kTurns, Real, Stored>(task, row, x, 0, inside, inside, after, line);
  fill_ghost_cells<kTurns, Real, Stored>(task, row, x, after, count, inside, after, line);
}

/// Fills `line` with `count` cells of picture row `y` from column `x` on; either may lie outside
/// the picture. `samples` is scratch for `count` samples. kTurns: see fill_ghost_cells().
template <int kTurns = 1, class Real, class Stored>
void load_line(const ComponentTask& task, int y, int x, int count, Real* line, Stored* samples) {
  const int row = border_index(task.border, y, task.height);
  if (row == kNoSignal) {
    std::fill_n(line, count, Real(0));
    return;
  }
  const int inside = std::min(std::max(-x, 0), count);
  const int after = std::min(std::max(task.width - x, inside), count);
  const std::uint8_t* from = task.src_row(row);
  if (task.step == static_cast<int>(sizeof(Stored))) {
    from += static_cast<std::ptrdiff_t>(x + inside) * task.step;
  } else {
    gather_samples(task, from, x + inside, after - inside, samples);
    from = reinterpret_cast<const std::uint8_t*>(samples);
  }
  convert_line<kTurns, Real, Stored>(task, row, x, count, inside, after, from, line);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
