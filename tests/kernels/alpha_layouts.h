// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames with alpha for tests: where the components lie, and what alpha looks like.
#pragma once

#include <vector>

#include "kernels/core/base/view.h"
#include "kernels/reference/reference.h"
#include "tests/kernels/frame_buffer.h"

namespace convolve::testing {

/// A component in a plane: its role, its place among the samples of a pixel, and whether it has
/// half of the columns and rows.
struct LayoutPart {
  Role role;
  int plane;
  int slot;
  int stride;
  bool half = false;
};

struct AlphaLayout {
  const char* name;
  SampleType samples;
  Levels levels;
  std::vector<LayoutPart> parts;
};

/// RGBA in several orders and depths, AYUV, and planar ones with full and with subsampled chroma.
const std::vector<AlphaLayout>& alpha_layouts();

FrameFormat make_format(const AlphaLayout& layout, int width, int height, bool filter_alpha);

enum class AlphaFill : int {
  kOpaque,
  kTransparent,
  kRandom,
  kEdge,    ///< A sharp edge from opaque to transparent.
  kSparse,  ///< Few pixels with any alpha, some with the least.
  kOnOff,   ///< Opaque or transparent at random.
  kSteps,   ///< The largest code, a third of it and 0 by turns, which masks can make cancel.
};
inline constexpr int kAlphaFillCount = 7;
const char* alpha_fill_name(AlphaFill fill);

/// Codes of an alpha component. A pure function of its arguments.
Picture make_alpha(AlphaFill fill, const Component& component);

}  // namespace convolve::testing
