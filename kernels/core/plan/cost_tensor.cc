// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/plan/cost_tensor.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "kernels/core/base/round.h"
#include "kernels/core/plan/tensor_forms.h"
#include "kernels/core/shape/byte_phases.h"
#include "kernels/core/shape/tensor_tiles.h"
#include "kernels/core/shape/tensor_warpgroups.h"
#include "kernels/core/shape/tensor_windows.h"
#include "kernels/core/weights/arithmetic.h"

namespace convolve {
namespace {

constexpr double kMillion = 1e6;

/// Tiles at the picture's edge are the slow ones in tensor-columns, and more segments make more of
/// them: 0.53 us a product with five segments, 0.39 with two (H100).
double edge_products(const Plan& plan, const PlaneFormat& plane, const Mask& mask) {
  if (plan.form != Form::kTensorColumns) return 0;
  const std::optional<BytePhases> phases = byte_phases(plane);
  const int segments = phases ? tensor_window(plane, *phases, mask).segments : 0;
  // The windows of packed 4:2:2 end further apart: at 13x13 edges take 5 of 18.4 us.
  const bool packed = tile_kind(plane) == kPackedKind;
  const double slow = segments == 2 && packed ? 0.5 : std::max(0, segments - 2);
  return slow * mask.height * plan.digits;
}

/// What quantising costs kernel tensor beyond sums that a float holds, in units of quantising in
/// double. Exact divisions cost ten times as much (47.9 us for 28.5 at 5x5, GRAY16, 4K, H100); so
/// do quotients by other numbers than powers of two in pairs and quads, which quantise so cheaply
/// otherwise.
double tensor_quantiser_cost(const Plan& plan, const PlaneFormat& plane, const Mask& mask) {
  constexpr double kDivision = 10;
  if (sums_are_split(plan.form)) return 0;
  for (int c = 0; c < plane.component_count; ++c) {
    const Component& component = plane.components[c];
    if (!component.filtered) continue;
    const Epilogue epilogue =
        make_epilogue(component, mask, 1, 0, plan.rational, Accumulator::kFloat32, Passes::kDirect);
    if (epilogue.in_float && !epilogue.narrow.divide) {
      // Pairs and quads quantise integers over a power of two by shifts.
      int exponent;
      const bool shifted = std::frexp(std::fabs(epilogue.narrow.scale), &exponent) == 0.5f;
      const bool shifts = makes_pairs(plan.form) ||
                          (makes_quads(plan.form) && plan.form != Form::kTensorLargeQuads);
      return shifts && plan.rational && !shifted ? kDivision : 0;
    }
    // Octets quantise in double before they divide, at nearly no cost.
    if (plan.form == Form::kTensorOctets) return epilogue.wide.divide ? kDivision : 0;
    return epilogue.in_float || epilogue.wide.divide ? kDivision : 1;
  }
  return 0;
}

/// Planes of bytes in the shared-memory tile of this plane.
int tile_planes(const PlaneFormat& plane) {
  const std::optional<TileKind> kind = tile_kind(plane);
  return kind ? byte_planes(*kind) : plane.component_count * plane.sample_bytes;
}

/// What deinterleaving adds to the time of a tile that is alone on the device: nothing where a
/// pixel is one byte, else more for each byte of a pixel, and for samples of two bytes twice.
double deinterleaved_bytes(const PlaneFormat& plane) {
  const int bytes = tile_planes(plane);
  return bytes == 1 ? 0 : bytes * plane.sample_bytes;
}

/// Components of a pixel of three or four bytes that pairs or quads deinterleave, of which three
/// are filtered; 1 where they deinterleave none, or two.
int deinterleaved_pixel(const Plan& plan, const PlaneFormat& plane, const Mask& mask) {
  const std::optional<BytePhases> phases = byte_phases(plane);
  if (!phases) return 1;
  return plan.form == Form::kTensorPixelPairs   ? pair_window(plane, *phases, mask).deinterleaved
         : plan.form == Form::kTensorPixelQuads ? quad_components(plane, *phases, mask)
                                                : 1;
}

/// What packed 4:2:2 takes beyond other layouts, as measured with YUY2 on an H100. Pairs: fewer
/// products share the instructions around them, 14.4 us at 3x3, 24.5 at 7x7 with two digits (4K);
/// quotients by other numbers than powers of two, which each component makes on its own, take 3.4
/// us more, elsewhere 0.3. Quads: all components are multiplied together, 17.3 us, 21.3 with two
/// digits; 6.0 and 7.3 at 1080p, 2.8 and 3.2 at 640x480. Warpgroups: half as many filter, and a
/// tile holds as much as four of one component, 24.5 us at 9x9, 50.2 at 31x31; 15.6 and 26.4 at
/// 1080p; 14.4 and 21.7 at 640x480.
struct PackedCost {
  double product = 1;  ///< Factor of the time of a product,
  double spread = 1;   ///< Factor of what interleaved samples cost,
  double lone_spread =
      0;  ///< bytes that are deinterleaved, in addition, of a tile alone on the device,
  double quantiser = 1;  ///< and factor of what quantising costs.
};
PackedCost packed_cost(Form form, const PlaneFormat& plane) {
  if (tile_kind(plane) != kPackedKind) return {};
  if (form == Form::kTensorPackedPairs) return {1.7, 1, 0, 6};
  if (form == Form::kTensorPackedQuads) return {0.7, 0.68, 0};
  if (form == Form::kTensorWarpgroups) return {1.25, 1, 8};
  return {};
}

/// Megabytes read and written of planes that have a filtered component.
double megabytes(const FrameFormat& format) {
  double bytes = 0;
  for (int p = 0; p < format.plane_count; ++p)
    if (has_filtered(format.planes[p]))
      bytes += 2.0 * format.planes[p].row_bytes * format.planes[p].rows;
  return bytes / kMillion;
}

/// A block's tile of outputs, in pixels of a plane.
struct TileSize {
  int width, height;

