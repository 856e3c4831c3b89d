// SPDX-License-Identifier: LGPL-2.1-or-later
// Masks from files: `@path` of the grammar.
#pragma once

#include <cstddef>
#include <string>

#include "kernels/core/mask/mask.h"
#include "kernels/core/mask/mask_text.h"

namespace convolve {

/// Largest file that is read, in bytes.
inline constexpr std::size_t kMaxMaskFileBytes = std::size_t{4} << 20;

/// Reads the regular file `path`: a mask's text with `#` comments, or a PGM or PFM picture
/// (mask_picture.h). Never blocks on a pipe or device. Errors name the path, and the line and
/// column where there is one.
Result<MaskSource> read_mask_file(const std::string& path);

/// Every form of the grammar but `@path`: the text of a property or of a file.
Result<MaskSource> parse_mask_text(const MaskText& in);

}  // namespace convolve
