// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/plan/cpu_cost.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "kernels/core/base/round.h"
#include "kernels/core/weights/approximate_fir.h"
#include "kernels/core/weights/arithmetic.h"
#include "kernels/core/weights/box.h"
#include "kernels/core/weights/fast_fir.h"

namespace convolve {
namespace {

constexpr double kMillion = 1e6;

/// True if all filtered samples take one byte.
bool in_bytes(const FrameFormat& format) {
  return std::all_of(
      format.planes, format.planes + format.plane_count,
      [](const PlaneFormat& plane) { return !has_filtered(plane) || plane.sample_bytes == 1; });
}

bool of_pairs(DotProducts dots, bool bytes) {
  return dots == DotProducts::kPairs || (dots == DotProducts::kQuadsOfBytesAlone && !bytes);
}

/// Products of pairs for a sample of a part of the weights: by a fast FIR algorithm where it takes
/// fewer. The weights that the planner finds are not known here: those of real masks are taken to
/// fit, and what subfilters make of 2^n weights of an integer mask to be half as large as it could.
/// `parts`: how many parts of 16 bits exact sums need; `may_be_split`: as they are, if their bits
/// allow that.
double pair_products(const Plan& plan, const FrameFormat& format, const Mask& mask, int parts,
                     bool may_be_split) {
  constexpr int kMost16Bits = 0x7FFF;
  double fewest = parts * fir_products(mask, 0);
  std::int64_t largest = 0;
  for (const std::int64_t value : mask.integers)
    largest = std::max(largest, std::abs(value));
  bool split = false;
  for (int levels = kFewestFirLevels; levels <= kMostFirLevels && may_be_split; ++levels) {
    if (!fir_lines_fit(largest_code(format), levels)) continue;
    if (plan.rational && largest << (levels - 1) > kMost16Bits) continue;
    split = split || fir_products(mask, levels) < fewest;
    fewest = std::min(fewest, fir_products(mask, levels));
  }
  if (split || !plan.rational || !in_bytes(format)) return fewest;
  for (int levels = kFewestFirLevels; levels <= kMostFirLevels; ++levels) {
    const auto largest_made = static_cast<double>(largest << (levels - 1));
    fewest = std::min(fewest, approximate_products(mask, levels, largest_made));
  }
  return fewest;
}

/// Dot products for a sample: of quads of bytes for each digit of a weight, or of pairs of 16 bits,
/// which hold two digits unless the sums leave 32 bits.
double dot_products(const Plan& plan, const FrameFormat& format, const Mask& mask,
                    DotProducts dots) {
  const bool bytes = in_bytes(format);
  const double quads = 1.0 * plan.digits * divide_up(mask.width, 4) * mask.height;
  if (!of_pairs(dots, bytes)) return quads;
  const bool wide = plan.accumulator == Accumulator::kFloat64;
  // Sums of samples of two bytes that leave 32 bits still go by quads, which take as long as so
  // many pairs.
  const double pairs_of_quad = dots == DotProducts::kPairs ? 5.3 : 2;
  if (wide && !bytes) return pairs_of_quad * quads;
  // Sums with bytes less half of their codes fit 32 bits more often.
  const bool halved = wide && plan.rational && halved_sums_fit(mask.integer_magnitude);
  const int parts = plan.digits > 2 || (wide && !halved) ? 2 : 1;
  return pair_products(plan, format, mask, parts, !wide && parts == 1);
}

/// What a pair of taps that share a product takes, an addition and a multiply-add, of two
/// multiply-adds: 0.66 and 0.7 on processors of families 25 and 6 with AVX-512.
constexpr double kFoldedWork = 2.0 / 3;

/// Units of work for a cell of a pass of separable's `plan`, whose factor is `weights`.
double work_of_pass(const Plan& plan, const std::vector<double>& weights) {
  const bool folded = plan.passes() == Passes::kFolded && plan.accumulator != Accumulator::kInt32 &&
                      is_symmetric(weights);
  return (folded ? kFoldedWork : 1) * static_cast<double>(weights.size());
}

/// Units of work for a sample of `component`, but of dot products.
double work_for_sample(const Plan& plan, const Component& component, const Mask& mask,
                       int threads) {
  const double rows = std::max(1.0, 1.0 * component.height / threads);
  // An area makes the row sums of its halo, too.
  if (plan.form == Form::kSeparableAreas)
    return (1 + (mask.height - 1) / rows) * work_of_pass(plan, mask.row) +
           work_of_pass(plan, mask.column);
  if (plan.form == Form::kSeparableSpline) {
    // Along the grid's lines the convolution, for each of their points, and the end taps, two runs
    // of them for each column; the convolution down the columns; and the column's end taps for each
    // point of the cross term's grid.
    const double row = plan.knot_spacing.row, column = plan.knot_spacing.column;
    constexpr double kRuns = 2 * (2 * kEndIntervals);
    return (mask.width / (row * row) + kRuns * row + mask.height / column) / column +
           kRuns * column / plan.knot_spacing.cross;
  }
  if (plan.kernel() == KernelKind::kBox)
    return 1.0 * mask.width / component.width + mask.height / rows;
  if (plan.kernel() == KernelKind::kShift) return 0;
  return plan.passes() != Passes::kDirect
             ? work_of_pass(plan, mask.row) + work_of_pass(plan, mask.column)
             : static_cast<double>(mask.taps());
}

/// A box over bytes whose codes are made of the windows of its rows at once.
bool is_narrow(const Plan& plan, const FrameFormat& format, const Mask& mask) {
  return plan.kernel() == KernelKind::kBox && in_bytes(format) && plan.rational &&
         is_narrow_box(mask.width, mask.height) && mask.taps() % 2 != 0;
}

/// How the codes of a component are made.
struct Codes {
  bool in_double = false;
  bool divided = false;
};

/// The scale and bias of a plan are not known here; codes near the edge of what a float holds are
/// judged as if these were 1 and 0.
Codes codes_of(const Plan& plan, const FrameFormat& format, const Component& component,
               const Mask& mask) {
  Epilogue epilogue;
  if (plan.kernel() == KernelKind::kBox && in_bytes(format)) {
    const BoxWeight weight = *box_weight(mask);
    const BoxDivision division = make_box_division(component, mask, weight, 1, 0, plan.rational);
    // Vectors of sums are then divided by a multiplication (kernels/cpu/box/box_codes-inl.h).
    if (division.direct && !division.ties) return {};
    epilogue = make_box_epilogue(component, mask, weight, 1, 0, plan.rational);
  } else {
    epilogue =
        make_epilogue(component, mask, 1, 0, plan.rational, Accumulator::kFloat32, plan.passes());
  }
  return {plan.accumulator == Accumulator::kFloat64 || !epilogue.in_float,
          plan.rational && (epilogue.in_float ? epilogue.narrow.divide : epilogue.wide.divide)};
}

}  // namespace

const char* cpu_cost_class_name(CpuCostClass cost_class) {
  switch (cost_class) {
    case CpuCostClass::kBasic:
      return "basic";
    case CpuCostClass::kWide:
      return "sums in digits";
    case CpuCostClass::kCoarsenedFloat32:
      return "coarsened float32";
    case CpuCostClass::kCoarsenedFloat64:
      return "coarsened float64";
    case CpuCostClass::kByteDots:
      return "coarsened-dots of bytes";
    case CpuCostClass::kWordDots:
      return "coarsened-dots of two bytes";
    case CpuCostClass::kSeparableFloat32:
      return "separable float32";
    case CpuCostClass::kSeparableFloat64:
      return "separable float64";
    case CpuCostClass::kSeparableDots:
      return "separable-dots";
    case CpuCostClass::kSeparableSpline:
      return "separable-spline";
    case CpuCostClass::kByteBox:
      return "box-runs of bytes";
    case CpuCostClass::kBox:
      return "box-runs";
    case CpuCostClass::kShift:
      return "shift";
  }
  return "?";
}

CpuCostClass cpu_cost_class(const Plan& plan, const FrameFormat& format) {
  const bool in_double = plan.accumulator == Accumulator::kFloat64;
  if (plan.accumulator == Accumulator::kWide) return CpuCostClass::kWide;
  if (plan.form == Form::kCoarsenedDots)
    return in_bytes(format) ? CpuCostClass::kByteDots : CpuCostClass::kWordDots;
  if (plan.form == Form::kCoarsened)
    return in_double ? CpuCostClass::kCoarsenedFloat64 : CpuCostClass::kCoarsenedFloat32;
  if (plan.form == Form::kSeparableDots) return CpuCostClass::kSeparableDots;
  if (plan.form == Form::kSeparableSpline) return CpuCostClass::kSeparableSpline;
  if (plan.kernel() == KernelKind::kSeparable)
    return in_double ? CpuCostClass::kSeparableFloat64 : CpuCostClass::kSeparableFloat32;
  if (plan.kernel() == KernelKind::kBox)
    return in_bytes(format) ? CpuCostClass::kByteBox : CpuCostClass::kBox;
  return plan.kernel() == KernelKind::kShift ? CpuCostClass::kShift : CpuCostClass::kBasic;
}

const CpuCostConstants& cpu_cost_constants(const DeviceCapabilities& device) {
  const std::vector<CpuCostConstants>& rows = cpu_cost_table();
  const auto found = std::find_if(rows.begin(), rows.end(), [&device](const CpuCostConstants& row) {
    return device.name == row.instruction_set;
  });
  return found == rows.end() ? rows.back() : *found;
}

bool multiplies_pairs(const DeviceCapabilities& device, const FrameFormat& format) {
  return of_pairs(cpu_cost_constants(device).dots, in_bytes(format));
}

CostTerms cpu_work_of(const CpuCostConstants& constants, const Plan& plan,
                      const FrameFormat& format, const Mask& mask, int threads) {
  CostTerms terms{};
  terms[kCpuFrame] = 1;
  const bool narrow = is_narrow(plan, format, mask);
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    for (int c = 0; c < plane.component_count; ++c) {
      const Component& component = plane.components[c];
      if (!component.filtered) continue;
      const double samples = 1.0 * component.width * component.height / kMillion;
      const Codes codes = codes_of(plan, format, component, mask);
      terms[kCpuRows] += component.height / 1000.0;
      terms[kCpuMegabytes] += 2 * samples * plane.sample_bytes;
      // The row sums of all rows are written and read again.
      if (plan.form == Form::kSeparableTwoPass)
        terms[kCpuMegabytes] += 2 * samples * static_cast<double>(weight_bytes(plan.accumulator));
      if (!narrow) terms[kCpuSamples] += samples;
      terms[kCpuWork] += samples * (plan.form == Form::kCoarsenedDots
                                        ? dot_products(plan, format, mask, constants.dots)
                                        : work_for_sample(plan, component, mask, threads));
      if (component.step > plane.sample_bytes) terms[kCpuApart] += samples;
      if (codes.in_double) terms[kCpuDouble] += samples;
      if (codes.divided) terms[kCpuDivided] += samples;
    }
  }
  return terms;
}

double cpu_predicted_microseconds(const CpuCostConstants& constants, const Plan& plan,
                                  const FrameFormat& format, const Mask& mask, int threads) {
  const CostTerms& cost = constants.terms[static_cast<std::size_t>(cpu_cost_class(plan, format))];
  const CostTerms work = cpu_work_of(constants, plan, format, mask, threads);
  double shared = 0;
  for (std::size_t t = kCpuFrame + 1; t < work.size(); ++t)
    shared += cost[t] * work[t];
  return cost[kCpuFrame] * work[kCpuFrame] + shared / std::max(1, threads);
}

}  // namespace convolve
