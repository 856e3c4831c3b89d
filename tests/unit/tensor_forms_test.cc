// SPDX-License-Identifier: LGPL-2.1-or-later
// Which products kernel tensor makes of which masks, and how many.
#include "kernels/core/plan/tensor_forms.h"
#include "kernels/core/shape/tensor_windows.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/formats.h"

namespace convolve {
namespace {

constexpr std::size_t kShared = 227 * 1024;

/// Components of one byte side by side.
PlaneFormat plane_of(int components) {
  PlaneFormat plane;
  plane.rows = 2160;
  plane.component_count = components;
  plane.row_bytes = 3840 * components;
  for (int c = 0; c < components; ++c) {
    plane.components[c].offset = c;
    plane.components[c].step = components;
    plane.components[c].width = 3840;
    plane.components[c].height = 2160;
  }
  return plane;
}

FrameFormat frame_of(std::initializer_list<PlaneFormat> planes) {
  FrameFormat format;
  for (const PlaneFormat& plane : planes)
    format.planes[format.plane_count++] = plane;
  return format;
}

Mask square(int side) {
  Mask mask;
  mask.width = mask.height = side;
  mask.anchor_x = mask.anchor_y = side / 2;
  return mask;
}

/// Components of two bytes side by side.
PlaneFormat wide_plane_of(int components) {
  PlaneFormat plane = plane_of(components);
  plane.sample_bytes = 2;
  plane.row_bytes *= 2;
  for (int c = 0; c < components; ++c) {
    plane.components[c].offset *= 2;
    plane.components[c].step *= 2;
    plane.components[c].depth = 16;
  }
  return plane;
}

TEST(TensorForms, WhatServesWhat) {
  const FrameFormat grey = frame_of({plane_of(1)});
  const auto serves = [&grey](Form form, int side, bool warpgroups) {
    return tensor_form_serves(form, grey, square(side), 2, {kShared, warpgroups});
  };
  EXPECT_TRUE(serves(Form::kTensorSliding, 9, true));
  EXPECT_FALSE(serves(Form::kTensorSliding, 31, true)) << "two windows";
  EXPECT_TRUE(serves(Form::kTensorColumns, 255, true));
  EXPECT_TRUE(serves(Form::kTensorPairs, 7, true));
  EXPECT_FALSE(serves(Form::kTensorPairs, 9, true));
  EXPECT_TRUE(serves(Form::kTensorQuads, 3, true));
  EXPECT_TRUE(serves(Form::kTensorQuads, 9, false));
  EXPECT_FALSE(serves(Form::kTensorQuads, 11, true));
  EXPECT_TRUE(serves(Form::kTensorTiles, 3, false));
  EXPECT_TRUE(serves(Form::kTensorWarpgroups, 3, true));
  EXPECT_FALSE(serves(Form::kTensorWarpgroups, 3, false));
  EXPECT_FALSE(serves(Form::kTensorWarpgroups, 255, true));
}

TEST(TensorForms, ATileThatDoesNotFitIsNone) {
  const FrameFormat grey = frame_of({plane_of(1)});
  EXPECT_TRUE(tensor_form_serves(Form::kTensorTiles, grey, square(255), 1, {kShared, false}));
  EXPECT_FALSE(tensor_form_serves(Form::kTensorTiles, grey, square(255), 1, {48 * 1024, false}));
}

TEST(TensorForms, AnEpilogueOfTheirOwnKeepsComponentsFromPairs) {
  for (const bool wide : {false, true}) {
    FrameFormat uv = frame_of({wide ? wide_plane_of(2) : plane_of(2)});
    const auto pairs = [&uv, wide] {
      return tensor_form_serves(wide ? Form::kTensorOctets : Form::kTensorPairs, uv, square(3), 1,
                                {kShared, true});
    };
    EXPECT_TRUE(pairs());
    uv.planes[0].components[1].black = 128;
    EXPECT_FALSE(pairs());
    uv.planes[0].components[1].black = 0;
    uv.planes[0].components[1].filtered = false;
    EXPECT_FALSE(pairs());
  }
}

TEST(TensorForms, OctetsServeOneOrTwoComponentsOfTwoBytes) {
  const auto serves = [](const FrameFormat& format, int side) {
    return tensor_form_serves(Form::kTensorOctets, format, square(side), 1, {kShared, false});
  };
  EXPECT_TRUE(serves(frame_of({wide_plane_of(1), wide_plane_of(2)}), 9));
  EXPECT_FALSE(serves(frame_of({wide_plane_of(1), wide_plane_of(2)}), 11));
  EXPECT_FALSE(serves(frame_of({wide_plane_of(3)}), 3));
  EXPECT_FALSE(serves(frame_of({plane_of(1)}), 3));
}

// Two output rows see a row more than the mask has and eight seven more, in whole row groups of
// four; windows of sixteen samples reach four to either side of eight.
TEST(TensorForms, OctetsSeeUpToFourGroups) {
  const auto row_groups = [](int side) {
    const OctetWindow window = octet_window(wide_plane_of(1), square(side), true);
    return std::pair(window.product_row_groups, window.row_groups);
  };
  EXPECT_EQ(row_groups(1), std::pair(1, 3));
  EXPECT_EQ(row_groups(3), std::pair(1, 3));
  EXPECT_EQ(row_groups(4), std::pair(2, 3));
  EXPECT_EQ(row_groups(5), std::pair(2, 3));
  EXPECT_EQ(row_groups(6), std::pair(2, 4));
  EXPECT_EQ(row_groups(7), std::pair(2, 4));
  EXPECT_EQ(row_groups(8), std::pair(3, 4));
  EXPECT_EQ(row_groups(9), std::pair(3, 4));
  EXPECT_EQ(row_groups(10), std::pair(0, 0));
  Mask wide = square(9);
  wide.height = 3;
  EXPECT_EQ(octet_window(wide_plane_of(2), wide, true).product_row_groups, 3)
      << "products that are not sparse";
  wide.anchor_x = 5;
  EXPECT_EQ(octet_window(wide_plane_of(2), wide, true).product_row_groups, 0);
  wide.anchor_x = 3;
  EXPECT_EQ(octet_window(wide_plane_of(2), wide, true).product_row_groups, 0);
}

TEST(TensorForms, OctetsAreSparseUpToEightColumns) {
  const auto sparse = [](int side, bool products) {
    return octet_window(wide_plane_of(1), square(side), products).sparse;
  };
  EXPECT_TRUE(sparse(1, true));
  EXPECT_TRUE(sparse(8, true));
  EXPECT_FALSE(sparse(9, true));
  EXPECT_FALSE(sparse(3, false)) << "compute capability 7.5 has no sparse products";
  EXPECT_EQ(octet_window(wide_plane_of(1), square(3), false).product_row_groups, 3);
}

TEST(TensorForms, PairsOfPackedComponents) {
  FrameFormat format = unit::yuy2(3840, 2160);
  const auto pairs = [&format](const Mask& mask) {
    return tensor_form_serves(Form::kTensorPackedPairs, format, mask, 1, {kShared, false});
  };
  EXPECT_TRUE(pairs(square(3)));
  EXPECT_TRUE(pairs(square(7)));
  EXPECT_FALSE(pairs(square(9)));
  Mask off = square(5);
  off.anchor_x = 4;
  EXPECT_TRUE(pairs(off));
  off.anchor_x = 0;
  EXPECT_FALSE(pairs(off)) << "the second output of a pair reaches beyond its window";
  format.planes[0].components[2].black = 16;
  EXPECT_FALSE(pairs(square(3))) << "one epilogue for both chroma";
  format = unit::yuy2(3840, 2160);
  format.planes[0].components[0].filtered = false;
  EXPECT_FALSE(pairs(square(3)));
  for (const int width : {3832, 640, 24, 16}) {
    format = unit::yuy2(width, 48);
    EXPECT_TRUE(pairs(square(3))) << width;
  }
  for (const int width : {3839, 3836, 8, 72})
    EXPECT_FALSE(packed_columns_serve(unit::yuy2(width, 48).planes[0])) << width;
}

TEST(TensorForms, QuadsOfPackedComponents) {
  FrameFormat format = unit::yuy2(3840, 2160);
  const auto quads = [&format](const Mask& mask) {
    return tensor_form_serves(Form::kTensorPackedQuads, format, mask, 2, {kShared, false});
  };
  EXPECT_TRUE(quads(square(9)));
  EXPECT_FALSE(quads(square(11)));
  Mask off = square(5);
  for (const int anchor : {0, 4}) {
    off.anchor_x = anchor;
    EXPECT_TRUE(quads(off)) << "four samples to a side";
  }
  off = square(9);
  off.anchor_x = 5;
  EXPECT_FALSE(quads(off));
  format.planes[0].components[2].black = 16;
  EXPECT_FALSE(quads(square(9))) << "one epilogue for both chroma";
  format = unit::yuy2(3836, 2160);
  EXPECT_FALSE(quads(square(9))) << "part of a column";
}

TEST(TensorForms, Products) {
  EXPECT_EQ(tensor_products(Form::kTensorPairs, plane_of(1), square(5), 1), 3);
  EXPECT_EQ(tensor_products(Form::kTensorPairs, plane_of(1), square(7), 2), 8);
  EXPECT_EQ(tensor_products(Form::kTensorQuads, plane_of(1), square(9), 2), 12);
  EXPECT_EQ(tensor_products(Form::kTensorLargeQuads, plane_of(1), square(13), 2), 25);
  EXPECT_EQ(tensor_products(Form::kTensorOctets, wide_plane_of(2), square(5), 2), 4);
  EXPECT_EQ(tensor_products(Form::kTensorOctets, wide_plane_of(1), square(9), 3), 18);
  EXPECT_EQ(tensor_products(Form::kTensorSliding, plane_of(1), square(9), 1), 9);
  EXPECT_EQ(tensor_products(Form::kTensorColumns, plane_of(1), square(31), 1), 62);
  EXPECT_EQ(tensor_products(Form::kTensorTiles, plane_of(4), square(31), 1), 38);
  EXPECT_EQ(tensor_products(Form::kTensorTiles, plane_of(1), square(15), 2), 22);
  EXPECT_EQ(tensor_products(Form::kTensorWarpgroups, plane_of(1), square(31), 2), 2 * (34 + 17));
}

// Small pairs see both outputs' taps: windows are of eight bytes.
TEST(TensorForms, PairsServeWhatSpansEightBytes) {
  const auto served = [](int components, int width, int anchor) {
    const PlaneFormat plane = plane_of(components);
    Mask mask;
    mask.width = width;
    mask.height = 3;
    mask.anchor_x = anchor;
    return pair_window(plane, byte_phases(plane).value(), mask).row_groups > 0;
  };
  EXPECT_TRUE(served(1, 7, 3));
  EXPECT_FALSE(served(1, 7, 0)) << "all of it to the right: windows start three or four before";
  EXPECT_FALSE(served(1, 8, 4));
  EXPECT_TRUE(served(2, 3, 1));
  EXPECT_TRUE(served(3, 3, 1));
  EXPECT_FALSE(served(4, 3, 1));
  EXPECT_TRUE(served(4, 1, 0));
}

// Components are parted where their bytes span too much, and only then.
TEST(TensorForms, PairsPartComponents) {
  const auto window = [](int components, int side) {
    const PlaneFormat plane = plane_of(components);
    return pair_window(plane, byte_phases(plane).value(), square(side));
  };
  for (const int components : {2, 3}) {
    EXPECT_EQ(window(components, 3).deinterleaved, 1);
    for (const int side : {5, 7}) {
      if (components == 3 && side == 7) continue;
      EXPECT_EQ(window(components, side).deinterleaved, components);
      EXPECT_EQ(window(components, side).shift, window(1, side).shift);
      EXPECT_EQ(window(components, side).row_groups, window(1, side).row_groups);
    }
    EXPECT_EQ(window(components, 9).row_groups, 0);
  }
  EXPECT_EQ(window(3, 7).row_groups, 0) << "quads take it";
}

// Of four bytes of a pixel, that at either end is copied.
TEST(TensorForms, PairsPartPixelsThatCopyAByte) {
  PlaneFormat plane = plane_of(4);
  const auto parts = [&plane](int side) {
    const PairWindow window = pair_window(plane, byte_phases(plane).value(), square(side));
    return window.row_groups == 0 ? 0 : window.deinterleaved;
  };
  EXPECT_EQ(parts(1), 1);
  EXPECT_EQ(parts(3), 0) << "nothing is copied";
  for (const int copied : {0, 1, 2, 3}) {
    plane = plane_of(4);
    plane.components[copied].filtered = false;
    for (const int side : {1, 3, 5})
      EXPECT_EQ(parts(side), copied == 0 || copied == 3 ? 4 : 0) << copied;
  }
  plane.row_bytes += 4;
  EXPECT_EQ(parts(3), 0) << "rows end with bytes of no pixel";
}

TEST(TensorForms, PixelsComeWithNoOtherPlanes) {
  const auto serve = [](Form form, std::initializer_list<PlaneFormat> planes) {
    return tensor_form_serves(form, frame_of(planes), square(5), 1, {kShared, true});
  };
  for (const Form form : {Form::kTensorPixelPairs, Form::kTensorPixelQuads}) {
    EXPECT_TRUE(serve(form, {plane_of(3)}));
    EXPECT_FALSE(serve(form, {plane_of(1), plane_of(2)}));
    EXPECT_FALSE(serve(form, {plane_of(1), plane_of(3)}));
    EXPECT_FALSE(serve(form, {plane_of(3), plane_of(2)}));
  }
  for (const Form form : {Form::kTensorPairs, Form::kTensorQuads}) {
    EXPECT_FALSE(serve(form, {plane_of(3)}));
    EXPECT_TRUE(serve(form, {plane_of(1), plane_of(2)}));
    EXPECT_FALSE(serve(form, {plane_of(1), plane_of(3)}));
  }
}

// Quads see four samples to either side, in nine rows, of one component or of those in turn.
TEST(TensorForms, QuadsServeMasksUpToNineByNine) {
  const auto parts = [](int components, int width, int height, int anchor) {
    Mask mask;
    mask.width = width;
    mask.height = height;
    mask.anchor_x = anchor;
    PlaneFormat plane = plane_of(components);
    if (components == 4) plane.components[3].filtered = false;
    return quad_components(plane, byte_phases(plane).value(), mask);
  };
  for (const int components : {1, 2, 3, 4})
    EXPECT_EQ(parts(components, 9, 9, 4), components);
  EXPECT_EQ(parts(1, 9, 9, 3), 0) << "five samples to the right";
  EXPECT_EQ(parts(1, 9, 9, 5), 0) << "five samples to the left";
  EXPECT_EQ(parts(1, 5, 1, 0), 1);
  EXPECT_EQ(parts(1, 5, 1, 4), 1);
  EXPECT_EQ(parts(1, 6, 1, 0), 0);
  EXPECT_EQ(parts(1, 1, 10, 0), 0);
}

// Large ones see eight, in 13 rows, of planes with one component, and only what quads do not.
TEST(TensorForms, LargeQuadsServeMasksUpToSeventeenByThirteen) {
  const auto serves = [](const PlaneFormat& plane, int width, int height, int anchor) {
    FrameFormat format;
    format.planes[format.plane_count++] = plane_of(1);
    format.planes[format.plane_count++] = plane;
    Mask mask;
    mask.width = width;
    mask.height = height;
    mask.anchor_x = anchor;
    return tensor_form_serves(Form::kTensorLargeQuads, format, mask, 1, {232448, true});
  };
  EXPECT_TRUE(serves(plane_of(1), 17, 13, 8));
  EXPECT_FALSE(serves(plane_of(1), 17, 13, 7)) << "nine samples to the right";
  EXPECT_FALSE(serves(plane_of(1), 17, 13, 9)) << "nine samples to the left";
  EXPECT_FALSE(serves(plane_of(1), 1, 14, 0));
  EXPECT_TRUE(serves(plane_of(1), 1, 10, 0));
  EXPECT_TRUE(serves(plane_of(1), 6, 1, 0));
  EXPECT_FALSE(serves(plane_of(1), 9, 9, 4)) << "quads do";
  EXPECT_FALSE(serves(plane_of(2), 13, 13, 6));
  EXPECT_FALSE(serves(wide_plane_of(1), 13, 13, 6));
}

}  // namespace
}  // namespace convolve
