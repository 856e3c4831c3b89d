// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/shape/tensor_mapping.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace convolve {
namespace {

/// True if one epilogue serves all components that are filtered.
bool one_epilogue(const PlaneFormat& plane) {
  const Component* first = nullptr;
  for (int c = 0; c < plane.component_count; ++c) {
    const Component& component = plane.components[c];
    if (!component.filtered) continue;
    if (first == nullptr) first = &component;
    if (component.black != first->black || component.range != first->range ||
        component.role != first->role)
      return false;
  }
  return true;
}

bool all_filtered(const PlaneFormat& plane) {
  return std::all_of(plane.components, plane.components + plane.component_count,
                     [](const Component& component) { return component.filtered; });
}

/// How many components of `plane`, which has phases, can be parted: all that a pixel's bytes are,
/// of four the first three or the last three filtered. 1 for none.
int parted_components(const PlaneFormat& plane, const BytePhases& phases) {
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

/// True if pixels of three and four bytes, which have kernels of their own, are in no frame with
/// others: what a plane's bytes are parted into, plane by plane.
class OnePixel {
 public:
  bool add(int parts) {
    const int pixel = parts > 2 ? parts : 1;
    const bool same = pixel_ == 0 || pixel_ == pixel;
    pixel_ = pixel;
    return same;
  }

 private:
  int pixel_ = 0;
};

/// True if pairs serve all planes, with the same shift.
bool pairs_serve(const FrameFormat& format, const Mask& mask) {
  int shift = -1;
  OnePixel one_pixel;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    const std::optional<BytePhases> phases = byte_phases(plane);
    if (!phases || !one_epilogue(plane)) return false;
    const PairWindow window = pair_window(plane, *phases, mask);
    if (window.steps == 0 || (shift >= 0 && window.shift != shift)) return false;
    if (!one_pixel.add(window.parts)) return false;
    shift = window.shift;
  }
  return true;
}

/// The same for quads.
bool quads_serve(const FrameFormat& format, const Mask& mask) {
  OnePixel one_pixel;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    const std::optional<BytePhases> phases = byte_phases(plane);
    if (!phases || !one_epilogue(plane)) return false;
    const int parts = quad_parts(plane, *phases, mask);
    if (parts == 0 || !one_pixel.add(parts)) return false;
  }
  return true;
}

/// True if tensor_packed_pairs.cu takes the components of packed 4:2:2: all are filtered, in rows
/// of whole columns, and one epilogue serves both chroma.
bool packed_components_serve(const PlaneFormat& plane) {
  if (!packed_columns_serve(plane)) return false;
  const Component* chroma = nullptr;
  for (int c = 0; c < plane.component_count; ++c) {
    const Component& component = plane.components[c];
    if (!component.filtered) return false;
    if (component.step != 4) continue;
    if (chroma != nullptr && (component.black != chroma->black ||
                              component.range != chroma->range || component.role != chroma->role))
      return false;
    chroma = &component;
  }
  return true;
}

bool packed_pairs_serve(const PlaneFormat& plane, const Mask& mask) {
  const std::optional<BytePhases> phases = byte_phases(plane);
  return phases && pair_window(plane, *phases, mask).steps > 0 && packed_components_serve(plane);
}

bool packed_quads_serve(const PlaneFormat& plane, const Mask& mask) {
  const std::optional<BytePhases> phases = byte_phases(plane);
  return phases && quad_parts(plane, *phases, mask) > 0 && packed_components_serve(plane);
}

/// True if octets serve all planes.
bool octets_serve(const FrameFormat& format, const Mask& mask) {
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (has_filtered(plane) && (!one_epilogue(plane) || octet_window(plane, mask, true).seen == 0))
      return false;
  }
  return true;
}

/// True if all planes are bytes of one component each.
bool lone_bytes(const FrameFormat& format) {
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    const std::optional<BytePhases> phases = byte_phases(plane);
    if (!phases || phases->period > 1) return false;
  }
  return true;
}

