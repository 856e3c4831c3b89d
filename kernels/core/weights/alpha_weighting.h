// SPDX-License-Identifier: LGPL-2.1-or-later
// Colour weighted by alpha: the meaning of alpha-mode=premultiplied, and the components that it
// concerns.
//
// Frames hold straight (not premultiplied) colour, before and after. In mode kStraight each
// component is filtered for itself, so that a blur takes colour from transparent pixels, which
// nobody can see. In mode kPremultiplied colour counts as much as it is opaque: the result is that
// of filtering the premultiplied picture and dividing by the filtered alpha (a normalised
// convolution: Knutsson and Westin, 1993; compositing: Porter and Duff, 1984), without the
// roundings in between.
//
// With w the weights as normalised, W their sum, A the alpha code of the pixel below each weight (a
// ghost cell has that of the cell it repeats; with Border::kZero it has 0), M the largest alpha
// code, c the code, o, B and s as everywhere, T = sum w A (c - o) and S = sum w A:
//
//   W != 0 and S / W > 0    out = clamp(round(o + B + s W T / S))
//   W != 0 and S / W <= 0   out = in: nothing opaque lies below the mask
//   W == 0 (edge filters)   out = clamp(round(o + B + s T / M))
//
// Ties go to even. Rational masks are exact. For real masks, which the rounding of their weights
// keeps from having a sum of exactly 0, |W| <= 2^-32 sum|w| counts as 0, and so does an S of at
// most 2^-40 M sum|w|; apart from that the result is the correctly rounded one or, within zone()
// (arithmetic.h) of a rounding boundary, its neighbour (for gains |s| sum|w| up to 2^80: beyond,
// more would cancel than the 106 bits of the widest sums hold).
//
// Alpha itself is filtered or copied as any component. Where all of a picture is opaque the result
// of a rational mask is that of kStraight, bit for bit; with Border::kZero only where the whole
// mask lies in the picture, or where W is 0, as transparent ghost cells do not darken the picture
// inside.
//
// Components on a coarser grid than alpha (A420's chroma) take the alpha of the co-located sample
// (x << shift, y << shift); their ghost cells repeat cells of their own grid.
#pragma once

#include <optional>

#include "kernels/core/base/view.h"

namespace convolve {

enum class AlphaMode : int {
  kStraight,       ///< Every component for itself.
  kPremultiplied,  ///< Colour is weighted by alpha.
};

/// The sum of a real mask counts as 0 up to this share of the sum of magnitudes.
inline constexpr double kZeroSumShare = 0x1p-32;
/// The weighted alpha S of a real mask counts as 0 up to this share of M sum|w|.
inline constexpr double kTransparentShare = 0x1p-40;

struct AlphaLocation {
  int plane = 0;
  int component = 0;  ///< Index into PlaneFormat::components.
};

/// The plane and component of the alpha of `format`; nothing if it has none.
std::optional<AlphaLocation> find_alpha(const FrameFormat& format);

/// True if alpha has samples of as many bytes as all colour components, as the kernels require.
bool alpha_fits(const FrameFormat& format);

/// True if kPremultiplied changes anything for `format`: if it has alpha, and colour that is
/// filtered.
bool has_weighted(const FrameFormat& format);

/// How much coarser the grid of a component is than alpha's: its sample (x, y) lies on alpha's
/// (x << x_shift, y << y_shift).
struct GridShift {
  int x = 0;
  int y = 0;
};

/// Both components are of one whole frame. The shift is also that of its fields, from whose numbers
/// of rows it cannot always be told.
GridShift grid_shift(const Component& component, const Component& alpha);

/// True if every weighted component of `view`, a frame or field of the format `planned`, finds its
/// alpha inside the rows and columns of `view`.
bool alpha_covers(const FrameFormat& planned, const FrameFormat& view);

}  // namespace convolve
