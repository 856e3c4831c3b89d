// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/plan/cost.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/core/base/round.h"
#include "kernels/core/plan/cost_tensor.h"
#include "kernels/core/weights/arithmetic.h"
#include "kernels/core/weights/box.h"
#include "kernels/core/weights/separable_digits.h"

namespace convolve {
namespace {

constexpr double kMillion = 1e6;

/// Threads of a block of the book's kernels, each with one cell: 32 x 32.
constexpr int kBookBlock = 32;
/// Up to about so many weights kernel constant runs at full speed: it does with 81, and does not
/// with 225 (docs/kernels/book.md).
constexpr double kConstantCacheTaps = 100;
/// The cost of each further weight, relative to those: 23 to 31 us instead of 5 at 4K on an H100.
constexpr double kConstantMiss = 5;

/// separable on tensor cores.
bool on_tensor_cores(Form form) {
  return form == Form::kSeparableTensorFused || form == Form::kSeparableTensorTwoPass;
}

double tiles(int cells, int tile) {
  return divide_up(cells, tile);
}

/// Samples of a plane of width x height in whole tiles, in millions.
double tiled_samples(int width, int height, int tile_width, int tile_height) {
  return tiles(width, tile_width) * tiles(height, tile_height) * tile_width * tile_height /
         kMillion;
}

/// Megabytes, for samples of one byte, that are read and written.
double picture_megabytes(const ComponentGroup& group) {
  return 2.0 * group.width * group.height * group.count / kMillion;
}

/// The work of one launch on a component group.
struct GroupWork {
  double samples = 0;           ///< Millions, in whole tiles, of one component.
  double work = 0;              ///< Units of work for a sample, see work_of().
  double copied_megabytes = 0;  ///< To device memory and back, beside the picture itself.
};

/// Multiply-adds a sample of separable-fused, which makes the row sums of halo rows, too.
double fused_work(const Plan& plan, const Mask& mask) {
  const double rows = plan.tile_height + mask.height - 1;
  return rows / plan.tile_height * mask.width + mask.height;
}

/// separable on tensor cores, in products of 128 outputs: for two digits of the row, and for the
/// digits of the column times the high byte of a row sum plus one more for its low byte.
GroupWork separable_products(const Plan& plan, const ComponentGroup& group, const Mask& mask) {
  constexpr int kTileWidth = 128, kTileHeight = 32;
  // Chunks of rows that a block of the fused form makes of a 4K picture; it makes the row sums of
  // the chunks above them, too.
  constexpr double kSteps = 4;
  const SeparableWindow window = separable_window(mask);
  const bool fused = plan.form == Form::kSeparableTensorFused;
  const double again =
      fused ? (window.column_chunks - 1) / kSteps : (mask.height - 1.0) / group.height;
  const double columns = (plan.digits + 1) * window.column_chunks;
  const double rows = 2 * window.row_chunks * (1 + again);
  // Row sums of two bytes are written and read again.
  const double sums = fused ? 0 : 4.0 * group.width * group.height * group.count / kMillion;
  return {tiled_samples(group.width, group.height, kTileWidth, kTileHeight), rows + columns, sums};
}

/// separable-spline: multiply-adds a sample of the convolution down the columns, plus those of the
/// analysis, which reads the ghost cells, too.
GroupWork spline_work(const Plan& plan, const ComponentGroup& group, const Mask& mask) {
  const double spacing = plan.knot_spacing.column;
  const double ghosts =
      (group.width + mask.width) * 1.0 / group.width * (group.height + mask.height) / group.height;
  return {tiled_samples(group.width, group.height, 4, 1),
          mask.height / spacing / spacing + 4 * ghosts};
}

/// Kernel separable: one launch, or several with a plane of sums or coefficients between them.
GroupWork separable_work(const Plan& plan, const ComponentGroup& group, const Mask& mask) {
  if (plan.form == Form::kSeparableSpline) return spline_work(plan, group, mask);
  if (on_tensor_cores(plan.form)) return separable_products(plan, group, mask);
  if (plan.form == Form::kSeparableFused)
    return {tiled_samples(group.width, group.height, plan.tile_width, plan.tile_height),
            fused_work(plan, mask)};
  const double samples = tiled_samples(group.width, group.height, kBookBlock, 1);
  if (plan.form == Form::kSeparableOnePass) return {samples, static_cast<double>(mask.taps())};
  // Row sums are written and read again.
  const double sums = 2.0 * group.width * group.height * group.count *
                      static_cast<double>(weight_bytes(plan.accumulator)) / kMillion;
  return {samples, 1.0 * mask.width + mask.height, sums};
}

GroupWork group_work(const Plan& plan, const ComponentGroup& group, const Mask& mask) {
  const auto in_tiles = [&](int width, int height) {
    return tiled_samples(group.width, group.height, width, height);
  };
  const double taps = static_cast<double>(mask.taps());
  switch (plan.kernel()) {
    case KernelKind::kCoarsened:
      return {in_tiles(kCoarsenedTileWidth, kCoarsenedTileHeight), taps};
    case KernelKind::kSeparable:
      return separable_work(plan, group, mask);
    case KernelKind::kTiledInput:
      // A block takes its time for all threads, also where few of them compute.
      return {tiles(group.width, plan.tile_width) * tiles(group.height, plan.tile_height) *
                  kBookBlock * kBookBlock / kMillion,
              taps};
    case KernelKind::kConstant:
      return {in_tiles(kBookBlock, kBookBlock),
              taps + (kConstantMiss - 1) * std::max(0.0, taps - kConstantCacheTaps)};
    case KernelKind::kAuto:
    case KernelKind::kBasic:
    case KernelKind::kTiledOutput:
    case KernelKind::kCachedHalo:
    case KernelKind::kTensor:
      break;
    case KernelKind::kBox:
      // A sample costs the same under any mask, but a tile also needs rows above and columns beside
      // it, in proportion to the sides of the mask. Tiles are clipped to the picture.
      return {in_tiles(1, 1), 1.0 * mask.width + mask.height};
    case KernelKind::kShift:
      return {in_tiles(1, 1), 0};
  }
  return {in_tiles(kBookBlock, kBookBlock), taps};
}

/// The scale of a plan is not known here; codes near the edge of what a float holds are judged as
/// if it were 1. On tensor cores only sums of rational masks may be beyond.
bool codes_in_double(const Plan& plan, const Component& component, const Mask& mask) {
  if (on_tensor_cores(plan.form) ? !plan.rational : plan.accumulator != Accumulator::kFloat32)
    return false;
  const Epilogue epilogue =
      make_epilogue(component, mask, 1, 0, plan.rational, Accumulator::kFloat32, plan.passes());
  return !epilogue.in_float || (on_tensor_cores(plan.form) && epilogue.narrow.divide);
}

LaunchWork group_launch(const Plan& plan, const FrameFormat& format, const ComponentGroup& group,
                        const Mask& mask) {
  const PlaneFormat& plane = format.planes[group.plane];
  const GroupWork each = group_work(plan, group, mask);
  double filtered = 0, in_double = 0;
  for (int i = 0; i < group.count; ++i) {
    const Component& component = plane.components[group.component[i]];
    if (!component.filtered) continue;
    ++filtered;
    in_double += codes_in_double(plan, component, mask);
  }
  // shift takes all components of a pixel together, if there are no others.
  const bool together = plan.form == Form::kShift;
  const bool spread = group.step > plane.sample_bytes * (together ? group.count : 1);
  CostTerms common{};
  common[kCostLaunch] = 1;
  common[kCostMegabytes] = picture_megabytes(group) * plane.sample_bytes + each.copied_megabytes;
  CostTerms lone = common;
  lone[kCostLoneTile] = 1;
  lone[kCostLoneWork] = each.work;
  // Sums of wider samples take twice the memory, too.
  const int bytes_apart = plan.kernel() == KernelKind::kBox && spread ? plane.sample_bytes : spread;
  lone[kCostLoneSpread] = bytes_apart;
  lone[kCostLoneDouble] = in_double > 0;
  CostTerms full = common;
  full[kCostSamples] = filtered * each.samples;
  full[kCostWork] = filtered * each.samples * each.work;
  // On tensor cores all bytes between the samples are loaded with them.
  const int apart = on_tensor_cores(plan.form) ? group.step - 1 : 1;
  full[kCostSpread] = bytes_apart * apart * group.count * each.samples;
  full[kCostDouble] = in_double * each.samples;
  return {{lone, full}};
}

}  // namespace

std::string cost_class_name(CostClass cost_class) {
  for (const FormInfo& form : kForms) {
    const int index = static_cast<int>(cost_class) - static_cast<int>(form.cost);
    if (index < 0 || index >= form.cost_classes) continue;
    return form.cost_classes == 1
               ? form.name
               : form.name + (" " + std::string(accumulator_name(static_cast<Accumulator>(index))));
  }
  return "?";
}

CostClass cost_class(const Plan& plan) {
  const FormInfo& form = form_info(plan.form);
  return form.cost_classes == 1 ? form.cost
                                : static_cast<CostClass>(static_cast<int>(form.cost) +
                                                         static_cast<int>(plan.accumulator));
}

std::vector<LaunchWork> work_of(const Plan& plan, const FrameFormat& format, const Mask& mask,
                                int processors) {
  if (plan.kernel() == KernelKind::kTensor) return {tensor_work(plan, format, mask, processors)};
  std::vector<LaunchWork> launches;
  ComponentGroup groups[kMaxGroups];
  const int count = component_groups(format, groups, plan.weighted.has_value());
  for (int g = 0; g < count; ++g)
    if (groups[g].any_filtered && !groups[g].weighted)
      launches.push_back(group_launch(plan, format, groups[g], mask));
  return launches;
}

double launch_microseconds(const CostTerms& constants, const LaunchWork& launch) {
  double most = 0;
  for (const CostTerms& regime : launch.regimes) {
    double sum = 0;
    for (std::size_t t = 0; t < regime.size(); ++t)
      sum += constants[t] * regime[t];
    most = std::max(most, sum);
  }
  return most;
}

double predicted_microseconds(const CostConstants& constants, const Plan& plan,
                              const FrameFormat& format, const Mask& mask) {
  const CostTerms& terms = constants.of(cost_class(plan));
  double sum = 0;
  for (const LaunchWork& launch : work_of(plan, format, mask, constants.figures.processors))
    sum += launch_microseconds(terms, launch);
  return sum;
}

}  // namespace convolve
