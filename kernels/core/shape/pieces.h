// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame cut into pieces that are filtered one after the other, as if each were a picture.
//
// A launch that takes seconds cannot be stopped, and the driver of a display ends it with an error.
// So a frame that is expected to take long is cut along its rows or its columns. The input of a
// piece is its output and a halo as wide as the mask reaches. What lies further out does not
// matter, so any kernel can filter it; samples of the halo, whose surroundings were cut off, are
// filtered, too, and thrown away.
#pragma once

#include "kernels/core/base/border.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"

namespace convolve {

/// A rectangle of a plane, in rows and bytes. With Border::kWrap rows may lie outside, where the
/// picture is repeated periodically.
struct PlaneRect {
  int row = 0;
  int rows = 0;
  int byte = 0;
  int bytes = 0;
};

/// One piece of a frame.
struct FramePiece {
  FrameFormat format;            ///< The format of its input.
  PlaneRect input[kMaxPlanes];   ///< Where its input lies in each plane of the frame.
  PlaneRect output[kMaxPlanes];  ///< Where its output lies; always within `input`.
};

/// How a frame is cut: into `count` pieces; 1: it is not.
struct Cut {
  int count = 1;
  bool columns = false;  ///< Pieces lie side by side; otherwise one below the other.
};

/// The cut after which each piece takes `longest_us` microseconds or little more, of a frame that
/// takes `predicted_us` as a whole. Pieces read the halo of the mask, too, so that a frame is cut
/// into fewer of them where the mask is very large. With `wrap`, for Border::kWrap, only rows are
/// cut.
Cut choose_cut(const FrameFormat& format, const Mask& mask, bool wrap, double predicted_us,
               double longest_us);

/// Piece `index` of 0 .. cut.count - 1. Its output is empty where there are fewer rows or columns
/// than pieces. Together the outputs of all pieces are the frame, without overlap. `format` may be
/// a field of the format that was cut.
FramePiece frame_piece(const FrameFormat& format, const Mask& mask, const Cut& cut, bool wrap,
                       int index);

}  // namespace convolve
