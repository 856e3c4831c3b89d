// SPDX-License-Identifier: LGPL-2.1-or-later
// The forms of the CUDA kernel tensor: which of them serve a frame, and how many products of the
// tensor cores they take. Pure, so that the planner can count on it.
#pragma once

#include <cstddef>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/plan/forms.h"

namespace convolve {

/// The forms of kernel tensor, from the first to the last.
inline constexpr int kFirstTensorForm = static_cast<int>(Form::kTensorSliding);
inline constexpr int kLastTensorForm = static_cast<int>(Form::kTensorSplitWarpgroups);

/// What they ask of a device.
struct TensorDevice {
  std::size_t shared_bytes = 0;  ///< Of shared memory, that a block may have.
  bool warpgroups = false;       ///< It has products of warpgroups (wgmma).
};

/// True if sums leave 32 bits and are split (split_digits.h).
bool sums_are_split(Form form);

/// True for pairs and quads, of whatever they are: 8 rows x 2 or 4 rows x 4 adjacent bytes.
bool makes_pairs(Form form);
bool makes_quads(Form form);

/// True if blocks take tiles of shared memory, and warps no columns of bytes.
bool uses_shared_tiles(Form form);

/// True if `form` serves a frame with weights of so many digits, leaving aside whether the weights
/// keep the contract and where planes lie.
bool tensor_form_serves(Form form, const FrameFormat& format, const Mask& mask, int digits,
                        const TensorDevice& device);

/// Products that 1,024 bytes of `plane` take with it, in groups of eight, halves counted as wholes;
/// of warpgroups those, of warpgroups, that a tile of 8,192 samples takes.
int tensor_products(Form form, const PlaneFormat& plane, const Mask& mask, int digits);

}  // namespace convolve
