// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/plan/tensor_forms.h"

#include <optional>

#include "kernels/core/shape/byte_phases.h"
#include "kernels/core/shape/tensor_tiles.h"
#include "kernels/core/shape/tensor_warpgroups.h"
#include "kernels/core/shape/tensor_windows.h"

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

/// Whether the planes of a frame go together in pairs or quads: bytes of one or two components do
/// (1), and pixels of three bytes (3) or four (4) with others of their size only, as they have
/// kernels of their own.
class PixelBytes {
 public:
  /// Adds a plane of which so many components are deinterleaved; false if it does not go with the
  /// planes before.
  bool add(int deinterleaved) {
    const int pixel = deinterleaved > 2 ? deinterleaved : 1;
    const bool same = bytes_ == 0 || bytes_ == pixel;
    bytes_ = pixel;
    return same;
  }
  int bytes() const { return bytes_; }

 private:
  int bytes_ = 0;
};

/// PixelBytes::bytes() of a frame whose planes pairs serve, all with the same shift; 0 if they do
/// not.
int pair_pixel(const FrameFormat& format, const Mask& mask) {
  int shift = -1;
  PixelBytes pixel;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    const std::optional<BytePhases> phases = byte_phases(plane);
    if (!phases || !one_epilogue(plane)) return 0;
    const PairWindow window = pair_window(plane, *phases, mask);
    if (window.row_groups == 0 || (shift >= 0 && window.shift != shift)) return 0;
    if (!pixel.add(window.deinterleaved)) return 0;
    shift = window.shift;
  }
  return pixel.bytes();
}

/// PixelBytes::bytes() of a frame whose planes quads serve; 0 if they do not.
int quad_pixel(const FrameFormat& format, const Mask& mask) {
  PixelBytes pixel;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    const std::optional<BytePhases> phases = byte_phases(plane);
    if (!phases || !one_epilogue(plane)) return 0;
    const int components = quad_components(plane, *phases, mask);
    if (components == 0 || !pixel.add(components)) return 0;
  }
  return pixel.bytes();
}

/// True if tensor_packed.cu serves the components of packed 4:2:2: all are filtered, rows are whole
/// columns, and one epilogue serves both chroma.
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
  return phases && pair_window(plane, *phases, mask).row_groups > 0 &&
         packed_components_serve(plane);
}

bool packed_quads_serve(const PlaneFormat& plane, const Mask& mask) {
  const std::optional<BytePhases> phases = byte_phases(plane);
  return phases && quad_components(plane, *phases, mask) > 0 && packed_components_serve(plane);
}

/// True if octets serve all planes.
bool octets_serve(const FrameFormat& format, const Mask& mask) {
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (has_filtered(plane) &&
        (!one_epilogue(plane) || octet_window(plane, mask, true).product_row_groups == 0))
      return false;
  }
  return true;
}

/// True if all planes are bytes of one component each.
bool single_component_bytes(const FrameFormat& format) {
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

/// True if the bytes of all planes have phases, so that columns serve them.
bool columns_serve(const FrameFormat& format) {
  for (int p = 0; p < format.plane_count; ++p)
    if (has_filtered(format.planes[p]) && !byte_phases(format.planes[p])) return false;
  return true;
}

/// True if the rows of this mask's window fit registers. Asks for byte phases: call it only where
/// columns serve.
bool slides(const FrameFormat& format, const Mask& mask) {
  if (mask.height > kTensorSlidingRows) return false;
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (has_filtered(plane) && tensor_window(plane, *byte_phases(plane), mask).segments > 1)
      return false;
  }
  return true;
}

}  // namespace

bool sums_are_split(Form form) {
  return form == Form::kTensorSplitOctets || form == Form::kTensorSplitWarpgroups;
}

bool makes_pairs(Form form) {
  return form == Form::kTensorPairs || form == Form::kTensorPixelPairs ||
         form == Form::kTensorPackedPairs;
}

bool makes_quads(Form form) {
  return form == Form::kTensorQuads || form == Form::kTensorLargeQuads ||
         form == Form::kTensorPixelQuads || form == Form::kTensorPackedQuads;
}

bool uses_shared_tiles(Form form) {
  return form == Form::kTensorTiles || form == Form::kTensorWarpgroups ||
         form == Form::kTensorSplitWarpgroups;
}

bool tensor_form_serves(Form form, const FrameFormat& format, const Mask& mask, int digits,
                        const TensorDevice& device) {
  if (form == Form::kTensorSliding) return columns_serve(format) && slides(format, mask);
  if (form == Form::kTensorColumns) return columns_serve(format);
  if (form == Form::kTensorPairs) return !is_packed(format) && pair_pixel(format, mask) == 1;
  if (form == Form::kTensorQuads) return !is_packed(format) && quad_pixel(format, mask) == 1;
  if (form == Form::kTensorPixelPairs) return pair_pixel(format, mask) > 1;
  if (form == Form::kTensorPixelQuads) return quad_pixel(format, mask) > 1;
  if (form == Form::kTensorPackedPairs)
    return is_packed(format) && packed_pairs_serve(format.planes[0], mask);
  if (form == Form::kTensorPackedQuads)
    return is_packed(format) && packed_quads_serve(format.planes[0], mask);
  if (form == Form::kTensorLargeQuads)
    return quad_window(mask).row_groups == kLargeQuadWindow.row_groups &&
           single_component_bytes(format);
  if (form == Form::kTensorOctets || form == Form::kTensorSplitOctets)
    return octets_serve(format, mask);
  if (form == Form::kTensorTiles) {
    const std::optional<TensorTiles> tiles = tensor_tiles(format, mask);
    return tiles && tiles->bytes <= device.shared_bytes;
  }
  return uses_shared_tiles(form) && device.warpgroups &&
         tensor_warpgroups(format, mask, digits, device.shared_bytes).has_value();
}

int tensor_products(Form form, const PlaneFormat& plane, const Mask& mask, int digits) {
  if (uses_shared_tiles(form) && form != Form::kTensorTiles)
    return digits * warpgroup_window(mask).products;
  if (form == Form::kTensorTiles) {
    const TileWindow window = tile_window(mask);
    return digits * window.windows_down * window.segments;
  }
  // Octets: a row group is multiplied with low and with high bytes for four pairs of output rows,
  // which makes eight products; without sparse products twice, for the two halves of a window. The
  // device is taken to have sparse products.
  if (form == Form::kTensorOctets || form == Form::kTensorSplitOctets) {
    const OctetWindow window = octet_window(plane, mask, true);
    return digits * window.product_row_groups * (window.sparse ? 1 : 2);
  }
  const std::optional<BytePhases> phases = byte_phases(plane);
  if (!phases) return 0;
  if (makes_quads(form)) {
    // Eight output rows read one row group more than four do. A product takes two row groups, or
    // half of it one that is left.
    const QuadWindow window = quad_window(mask);
    return digits * window.words * (window.row_groups + 1) / 2;
  }
  if (makes_pairs(form)) return digits * pair_window(plane, *phases, mask).row_groups;
  return digits * tensor_window(plane, *phases, mask).segments * mask.height;
}

}  // namespace convolve
