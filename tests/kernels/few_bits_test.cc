// SPDX-License-Identifier: LGPL-2.1-or-later
// Samples of fewer than eight bits in one byte, at either end of it: no video format of GStreamer's
// that the element takes has them, but the engine does, and forms for bytes must leave them alone.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>

#include "kernels/convolver.h"
#include "kernels/reference/reference.h"
#include "tests/kernels/class_frames.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

constexpr int kWidth = 150, kHeight = 21;

/// Rows that differ.
int wrong_rows(const FrameView& made, const FrameView& wanted) {
  int wrong = 0;
  for (int p = 0; p < made.format.plane_count; ++p)
    for (int y = 0; y < made.format.planes[p].rows; ++y)
      wrong += std::memcmp(made.data[p] + y * made.pitch[p], wanted.data[p] + y * wanted.pitch[p],
                           static_cast<std::size_t>(made.format.planes[p].row_bytes)) != 0;
  return wrong;
}

void expect_reference(const SampleType& type, Arrangement arrangement, const TestMask& mask,
                      KernelKind kernel) {
  SCOPED_TRACE(std::string(type.name) + " " + mask.name);
  const FrameFormat format = make_format(arrangement, type, Levels::kFull, kWidth, kHeight);
  GuardedFrame source(format, 0, false), made(format, 0, false), wanted(format, 0, false);
  fill_frame(source.view(), 7);
  source.soil_unused_bits();
  Options options;
  options.kernel = kernel;
  auto device = open_device(BackendKind::kCpu, {});
  ASSERT_TRUE(device.ok());
  auto convolver = Convolver::create(format, mask.mask, options, device.value());
  ASSERT_TRUE(convolver.ok()) << convolver.status().message();
  ASSERT_TRUE(convolver.value()->run(source.view(), made.view(), {}).ok());
  ASSERT_TRUE(device.value()->finish().ok());
  reference_run(source.view(), wanted.view(), mask.mask, {});
  EXPECT_EQ(wrong_rows(made.view(), wanted.view()), 0);
}

TEST(FewBits, EveryKernelKeepsThemWhereTheyAre) {
  constexpr SampleType kTypes[] = {{"u6-high", 1, false, 6, 2},
                                   {"u7-low", 1, false, 7, 0},
                                   {"u5-high", 1, false, 5, 3},
                                   {"u1-low", 1, false, 1, 0}};
  const TestMaskPtr box = box_mask(7, 5, Weights::kRational);
  const TestMaskPtr dense = random_mask(3, 5, Weights::kRational);
  for (const SampleType& type : kTypes)
    for (const Arrangement arrangement : {Arrangement::kPacked1, Arrangement::kRgba}) {
      for (const TestMaskPtr& mask : {box, dense})
        for (const KernelKind kernel : {KernelKind::kAuto, KernelKind::kCoarsened})
          expect_reference(type, arrangement, *mask, kernel);
      expect_reference(type, arrangement, *box, KernelKind::kBox);
      expect_reference(type, arrangement, *box, KernelKind::kSeparable);
    }
}

}  // namespace
}  // namespace convolve::testing
