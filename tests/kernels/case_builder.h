// SPDX-License-Identifier: LGPL-2.1-or-later
// How the cases of cases.h are made, suite by suite: those for every kernel in cases.cc, those for
// one kernel in kernel_cases.cc.
#pragma once

#include <utility>
#include <vector>

#include "tests/kernels/cases.h"

namespace convolve::testing {

struct Size {
  int width;
  int height;
};

inline const std::vector<Size> kShapes = {{1, 1},   {3, 3},  {5, 5},  {7, 7}, {9, 9}, {15, 15},
                                          {31, 31}, {1, 15}, {15, 1}, {2, 2}, {4, 3}, {5, 9}};
inline const std::vector<Size> kSizes = {{1, 1},  {1, 2},   {2, 1},   {3, 3},    {7, 5},    {1, 17},
                                         {17, 1}, {31, 33}, {64, 48}, {127, 65}, {320, 240}};
inline const std::vector<Size> kQuickSizes = {{1, 1}, {1, 2}, {7, 5}, {17, 1}, {31, 33}, {64, 48}};
inline const std::vector<Border> kAllBorders = {Border::kReplicate, Border::kZero, Border::kReflect,
                                                Border::kMirror, Border::kWrap};
inline const std::vector<Arrangement> kAllPacked = {Arrangement::kPacked1, Arrangement::kPacked2,
                                                    Arrangement::kPacked3, Arrangement::kPacked4};
inline const std::vector<Arrangement> kVideo = {Arrangement::kRgba, Arrangement::kXrgb,
                                                Arrangement::kI420, Arrangement::kNv12,
                                                Arrangement::kYuy2};

/// Collects the cases of one suite at a time.
class CaseBuilder {
 public:
  explicit CaseBuilder(bool quick) : quick_(quick) {}

  void matrix();
  void rank1();
  void named_masks();
  void hostile_fills();
  void offsets();
  void layouts();
  void wide_weights();
  void large_masks();
  void strips();
  void tall_boxes();
  void widths();
  void boxes();
  void shifts();
  void packed();
  void residues();
  void tiles();
  void anchors();
  void factors();
  void coarse();
  void fields();

  std::vector<Case> take() { return std::move(cases_); }

 private:
  Case& add(const char* suite, const TestMaskPtr& mask, Size size, SampleType samples = kU8) {
    Case c;
    c.suite = suite;
    c.mask = mask;
    c.width = size.width;
    c.height = size.height;
    c.samples = samples;
    c.borders = kAllBorders;
    cases_.push_back(std::move(c));
    return cases_.back();
  }

  const std::vector<Size>& sizes() const { return quick_ ? kQuickSizes : kSizes; }

  bool quick_;
  std::vector<Case> cases_;
};

}  // namespace convolve::testing
