// SPDX-License-Identifier: LGPL-2.1-or-later
// Codes in and out of memory.
#include "kernels/core/base/sample.h"

#include <gtest/gtest.h>

namespace convolve {
namespace {

TEST(Sample, OneByte) {
  EXPECT_EQ(decode_sample(std::uint8_t{200}, {}), 200);
  EXPECT_EQ(encode_sample<std::uint8_t>(200, {}), 200);
  EXPECT_EQ(decode_sample(std::uint8_t{0xB7}, {4, false}), 0xB);
  EXPECT_EQ(encode_sample<std::uint8_t>(0xB, {4, false}), 0xB0);
}

TEST(Sample, TwoBytesInEitherOrder) {
  EXPECT_EQ(decode_sample(std::uint16_t{0x1234}, {}), 0x1234);
  EXPECT_EQ(decode_sample(std::uint16_t{0x1234}, {0, true}), 0x3412);
  EXPECT_EQ(encode_sample<std::uint16_t>(0x3412, {0, true}), 0x1234);
  EXPECT_EQ(swap_bytes(0xFF00), 0x00FF);
}

// P010: ten bits at the top; what lies below them is ignored when read and 0 when written.
TEST(Sample, ShiftedCodes) {
  const SampleLayout p010 = {6, false};
  EXPECT_EQ(decode_sample(std::uint16_t{0xFFFF}, p010), 1023);
  EXPECT_EQ(encode_sample<std::uint16_t>(1023, p010), 0xFFC0);
  EXPECT_EQ(decode_sample(std::uint16_t{0xC0FF}, {6, true}), 1023);
  EXPECT_EQ(encode_sample<std::uint16_t>(1023, {6, true}), 0xC0FF);
}

// Ten bits at the bottom, as I420_10LE has them: what lies above them is ignored, too.
TEST(Sample, BitsAboveTheDepthDoNotCount) {
  EXPECT_EQ(decode_sample(std::uint16_t{0xFFFF}, {0, false, 1023}), 1023);
  EXPECT_EQ(decode_sample(std::uint16_t{0xFC01}, {0, false, 1023}), 1);
  EXPECT_EQ(decode_sample(std::uint16_t{0x01FC}, {0, true, 1023}), 1);
  EXPECT_EQ(decode_sample(std::uint16_t{0xA5A5}, {4, false, 255}), 0x5A) << "on both sides";
  EXPECT_EQ(decode_sample(std::uint8_t{0xF9}, {0, false, 15}), 9);
}

TEST(Sample, EveryCodeComesBack) {
  for (int depth = 8; depth <= 16; ++depth)
    for (bool swap : {false, true}) {
      const SampleLayout layout = {16 - depth, swap, (1 << depth) - 1};
      for (int code = 0; code < 1 << depth; ++code)
        ASSERT_EQ(decode_sample(encode_sample<std::uint16_t>(code, layout), layout), code)
            << depth << " " << swap;
    }
}

}  // namespace
}  // namespace convolve
