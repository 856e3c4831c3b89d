// SPDX-License-Identifier: LGPL-2.1-or-later
// What launches still write, and what they do not.
#include "kernels/core/base/recent_writes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace convolve {
namespace {

constexpr int kRows = 6, kRowBytes = 10, kPitch = 16;

class Writes : public ::testing::Test {
 protected:
  RowSpan rows(int first, int count) const {
    return {memory_.data() + first * kPitch, kPitch, kRowBytes, count};
  }
  /// The same rows, the last one first.
  RowSpan bottom_up(int first, int count) const {
    return {memory_.data() + (first + count - 1) * kPitch, -kPitch, kRowBytes, count};
  }

  std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(4096 * kPitch);
  RecentWrites writes_;
};

TEST_F(Writes, NothingIsWrittenAtFirst) {
  EXPECT_TRUE(writes_.settled(rows(0, kRows)));
}

TEST_F(Writes, WhatOverlapsIsNotSettled) {
  writes_.add(rows(10, kRows));
  for (int first = 0; first < 30; ++first)
    for (int count = 1; count < 10; ++count) {
      const bool apart = first + count <= 10 || first >= 10 + kRows;
      EXPECT_EQ(writes_.settled(rows(first, count)), apart) << first << " " << count;
      EXPECT_EQ(writes_.settled(bottom_up(first, count)), apart) << first << " " << count;
    }
}

TEST_F(Writes, BottomUp) {
  writes_.add(bottom_up(10, kRows));
  EXPECT_TRUE(writes_.settled(rows(0, 10)));
  EXPECT_FALSE(writes_.settled(rows(9, 2)));
  EXPECT_FALSE(writes_.settled(rows(10 + kRows - 1, 2)));
  EXPECT_TRUE(writes_.settled(rows(10 + kRows, 2)));
}

TEST_F(Writes, EndWithAWait) {
  writes_.add(rows(10, kRows));
  writes_.clear();
  EXPECT_TRUE(writes_.settled(rows(10, kRows)));
}

TEST_F(Writes, NoRowsAreNeverWritten) {
  writes_.add(rows(10, 0));
  EXPECT_TRUE(writes_.settled(rows(0, 20)));
  writes_.add(rows(10, 1));
  EXPECT_TRUE(writes_.settled(rows(10, 0)));
}

// A pool of frames fits for ever; of more than there is room for, anything may be.
TEST_F(Writes, BeyondItsRoomNothingIsSettled) {
  const int most = static_cast<int>(RecentWrites::kMost);
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < most; ++i)
      writes_.add(rows(2 * i, 1));
  EXPECT_FALSE(writes_.settled(rows(2 * (most - 1), 1)));
  EXPECT_TRUE(writes_.settled(rows(1, 1)));
  writes_.add(rows(2 * most, 1));
  EXPECT_FALSE(writes_.settled(rows(1, 1)));
  writes_.clear();
  EXPECT_TRUE(writes_.settled(rows(1, 1)));
}

}  // namespace
}  // namespace convolve
