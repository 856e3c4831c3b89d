// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/basic.h"

namespace convolve {
namespace {

/// A sum of products of type `Real`.
template <class Real>
struct PlainSum {
  using Weight = Real;
  Real value = 0;

  void add(Weight weight, int difference) { value += weight * static_cast<Real>(difference); }

  int code(const Epilogue& e) const {
    if constexpr (sizeof(Real) == sizeof(float))
      if (e.in_float) return finish(value, e.narrow, e.max_code);
    return finish(static_cast<double>(value), e.wide, e.max_code);
  }
};

/// Digit by digit.
struct DigitSum {
  using Weight = WideWeight;
  WideSum digits{};

  void add(const Weight& weight, int difference) {
    for (int l = 0; l < kWideLimbs; ++l)
      digits.limb[l] += static_cast<std::int64_t>(weight.limb[l]) * difference;
  }

  int code(const Epilogue& e) const { return finish(wide_value(digits), e.wide, e.max_code); }
};

template <class Sum, class Stored>
int output(const ComponentTask& task, const MaskTaps& taps, int x, int y) {
  Sum sum;
  const auto* weight = taps.weights<typename Sum::Weight>();
  for (int i = 0; i < taps.height(); ++i) {
    const int row = border_index(task.border, y - taps.anchor_y() + i, task.height);
    for (int j = 0; j < taps.width(); ++j, ++weight) {
      const int column = border_index(task.border, x - taps.anchor_x() + j, task.width);
      if (row == kNoSignal || column == kNoSignal) continue;
      const Stored stored =
          read_sample<Stored>(task.src_row(row) + static_cast<std::ptrdiff_t>(column) * task.step);
      sum.add(*weight, decode_sample(stored, task.layout) - task.black);
    }
  }
  return sum.code(task.epilogue);
}

template <class Sum, class Stored>
void filter_area(const ComponentTask& task, const MaskTaps& taps, const Area& area) {
  for (int y = area.y; y < area.y + area.height; ++y)
    for (int x = area.x; x < area.x + area.width; ++x) {
      if (task.stopped()) return;
      write_sample(task.dst_row(y) + static_cast<std::ptrdiff_t>(x) * task.step,
                   encode_sample<Stored>(output<Sum, Stored>(task, taps, x, y), task.layout));
    }
}

template <class Sum>
void filter_samples(const ComponentTask& task, const MaskTaps& taps, const Area& area) {
  if (task.sample_bytes == 1)
    filter_area<Sum, std::uint8_t>(task, taps, area);
  else
    filter_area<Sum, std::uint16_t>(task, taps, area);
}

}  // namespace

void filter_basic(const ComponentTask& task, const MaskTaps& taps, const Area& area) {
  if (taps.accumulator() == Accumulator::kFloat32)
    filter_samples<PlainSum<float>>(task, taps, area);
  else if (taps.accumulator() == Accumulator::kFloat64)
    filter_samples<PlainSum<double>>(task, taps, area);
  else
    filter_samples<DigitSum>(task, taps, area);
}

}  // namespace convolve
