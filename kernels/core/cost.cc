// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/cost.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "kernels/core/arithmetic.h"
#include "kernels/core/byte_phases.h"
#include "kernels/core/round.h"
#include "kernels/core/separable_digits.h"
#include "kernels/core/tensor_groups.h"
#include "kernels/core/tensor_mapping.h"
#include "kernels/core/tensor_tiles.h"

namespace convolve {
namespace {

constexpr double kMillion = 1e6;

constexpr const char* kClassNames[kCostClassCount] = {
    "basic",
    "constant",
    "tiled-input",
    "tiled-output",
    "cached-halo",
    "coarsened float32",
    "coarsened int32",
    "coarsened float64",
    "coarsened wide",
    "separable float32",
    "separable int32",
    "separable float64",
    "separable two-pass",
    "separable wide",
    "separable, tensor cores",
    "separable, tensor cores, two-pass",
    "separable, coarse grid",
    "tensor, marching",
    "tensor, any mask",
    "tensor, pairs",
    "tensor, quads",
    "tensor, tiles",
    "tensor, groups",
    "tensor, wide pairs",
    "tensor, large quads",
    "box",
    "box, tensor cores",
    "box, bands",
    "shift",
};

/// Threads of a block of the book's kernels, each with one cell: 32 x 32.
constexpr int kBookBlock = 32;
/// Weights that kernel constant reads at full speed: 81 do, 225 do not (RESULTS.md).
constexpr double kConstantCacheTaps = 100;
/// What each of the others costs of those: 23 to 31 us instead of 5 at 4K on an H100.
constexpr double kConstantMiss = 5;

/// separable on tensor cores.
bool in_digits(const Plan& plan) {
  return plan.kernel == KernelKind::kSeparable && plan.digits > 0;
}

double tiles(int cells, int tile) {
  return divide_up(cells, tile);
}

/// Samples of a plane of width x height in whole tiles, in millions.
double tiled_samples(int width, int height, int tile_width, int tile_height) {
  return tiles(width, tile_width) * tiles(height, tile_height) * tile_width * tile_height /
         kMillion;
}

/// What one launch does to the components of a group.
struct GroupWork {
  double samples = 0;           ///< Millions, in whole tiles, of one component.
  double work = 0;              ///< For a sample.
  double copied_megabytes = 0;  ///< Through device memory beside the picture itself.
};

/// Multiply-adds a sample of the fused passes: rows of the halo are summed, too.
double fused_work(const Plan& plan, const Mask& mask) {
  const double rows = plan.tile_height + mask.height - 1;
  return rows / plan.tile_height * mask.width + mask.height;
}

/// separable on tensor cores, in products of 128 outputs: two digits of the row, those of the
/// column times a byte and the other once more.
GroupWork separable_products(const Plan& plan, const ComponentGroup& group, const Mask& mask) {
  constexpr int kTileWidth = 128, kTileHeight = 32;
  // Chunks that a block of the fused form makes of a 4K picture; those above them it sums, too.
  constexpr double kSteps = 4;
  const SeparableWindow window = separable_window(mask);
  const double again =
      plan.fused ? (window.column_chunks - 1) / kSteps : (mask.height - 1.0) / group.height;
  const double columns = (plan.digits + 1) * window.column_chunks;
  const double rows = 2 * window.row_chunks * (1 + again);
  // Sums of two bytes go out and come back.
  const double sums = plan.fused ? 0 : 4.0 * group.width * group.height * group.count / kMillion;
  return {tiled_samples(group.width, group.height, kTileWidth, kTileHeight), rows + columns, sums};
}

/// separable on a coarse grid: multiply-adds a sample of the grid's convolution down the picture.
/// Beside these there is what looks, for the ghosts, too, and what draws.
GroupWork coarse_work(const Plan& plan, const ComponentGroup& group, const Mask& mask) {
  const double spacing = plan.coarse.column;
  const double ghosts =
      (group.width + mask.width) * 1.0 / group.width * (group.height + mask.height) / group.height;
  return {tiled_samples(group.width, group.height, 4, 1),
          mask.height / spacing / spacing + 4 * ghosts};
}

GroupWork group_work(const Plan& plan, const ComponentGroup& group, const Mask& mask) {
  const auto in_tiles = [&](int width, int height) {
    return tiled_samples(group.width, group.height, width, height);
  };
  const double taps = static_cast<double>(mask.taps());
  switch (plan.kernel) {
    case KernelKind::kCoarsened:
      return {in_tiles(kCoarsenedTileWidth, kCoarsenedTileHeight), taps};
    case KernelKind::kSeparable: {
      if (plan.coarse.column > 0) return coarse_work(plan, group, mask);
      if (in_digits(plan)) return separable_products(plan, group, mask);
      if (plan.passes() == Passes::kDirect) return {in_tiles(kBookBlock, 1), taps};
      if (plan.fused) return {in_tiles(plan.tile_width, plan.tile_height), fused_work(plan, mask)};
      // Sums go out and come back.
      const double sums = 2.0 * group.width * group.height * group.count *
                          static_cast<double>(weight_bytes(plan.accumulator)) / kMillion;
      return {in_tiles(kBookBlock, 1), 1.0 * mask.width + mask.height, sums};
    }
    case KernelKind::kTiledInput:
      // All threads of a block pass the time, few of them compute.
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
      // A sample costs the same under any mask, but tiles have rows above and columns beside them.
      // Cut to the picture: none of it lies beyond the edge.
      return {in_tiles(1, 1), 1.0 * mask.width + mask.height};
    case KernelKind::kShift:
      return {in_tiles(1, 1), 0};
  }
  return {in_tiles(kBookBlock, kBookBlock), taps};
}

/// The scale of a plan is not known here; codes near the edge of what a float holds are judged as
/// if it were 1. On tensor cores only sums of rational masks may be beyond.
bool codes_in_double(const Plan& plan, const Component& component, const Mask& mask) {
  if (in_digits(plan) ? !plan.rational : plan.accumulator != Accumulator::kFloat32) return false;
  const Epilogue epilogue =
      make_epilogue(component, mask, 1, 0, plan.rational, Accumulator::kFloat32);
  return !epilogue.in_float || (in_digits(plan) && epilogue.narrow.divide);
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
  const bool together = plan.kernel == KernelKind::kShift;
  const bool spread = group.step > plane.sample_bytes * (together ? group.count : 1);
  CostTerms common{};
  common[kCostLaunch] = 1;
  common[kCostMegabytes] =
      2.0 * group.width * group.height * group.count * plane.sample_bytes / kMillion +
      each.copied_megabytes;
  CostTerms lone = common;
  lone[kCostLoneTile] = 1;
  lone[kCostLoneWork] = each.work;
  // Sums of wider samples take twice the memory, too.
  const int bytes_apart = plan.kernel == KernelKind::kBox && spread ? plane.sample_bytes : spread;
  lone[kCostLoneSpread] = bytes_apart;
  lone[kCostLoneDouble] = in_double > 0;
  CostTerms full = common;
  full[kCostSamples] = filtered * each.samples;
  full[kCostWork] = filtered * each.samples * each.work;
  // On tensor cores all bytes between the samples are loaded with them.
  const int apart = in_digits(plan) ? group.step - 1 : 1;
  full[kCostSpread] = bytes_apart * apart * group.count * each.samples;
  full[kCostDouble] = in_double * each.samples;
  return {{lone, full}};
}

/// Columns that look across the picture's edge are the slow ones, and more windows make more of
/// them: 0.53 us a product with five windows, 0.39 with two (H100).
double edge_products(const Plan& plan, const PlaneFormat& plane, const Mask& mask) {
  if (plan.mapping != TensorMapping::kStay) return 0;
  const std::optional<BytePhases> phases = byte_phases(plane);
  const int windows = phases ? tensor_window(plane, *phases, mask).segments : 0;
  // The windows of packed 4:2:2 end further apart: 18.4 us at 13x13, where 5 us of them are these.
  const bool packed = tile_kind(plane) == kPackedKind;
  const double slow = windows == 2 && packed ? 0.5 : std::max(0, windows - 2);
  return slow * mask.height * plan.digits;
}

/// What codes of this plane cost kernel tensor beyond those from sums that a float holds, in units
/// of codes made in double. Exact divisions cost ten times as much: 47.9 us for 28.5 at 5x5
/// (GRAY16, 4K, H100).
double tensor_code_cost(const Plan& plan, const PlaneFormat& plane, const Mask& mask) {
  constexpr double kDivision = 10;
  if (plan.split()) return 0;
  for (int c = 0; c < plane.component_count; ++c) {
    const Component& component = plane.components[c];
    if (!component.filtered) continue;
    const Epilogue epilogue =
        make_epilogue(component, mask, 1, 0, plan.rational, Accumulator::kFloat32);
    if (epilogue.in_float && !epilogue.narrow.divide) return 0;
    // Wide pairs turn to double before they divide, which costs them nothing to speak of.
    if (plan.mapping == TensorMapping::kWidePairs) return epilogue.wide.divide ? kDivision : 0;
    return epilogue.in_float || epilogue.wide.divide ? kDivision : 1;
  }
  return 0;
}

/// Planes of bytes that a tile of shared memory has of this plane.
int tile_planes(const PlaneFormat& plane) {
  const std::optional<TileKind> kind = tile_kind(plane);
  return kind ? byte_planes(*kind) : plane.component_count * plane.sample_bytes;
}

/// What a tile of shared memory, alone on the device, takes beside its products: nothing where
/// samples are bytes and one of them is a pixel, else more for each byte of it, and for wider
/// samples again.
double parted_bytes(const PlaneFormat& plane) {
  const int bytes = tile_planes(plane);
  return bytes == 1 ? 0 : bytes * plane.sample_bytes;
}

/// Components of a pixel of three or four bytes that pairs or quads part, of which three are
/// filtered; 1 where they part none, or two.
int parted_pixel(const Plan& plan, const PlaneFormat& plane, const Mask& mask) {
  const std::optional<BytePhases> phases = byte_phases(plane);
  if (!phases) return 1;
  const int parts = plan.mapping == TensorMapping::kPairs ? pair_window(plane, *phases, mask).parts
                    : plan.mapping == TensorMapping::kQuads ? quad_parts(plane, *phases, mask)
                                                            : 1;
  return parts > 2 ? parts : 1;
}

/// What packed 4:2:2 takes beyond other components, as measured with YUY2 on an H100. A product of
/// pairs shares what lies around it with fewer: 14.4 to 18.0 us at 3x3, 24.5 at 7x7 with two digits
/// (4K). In quads all components go on together: 17.3 us, 21.3 with two digits; 6.0 and 7.3 at
/// 1080p, 2.8 and 3.2 at 640x480. Of groups half as many filter, and a tile is as much as four of
/// one component: 24.5 us at 9x9, 50.2 at 31x31; 15.6 and 26.4 at 1080p; 14.4 and 21.7 at 640x480.
struct PackedCost {
  double product = 1;
  double spread = 1;       ///< Times what a sample that lies apart does,
  double lone_spread = 0;  ///< and bytes that are parted for a lone tile.
};
PackedCost packed_cost(TensorMapping mapping, const PlaneFormat& plane) {
  if (tile_kind(plane) != kPackedKind) return {};
  switch (mapping) {
    case TensorMapping::kPairs:
      return {1.7, 1, 0};
    case TensorMapping::kQuads:
      return {0.7, 0.68, 0};
    case TensorMapping::kGroups:
      return {1.25, 1, 8};
    case TensorMapping::kMarch:
    case TensorMapping::kStay:
    case TensorMapping::kTiles:
    case TensorMapping::kWidePairs:
    case TensorMapping::kLargeQuads:
      break;
  }
  return {};
}

/// Read and written of planes that have a filtered component.
double megabytes(const FrameFormat& format) {
  double bytes = 0;
  for (int p = 0; p < format.plane_count; ++p)
    if (has_filtered(format.planes[p]))
      bytes += 2.0 * format.planes[p].row_bytes * format.planes[p].rows;
  return bytes / kMillion;
}

/// A block's tile of shared memory, in pixels of a plane.
struct TileSize {
  int width, height;

