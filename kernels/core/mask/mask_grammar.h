// SPDX-License-Identifier: LGPL-2.1-or-later
// The text form of masks (property `mask`): numbers, rows, sizes, anchors, divisors, files, names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernels/core/mask/mask.h"

namespace convolve {

/// Parses any form of the grammar. Every error names the value, the line and the column (from 1);
/// one about a file names its path instead of the value. `@path` is read here, once. Independent of
/// the locale.
///
///   0 -1 0 -1 5 -1 0 -1 0        a square, blanks or single commas between numbers
///   1 2 1; 2 4 2; 1 2 1          rows, by ';' or a line break
///   9x1: 1 1 1 1 1 1 1 1 1       explicit width x height; 3x3+0+0: with an anchor
///   1 4 7 4 1; ... / 273         a divisor: '/' after a blank, last
///   1/9 2e-3 .5                  numbers: decimal, scientific, ratios
///   @path                        the same text, or a PGM / PFM picture, from a regular file
///   gaussian:2  motion:15,30     names with arguments (named_masks.h)
Result<MaskSource> parse_mask(std::string_view text);

/// True if parse_mask() would read a file.
bool names_file(std::string_view text);

/// The canonical text: rows with ';', each number as short as reads back as the same double, the
/// size only where it is needed. parse_mask reads it back as the same weights, size, anchor and
/// divisor; `normalized` is written as divisor 1. Empty for factors beyond kMaxMaskSide.
std::string format_mask(const MaskSource& source);

}  // namespace convolve
