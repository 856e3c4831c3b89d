// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/tensor_mapping.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace convolve {
namespace {

/// True if all components are filtered, and one epilogue serves them.
bool one_epilogue(const PlaneFormat& plane) {
  const Component* first = nullptr;
  for (int c = 0; c < plane.component_count; ++c) {
    const Component& component = plane.components[c];
    if (!component.filtered) return false;
    if (first == nullptr) first = &component;
    if (component.black != first->black || component.range != first->range ||
        component.role != first->role)
      return false;
  }
  return true;
}

/// True if pairs serve all planes, with the same shift.
bool pairs_serve(const FrameFormat& format, const Mask& mask) {
  int shift = -1;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    const std::optional<BytePhases> phases = byte_phases(plane);
    if (!phases || !one_epilogue(plane)) return false;
    const PairWindow window = pair_window(plane, *phases, mask);
    if (window.steps == 0 || (shift >= 0 && window.shift != shift)) return false;
    shift = window.shift;
  }
  return true;
}

/// True if the bytes of all planes have phases: columns serve.
bool columns_serve(const FrameFormat& format) {
  for (int p = 0; p < format.plane_count; ++p)
    if (has_filtered(format.planes[p]) && !byte_phases(format.planes[p])) return false;
  return true;
}

/// True if warps can march down columns with this mask. Only where columns serve.
bool marches(const FrameFormat& format, const Mask& mask) {
  if (mask.height > kTensorMarchRows) return false;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (has_filtered(plane) && tensor_window(plane, *byte_phases(plane), mask).segments > 1)
      return false;
  }
  return true;
}

/// True if warpgroups take less time than all else but pairs (H100). Their tiles cost more to bring
/// where samples are to be parted, and there are too few of them in small pictures of many planes:
/// they need products to win by.
bool groups_pay(const FrameFormat& format, const Mask& mask, int digits) {
  // A frame of 1080p has two or three million samples, one of 4K eight or more.
  constexpr std::int64_t kSmallFrame = 5'000'000;
  unsigned kinds = 0;
  std::int64_t bytes = 0;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    kinds |= 1u << tile_kind(plane).value_or(0);
    bytes += std::int64_t{plane.rows} * plane.row_bytes;
  }
  const int products = digits * group_window(mask).products;
  const bool small = bytes < kSmallFrame;
  if (kinds == 0b1) {
    // I420 1080p 11.7 us for 10.5 at 9x9 with one digit, 12.9 for 13.0 with two (24 products).
    if (small && format.plane_count > 1 && products < 24) return false;
    // 10.2 us and 0.25 a product, where a march takes 8.05 and 0.69 (GRAY8, 4K).
    return !columns_serve(format) || !marches(format, mask) ||
           69 * digits * mask.height > 215 + 25 * products;
  }
  // RGBA 4K 38.2 us for 43.2 at 5x5.
  if (kinds == 0b1000) return products >= 8;
  // NV12 4K 23.6 us for 23.9 at 5x5 with two digits (16 products), BGR 42.2 for 36.3; NV12 1080p
  // 17.4 for 17.6 at 25x25 (42).
  if (kinds < 0b10000) return products >= (small ? 40 : 18);
  // P010 4K 59.7 us for 48.6 at 15x15 (18 products), 79.9 for 101 at 31x31 (51).
  return products >= 40;
}

}  // namespace

TensorWindow tensor_window(const PlaneFormat& plane, const BytePhases& phases, const Mask& mask) {
  int step = 1;
  for (int p = 0; p < phases.period; ++p)
    step = std::max(step, plane.components[phases.component[p]].step);
  constexpr int kAlignment = 8;
  const int left = (mask.anchor_x * step + kAlignment - 1) / kAlignment * kAlignment;
  const int right = (mask.width - 1 - mask.anchor_x) * step;
  return {left, (left + kColumnBytes + right + kWindowBytes - 1) / kWindowBytes};
}

LonePlane::LonePlane() {
  plane.component_count = 1;
  plane.components[0].step = 1;
  phases.period = 1;
  phases.component[0] = 0;
}

