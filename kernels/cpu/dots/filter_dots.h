// SPDX-License-Identifier: LGPL-2.1-or-later
// Areas by integer dot products. Each way has a source of its own, as vector code takes long to
// compile.
#pragma once

#include "kernels/core/base/view.h"
#include "kernels/cpu/dots/dot_taps.h"
#include "kernels/cpu/rows/row_task.h"
#include "kernels/cpu/workspace.h"

namespace convolve {

/// True if samples of `sample_bytes` bytes meet their weights in pairs on this machine, false if in
/// quads. `wide`: see DigitWeights::wide.
bool dots_multiply_pairs(int sample_bytes, bool wide);

/// Filters `area` of the parts of `task`. `workspaces`: one for each group.
using DotFilter = void(const RowTask& task, const DotTaps& taps, const Area& area,
                       const Workspace* workspaces);

/// For samples that meet their weights in quads.
DotFilter filter_quads;

/// Filters pixels of bytes where they lie, so that no row is parted into its components. Returns
/// false, and does nothing, if the pixels of `task` cannot be filtered so.
bool filter_pixels(const RowTask& task, const DotTaps& taps, const Area& area,
                   const Workspace* workspaces);

/// For samples of one byte that meet their weights in pairs.
DotFilter filter_byte_pairs;

/// For samples of two bytes that meet their weights in pairs.
DotFilter filter_word_pairs;

}  // namespace convolve
