// SPDX-License-Identifier: LGPL-2.1-or-later
// What a block of kernel tensor keeps in shared memory for products of warpgroups.
#include "kernels/core/shape/tensor_warpgroups.h"

#include <gtest/gtest.h>

#include "tests/unit/formats.h"

namespace convolve {
namespace {

constexpr std::size_t kShared = 227 * 1024;

FrameFormat frame_of(int planes, int components, int sample_bytes) {
  FrameFormat format;
  format.plane_count = planes;
  for (int p = 0; p < planes; ++p) {
    PlaneFormat& plane = format.planes[p];
    plane.sample_bytes = sample_bytes;
    plane.rows = 48;
    plane.component_count = components;
    plane.row_bytes = 64 * components * sample_bytes;
    for (int c = 0; c < components; ++c) {
      plane.components[c].offset = c * sample_bytes;
      plane.components[c].step = components * sample_bytes;
      plane.components[c].width = 64;
      plane.components[c].height = 48;
      plane.components[c].depth = 8 * sample_bytes;
    }
  }
  return format;
}

Mask mask_of(int width, int height, int anchor_x) {
  Mask mask;
  mask.width = width;
  mask.height = height;
  mask.anchor_x = anchor_x;
  return mask;
}

TEST(TensorWarpgroups, UnitsHoldWhatSixteenOutputsSee) {
  for (int width = 1; width <= 255; ++width)
    for (const int anchor : {0, 1, width / 2, width - 1}) {
      if (anchor >= width) continue;
      const WarpgroupWindow window = warpgroup_window(mask_of(width, 5, anchor));
      const int right = width - 1 - anchor;
      ASSERT_EQ(window.left % 8, 0);
      ASSERT_GE(window.left, anchor) << width;
      ASSERT_GE(kWarpgroupUnit * window.units, window.left + kWarpgroupUnit + right) << width;
    }
}

TEST(TensorWarpgroups, ProductsOfAPairOfUnitsAndOfAnOddOne) {
  const auto products = [](int width, int height) {
    return warpgroup_window(mask_of(width, height, width / 2)).products;
  };
  EXPECT_EQ(products(9, 9), 12) << "two units, twelve rows";
  EXPECT_EQ(products(31, 31), 34 + 17) << "three units: two rows at once of the last";
  EXPECT_EQ(products(31, 30), 33 + 17);
  EXPECT_EQ(products(1, 5), 4) << "one unit";
}

TEST(TensorWarpgroups, MemoryHoldsTheWeightsAndAtLeastTwoTiles) {
  const Mask mask = mask_of(31, 31, 15);
  const TensorWarpgroups grey = tensor_warpgroups(frame_of(1, 1, 1), mask, 2, kShared).value();
  EXPECT_EQ(grey.tile.rows, 94);
  EXPECT_EQ(grey.tile.pitch, 160);
  EXPECT_EQ(grey.stage_bytes, 94 * 160);
  EXPECT_EQ(grey.digit_bytes, 2 * 37 * 512);
  EXPECT_EQ(grey.weight_bytes, 2 * grey.digit_bytes);
  EXPECT_EQ(grey.stages, kMostWarpgroupStages);
  const TensorWarpgroups rgba = tensor_warpgroups(frame_of(1, 4, 1), mask, 2, kShared).value();
  EXPECT_EQ(rgba.stages, 2);
  for (const TensorWarpgroups& warpgroups : {grey, rgba}) {
    EXPECT_LE(warpgroups.bytes, kShared);
    EXPECT_EQ(warpgroups.bytes,
              static_cast<std::size_t>(warpgroups.stages * warpgroups.stage_bytes +
                                       warpgroups.weight_bytes + kWarpgroupBarrierBytes));
  }
  EXPECT_FALSE(tensor_warpgroups(frame_of(1, 4, 1), mask, 3, kShared)) << "one tile";
  EXPECT_FALSE(tensor_warpgroups(frame_of(1, 1, 1), mask, 2, 64 * 1024));
}

// Luma of packed 4:2:2 begins somewhat before its tile.
TEST(TensorWarpgroups, PackedTilesHaveALead) {
  const FrameFormat yuy2 = unit::yuy2(3840, 2160);
  const TensorWarpgroups warpgroups =
      tensor_warpgroups(yuy2, mask_of(31, 31, 15), 2, kShared).value();
  EXPECT_EQ(warpgroups.lead, 16);
  EXPECT_EQ(warpgroups.stage_bytes, 16 + 4 * 94 * 160);
  EXPECT_EQ(warpgroups.stages, 2);
  EXPECT_EQ(tensor_warpgroups(yuy2, mask_of(15, 15, 7), 1, kShared).value().lead, 16) << "of 8";
  EXPECT_EQ(tensor_warpgroups(yuy2, mask_of(15, 15, 0), 1, kShared).value().lead, 0);
  EXPECT_EQ(tensor_warpgroups(frame_of(1, 4, 1), mask_of(15, 15, 7), 1, kShared).value().lead, 0);
}

TEST(TensorWarpgroups, PlanesInOneLaunch) {
  const Mask mask = mask_of(9, 9, 4);
  EXPECT_TRUE(tensor_warpgroups(frame_of(1, 1, 1), mask, 1, kShared).value().one_plane);
  EXPECT_FALSE(tensor_warpgroups(frame_of(3, 1, 1), mask, 1, kShared).value().one_plane);
  EXPECT_EQ(tensor_warpgroups(frame_of(1, 2, 2), mask, 1, kShared).value().kinds, 0b100000u);
  EXPECT_FALSE(tensor_warpgroups(frame_of(1, 4, 2), mask, 1, kShared)) << "no kernel";
}

// A stage that two producers shared could be filled while it was still read.
TEST(TensorWarpgroups, StagesAreOneProducersEach) {
  for (int side = 3; side <= 31; side += 2) {
    for (const int digits : {1, 2}) {
      const auto warpgroups =
          tensor_warpgroups(frame_of(1, 4, 1), mask_of(side, side, side / 2), digits, kShared);
      if (!warpgroups) continue;
      EXPECT_EQ(warpgroups->stages % warpgroup_producers(warpgroups->kinds), 0)
          << side << ' ' << digits;
    }
  }
  EXPECT_EQ(tensor_warpgroups(frame_of(1, 4, 1), mask_of(31, 31, 15), 1, kShared).value().stages, 2)
      << "three would fit";
}

}  // namespace
}  // namespace convolve
