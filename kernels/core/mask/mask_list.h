// SPDX-License-Identifier: LGPL-2.1-or-later
// The list form of the mask grammar: [WxH[+X+Y]:] numbers in rows [/ divisor].
#pragma once

#include <cstddef>

#include "kernels/core/mask/mask.h"
#include "kernels/core/mask/mask_text.h"

namespace convolve {

/// Reads the list that begins at `offset` and fills the rest of `in.text`.
Result<MaskSource> parse_mask_list(const MaskText& in, std::size_t offset);

}  // namespace convolve
