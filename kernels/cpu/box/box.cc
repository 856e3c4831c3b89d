// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/box/box.h"

#include "kernels/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/box/box.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/finish_line-inl.h"
#include "kernels/cpu/load_line-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// sums[i] += line[i], or -=, for `count` cells; both have room for a vector more.
template <bool kAdd>
HWY_INLINE void accumulate_line(const std::int32_t* line, int count, std::int32_t* sums) {
  const hn::ScalableTag<std::int32_t> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = 0; i < count; i += lanes) {
    const auto sum = hn::Load(d, sums + i), cell = hn::Load(d, line + i);
    hn::Store(kAdd ? hn::Add(sum, cell) : hn::Sub(sum, cell), d, sums + i);
  }
}

/// prefixes[i] = sums[0] + ... + sums[i - 1] modulo 2^32, for i = 0 .. count. One addition a cell:
/// a scan in vectors has more than that to do.
HWY_INLINE void make_prefixes(const std::int32_t* sums, int count, std::uint32_t* prefixes) {
  std::uint32_t prefix = 0;
  for (int i = 0; i < count; ++i) {
    prefixes[i] = prefix;
    prefix += static_cast<std::uint32_t>(sums[i]);
  }
  prefixes[count] = prefix;
}

/// windows[i] = prefixes[i + width] - prefixes[i] for `count` windows: sums of differences from
/// black, of which only the lowest 32 bits are known. `lowest` is the least that they can be.
template <class Real>
HWY_INLINE void make_windows(const std::uint32_t* prefixes, int width, int count, double lowest,
                             Real* windows) {
  const hn::ScalableTag<Real> d;
  const hn::Rebind<std::int32_t, decltype(d)> d_sum;
  const hn::Rebind<std::uint32_t, decltype(d)> d_prefix;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int i = 0; i < count; i += lanes) {
    const auto low = hn::LoadU(d_prefix, prefixes + i);
    const auto high = hn::LoadU(d_prefix, prefixes + i + width);
    const auto window = hn::BitCast(d_sum, hn::Sub(high, low));
    if constexpr (sizeof(Real) == sizeof(float)) {
      hn::Store(hn::ConvertTo(d, window), d, windows + i);
    } else {
      // From `lowest` on they fill no more than 2^32 values: counted from the middle of that range
      // they are signed.
      const double middle = lowest + 2147483648.0;
      const auto start =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::int64_t>(middle)));
      const auto offset = hn::Sub(window, hn::Set(d_sum, start));
      hn::Store(hn::Add(hn::PromoteTo(d, offset), hn::Set(d, middle)), d, windows + i);
    }
  }
}

template <class Real, class Stored>
HWY_INLINE void filter(const ComponentTask& task, const BoxMask& mask, const Area& area,
                       const Workspace& workspace) {
  std::int32_t* line = workspace.source.at<std::int32_t>(0);
  std::int32_t* sums = workspace.source.at<std::int32_t>(1);
  std::uint32_t* prefixes = workspace.source.at<std::uint32_t>(2);
  Real* windows = workspace.sums.at<Real>(0);
  Stored* samples = workspace.samples.at<Stored>(0);
  const int columns = area.width + mask.width - 1;
  const int top = area.y - mask.anchor_y;
  const double lowest = -static_cast<double>(task.black) * mask.width * mask.height;
  const auto load = [&](int y) {
    load_line(task, y, area.x - mask.anchor_x, columns, line, samples);
  };

  std::fill_n(sums, columns, 0);
  for (int i = 0; i < mask.height - 1; ++i) {
    if (task.stopped()) return;
    load(top + i);
    accumulate_line<true>(line, columns, sums);
  }
  for (int i = 0; i < area.height; ++i) {
    if (task.stopped()) return;
    load(top + i + mask.height - 1);
    accumulate_line<true>(line, columns, sums);
    make_prefixes(sums, columns, prefixes);
    make_windows(prefixes, mask.width, area.width, lowest, windows);
    finish_line(task, area.y + i, area.x, area.width, windows, samples);
    load(top + i);
    accumulate_line<false>(line, columns, sums);
  }
}

void box(const ComponentTask& task, const BoxMask& mask, const Area& area,
         const Workspace& workspace) {
  const bool bytes = task.sample_bytes == 1;
  if (task.epilogue.in_float)
    bytes ? filter<float, std::uint8_t>(task, mask, area, workspace)
          : filter<float, std::uint16_t>(task, mask, area, workspace);
  else
    bytes ? filter<double, std::uint8_t>(task, mask, area, workspace)
          : filter<double, std::uint16_t>(task, mask, area, workspace);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(box);

void filter_box(const ComponentTask& task, const BoxMask& mask, const Area& area,
                const Workspace& workspace) {
  HWY_DYNAMIC_DISPATCH(box)(task, mask, area, workspace);
}

}  // namespace convolve
#endif
