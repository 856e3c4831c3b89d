// SPDX-License-Identifier: LGPL-2.1-or-later
// The representations of a mask that kernels compute with: each is made at most once for a plan,
// while the planner compares forms, and the one that is chosen travels on to the job.
#pragma once

#include <optional>
#include <variant>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/weights/box.h"
#include "kernels/core/weights/digits.h"
#include "kernels/core/weights/separable_digits.h"
#include "kernels/core/weights/separable_integers.h"
#include "kernels/core/weights/shift.h"
#include "kernels/core/weights/spline_mask.h"
#include "kernels/core/weights/split_digits.h"
#include "kernels/core/weights/weighted_arithmetic.h"

namespace convolve {

/// A mask and what a plan computes with. Shared by all who run the plan, and never copied, as a
/// dense mask may take megabytes.
struct PreparedWeights {
  /// std::monostate: the mask's own weights or factors, summed in an accumulator.
  using Representation = std::variant<std::monostate, DigitWeights, SplitDigits, SeparableDigits,
                                      SeparableIntegers, SplineMask, BoxWeight, Shift>;

  Mask mask;
  Representation representation;
  std::optional<WeightTotals> totals;  ///< If colour is weighted by alpha.

  /// The representation if it is a T, or null.
  template <class T>
  const T* as() const {
    return std::get_if<T>(&representation);
  }
};

/// Makes representations of one mask for one frame format and scale, each when it is first asked
/// for. An empty one says that there is none that keeps the contract. Whoever is done with planning
/// may move them out.
class WeightPreparation {
 public:
  /// `format` and `mask` must outlive this.
  WeightPreparation(const FrameFormat& format, const Mask& mask, double scale);
  WeightPreparation(const WeightPreparation&) = delete;
  WeightPreparation& operator=(const WeightPreparation&) = delete;

  /// is_rational() of format, mask and scale.
  bool rational() const { return rational_; }

  std::optional<DigitWeights>& digits();
  /// Weights whose sums leave 32 bits (choose_wide_digits()). Only where digits() is empty.
  std::optional<DigitWeights>& wide_digits();
  /// In so many digits, kFewestSplitDigits to kMostDigits. Only where rational() does not hold.
  std::optional<SplitDigits>& split_digits(int digits);
  std::optional<SeparableDigits>& separable_digits();
  std::optional<SeparableIntegers>& separable_integers();
  std::optional<SplineMask>& spline_mask(SplineEnds ends);
  std::optional<BoxWeight>& box_weight();
  std::optional<Shift>& shift();
  const WeightTotals& totals();

  /// How many representations have been made, or found not to exist. Never more than there are
  /// functions above, and numbers of split digits.
  int made() const { return made_; }

 private:
  /// A value that is made when it is first asked for.
  template <class T>
  struct Once {
    bool asked = false;
    std::optional<T> value;
  };
  template <class T, class Make>
  std::optional<T>& once(Once<T>& kept, const Make& make);

  const FrameFormat& format_;
  const Mask& mask_;
  const double scale_;
  const bool rational_;
  int made_ = 0;
  Once<DigitWeights> digits_, wide_digits_;
  Once<SplitDigits> split_digits_[kMostDigits - kFewestSplitDigits + 1];
  Once<SeparableDigits> separable_digits_;
  Once<SeparableIntegers> separable_integers_;
  Once<SplineMask> spline_with_box_, spline_with_taps_;
  Once<BoxWeight> box_weight_;
  Once<Shift> shift_;
  Once<WeightTotals> totals_;
};

}  // namespace convolve
