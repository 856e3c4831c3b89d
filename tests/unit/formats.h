// SPDX-License-Identifier: LGPL-2.1-or-later
// Frame formats, masks and plans that the unit tests share.
#pragma once

#include <string>

#include "kernels/core/base/status.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/plan/plan.h"

namespace convolve::unit {

/// One plane of luma, `depth` 8 to 16 bits in one or two bytes.
FrameFormat grey(int width, int height, int depth = 8);

/// Four colour components in a plane; alpha is copied unless `filter_alpha`.
FrameFormat rgba(int width, int height, bool filter_alpha = false);

FrameFormat nv12(int width, int height);

/// Of even sides.
FrameFormat i420(int width, int height);

/// 10 bits on top of two bytes, interleaved chroma.
FrameFormat p010(int width, int height);

/// Y0 U Y1 V: luma and chroma of different steps in one plane.
FrameFormat yuy2(int width, int height);

/// The mask of a text that must parse; a test fails otherwise.
Mask mask_of(const std::string& text, Normalize normalize = Normalize::kAuto,
             Operation operation = Operation::kCorrelate);

/// What the planner is told of an H100 (227 KiB of shared memory a block) and of a CPU.
DeviceCapabilities h100();
DeviceCapabilities cpu();

/// What the planner makes of it on an H100.
Result<Plan> plan_of(const FrameFormat& format, const std::string& mask,
                     KernelKind kernel = KernelKind::kAuto);

/// Options with that kernel.
Options forced(KernelKind kernel, int tile_width = 0);

/// The plan for a grey picture of 3840 x 2160 as text, or why there is none. Without the
/// prediction, which changes with every better constant.
std::string plan_text(const char* mask, const DeviceCapabilities& device, Options options = {},
                      int depth = 8);

}  // namespace convolve::unit
