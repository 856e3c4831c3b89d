// SPDX-License-Identifier: LGPL-2.1-or-later
// What a band of kernel `box` begins with: which rows of sums, and of the picture, are above the
// last row of its first window.
#pragma once

#include "kernels/core/shape/box_bands.h"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

/// Calls visit(first, last, times) for what rows begin to end - 1, in the picture or beside it,
/// see of its `rows` rows: first to last - 1, each so many times, and kNoSignal for none.
template <class Visit>
__device__ __forceinline__ void visit_rows(Border border, int begin, int end, int rows,
                                           Visit&& visit) {
  const bool reflects = border == Border::kReflect;
  const int period = border == Border::kWrap ? rows
                     : reflects              ? 2 * rows
                                             : (rows > 1 ? 2 * rows - 2 : 1);
#pragma unroll 1
  for (int row = begin, count; row < end; row += count) {
    const int left = end - row;
    const bool inside = row >= 0 && row < rows;
    if (!inside && (border == Border::kReplicate || border == Border::kZero)) {
      count = row < 0 ? min(left, -row) : left;
      const int edge = border == Border::kZero ? kNoSignal : (row < 0 ? 0 : rows - 1);
      visit(edge, edge + 1, count);
      continue;
    }
    int place = inside ? row : row % period;
    if (place < 0) place += period;
    if (place < rows) {
      count = min(left, rows - place);
      visit(place, place + count, 1);
    } else {  // Upwards.
      count = min(left, period - place);
      const int last = period - place + (reflects ? 0 : 1);
      visit(last - count, last, 1);
    }
  }
}

/// What is above the last row of a band's first window, as sums of steps and rows.
struct BandStart {
  static constexpr int kMost = 64;
  struct Part {
    int row;    ///< Of the picture, or of the steps' sums.
    int times;  ///< Taken away, if below 0.
  };
  int rows, steps;
  int black;    ///< Rows without signal.
  bool serves;  ///< False if there are more parts than have room.
  Part row[kMost], step[kMost];
  /// Whole steps, to which so many of the rows that leave the band's windows first are added, as
  /// they lie above them, and so many of the first that enter taken away, as they lie below.
  int leaving, entering;
};

/// Finds the parts of a start; one thread does so.
class StartFinder {
 public:
  __device__ StartFinder(const LaunchArguments& a, BandStart& start)
      : a_(a), start_(start), run_(band_run_steps(a.group.height)) {}

  /// `rows`: so many that leave and enter first, threads have anyway.
  __device__ void find(int top, bool with_steps, int rows) {
    rows_ = steps_ = 0;
    start_.leaving = start_.entering = start_.black = start_.rows = 0;
    start_.serves = true;
    if (with_steps && find_inner(top, rows)) return;
    int black = 0;
    visit_rows(a_.group.border, top, top + a_.mask.height - 1, a_.group.height,
               [&](int first, int last, int times) {
                 if (first == kNoSignal) {
                   black += times;
                 } else if (times > 1) {
                   add_row(first, times);
                 } else if (const Steps whole = steps_in(first, last);
                            with_steps && whole.begin < whole.end) {
                   add_rows(first, whole.begin * kBandStep);
                   add_steps(whole);
                   add_rows(whole.end * kBandStep, last);
                 } else {
                   add_rows(first, last);
                 }
               });
    start_.black = black;
    start_.rows = rows_;
    start_.steps = steps_;
    start_.serves = rows_ <= BandStart::kMost && steps_ <= BandStart::kMost;
  }

 private:
  struct Steps {
    int begin, end;
  };
  /// Where nothing that the band sees lies above or below the picture.
  __device__ bool find_inner(int top, int rows) {
    const int last = top + a_.mask.height - 1;  // The first row that enters.
    const Steps whole = {divide_up(top, kBandStep), divide_up(last, kBandStep)};
    if (top < 0 || last + rows > a_.group.height || whole.end > band_steps(a_.group.height) ||
        max(whole.begin * kBandStep - top, whole.end * kBandStep - last) > rows)
      return false;
    if (whole.begin < whole.end) add_steps(whole);
    if (steps_ > BandStart::kMost) {
      steps_ = 0;
      return false;
    }
    start_.leaving = whole.begin * kBandStep - top;
    start_.entering = whole.end * kBandStep - last;
    start_.steps = steps_;
    return true;
  }
  /// Those that lie between the rows, or nearly.
  __device__ Steps steps_in(int first, int last) const {
    return {(first + kBandStep / 2) / kBandStep,
            min((last + kBandStep / 2) / kBandStep, band_steps(a_.group.height))};
  }

  __device__ void add_row(int row, int times) {
    if (rows_ < BandStart::kMost) start_.row[rows_] = {row, times};
    ++rows_;
  }
  /// From one row to another, forwards or, taken away, back.
  __device__ void add_rows(int from, int to) {
    const int count = abs(to - from);
    if (rows_ + count > BandStart::kMost) rows_ += count;
#pragma unroll 1
    for (int i = 0; i < count && rows_ < BandStart::kMost; ++i)
      add_row(min(from, to) + i, from < to ? 1 : -1);
  }
  /// What is in the memory of the sums above step `end`, from the first row of its run on.
  __device__ void add_step(int end, int times) {
    if (steps_ < BandStart::kMost) start_.step[steps_] = {end - 1, times};
    ++steps_;
  }
  __device__ void add_steps(Steps whole) {
    // The first run that the steps reach into has sums from before them.
    int next = whole.begin / run_ * run_;
    if (next < whole.begin) add_step(whole.begin, -1);
#pragma unroll 1
    for (next += run_; next < whole.end; next += run_)
      add_step(next, 1);
    add_step(whole.end, 1);
  }

  const LaunchArguments& a_;
  BandStart& start_;
  int run_;
  int rows_ = 0, steps_ = 0;
};

}  // namespace
}  // namespace convolve
