// SPDX-License-Identifier: LGPL-2.1-or-later
// Video formats by name, as the element describes them to the engine: what their components are and
// where these lie.
#pragma once

#include <string>
#include <vector>

#include "kernels/core/base/view.h"
#include "tests/kernels/frame_buffer.h"

namespace convolve::testing {

/// A component: its plane, its place among the samples of a group of `stride`, and by how many bits
/// its width and height are less than the picture's.
struct FormatPart {
  Role role;
  int plane;
  int slot;
  int stride;
  int x_shift = 0;
  int y_shift = 0;
};

struct NamedFormat {
  const char* name;
  SampleType samples;
  Levels levels;
  std::vector<FormatPart> parts;

  /// Packed 4:2:2: luma and chroma of different steps in one plane.
  bool packed_422() const {
    return parts.size() == 3 && parts[0].plane == parts[2].plane &&
           parts[0].stride != parts[2].stride;
  }
};

/// All of them.
const std::vector<NamedFormat>& named_formats();

/// Ends the program if there is none.
const NamedFormat& named_format(const std::string& name);

/// Which components are filtered, as property `channels` of the element has it.
enum class Channels : int {
  kAllButAlpha,
  kAll,
  kLuma,    ///< And colour.
  kChroma,  ///< And alpha, but no luma and no colour.
};
inline constexpr int kChannelsCount = 4;
const char* channels_name(Channels channels);

FrameFormat make_format(const NamedFormat& format, int width, int height,
                        Channels channels = Channels::kAllButAlpha);

}  // namespace convolve::testing