  int count(const PlaneFormat& plane) const {
    return divide_up(plane.row_bytes / tile_planes(plane), width) * divide_up(plane.rows, height);
  }
};
TileSize tile_size(TensorMapping mapping, const PlaneFormat& plane) {
  if (mapping == TensorMapping::kGroups) return {kTensorTileBytes, kGroupTileRows};
  return {kTensorTileBytes * (plane.component_count == 1 ? 2 : 1), kTensorTileRows};
}

/// Tiles of each plane that the busiest processor takes. Block b has tiles b, b + processors and so
/// on, of all planes one after the other.
std::array<int, kMaxPlanes> busiest_tiles(TensorMapping mapping, const FrameFormat& format,
                                          int processors) {
  std::array<int, kMaxPlanes> most{};
  int work = 0;
  for (int b = 0; b < processors; ++b) {
    std::array<int, kMaxPlanes> own{};
    int sum = 0, first = 0;
    for (int p = 0; p < format.plane_count; ++p) {
      const PlaneFormat& plane = format.planes[p];
      if (!has_filtered(plane)) continue;
      const int end = first + tile_size(mapping, plane).count(plane);
      // Of the tiles before `end` less those before `first`.
      const auto before = [&](int tile) { return tile > b ? divide_up(tile - b, processors) : 0; };
      own[static_cast<std::size_t>(p)] = before(end) - before(first);
      sum += own[static_cast<std::size_t>(p)] * tile_planes(plane);
      first = end;
    }
    if (sum <= work) continue;
    work = sum;
    most = own;
  }
  return most;
}

/// Tiles of shared memory take so much of a processor that a launch lasts as long as the one with
/// most of them: 399 of groups, I420 at 1080p, are four for three of 132 processors, and three for
/// the others. The first has to come before any is multiplied.
LaunchWork tiles_launch(const Plan& plan, const FrameFormat& format, const Mask& mask,
                        int processors) {
  const std::array<int, kMaxPlanes> tiles = busiest_tiles(plan.mapping, format, processors);
  CostTerms all{};
  all[kCostLaunch] = 1;
  all[kCostMegabytes] = megabytes(format);
  all[kCostLoneTile] = 1;
  int planes = 0, fewest = kMaxPlanes, most = 0;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    ++planes;
    fewest = std::min(fewest, plane.component_count);
    most = std::max(most, plane.component_count);
    const PackedCost packed = packed_cost(plan.mapping, plane);
    const double products =
        packed.product * tensor_products(plan.mapping, plane, mask, plan.digits);
    const double codes = tensor_code_cost(plan, plane, mask);
    // A component after the other.
    const TileSize tile = tile_size(plan.mapping, plane);
    const double samples = 1.0 * tile.width * tile.height * tile_planes(plane) * processors *
                           tiles[static_cast<std::size_t>(p)] / kMillion;
    all[kCostLoneWork] = std::max(all[kCostLoneWork], products * tile_planes(plane));
    all[kCostLoneSpread] = std::max(all[kCostLoneSpread], parted_bytes(plane) + packed.lone_spread);
    all[kCostLoneDouble] = std::max(all[kCostLoneDouble], codes);
    all[kCostSamples] += samples;
    all[kCostWork] += samples * products;
    all[kCostSpread] += tile_planes(plane) > 1 ? packed.spread * samples : 0;
    all[kCostDouble] += codes * samples;
  }
  // With several planes there is more to look up, and with pixels of several sizes more code comes.
  all[kCostLoneSpread] += (planes > 1 ? 1 : 0) + (most > fewest ? 2 : 0);
  return {{all}};
}

/// All planes at once. Blocks start plane by plane, so the tiles of one wait for those before it.
LaunchWork tensor_launch(const Plan& plan, const FrameFormat& format, const Mask& mask) {
  constexpr int kRows = 8;  // Of a warp's tile.
  LaunchWork launch;
  CostTerms full{};
  full[kCostLaunch] = 1;
  full[kCostMegabytes] = megabytes(format);
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    const PackedCost packed = packed_cost(plan.mapping, plane);
    const double products =
        packed.product * tensor_products(plan.mapping, plane, mask, plan.digits);
    // To quads planes after the first cost as much as components that lie apart.
    const bool quads =
        plan.mapping == TensorMapping::kQuads || plan.mapping == TensorMapping::kLargeQuads;
    const bool spread = plane.component_count > 1 || (quads && full[kCostSamples] > 0);
    const double bytes = tiled_samples(plane.row_bytes, plane.rows, kTensorTileBytes, kRows);
    const int pixel = parted_pixel(plan, plane, mask);
    // They go through shared memory, which takes its time in any picture.
    if (pixel > 1) full[kCostLoneSpread] = 1;
    CostTerms last = full;
    last[kCostLoneTile] = 1;
    last[kCostLoneWork] = products;
    last[kCostLoneSpread] += edge_products(plan, plane, mask);
    const double codes = tensor_code_cost(plan, plane, mask);
    last[kCostLoneDouble] = codes;
    launch.regimes.push_back(last);
    full[kCostSamples] += bytes;
    if (pixel > 1) {
      // Fitted to BGR and RGBA at 4K, 1080p and 640x480 on an H100. Weights of several digits come
      // from shared memory with three bytes alone.
      const bool pairs = plan.mapping == TensorMapping::kPairs, three = pixel == 3;
      const double samples = bytes * 3 / pixel;
      full[kCostWork] += samples * products * (pairs ? 1.6 : three ? 0.9 : 1.35);
      full[kCostSpread] += samples * (pairs ? 0 : three ? 0.5 : 0.3);
    } else {
      full[kCostWork] += bytes * products;
      full[kCostSpread] += spread ? packed.spread * bytes : 0;
    }
    full[kCostDouble] += codes * bytes;
  }
  launch.regimes.push_back(full);
  return launch;
}

