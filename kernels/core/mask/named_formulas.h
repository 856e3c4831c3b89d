// SPDX-License-Identifier: LGPL-2.1-or-later
// The formulas behind the named masks. Arguments are within the ranges of named_masks.cc.
#pragma once

#include <vector>

#include "kernels/core/mask/mask.h"

namespace convolve {

/// A formula; `arguments` holds all of them, defaults filled in.
using MaskFormula = MaskSource (*)(const std::vector<double>& arguments);

MaskSource identity_mask(const std::vector<double>&);
MaskSource box_mask(const std::vector<double>& width_height);
MaskSource gaussian_mask(const std::vector<double>& sigma_x_y);
MaskSource binomial_mask(const std::vector<double>& taps);
MaskSource disk_mask(const std::vector<double>& radius);
MaskSource motion_mask(const std::vector<double>& length_angle);
MaskSource laplacian_mask(const std::vector<double>&);
MaskSource laplacian8_mask(const std::vector<double>&);
MaskSource sharpen_mask(const std::vector<double>& amount);
MaskSource unsharp_mask(const std::vector<double>& sigma_amount);
MaskSource log_mask(const std::vector<double>& sigma);
MaskSource dog_mask(const std::vector<double>& sigma1_sigma2);
MaskSource sobel_x_mask(const std::vector<double>&);
MaskSource sobel_y_mask(const std::vector<double>&);
MaskSource prewitt_x_mask(const std::vector<double>&);
MaskSource prewitt_y_mask(const std::vector<double>&);
MaskSource scharr_x_mask(const std::vector<double>&);
MaskSource scharr_y_mask(const std::vector<double>&);
MaskSource emboss_mask(const std::vector<double>&);

}  // namespace convolve
