// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames for tests: layouts of components, and host memory with poisoned guards around every row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/core/base/view.h"

namespace convolve::testing {

/// How a code lies in memory.
struct SampleType {
  const char* name;
  int bytes;
  bool big_endian;
  int depth;
  int shift;
};

inline constexpr SampleType kU8{"u8", 1, false, 8, 0};
inline constexpr SampleType kU16{"u16", 2, false, 16, 0};
inline constexpr SampleType kU16Big{"u16-be", 2, true, 16, 0};
inline constexpr SampleType kU10High{"u10-high", 2, false, 10, 6};
inline constexpr SampleType kU10HighBig{"u10-high-be", 2, true, 10, 6};
inline constexpr SampleType kU10LowBig{"u10-low-be", 2, true, 10, 0};
inline constexpr SampleType kU12Low{"u12-low", 2, false, 12, 0};

enum class Arrangement : int {
  kPacked1,  ///< One plane of 1 .. 4 filtered colours.
  kPacked2,
  kPacked3,
  kPacked4,
  kRgba,        ///< Alpha last, copied.
  kXrgb,        ///< Padding first, copied.
  kI420,        ///< Luma and two chroma planes of half size, rounded up.
  kNv12,        ///< Luma, and a plane of interleaved chroma.
  kYuy2,        ///< Luma and chroma of different steps in one plane.
  kUyvyLuma,    ///< The same with chroma first, which is copied,
  kYvyuChroma,  ///< and with chroma exchanged, and luma copied.
  kUyvy,        ///< With chroma first, and all of it filtered.
};
const char* arrangement_name(Arrangement arrangement);

/// Nominal range: full, or studio levels (black 16, range 219, chroma 224, at 8 bits).
enum class Levels : int { kFull, kLimited };

/// A component of `role` with its depth, levels and whether it is filtered, lying nowhere yet.
Component make_component(Role role, const SampleType& samples, Levels levels);

FrameFormat make_format(Arrangement arrangement, const SampleType& samples, Levels levels,
                        int width, int height);

/// A frame whose bytes are poison until written. Every row has guards on both sides.
class GuardedFrame {
 public:
  /// `residue` samples of misalignment; `bottom_up` gives the planes a negative pitch.
  GuardedFrame(const FrameFormat& format, int residue, bool bottom_up);
  GuardedFrame(GuardedFrame&&) = default;  // not copyable: the view points into the memory
  GuardedFrame& operator=(GuardedFrame&&) = default;

  const FrameView& view() const { return view_; }

  /// Sets bits outside the depth of every sample that is not padding: they must not count.
  void soil_unused_bits();

  /// Makes every byte poison again.
  void poison();

  /// True if every byte outside the rows still is poison.
  bool guards_intact() const;

  /// Everything, guards too, to see later whether it changed.
  using Bytes = std::array<std::vector<std::uint8_t>, kMaxPlanes>;
  const Bytes& bytes() const { return memory_; }

 private:
  FrameView view_;
  Bytes memory_;
  std::size_t first_row_[kMaxPlanes] = {};  ///< Of memory_, in address order.
  std::size_t pitch_[kMaxPlanes] = {};
};

}  // namespace convolve::testing
