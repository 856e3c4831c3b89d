// SPDX-License-Identifier: LGPL-2.1-or-later
// Which form of kernel box takes a component, and what memory bands share.
#include "kernels/core/plan/box_choice.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "kernels/core/shape/box_bands.h"
#include "tests/unit/formats.h"

namespace convolve {
namespace {

using unit::grey;
using unit::mask_of;
using unit::nv12;

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

BoxForm tile_of(const FrameFormat& format, int group, Form form) {
  ComponentGroup groups[kMaxGroups];
  EXPECT_LT(group, component_groups(format, groups, false));
  return choose_box_form(format, groups[group], square(71), form, device_of(90)).value().form;
}

TEST(BoxChoice, TilesAreThoseOfTheForm) {
  const FrameFormat bytes = grey(3840, 2160);
  EXPECT_EQ(tile_of(bytes, 0, Form::kBoxBands), BoxForm::kBands);
  EXPECT_EQ(tile_of(bytes, 0, Form::kBoxStrips), BoxForm::kStrips);
  EXPECT_EQ(tile_of(bytes, 0, Form::kBoxRuns), BoxForm::kRuns);
  const FrameFormat interleaved = nv12(3840, 2160);
  EXPECT_EQ(tile_of(interleaved, 0, Form::kBoxStripsRuns), BoxForm::kStrips);
  EXPECT_EQ(tile_of(interleaved, 1, Form::kBoxStripsRuns), BoxForm::kRuns);
}

/// What is planned for kernel box, or asked for and refused: then nothing.
std::optional<Form> planned(const FrameFormat& format, int side, int compute_capability,
                            std::optional<Form> asked = std::nullopt) {
  Options options;
  options.kernel = KernelKind::kBox;
  options.form = asked;
  const Result<Plan> plan = make_plan(format, mask_of(("box:" + std::to_string(side)).c_str()),
                                      options, device_of(compute_capability));
  return plan.ok() ? std::optional(plan.value().form) : std::nullopt;
}

TEST(BoxChoice, StripsWhereTensorCoresServe) {
  const FrameFormat bytes = grey(64, 3);
  EXPECT_EQ(planned(bytes, 71, 90, Form::kBoxStrips), Form::kBoxStrips);
  EXPECT_EQ(planned(bytes, 71, 90, Form::kBoxBands), Form::kBoxBands);
  EXPECT_EQ(planned(bytes, 71, 90, Form::kBoxRuns), Form::kBoxRuns);
  EXPECT_EQ(planned(bytes, 71, 90, Form::kBoxStripsRuns), std::nullopt) << "no other planes";
  EXPECT_EQ(planned(bytes, 71, 70, Form::kBoxStrips), std::nullopt) << "no tensor cores";
  EXPECT_EQ(planned(bytes, 301, 90, Form::kBoxStrips), std::nullopt) << "sums beyond 16 bits";
  EXPECT_EQ(planned(nv12(640, 480), 71, 90), Form::kBoxStripsRuns);
  EXPECT_EQ(planned(nv12(640, 480), 71, 90, Form::kBoxBands), std::nullopt);
  EXPECT_EQ(planned(grey(640, 480, 16), 71, 90), Form::kBoxRuns) << "two bytes a sample";
}

TEST(BoxChoice, BandsShareOneRowForEachCheckpoint) {
  const FrameFormat format = grey(3840, 2160);
  BoxTile tiles[kMaxGroups] = {};
  EXPECT_EQ(band_memory(format, square(71), false, tiles).rows, 0u) << "runs need none";
  tiles[0].form = BoxForm::kBands;
  const BandMemory memory = band_memory(format, square(71), false, tiles);
  EXPECT_EQ(memory.rows, 2160u / kBandInterval);
  EXPECT_EQ(memory.pitch, band_checkpoint_pitch(3840));
  EXPECT_EQ(band_memory(format, square(3), false, tiles).rows, 0u)
      << "they add up so few rows themselves";
}

}  // namespace
}  // namespace convolve
