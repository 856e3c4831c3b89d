// SPDX-License-Identifier: LGPL-2.1-or-later
// How planes split into groups of components that one launch walks together.
#include "kernels/core/base/view.h"

#include <gtest/gtest.h>

#include <type_traits>

#include "tests/unit/formats.h"

namespace convolve {
namespace {

static_assert(std::is_trivially_copyable_v<FrameView>, "views own nothing");

TEST(SampleLayout, IsThatOfPlaneAndComponent) {
  PlaneFormat plane;
  Component component;
  EXPECT_EQ(sample_layout(plane, component).max_code, 255);
  EXPECT_FALSE(sample_layout(plane, component).swap);
  plane.big_endian = true;
  EXPECT_FALSE(sample_layout(plane, component).swap) << "one byte has no order";
  plane.sample_bytes = 2;
  component.depth = 10;
  component.shift = 6;
  EXPECT_TRUE(sample_layout(plane, component).swap);
  EXPECT_EQ(sample_layout(plane, component).shift, 6);
  EXPECT_EQ(sample_layout(plane, component).max_code, 1023);
}

TEST(Rows, LieOnWhatTheirFirstAndPitchAreMultiplesOf) {
  EXPECT_TRUE(rows_lie_on(32, 48, 9, 16));
  EXPECT_TRUE(rows_lie_on(32, -48, 9, 16)) << "bottom-up";
  EXPECT_FALSE(rows_lie_on(40, 48, 9, 16));
  EXPECT_FALSE(rows_lie_on(32, 40, 2, 16));
  EXPECT_FALSE(rows_lie_on(32, -40, 2, 16));
  EXPECT_TRUE(rows_lie_on(32, 41, 1, 16)) << "no row follows";
  EXPECT_FALSE(rows_lie_on(33, 41, 1, 2));
  EXPECT_TRUE(rows_lie_on(33, 41, 9, 1));
}

TEST(ComponentGroups, Grey) {
  ComponentGroup groups[kMaxGroups];
  ASSERT_EQ(component_groups(unit::grey(7, 5), groups), 1);
  EXPECT_EQ(groups[0].count, 1);
  EXPECT_EQ(groups[0].width, 7);
  EXPECT_EQ(groups[0].height, 5);
  EXPECT_EQ(groups[0].step, 1);
  EXPECT_TRUE(groups[0].any_filtered);
}

TEST(ComponentGroups, RgbaIsOneGroupWithItsAlpha) {
  ComponentGroup groups[kMaxGroups];
  ASSERT_EQ(component_groups(unit::rgba(7, 5), groups), 1);
  EXPECT_EQ(groups[0].count, 4);
  EXPECT_EQ(groups[0].step, 4);
  for (int i = 0; i < 4; ++i)
    EXPECT_EQ(groups[0].component[i], i);
  EXPECT_TRUE(groups[0].any_filtered) << "three of four are";
}

TEST(ComponentGroups, Nv12HasOnePerPlane) {
  ComponentGroup groups[kMaxGroups];
  FrameFormat format = unit::nv12(7, 5);
  ASSERT_EQ(component_groups(format, groups), 2);
  EXPECT_EQ(groups[0].plane, 0);
  EXPECT_EQ(groups[0].count, 1);
  EXPECT_EQ(groups[0].width, 7);
  EXPECT_EQ(groups[1].plane, 1);
  EXPECT_EQ(groups[1].count, 2);
  EXPECT_EQ(groups[1].width, 4);
  EXPECT_EQ(groups[1].height, 3);
  EXPECT_EQ(groups[1].step, 2);

  for (Component& c : format.planes[1].components)
    c.filtered = false;
  component_groups(format, groups);
  EXPECT_TRUE(groups[0].any_filtered);
  EXPECT_FALSE(groups[1].any_filtered);
}

TEST(ComponentGroups, Yuy2PartsLumaFromChroma) {
  ComponentGroup groups[kMaxGroups];
  ASSERT_EQ(component_groups(unit::yuy2(7, 5), groups), 2);
  EXPECT_EQ(groups[0].plane, 0);
  EXPECT_EQ(groups[0].count, 1);
  EXPECT_EQ(groups[0].component[0], 0);
  EXPECT_EQ(groups[0].width, 7);
  EXPECT_EQ(groups[1].plane, 0);
  EXPECT_EQ(groups[1].count, 2);
  EXPECT_EQ(groups[1].component[0], 1);
  EXPECT_EQ(groups[1].component[1], 2);
  EXPECT_EQ(groups[1].width, 4);
  EXPECT_EQ(groups[1].step, 4);
}

// One pixel of luma and one of chroma have the same size but not the same step.
TEST(ComponentGroups, Yuy2OfOnePixel) {
  ComponentGroup groups[kMaxGroups];
  ASSERT_EQ(component_groups(unit::yuy2(1, 1), groups), 2);
  EXPECT_EQ(groups[0].step, 2);
  EXPECT_EQ(groups[1].step, 4);
}

TEST(ComponentGroups, NothingToDo) {
  ComponentGroup groups[kMaxGroups];
  EXPECT_EQ(component_groups(FrameFormat{}, groups), 0);
}

}  // namespace
}  // namespace convolve
