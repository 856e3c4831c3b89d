// SPDX-License-Identifier: LGPL-2.1-or-later
// What ghost cells read, against tables written by hand. '.' is a cell without signal.
#include "kernels/core/base/border.h"

#include <gtest/gtest.h>

#include <climits>
#include <string>

namespace convolve {
namespace {

/// The cells that positions -`before` .. n - 1 + `after` read, as letters.
std::string row_of(Border border, int n, int before, int after) {
  std::string row;
  for (int i = -before; i < n + after; ++i) {
    const int cell = border_index(border, i, n);
    row += cell == kNoSignal ? '.' : static_cast<char>('a' + cell);
  }
  return row;
}

TEST(Border, FourCells) {
  EXPECT_EQ(row_of(Border::kReplicate, 4, 3, 3), "aaaabcdddd");
  EXPECT_EQ(row_of(Border::kZero, 4, 3, 3), "...abcd...");
  EXPECT_EQ(row_of(Border::kReflect, 4, 3, 3), "cbaabcddcb");
  EXPECT_EQ(row_of(Border::kMirror, 4, 3, 3), "dcbabcdcba");
  EXPECT_EQ(row_of(Border::kWrap, 4, 3, 3), "bcdabcdabc");
}

TEST(Border, FartherThanThePicture) {
  EXPECT_EQ(row_of(Border::kReplicate, 3, 8, 8), "aaaaaaaaabccccccccc");
  EXPECT_EQ(row_of(Border::kZero, 3, 8, 8), "........abc........");
  EXPECT_EQ(row_of(Border::kReflect, 3, 8, 8), "baabccbaabccbaabccb") << "period 6";
  EXPECT_EQ(row_of(Border::kMirror, 3, 8, 8), "abcbabcbabcbabcbabc") << "period 4";
  EXPECT_EQ(row_of(Border::kWrap, 3, 8, 8), "bcabcabcabcabcabcab") << "period 3";
}

TEST(Border, TwoCells) {
  EXPECT_EQ(row_of(Border::kReplicate, 2, 4, 4), "aaaaabbbbb");
  EXPECT_EQ(row_of(Border::kZero, 2, 4, 4), "....ab....");
  EXPECT_EQ(row_of(Border::kReflect, 2, 4, 4), "abbaabbaab");
  EXPECT_EQ(row_of(Border::kMirror, 2, 4, 4), "ababababab");
  EXPECT_EQ(row_of(Border::kWrap, 2, 4, 4), "ababababab");
}

TEST(Border, OneCell) {
  EXPECT_EQ(row_of(Border::kReplicate, 1, 3, 3), "aaaaaaa");
  EXPECT_EQ(row_of(Border::kZero, 1, 3, 3), "...a...");
  EXPECT_EQ(row_of(Border::kReflect, 1, 3, 3), "aaaaaaa");
  EXPECT_EQ(row_of(Border::kMirror, 1, 3, 3), "aaaaaaa");
  EXPECT_EQ(row_of(Border::kWrap, 1, 3, 3), "aaaaaaa");
}

TEST(Border, AlwaysWithinTheAxis) {
  for (int b = 0; b < kBorderCount; ++b)
    for (int n : {1, 2, 3, 7, 32768})
      for (int i : {-1000003, -40000, -255, -1, 0, n - 1, n, n + 255, 40000, 1000003}) {
        const int cell = border_index(static_cast<Border>(b), i, n);
        if (static_cast<Border>(b) == Border::kZero && (i < 0 || i >= n)) {
          EXPECT_EQ(cell, kNoSignal);
        } else {
          EXPECT_TRUE(cell >= 0 && cell < n) << b << " " << n << " " << i << " " << cell;
        }
      }
}

}  // namespace
}  // namespace convolve
