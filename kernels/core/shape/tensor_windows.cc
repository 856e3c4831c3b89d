// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/shape/tensor_windows.h"

#include <algorithm>
#include <optional>

namespace convolve {
namespace {

bool all_filtered(const PlaneFormat& plane) {
  return std::all_of(plane.components, plane.components + plane.component_count,
                     [](const Component& component) { return component.filtered; });
}

/// How many components of `plane`, whose phases are `phases`, can be deinterleaved: all bytes of a
/// pixel must be components, and of four components all but the first or the last filtered. 1 if
/// none can.
int deinterleaved_components(const PlaneFormat& plane, const BytePhases& phases) {
  if (phases.period == 1 || phases.tail) return 1;
  int filtered = 0;
  for (int p = 0; p < phases.period; ++p) {
    const Component& component = plane.components[phases.component[p]];
    if (component.step != phases.period || component.width * phases.period != plane.row_bytes)
      return 1;
    filtered |= component.filtered << p;
  }
  constexpr int kServed[kMaxPeriod][2] = {{}, {0b11, 0b11}, {0b111, 0b111}, {0b0111, 0b1110}};
  const int* served = kServed[phases.period - 1];
  return filtered == served[0] || filtered == served[1] ? phases.period : 1;
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

SingleComponentPlane::SingleComponentPlane() {
  plane.component_count = 1;
  plane.components[0].step = 1;
  phases.period = 1;
  phases.component[0] = 0;
}

PairWindow pair_window(const PlaneFormat& plane, const BytePhases& phases, const Mask& mask) {
  if (mask.height > kPairMaskRows) return {};
  if (tile_kind(plane) == kPackedKind) {
    const SingleComponentPlane lone;
    PairWindow window = pair_window(lone.plane, lone.phases, mask);
    window.deinterleaved = 2;
    return window;
  }
  // The phases of bytes x and x + 1 stand for those of all pairs only if phases two apart have the
  // same step.
  int before = 0, after = 0;
  for (int p = 0; p < kMaxPeriod; ++p) {
    const int step = plane.components[phases.component[p % phases.period]].step;
    const int twin = plane.components[phases.component[(p + 2) % phases.period]].step;
    if (step != twin) return {};
    before = std::max(before, mask.anchor_x * step - p % 2);
    after = std::max(after, (mask.width - 1 - mask.anchor_x) * step + p % 2);
  }
  const int row_groups = kPairRowGroups[mask.height <= 5 ? 0 : 1];
  if (all_filtered(plane))
    for (const int shift : {0, 1})
      if (before <= kPairLeft - shift && kPairLeft - shift + after < kPairWindowBytes)
        return {row_groups, shift, 1};
  const int components = deinterleaved_components(plane, phases);
  // Quads take the higher masks of pixels of three and four bytes, as they are faster there: at 7x7
  // 26.3 us for 26.5, with two digits 36.6 for 42.5 (BGR, 4K, H100).
  if (components == 1 || (components > 2 && row_groups != kPairRowGroups[0])) return {};
  // Deinterleaved components have the window of a plane with one component.
  const SingleComponentPlane lone;
  PairWindow window = pair_window(lone.plane, lone.phases, mask);
  window.deinterleaved = components;
  return window;
}

QuadWindow quad_window(const Mask& mask) {
  for (const QuadWindow& window : {kQuadWindow, kLargeQuadWindow})
    if (mask.height <= window.rows() && mask.anchor_x <= window.reach() &&
        mask.width - 1 - mask.anchor_x <= window.reach())
      return window;
  return {};
}

int quad_components(const PlaneFormat& plane, const BytePhases& phases, const Mask& mask) {
  if (quad_window(mask).row_groups != kQuadWindow.row_groups) return 0;
  if (tile_kind(plane) == kPackedKind) return 2;
  const int components = deinterleaved_components(plane, phases);
  return components == phases.period ? components : 0;
}

bool packed_columns_serve(const PlaneFormat& plane) {
  int samples = 0;
  for (int c = 0; c < plane.component_count; ++c)
    if (plane.components[c].role != Role::kPadding) samples += plane.components[c].width;
  return samples == plane.row_bytes && plane.row_bytes % kColumnBytes == 0 &&
         plane.row_bytes % kTensorTileBytes != kColumnBytes;
}

OctetWindow octet_window(const PlaneFormat& plane, const Mask& mask, bool sparse_products) {
  constexpr OctetWindow kWindows[] = {{1, 3, true}, {2, 3, true}, {2, 4, true}, {3, 4, true}};
  constexpr OctetWindow kWhole = {3, 4, false};
  constexpr int kMostSparseColumns = 8;
  if (plane.sample_bytes != 2 || !tile_kind(plane) || plane.component_count > 2 ||
      mask.anchor_x > kOctetReach || mask.width - 1 - mask.anchor_x > kOctetReach)
    return {};
  for (const OctetWindow& window : kWindows)
    if (mask.height <= octet_mask_rows(window.product_row_groups, window.row_groups))
      return sparse_products && mask.width <= kMostSparseColumns ? window : kWhole;
  return {};
}

}  // namespace convolve