CostClass by_accumulator(CostClass float32, Accumulator accumulator) {
  return static_cast<CostClass>(static_cast<int>(float32) + static_cast<int>(accumulator));
}

}  // namespace

const char* cost_class_name(CostClass cost_class) {
  return kClassNames[static_cast<std::size_t>(cost_class)];
}

CostClass cost_class(const Plan& plan) {
  switch (plan.kernel) {
    case KernelKind::kAuto:
    case KernelKind::kBasic:
      return CostClass::kBasic;
    case KernelKind::kConstant:
      return CostClass::kConstant;
    case KernelKind::kTiledInput:
      return CostClass::kTiledInput;
    case KernelKind::kTiledOutput:
      return CostClass::kTiledOutput;
    case KernelKind::kCachedHalo:
      return CostClass::kCachedHalo;
    case KernelKind::kCoarsened:
      return by_accumulator(CostClass::kCoarsenedFloat32, plan.accumulator);
    case KernelKind::kSeparable:
      if (plan.coarse.column > 0) return CostClass::kSeparableCoarse;
      if (in_digits(plan))
        return plan.fused ? CostClass::kSeparableTensor : CostClass::kSeparableTensorTwoPass;
      if (plan.passes() == Passes::kDirect) return CostClass::kSeparableWide;
      if (!plan.fused) return CostClass::kSeparableTwoPass;
      return by_accumulator(CostClass::kSeparableFloat32, plan.accumulator);
    case KernelKind::kTensor:
      return static_cast<CostClass>(static_cast<int>(CostClass::kTensorMarch) +
                                    static_cast<int>(plan.mapping));
    case KernelKind::kBox:
      if (plan.tile_width > 0) return CostClass::kBoxBands;
      return plan.digits > 0 ? CostClass::kBoxStrips : CostClass::kBox;
    case KernelKind::kShift:
      return CostClass::kShift;
  }
  return CostClass::kBasic;
}

std::vector<LaunchWork> work_of(const Plan& plan, const FrameFormat& format, const Mask& mask,
                                int processors) {
  if (plan.kernel == KernelKind::kTensor) {
    if (plan.mapping == TensorMapping::kTiles || plan.mapping == TensorMapping::kGroups)
      return {tiles_launch(plan, format, mask, processors)};
    return {tensor_launch(plan, format, mask)};
  }
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
