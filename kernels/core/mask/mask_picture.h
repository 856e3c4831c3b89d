// SPDX-License-Identifier: LGPL-2.1-or-later
// Grey pictures as point-spread functions: what a single bright pixel becomes.
#pragma once

#include <string_view>

#include "kernels/core/mask/mask.h"
#include "kernels/core/mask/mask_text.h"

namespace convolve {

/// True if `bytes` begin like a Netpbm picture or a PFM.
bool is_mask_picture(std::string_view bytes);

/// Reads a grey picture of at most 255 x 255: PGM (P2 and P5, samples of 8 and 16 bits) or PFM (Pf,
/// both byte orders, rows bottom-up; the size of its scale is ignored). The picture is turned by
/// 180 degrees, weights and anchor, so that correlating with the mask convolves with the picture
/// around its pixel (width / 2, height / 2). Samples are taken as they are: normalisation scales.
Result<MaskSource> parse_mask_picture(const MaskText& in);

}  // namespace convolve