bool is_packed(const FrameFormat& format) {
  return format.plane_count == 1 && tile_kind(format.planes[0]) == kPackedKind;
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
  if (tile_kind(plane) == kPackedKind) {
    const LonePlane lone;
    PairWindow window = pair_window(lone.plane, lone.phases, mask);
    window.parts = 2;
    return window;
  }
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
  if (all_filtered(plane))
    for (const int shift : {0, 1})
      if (before <= kPairLeft - shift && kPairLeft - shift + after < kPairWindowBytes)
        return {steps, shift, 1};
  const int parts = parted_components(plane, phases);
  // Of pixels quads take the higher masks: at 7x7 26.3 us for 26.5, with two digits 36.6 for 42.5
  // (BGR, 4K, H100).
  if (parts == 1 || (parts > 2 && steps != kPairSteps[0])) return {};
  // Each of them alone.
  const LonePlane lone;
  PairWindow window = pair_window(lone.plane, lone.phases, mask);
  window.parts = parts;
  return window;
}

QuadWindow quad_window(const Mask& mask) {
  for (const QuadWindow& window : {kQuadWindow, kLargeQuadWindow})
    if (mask.height <= window.rows() && mask.anchor_x <= window.reach() &&
        mask.width - 1 - mask.anchor_x <= window.reach())
      return window;
  return {};
}

int quad_parts(const PlaneFormat& plane, const BytePhases& phases, const Mask& mask) {
  if (quad_window(mask).groups != kQuadWindow.groups) return 0;
  if (tile_kind(plane) == kPackedKind) return 2;
  const int parts = parted_components(plane, phases);
  return parts == phases.period ? parts : 0;
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
    if (mask.height <= octet_mask_rows(window.seen, window.groups))
      return sparse_products && mask.width <= kMostSparseColumns ? window : kWhole;
  return {};
}

const char* tensor_mapping_name(TensorMapping mapping) {
  constexpr const char* kNames[kTensorMappingCount] = {"march", "stay",   "pairs",  "quads",
                                                       "tiles", "groups", "octets", "large-quads"};
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
      return is_packed(format) ? packed_pairs_serve(format.planes[0], mask)
                               : columns_serve(format) && pairs_serve(format, mask);
    case TensorMapping::kQuads:
      return is_packed(format) ? packed_quads_serve(format.planes[0], mask)
                               : columns_serve(format) && quads_serve(format, mask);
    case TensorMapping::kTiles: {
      const std::optional<TensorTiles> tiles = tensor_tiles(format, mask);
      return tiles && tiles->bytes <= device.shared_bytes;
    }
    case TensorMapping::kGroups:
      return device.warpgroups &&
             tensor_groups(format, mask, digits, device.shared_bytes).has_value();
    case TensorMapping::kOctets:
      return octets_serve(format, mask);
    case TensorMapping::kLargeQuads:
      return quad_window(mask).groups == kLargeQuadWindow.groups && lone_bytes(format);
  }
  return false;
}

int tensor_products(TensorMapping mapping, const PlaneFormat& plane, const Mask& mask, int digits) {
  if (mapping == TensorMapping::kGroups) return digits * group_window(mask).products;
  if (mapping == TensorMapping::kTiles) {
    const TileWindow window = tile_window(mask);
    return digits * window.steps * window.segments;
  }
  // Of each group one with two bytes, for four pairs of rows, or of two halves of a window; the
  // device is taken to have sparse ones.
  if (mapping == TensorMapping::kOctets) {
    const OctetWindow window = octet_window(plane, mask, true);
    return digits * window.seen * (window.sparse ? 1 : 2);
  }
  const std::optional<BytePhases> phases = byte_phases(plane);
  if (!phases) return 0;
  if (mapping == TensorMapping::kQuads || mapping == TensorMapping::kLargeQuads) {
    // Eight rows see one group more. Each four take two at a time, or one that is left.
    const QuadWindow window = quad_window(mask);
    return digits * window.words * (window.groups + 1) / 2;
  }
  if (mapping == TensorMapping::kPairs) return digits * pair_window(plane, *phases, mask).steps;
  return digits * tensor_window(plane, *phases, mask).segments * mask.height;
}

}  // namespace convolve
