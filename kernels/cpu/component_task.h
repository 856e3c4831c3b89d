// SPDX-License-Identifier: LGPL-2.1-or-later
// What a CPU kernel gets: one component of one frame, the taps, and the part of the picture to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/core/base/border.h"
#include "kernels/core/base/epilogue.h"
#include "kernels/core/base/sample.h"
#include "kernels/core/base/stop_signal.h"
#include "kernels/core/base/view.h"
#include "kernels/cpu/quotient.h"

namespace convolve {

/// A component in the memory of a source and a destination frame.
struct ComponentTask {
  const std::uint8_t* src = nullptr;  ///< First sample of the first row.
  std::uint8_t* dst = nullptr;
  std::ptrdiff_t src_pitch = 0;
  std::ptrdiff_t dst_pitch = 0;
  int width = 0;
  int height = 0;
  int step = 1;          ///< Bytes from sample to sample.
  int sample_bytes = 1;  ///< 1 or 2.
  int channels = 0;      ///< Samples of a pixel if they lie side by side, else 0;
  int channel = 0;       ///< and the place of this component among them.
  SampleLayout layout;
  int black = 0;
  Border border = Border::kReplicate;
  Epilogue epilogue;
  Reciprocals reciprocals;           ///< Of the epilogue.
  const StopSignal* stop = nullptr;  ///< May be null.

  /// True if the frame is no longer wanted. Kernels look after every few rows, and leave the rest
  /// of their area as it is.
  bool stopped() const { return stop != nullptr && stop->raised(); }

  const std::uint8_t* src_row(int y) const { return src + y * src_pitch; }
  std::uint8_t* dst_row(int y) const { return dst + y * dst_pitch; }
};

/// The task of `component`, which is one of `plane`, whose first rows are at `src` and `dst`.
/// Border, epilogue and stop signal are left to the caller.
ComponentTask make_task(const PlaneFormat& plane, const Component& component,
                        const std::uint8_t* src, std::ptrdiff_t src_pitch, std::uint8_t* dst,
                        std::ptrdiff_t dst_pitch);

/// A rectangle of output samples.
struct Area {
  int x = 0;
  int y = 0;
  int width = 0;
  int height = 0;
};

/// Samples may lie at odd addresses.
template <class Stored>
Stored read_sample(const std::uint8_t* at) {
  Stored stored;
  std::memcpy(&stored, at, sizeof stored);
  return stored;
}

template <class Stored>
void write_sample(std::uint8_t* at, Stored stored) {
  std::memcpy(at, &stored, sizeof stored);
}

}  // namespace convolve
