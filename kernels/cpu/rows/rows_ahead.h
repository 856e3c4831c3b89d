// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of a picture on their way to the cache while the kernel is busy with those before them. The
// processor's own prefetching follows a row and ends at a page, that is after two rows of 1080p; a
// kernel that goes down some rows at a time would wait for the first cells of each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/component_task.h"
#include "kernels/cpu/rows/row_task.h"

namespace convolve {

/// Where rows are fetched to, by the numbers of __builtin_prefetch(): to the second cache where a
/// kernel's own lines fill the first.
enum class FetchTo : int { kSecondCache = 2, kFirstCache = 3 };

/// Rows that a kernel reads and writes next.
class RowsAhead {
 public:
  /// At most so many rows of the source are fetched, and as many of the output.
  static constexpr int kMostRows = 8;

  /// For a kernel that walks along `area` once, where `first` is the component that comes first in
  /// memory, in cells of `cell_bytes` bytes.
  RowsAhead(const ComponentTask& first, const Area& area, int cell_bytes)
      : first_(first),
        area_end_(area.y + area.height),
        offset_(static_cast<std::ptrdiff_t>(area.x) * first_.step),
        cell_bytes_(static_cast<unsigned>(cell_bytes)) {}

  /// For a kernel that walks along `area` once, whose cells are the samples of component `first`.
  RowsAhead(const ComponentTask& first, const Area& area) : RowsAhead(first, area, first.step) {}

  /// For a kernel that walks along its area with each group of `task`, once for each part that is
  /// filtered. The first group that has such parts fetches the rows for all groups.
  RowsAhead(const RowTask& task, int group, const Area& area)
      : RowsAhead(task.groups[group].parts[0].task, area) {
    const GroupTask& parts = task.groups[group];
    walks_ = 0;
    for (int k = 0; k < parts.count; ++k) {
      walks_before_[k] = walks_;
      if (parts.parts[k].filtered) ++walks_;
    }
    fetches_ = group == (task.groups[0].any_filtered() ? 0 : 1);
  }

  /// How many parts are filtered, all of them and those before part `part`.
  int walks() const { return walks_; }
  int walks_before(int part) const { return walks_before_[part]; }

  /// From now on `rows` rows of the source from `y` on, kMostRows at most, are fetched, of which
  /// those outside of the picture are left out, and as many of the output from `out` on, as far as
  /// the area goes.
  void next_block(int y, int rows, int out) {
    sources_ = outputs_ = 0;
    if (!fetches_) return;
    const int end = std::min(y + rows, first_.height), out_end = std::min(out + rows, area_end_);
    for (y = std::max(y, 0); y < end && sources_ < kMostRows; ++y)
      source_[sources_++] = first_.src_row(y) + offset_;
    for (; out < out_end && outputs_ < kMostRows; ++out)
      output_[outputs_++] = first_.dst_row(out) + offset_;
  }

  /// Rows of the source that are fetched with those of the block, `rows` of them from `y` on.
  void add_sources(int y, int rows) {
    if (!fetches_) return;
    const int end = std::min(y + rows, first_.height);
    for (y = std::max(y, 0); y < end && sources_ < kMostRows; ++y)
      source_[sources_++] = first_.src_row(y) + offset_;
  }

  /// To be called where cells `x` .. `x` + `count` - 1 of `width` cells of part `part`, which is
  /// filtered, are next: fetches a share of each row, so that all of it has been fetched when all
  /// such parts are done.
  template <FetchTo kTo = FetchTo::kFirstCache>
  void fetch(int part, int width, int x, int count) const {
    // GCC leaves out calls of a function that does nothing but prefetch: it takes it for a pure
    // one.
    asm volatile("");
    const unsigned done = static_cast<unsigned>(walks_before_[part] * width + x);
    unsigned begin = done * cell_bytes_;
    unsigned end = (done + static_cast<unsigned>(count)) * cell_bytes_;
    // Two divisions would take as long as the kernel of a small mask does.
    if (walks_ > 1) {
      begin /= static_cast<unsigned>(walks_);
      end /= static_cast<unsigned>(walks_);
    }
    for (unsigned at = (begin + kCacheLine - 1) & ~(kCacheLine - 1); at < end; at += kCacheLine) {
      for (int r = 0; r < sources_; ++r)
        __builtin_prefetch(source_[r] + at, 0, static_cast<int>(kTo));
      for (int r = 0; r < outputs_; ++r)
        __builtin_prefetch(output_[r] + at, 1, static_cast<int>(kTo));
    }
  }

 private:
  static constexpr unsigned kCacheLine = 64;

  const ComponentTask& first_;
  int area_end_;
  std::ptrdiff_t offset_;
  unsigned cell_bytes_;
  int walks_ = 1;
  int walks_before_[kMaxComponents] = {};
  bool fetches_ = true;
  const std::uint8_t* source_[kMostRows];
  std::uint8_t* output_[kMostRows];
  int sources_ = 0, outputs_ = 0;
};

}  // namespace convolve
