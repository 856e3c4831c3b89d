// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/frames.h"

#include <algorithm>

namespace convolve::benchmarks {

std::size_t packed_bytes(const FrameFormat& format) {
  std::size_t bytes = 0;
  for (int p = 0; p < format.plane_count; ++p)
    bytes += static_cast<std::size_t>(format.planes[p].row_bytes) * format.planes[p].rows;
  return bytes;
}

FrameView packed_view(const FrameFormat& format, const std::uint8_t* data) {
  FrameView view;
  view.format = format;
  std::uint8_t* next = const_cast<std::uint8_t*>(data);
  for (int p = 0; p < format.plane_count; ++p) {
    view.data[p] = next;
    view.pitch[p] = format.planes[p].row_bytes;
    next += view.pitch[p] * format.planes[p].rows;
  }
  return view;
}

StackedSize stacked_size(const FrameFormat& format) {
  StackedSize size;
  for (int p = 0; p < format.plane_count; ++p) {
    size.row_bytes = std::max(size.row_bytes, format.planes[p].row_bytes);
    size.rows += format.planes[p].rows;
  }
  return size;
}

FrameView stacked_view(const FrameFormat& format, std::uint8_t* data, std::ptrdiff_t pitch) {
  FrameView view;
  view.format = format;
  for (int p = 0; p < format.plane_count; ++p) {
    view.data[p] = data;
    view.pitch[p] = pitch;
    data += pitch * format.planes[p].rows;
  }
  return view;
}

}  // namespace convolve::benchmarks
