// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame cut into pieces that are filtered one after the other, as if each were a picture.
//
// A launch that takes seconds cannot be stopped, and a display's driver kills it. So a frame that
// is expected to take long is cut along its rows or its columns. A piece sees as much around its
// outputs as the mask reaches; what lies further out does not matter, so any kernel can filter it,
// and outputs whose surroundings were cut off are thrown away.
#pragma once

#include "kernels/core/base/border.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"

namespace convolve {

/// Rows and bytes of a plane. With Border::kWrap rows may lie outside, where the picture goes on
/// periodically.
struct PlaneRect {
  int row = 0;
  int rows = 0;
  int byte = 0;
  int bytes = 0;
};

/// One piece, plane by plane.
struct FramePiece {
  FrameFormat format;            ///< Of what it sees.
  PlaneRect seen[kMaxPlanes];    ///< What that is.
  PlaneRect wanted[kMaxPlanes];  ///< The outputs that are its own; they lie within `seen`.
};

/// How a frame is cut: into `count` pieces; 1 = it is not.
struct Cut {
  int count = 1;
  bool columns = false;  ///< Side by side, otherwise one below the other.
};

/// The cut after which a piece of a frame, which takes `predicted_us` as a whole, takes
/// `longest_us` or little more. Pieces see the mask's halo, too, so that very large masks leave
/// fewer of them. Where the border is kWrap only rows can be cut.
Cut choose_cut(const FrameFormat& format, const Mask& mask, bool wrap, double predicted_us,
               double longest_us);

/// Piece `index` of 0 .. cut.count - 1; it has no outputs where there are fewer rows or columns
/// than pieces. All pieces together have every output once. `format` may be a field of the format
/// that was cut.
FramePiece frame_piece(const FrameFormat& format, const Mask& mask, const Cut& cut, bool wrap,
                       int index);

}  // namespace convolve