PairWindow pair_window(const PlaneFormat& plane, const BytePhases& phases, const Mask& mask) {
  if (mask.height > kPairMaskRows) return {};
  // Bytes x and x + 1 stand for all pairs.
  int before = 0, after = 0;
  for (int p = 0; p < kMaxPeriod; ++p) {
    const int step = plane.components[phases.component[p % phases.period]].step;
    const int twin = plane.components[phases.component[(p + 2) % phases.period]].step;
    if (step != twin) return {};
    before = std::max(before, mask.anchor_x * step - p % 2);
    after = std::max(after, (mask.width - 1 - mask.anchor_x) * step + p % 2);
  }
  const int steps = kPairSteps[mask.height <= 5 ? 0 : 1];
  for (const int shift : {0, 1})
    if (before <= kPairLeft - shift && kPairLeft - shift + after < kPairWindowBytes)
      return {steps, shift, 1};
  if (phases.period != 2 || phases.tail) return {};
  // Both of them alone.
  const LonePlane lone;
  PairWindow window = pair_window(lone.plane, lone.phases, mask);
  window.parts = 2;
  return window;
}

const char* tensor_mapping_name(TensorMapping mapping) {
  constexpr const char* kNames[kTensorMappingCount] = {"march", "stay", "pairs", "tiles", "groups"};
  return kNames[static_cast<std::size_t>(mapping)];
}

bool tensor_mapping_serves(TensorMapping mapping, const FrameFormat& format, const Mask& mask,
                           int digits, const TensorDevice& device) {
  switch (mapping) {
    case TensorMapping::kMarch:
      return columns_serve(format) && marches(format, mask);
    case TensorMapping::kStay:
      return columns_serve(format);
    case TensorMapping::kPairs:
      return columns_serve(format) && pairs_serve(format, mask);
    case TensorMapping::kTiles: {
      const std::optional<TensorTiles> tiles = tensor_tiles(format, mask);
      return tiles && tiles->bytes <= device.shared_bytes;
    }
    case TensorMapping::kGroups:
      return device.warpgroups &&
             tensor_groups(format, mask, digits, device.shared_bytes).has_value();
  }
  return false;
}

TensorMapping tensor_mapping(const FrameFormat& format, const Mask& mask, int digits,
                             const TensorDevice& device) {
  const auto serves = [&](TensorMapping mapping) {
    return tensor_mapping_serves(mapping, format, mask, digits, device);
  };
  const bool groups = serves(TensorMapping::kGroups) && groups_pay(format, mask, digits);
  if (!columns_serve(format)) return groups ? TensorMapping::kGroups : TensorMapping::kTiles;
  std::int64_t in_columns = 0, in_pairs = 0, in_tiles = 0;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    const std::int64_t size = std::int64_t{plane.rows} * plane.row_bytes;
    in_columns += size * tensor_products(TensorMapping::kStay, plane, mask, 1);
    in_pairs += size * tensor_products(TensorMapping::kPairs, plane, mask, 1);
    in_tiles += size * tensor_products(TensorMapping::kTiles, plane, mask, 1);
  }
  if (serves(TensorMapping::kPairs) && in_pairs <= in_columns) return TensorMapping::kPairs;
  if (groups) return TensorMapping::kGroups;
  // Tiles are filled and left together, which takes time: 17.0 us for 14.4 at 9x9, where they save
  // one product in nine over a march. Without one, their products are the cheaper ones: 0.067 us
  // for 0.085 (4K, H100).
  const bool march = serves(TensorMapping::kMarch);
  const bool pay = march ? 5 * in_tiles <= 4 * in_columns : 4 * in_tiles <= 5 * in_columns;
  if (serves(TensorMapping::kTiles) && pay) return TensorMapping::kTiles;
  return march ? TensorMapping::kMarch : TensorMapping::kStay;
}

int tensor_products(TensorMapping mapping, const PlaneFormat& plane, const Mask& mask, int digits) {
  if (mapping == TensorMapping::kGroups) return digits * group_window(mask).products;
  if (mapping == TensorMapping::kTiles) {
    const TileWindow window = tile_window(mask);
    return digits * window.steps * window.segments;
  }
  const std::optional<BytePhases> phases = byte_phases(plane);
  if (!phases) return 0;
  if (mapping == TensorMapping::kPairs) return digits * pair_window(plane, *phases, mask).steps;
  return digits * tensor_window(plane, *phases, mask).segments * mask.height;
}

}  // namespace convolve
