// SPDX-License-Identifier: LGPL-2.1-or-later
// The element in a harness under fuzzed caps and buffers: which answer is right.
#pragma once

#include <gst/video/video.h>

#include <string>
#include <vector>

#include "tests/fuzz/byte_reader.h"
#include "tests/support/element.h"
#include "tests/support/oracle.h"

namespace convolve::fuzz {

/// What is asked of the element: nothing that leaves a choice of two codes, and no mask that lets
/// pictures pass unseen.
struct Filter {
  const oracle::Mask* mask;
  oracle::Options options;

  check::Settings settings() const;
};

Filter read_filter(ByteReader& reader);

/// Where the rows of one plane lie. Wide enough for whatever a buffer says.
struct PlaneRows {
  std::int64_t offset = 0;
  std::int64_t stride = 0;
  int rows = 0;
  int row_bytes = 0;  ///< Without padding.
};

/// The planes of a buffer of `info` as its GstVideoMeta has them, else as `info` does. No more than
/// the meta's planes are described.
std::vector<PlaneRows> plane_rows(const GstVideoInfo& info, const GstVideoMeta* meta);

/// True if every row lies within `size` bytes and none reaches into the next of its plane.
bool lie_within(const std::vector<PlaneRows>& planes, std::size_t size);

/// The picture of `bytes`, laid out as `info` says.
oracle::Bytes gathered(const oracle::Bytes& bytes, const std::vector<PlaneRows>& planes,
                       const GstVideoInfo& info);

/// All bytes of a buffer.
oracle::Bytes bytes_of(GstBuffer* buffer);

enum class Answer {
  kPicture,
  kRefusal,
  kEither,
};

/// Pushes `buffer` (taken) and judges the answer: either the picture that `filter` makes of
/// `frame`, which is laid out as `info` says, or an error with one message, which `is_said` asks
/// for, and no picture. Returns what is wrong, or "".
std::string push_and_judge(check::Harness& harness, GstBuffer* buffer, const GstVideoInfo& info,
                           const oracle::Bytes& frame, const Filter& filter, Answer right,
                           bool is_said);

}  // namespace convolve::fuzz
