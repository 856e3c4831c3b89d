// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/base/recent_writes.h"

#include <algorithm>

namespace convolve {

RecentWrites::Range RecentWrites::range_of(const RowSpan& rows) {
  const auto first = reinterpret_cast<std::uintptr_t>(rows.first);
  if (rows.rows <= 0 || rows.row_bytes <= 0) return {first, first};
  // Modulo 2^64, where negative pitches are at home.
  const auto last =
      first + static_cast<std::uintptr_t>(rows.pitch) * static_cast<std::uintptr_t>(rows.rows - 1);
  return {std::min(first, last),
          std::max(first, last) + static_cast<std::uintptr_t>(rows.row_bytes)};
}

void RecentWrites::add(const RowSpan& rows) {
  const Range range = range_of(rows);
  if (anything_ || range.begin == range.end) return;
  // Frames of a pool come again and again.
  const auto end = ranges_.begin() + static_cast<std::ptrdiff_t>(count_);
  if (std::any_of(ranges_.begin(), end, [&range](const Range& known) {
        return known.begin <= range.begin && range.end <= known.end;
      }))
    return;
  if (count_ == kMost)
    anything_ = true;
  else
    ranges_[count_++] = range;
}

bool RecentWrites::settled(const RowSpan& rows) const {
  const Range range = range_of(rows);
  const auto end = ranges_.begin() + static_cast<std::ptrdiff_t>(count_);
  return !anything_ && std::none_of(ranges_.begin(), end, [&range](const Range& written) {
    return written.begin < range.end && range.begin < written.end;
  });
}

void RecentWrites::clear() {
  count_ = 0;
  anything_ = false;
}

}  // namespace convolve
