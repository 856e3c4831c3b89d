// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/mask_matrix.h"

#include <cmath>
#include <optional>
#include <string>

namespace cudaconvolve {
namespace {

using convolve::invalid_argument;
using convolve::MaskSource;
using convolve::Result;

/// gst-launch turns `0.5` into a double, `1` into an int and `1/9` into a fraction.
std::optional<double> number_from(const GValue* value) {
  const GType type = G_VALUE_TYPE(value);
  if (type != G_TYPE_DOUBLE && type != G_TYPE_FLOAT && type != G_TYPE_INT && type != G_TYPE_UINT &&
      type != G_TYPE_INT64 && type != G_TYPE_UINT64 && type != GST_TYPE_FRACTION)
    return {};
  GValue number = G_VALUE_INIT;
  g_value_init(&number, G_TYPE_DOUBLE);
  if (!g_value_transform(value, &number)) return {};
  return g_value_get_double(&number);
}

convolve::Status bad_entry(guint row, guint column, const GValue* entry, const char* what) {
  g_autofree gchar* text = gst_value_serialize(entry);
  return invalid_argument("row " + std::to_string(row + 1) + ", column " +
                          std::to_string(column + 1) + ": " + (text != nullptr ? text : "value") +
                          what);
}

double weight_at(const MaskSource& mask, int y, int x) {
  if (!mask.weights.empty()) return mask.weights[static_cast<std::size_t>(y) * mask.width + x];
  return mask.column[y] * mask.row[x];
}

}  // namespace

Result<MaskSource> mask_from_matrix(const GValue* value) {
  const guint height = gst_value_array_get_size(value);
  if (height == 0) return invalid_argument("the matrix has no rows");
  MaskSource mask;
  guint width = 0;
  for (guint y = 0; y < height; ++y) {
    const GValue* row = gst_value_array_get_value(value, y);
    if (!GST_VALUE_HOLDS_ARRAY(row))
      return invalid_argument("row " + std::to_string(y + 1) +
                              " is no array: a matrix is written <<a, b>, <c, d>>");
    const guint count = gst_value_array_get_size(row);
    if (y == 0) width = count;
    if (count != width || count == 0)
      return invalid_argument("row " + std::to_string(y + 1) + " has " + std::to_string(count) +
                              (count == 1 ? " number, row 1 has " : " numbers, row 1 has ") +
                              std::to_string(width));
    if (width > convolve::kMaxMaskSide || height > convolve::kMaxMaskSide)
      return invalid_argument("a matrix of " + std::to_string(width) + "x" +
                              std::to_string(height) + " is larger than " +
                              std::to_string(convolve::kMaxMaskSide) + " a side");
    for (guint x = 0; x < count; ++x) {
      const GValue* entry = gst_value_array_get_value(row, x);
      const std::optional<double> number = number_from(entry);
      if (!number) return bad_entry(y, x, entry, " is not a number");
      if (!std::isfinite(*number) || std::fabs(*number) > convolve::kMaxWeight)
        return bad_entry(y, x, entry, " is not a finite weight up to 1e38");
      mask.weights.push_back(*number);
    }
  }
  mask.width = static_cast<int>(width);
  mask.height = static_cast<int>(height);
  mask.anchor_x = mask.width / 2;
  mask.anchor_y = mask.height / 2;
  return mask;
}

void matrix_from_mask(const MaskSource& mask, GValue* value) {
  if (mask.width > convolve::kMaxMaskSide || mask.height > convolve::kMaxMaskSide) return;
  const double divisor = mask.divisor.value_or(1);
  for (int y = 0; y < mask.height; ++y) {
    GValue row = G_VALUE_INIT;
    gst_value_array_init(&row, static_cast<guint>(mask.width));
    for (int x = 0; x < mask.width; ++x) {
      GValue entry = G_VALUE_INIT;
      g_value_init(&entry, G_TYPE_DOUBLE);
      g_value_set_double(&entry, weight_at(mask, y, x) / divisor);
      gst_value_array_append_and_take_value(&row, &entry);
    }
    gst_value_array_append_and_take_value(value, &row);
  }
}

}  // namespace cudaconvolve
