// SPDX-License-Identifier: LGPL-2.1-or-later
// Which form of kernel box takes a component, and what memory bands share.
#include "kernels/core/plan/box_choice.h"

#include <gtest/gtest.h>

#include "kernels/core/shape/box_bands.h"
#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::grey;

Mask square(int side) {
  Mask mask;
  mask.width = mask.height = side;
  mask.anchor_x = mask.anchor_y = side / 2;
  return mask;
}

DeviceCapabilities device_of(int compute_capability) {
  DeviceCapabilities device;
  device.backend = BackendKind::kCuda;
  device.compute_capability = compute_capability;
  device.shared_bytes = 227 * 1024;
  device.processors = 132;
  return device;
}

BoxForm form_of(const FrameFormat& format, int side, bool bands, int compute_capability) {
  ComponentGroup groups[kMaxGroups];
  EXPECT_EQ(component_groups(format, groups, false), 1);
  return choose_box_form(format, groups[0], square(side), bands, device_of(compute_capability))
      .value()
      .form;
}

TEST(BoxChoice, BandsBeforeStripsBeforeRuns) {
  const FrameFormat bytes = grey(3840, 2160);
  EXPECT_EQ(form_of(bytes, 71, true, 90), BoxForm::kBands);
  EXPECT_EQ(form_of(bytes, 71, false, 90), BoxForm::kStrips);
  EXPECT_EQ(form_of(bytes, 71, false, 70), BoxForm::kRuns) << "no tensor cores";
  EXPECT_EQ(form_of(bytes, 301, false, 90), BoxForm::kRuns) << "sums of more than 16 bits";
  EXPECT_EQ(form_of(grey(3840, 2160, 16), 71, true, 90), BoxForm::kRuns) << "two bytes a sample";
}

TEST(BoxChoice, BandsShareOneRowForEachStep) {
  const FrameFormat format = grey(3840, 2160);
  BoxTile tiles[kMaxGroups] = {};
  EXPECT_EQ(band_memory(format, square(71), false, tiles).rows, 0u) << "runs need none";
  tiles[0].form = BoxForm::kBands;
  const BandMemory memory = band_memory(format, square(71), false, tiles);
  EXPECT_EQ(memory.rows, 2160u / kBandStep);
  EXPECT_EQ(memory.pitch, band_step_pitch(3840));
  EXPECT_EQ(band_memory(format, square(3), false, tiles).rows, 0u)
      << "they add up so few rows themselves";
}

}  // namespace
}  // namespace convolve
