// SPDX-License-Identifier: LGPL-2.1-or-later
// What tiles of kernel tensor are for which frames and masks.
#include "kernels/core/shape/tensor_tiles.h"

#include <gtest/gtest.h>

#include "tests/unit/formats.h"

namespace convolve {
namespace {

PlaneFormat plane_of(int components, int sample_bytes, int depth) {
  PlaneFormat plane;
  plane.sample_bytes = sample_bytes;
  plane.rows = 48;
  plane.component_count = components;
  plane.row_bytes = 64 * components * sample_bytes;
  for (int c = 0; c < components; ++c) {
    Component& component = plane.components[c];
    component.offset = c * sample_bytes;
    component.step = components * sample_bytes;
    component.width = 64;
    component.height = 48;
    component.depth = depth;
  }
  return plane;
}

FrameFormat frame_of(std::initializer_list<PlaneFormat> planes) {
  FrameFormat format;
  for (const PlaneFormat& plane : planes)
    format.planes[format.plane_count++] = plane;
  return format;
}

Mask mask_of(int width, int height, int anchor_x) {
  Mask mask;
  mask.width = width;
  mask.height = height;
  mask.anchor_x = anchor_x;
  return mask;
}

TEST(TensorTiles, KindsOfPlanes) {
  EXPECT_EQ(tile_kind(plane_of(1, 1, 8)), 0);
  EXPECT_EQ(tile_kind(plane_of(4, 1, 8)), 3);
  EXPECT_EQ(tile_kind(plane_of(1, 2, 10)), 4);
  EXPECT_EQ(tile_kind(plane_of(2, 2, 16)), 5);
  EXPECT_FALSE(tile_kind(plane_of(4, 2, 16))) << "no kernel for four components of two bytes";
  EXPECT_FALSE(tile_kind(plane_of(1, 1, 5))) << "a byte that is not full";
  PlaneFormat apart = plane_of(2, 1, 8);
  apart.components[1].step = 4;
  EXPECT_FALSE(tile_kind(apart)) << "a byte without a component";
  PlaneFormat copied = plane_of(2, 2, 16);
  copied.components[1].filtered = false;
  EXPECT_FALSE(tile_kind(copied));
}

TEST(TensorTiles, PackedKind) {
  PlaneFormat plane = unit::yuy2(64, 48).planes[0];
  EXPECT_EQ(tile_kind(plane), kPackedKind);
  EXPECT_EQ(byte_planes(kPackedKind), 4) << "as much luma as chroma";
  EXPECT_EQ(tile_kind(unit::yuy2(63, 48).planes[0]), kPackedKind);
  plane.components[0].offset = 1;
  plane.components[1].offset = 0;
  plane.components[2].offset = 2;
  EXPECT_EQ(tile_kind(plane), kPackedKind) << "UYVY";
  plane.components[0].width = 61;
  EXPECT_FALSE(tile_kind(plane)) << "chroma without luma";
  EXPECT_FALSE(tensor_tiles(unit::yuy2(64, 48), mask_of(9, 9, 4))) << "no kernel";
}

TEST(TensorTiles, FramesThatOneLaunchServes) {
  const Mask mask = mask_of(15, 15, 7);
  const PlaneFormat grey = plane_of(1, 1, 8), uv = plane_of(2, 1, 8), rgb = plane_of(3, 1, 8);
  EXPECT_TRUE(tensor_tiles(frame_of({grey, uv}), mask));
  EXPECT_TRUE(tensor_tiles(frame_of({plane_of(1, 2, 10), plane_of(2, 2, 10)}), mask));
  EXPECT_FALSE(tensor_tiles(frame_of({grey, rgb}), mask));
  EXPECT_FALSE(tensor_tiles(frame_of({grey, plane_of(1, 2, 10)}), mask));
  EXPECT_GT(tensor_tiles(frame_of({plane_of(1, 2, 16)}), mask)->bytes,
            tensor_tiles(frame_of({grey}), mask)->bytes);
}

// Whatever a mask's width and anchor, its taps lie within the windows of both outputs of a pair,
// and a tile is as wide as what lanes load.
TEST(TensorTiles, WindowsCoverTheMask) {
  for (int width = 1; width <= 255; ++width)
    for (const int anchor : {0, 1, width / 2, width - 1}) {
      if (anchor >= width) continue;
      const Mask mask = mask_of(width, 9, anchor);
      const TileWindow window = tile_window(mask);
      const int samples = kTileWindowSamples / window.window_rows;
      const int first = window.left - window.shift - anchor;
      ASSERT_GE(first, 0) << width << " " << anchor;
      ASSERT_LE(first + 1 + width, samples * window.segments) << width << " " << anchor;
      ASSERT_EQ(window.windows_down, (9 + 7 + window.window_rows - 1) / window.window_rows);
      const TensorTile tile = tensor_tiles(frame_of({plane_of(1, 1, 8)}), mask).value().tile[0];
      const int last_lane = tile.margin - window.left + 256 - 16 +
                            (window.window_rows == 2 ? 8 : 24) +
                            kTileWindowSamples * (window.segments - 1);
      ASSERT_LE(last_lane + 24, tile.pitch) << width << " " << anchor;
      ASSERT_GE(tile.rows, kTensorTileRows + mask.height - 1);
    }
}

TEST(TensorTiles, NarrowMasksTakeTwoRowsAtOnce) {
  EXPECT_EQ(tile_window(mask_of(15, 15, 7)).window_rows, 2);
  EXPECT_EQ(tile_window(mask_of(15, 15, 7)).windows_down, 11);
  EXPECT_EQ(tile_window(mask_of(31, 31, 15)).window_rows, 1);
  EXPECT_EQ(tile_window(mask_of(31, 31, 15)).segments, 1);
  EXPECT_EQ(tile_window(mask_of(63, 63, 31)).segments, 2);
}

}  // namespace
}  // namespace convolve
