// SPDX-License-Identifier: LGPL-2.1-or-later
// What every format is tried with: sizes, masks and borders of format_table.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/base/border.h"
#include "kernels/core/mask/mask.h"

namespace check {

struct Size {
  int width;
  int height;
};

/// Odd and even, so that chroma rounds up in each subsampling; smaller than the masks, single rows
/// and columns, and beyond the widths of vectors and tiles.
inline constexpr Size kSizes[] = {{1, 1},   {1, 2},   {2, 1},   {2, 2},   {3, 3},
                                  {5, 4},   {7, 5},   {1, 17},  {17, 1},  {16, 9},
                                  {31, 33}, {64, 48}, {3, 129}, {129, 3}, {127, 65}};

/// A mask as the property takes it and as the reference does.
struct MaskCase {
  std::string text;
  convolve::Mask mask;
};

/// All rational, so that one answer alone is right; gains near 1, so that a fault shows instead of
/// saturating, and a few edge masks, which show a wrong black level.
const std::vector<MaskCase>& format_masks();

struct BorderCase {
  const char* nick;
  convolve::Border border;
};
inline constexpr BorderCase kBorders[] = {{"replicate", convolve::Border::kReplicate},
                                          {"zero", convolve::Border::kZero},
                                          {"reflect", convolve::Border::kReflect},
                                          {"mirror", convolve::Border::kMirror},
                                          {"wrap", convolve::Border::kWrap}};

/// The mask of a text that must parse; the program ends otherwise.
convolve::Mask mask_of(const std::string& text);

}  // namespace check