  int count(const PlaneFormat& plane) const {
    return divide_up(plane.row_bytes / tile_planes(plane), width) * divide_up(plane.rows, height);
  }
};
TileSize tile_size(Form form, const PlaneFormat& plane) {
  if (form != Form::kTensorTiles) return {kTensorTileBytes, kWarpgroupTileRows};
  return {kTensorTileBytes * (plane.component_count == 1 ? 2 : 1), kTensorTileRows};
}

/// Tiles of each plane that the busiest processor filters. Block b takes the tiles b, b +
/// processors and so on, counted through all planes.
std::array<int, kMaxPlanes> busiest_tiles(Form form, const FrameFormat& format, int processors) {
  std::array<int, kMaxPlanes> most{};
  int work = 0;
  for (int b = 0; b < processors; ++b) {
    std::array<int, kMaxPlanes> own{};
    int sum = 0, first = 0;
    for (int p = 0; p < format.plane_count; ++p) {
      const PlaneFormat& plane = format.planes[p];
      if (!has_filtered(plane)) continue;
      const int end = first + tile_size(form, plane).count(plane);
      // How many of the tiles before number `tile` block b filters.
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

/// A block with a tile in shared memory takes so much of a processor that a launch lasts as long as
/// the processor with the most tiles. The 399 tiles of tensor-warpgroups for I420 at 1080p are four
/// for three of 132 processors, and three for the others. A processor multiplies nothing before its
/// first tile has come.
LaunchWork tiles_launch(const Plan& plan, const FrameFormat& format, const Mask& mask,
                        int processors) {
  const std::array<int, kMaxPlanes> tiles = busiest_tiles(plan.form, format, processors);
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
    const PackedCost packed = packed_cost(plan.form, plane);
    const double products = packed.product * tensor_products(plan.form, plane, mask, plan.digits);
    const double quantiser = tensor_quantiser_cost(plan, plane, mask);
    // A block filters the components of its tile one after the other.
    const TileSize tile = tile_size(plan.form, plane);
    const double samples = 1.0 * tile.width * tile.height * tile_planes(plane) * processors *
                           tiles[static_cast<std::size_t>(p)] / kMillion;
    all[kCostLoneWork] = std::max(all[kCostLoneWork], products * tile_planes(plane));
    all[kCostLoneSpread] =
        std::max(all[kCostLoneSpread], deinterleaved_bytes(plane) + packed.lone_spread);
    all[kCostLoneDouble] = std::max(all[kCostLoneDouble], quantiser);
    all[kCostSamples] += samples;
    all[kCostWork] += samples * products;
    all[kCostSpread] += tile_planes(plane) > 1 ? packed.spread * samples : 0;
    all[kCostDouble] += quantiser * samples;
  }
  // A block looks up its plane where there are several, and code for pixels of several sizes takes
  // longer to load.
  all[kCostLoneSpread] += (planes > 1 ? 1 : 0) + (most > fewest ? 2 : 0);
  return {{all}};
}

/// The work of forms whose warps go down columns of bytes. Blocks start plane by plane, so the
/// tiles of a plane wait for those of the planes before it.
LaunchWork columns_launch(const Plan& plan, const FrameFormat& format, const Mask& mask) {
  constexpr int kRows = 8;  // Of a warp's tile.
  LaunchWork launch;
  CostTerms full{};
  full[kCostLaunch] = 1;
  full[kCostMegabytes] = megabytes(format);
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    const PackedCost packed = packed_cost(plan.form, plane);
    const double products = packed.product * tensor_products(plan.form, plane, mask, plan.digits);
    // In quads, planes after the first cost as much as interleaved components.
    const bool spread =
        plane.component_count > 1 || (makes_quads(plan.form) && full[kCostSamples] > 0);
    const double bytes =
        1.0 * round_up(plane.row_bytes, kTensorTileBytes) * round_up(plane.rows, kRows) / kMillion;
    const int pixel = deinterleaved_pixel(plan, plane, mask);
    // Pixels go through shared memory, which takes its time in any picture.
    if (pixel > 1) full[kCostLoneSpread] = 1;
    CostTerms last = full;
    last[kCostLoneTile] = 1;
    last[kCostLoneWork] = products;
    last[kCostLoneSpread] += edge_products(plan, plane, mask);
    const double quantiser = tensor_quantiser_cost(plan, plane, mask);
    last[kCostLoneDouble] = quantiser;
    launch.regimes.push_back(last);
    full[kCostSamples] += bytes;
    if (pixel > 1) {
      // Fitted to BGR and RGBA at 4K, 1080p and 640x480 on an H100. Weights of several digits come
      // from shared memory with three bytes only.
      const bool pairs = makes_pairs(plan.form), three = pixel == 3;
      const double samples = bytes * 3 / pixel;
      full[kCostWork] += samples * products * (pairs ? 1.6 : three ? 0.9 : 1.35);
      full[kCostSpread] += samples * (pairs ? 0 : three ? 0.5 : 0.3);
    } else {
      full[kCostWork] += bytes * products;
      full[kCostSpread] += spread ? packed.spread * bytes : 0;
    }
    full[kCostDouble] += packed.quantiser * quantiser * bytes;
  }
  launch.regimes.push_back(full);
  return launch;
}

}  // namespace

LaunchWork tensor_work(const Plan& plan, const FrameFormat& format, const Mask& mask,
                       int processors) {
  if (uses_shared_tiles(plan.form)) return tiles_launch(plan, format, mask, processors);
  return columns_launch(plan, format, mask);
}

}  // namespace convolve
