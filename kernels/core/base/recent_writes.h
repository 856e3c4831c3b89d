// SPDX-License-Identifier: LGPL-2.1-or-later
// Which memory launches on a stream write that may not be over yet: a launch whose source is none
// of it may read that while they still run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace convolve {

/// Rows of bytes, each `pitch` bytes behind the one before, or, if that is negative, before it.
struct RowSpan {
  const void* first = nullptr;
  std::ptrdiff_t pitch = 0;
  int row_bytes = 0;
  int rows = 0;
};

/// Keeps the memory that is written between two waits, and allocates none: of more pieces than it
/// has room for it knows no more than that anything may be written.
class RecentWrites {
 public:
  static constexpr std::size_t kMost = 64;

  void add(const RowSpan& rows);
  /// Nothing is known of what is written.
  void add_anything() { anything_ = true; }
  /// True if none of these are among what was added, or lie between.
  bool settled(const RowSpan& rows) const;
  /// All is over.
  void clear();

 private:
  /// Bytes from `begin` to `end` - 1.
  struct Range {
    std::uintptr_t begin, end;
  };
  static Range range_of(const RowSpan& rows);

  std::array<Range, kMost> ranges_;
  std::size_t count_ = 0;
  bool anything_ = false;
};

}  // namespace convolve
