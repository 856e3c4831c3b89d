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
      return {steps, shift};
  return {};
}

TensorMapping tensor_mapping(const FrameFormat& format, const Mask& mask,
                             std::size_t shared_bytes) {
  bool bytes = true, one_window = true;
  std::int64_t in_columns = 0, in_pairs = 0, in_tiles = 0;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    const std::optional<BytePhases> phases = byte_phases(plane);
    bytes = bytes && phases;
    if (!bytes) continue;
    one_window = one_window && tensor_window(plane, *phases, mask).segments == 1;
    const std::int64_t size = std::int64_t{plane.rows} * plane.row_bytes;
    in_columns += size * tensor_products(TensorMapping::kStay, plane, mask, 1);
    in_pairs += size * tensor_products(TensorMapping::kPairs, plane, mask, 1);
    in_tiles += size * tensor_products(TensorMapping::kTiles, plane, mask, 1);
  }
  if (!bytes) return TensorMapping::kTiles;
  if (pairs_serve(format, mask) && in_pairs <= in_columns) return TensorMapping::kPairs;
  // Tiles are filled and left together, which takes time: 17.0 us for 14.4 at 9x9, where they save
  // one product in nine (4K, H100).
  const std::optional<TensorTiles> tiles = tensor_tiles(format, mask);
  if (tiles && tiles->bytes <= shared_bytes && 5 * in_tiles <= 4 * in_columns)
    return TensorMapping::kTiles;
  return one_window && mask.height <= kTensorMarchRows ? TensorMapping::kMarch
                                                       : TensorMapping::kStay;
}

int tensor_products(TensorMapping mapping, const PlaneFormat& plane, const Mask& mask, int digits) {
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
