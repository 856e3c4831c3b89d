// SPDX-License-Identifier: LGPL-2.1-or-later
// The initial column sums of a band of kernel `box`: the rows below the mask of its first output
// row but the last one, as a sum of checkpoints and rows of the picture.
#pragma once

#include "kernels/core/shape/box_bands.h"
#include "kernels/cuda/device/kernel.cuh"

namespace convolve {
namespace {

/// Applies the border to rows begin to end - 1 of a picture of `rows` rows. Calls visit(first,
/// last, times) for each sequence of them: rows first to last - 1 of the picture, each counted
/// `times` times, or kNoSignal for rows without signal.
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
    int position = inside ? row : row % period;
    if (position < 0) position += period;
    if (position < rows) {
      count = min(left, rows - position);
      visit(position, position + count, 1);
    } else {  // Reflected: the border walks the picture upwards.
      count = min(left, period - position);
      const int last = period - position + (reflects ? 0 : 1);
      visit(last - count, last, 1);
    }
  }
}

/// Initial column sums as a sum of terms.
struct InitialSum {
  static constexpr int kMostTerms = 64;
  struct Term {
    int row;     ///< Of the picture, or of the checkpoints' memory.
    int factor;  ///< How often the row is added; negative: subtracted.
  };
  int rows, checkpoints;
  int black;    ///< How many rows without signal there are.
  bool serves;  ///< False if there are more terms than have room.
  Term row[kMostTerms], checkpoint[kMostTerms];
  /// Where checkpoints cover whole intervals inside the picture, the difference at either end is
  /// rows that the band's threads hold anyway: the first `leaving` rows that leave lie above the
  /// intervals and are added, the first `entering` rows that enter lie in the last interval and are
  /// subtracted.
  int leaving, entering;
};

/// Finds the terms of initial column sums; one thread of a block does so.
class InitialSumFinder {
 public:
  __device__ InitialSumFinder(const LaunchArguments& a, InitialSum& sum)
      : a_(a), sum_(sum), segment_(band_segment_intervals(a.group.height)) {}

  /// Finds the terms for a band whose first output row sees rows from `top` on. `rows`: how many
  /// rows that leave, and that enter, threads hold anyway.
  __device__ void find(int top, bool with_checkpoints, int rows) {
    rows_ = checkpoints_ = 0;
    sum_.leaving = sum_.entering = sum_.black = sum_.rows = 0;
    sum_.serves = true;
    if (with_checkpoints && find_interior(top, rows)) return;
    int black = 0;
    visit_rows(a_.group.border, top, top + a_.mask.height - 1, a_.group.height,
               [&](int first, int last, int times) {
                 if (first == kNoSignal) {
                   black += times;
                 } else if (times > 1) {
                   add_row(first, times);
                 } else if (const Intervals intervals = intervals_between(first, last);
                            with_checkpoints && intervals.begin < intervals.end) {
                   add_rows(first, intervals.begin * kBandInterval);
                   add_intervals(intervals);
                   add_rows(intervals.end * kBandInterval, last);
                 } else {
                   add_rows(first, last);
                 }
               });
    sum_.black = black;
    sum_.rows = rows_;
    sum_.checkpoints = checkpoints_;
    sum_.serves = rows_ <= InitialSum::kMostTerms && checkpoints_ <= InitialSum::kMostTerms;
  }

 private:
  struct Intervals {
    int begin, end;
  };
  /// Tries the case where the band sees no row beyond the picture; false if it is another one.
  __device__ bool find_interior(int top, int rows) {
    const int last = top + a_.mask.height - 1;  // The first row that enters.
    const Intervals intervals = {divide_up(top, kBandInterval), divide_up(last, kBandInterval)};
    if (top < 0 || last + rows > a_.group.height ||
        intervals.end > band_intervals(a_.group.height) ||
        max(intervals.begin * kBandInterval - top, intervals.end * kBandInterval - last) > rows)
      return false;
    if (intervals.begin < intervals.end) add_intervals(intervals);
    if (checkpoints_ > InitialSum::kMostTerms) {
      checkpoints_ = 0;
      return false;
    }
    sum_.leaving = intervals.begin * kBandInterval - top;
    sum_.entering = intervals.end * kBandInterval - last;
    sum_.checkpoints = checkpoints_;
    return true;
  }
  /// The whole intervals that come closest to rows first to last - 1: their ends are at most half
  /// an interval away, inside or outside.
  __device__ Intervals intervals_between(int first, int last) const {
    return {(first + kBandInterval / 2) / kBandInterval,
            min((last + kBandInterval / 2) / kBandInterval, band_intervals(a_.group.height))};
  }

  __device__ void add_row(int row, int times) {
    if (rows_ < InitialSum::kMostTerms) sum_.row[rows_] = {row, times};
    ++rows_;
  }
  /// Adds rows from .. to - 1, or, if `to` lies above `from`, subtracts rows to .. from - 1.
  __device__ void add_rows(int from, int to) {
    const int count = abs(to - from);
    if (rows_ + count > InitialSum::kMostTerms) rows_ += count;
#pragma unroll 1
    for (int i = 0; i < count && rows_ < InitialSum::kMostTerms; ++i)
      add_row(min(from, to) + i, from < to ? 1 : -1);
  }
  /// Adds or subtracts the checkpoint at the end of interval `end` - 1, which has the rows from the
  /// start of its segment on.
  __device__ void add_checkpoint(int end, int times) {
    if (checkpoints_ < InitialSum::kMostTerms) sum_.checkpoint[checkpoints_] = {end - 1, times};
    ++checkpoints_;
  }
  __device__ void add_intervals(Intervals intervals) {
    // The checkpoint of the first segment includes rows above the first interval, which are
    // subtracted; of every other segment but the last all rows are added.
    int next = intervals.begin / segment_ * segment_;
    if (next < intervals.begin) add_checkpoint(intervals.begin, -1);
#pragma unroll 1
    for (next += segment_; next < intervals.end; next += segment_)
      add_checkpoint(next, 1);
    add_checkpoint(intervals.end, 1);
  }

  const LaunchArguments& a_;
  InitialSum& sum_;
  int segment_;
  int rows_ = 0, checkpoints_ = 0;
};

}  // namespace
}  // namespace convolve
