// SPDX-License-Identifier: LGPL-2.1-or-later
// The forms of kernel `tensor`: which of them serve a frame, and how many products of the tensor
// cores each takes. Pure, so that the planner can ask.
#pragma once

#include <cstddef>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/plan/forms.h"

namespace convolve {

/// The forms of kernel tensor, from the first to the last.
inline constexpr int kFirstTensorForm = static_cast<int>(Form::kTensorSliding);
inline constexpr int kLastTensorForm = static_cast<int>(Form::kTensorSplitWarpgroups);

/// The properties of a device that decide which forms of kernel tensor it can run.
struct TensorDevice {
  std::size_t shared_bytes = 0;  ///< Shared memory that a block may have.
  bool warpgroups = false;       ///< The device has products of warpgroups (wgmma).
};

/// True if sums leave 32 bits and are split (split_digits.h).
bool sums_are_split(Form form);

/// True for forms of pairs, whose products make 8 rows x 2 adjacent samples.
bool makes_pairs(Form form);
/// True for forms of quads, whose products make 4 rows x 4 adjacent samples.
bool makes_quads(Form form);

/// True for forms whose blocks copy tiles with their halo to shared memory.
bool uses_shared_tiles(Form form);

/// True if `form` serves a frame with weights of so many digits. It does not ask whether the
/// weights keep the contract (weights/arithmetic.h) and where planes lie.
bool tensor_form_serves(Form form, const FrameFormat& format, const Mask& mask, int digits,
                        const TensorDevice& device);

/// How many products `plane` takes in `form`: of warpgroups for a tile of 8,192 samples; of other
/// forms for 1,024 bytes, in units of eight products, where half a product counts as one.
int tensor_products(Form form, const PlaneFormat& plane, const Mask& mask, int digits);

}  // namespace convolve
