// SPDX-License-Identifier: LGPL-2.1-or-later
// What bench_planes sweeps: formats, sizes and masks as users have them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/core/weights/alpha_weighting.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::benchmarks {

/// A format by GStreamer's name, with the levels that it usually comes with. Where colour is
/// weighted by alpha the name says so, and alpha lies in the plane of all colour.
struct FormatCase {
  const char* name;
  testing::Arrangement arrangement;
  testing::SampleType samples;
  testing::Levels levels;
  AlphaMode alpha_mode = AlphaMode::kStraight;
};
inline constexpr FormatCase kFormats[] = {
    {"GRAY8", testing::Arrangement::kPacked1, testing::kU8, testing::Levels::kFull},
    {"NV12", testing::Arrangement::kNv12, testing::kU8, testing::Levels::kLimited},
    {"I420", testing::Arrangement::kI420, testing::kU8, testing::Levels::kLimited},
    {"RGBA", testing::Arrangement::kRgba, testing::kU8, testing::Levels::kFull},
    {"BGR", testing::Arrangement::kPacked3, testing::kU8, testing::Levels::kFull},
    {"YUY2", testing::Arrangement::kYuy2, testing::kU8, testing::Levels::kLimited},
    {"P010", testing::Arrangement::kNv12, testing::kU10High, testing::Levels::kLimited},
    {"GRAY16", testing::Arrangement::kPacked1, testing::kU16, testing::Levels::kFull},
    {"RGBA-weighted", testing::Arrangement::kRgba, testing::kU8, testing::Levels::kFull,
     AlphaMode::kPremultiplied},
};

struct SizeCase {
  const char* name;
  int width;
  int height;
};
inline constexpr SizeCase kSizes[] = {
    {"4k", 3840, 2160}, {"1080p", 1920, 1080}, {"640x480", 640, 480}};
/// So small that no device is full: for constants of a lone tile, and for trying things out.
/// Smaller ones would take thousands of frames to rotate through the L2 cache.
inline constexpr SizeCase kTinySize = {"320x240", 320, 240};

/// The case of that name, which must be one of the above.
constexpr FormatCase format_case(std::string_view name) {
  std::size_t i = 0;
  while (name != kFormats[i].name)
    ++i;
  return kFormats[i];
}
constexpr SizeCase size_case(std::string_view name) {
  std::size_t i = 0;
  while (name != kSizes[i].name)
    ++i;
  return kSizes[i];
}

inline constexpr int kMaskSides[] = {3, 5, 7, 9, 15, 25, 31};
/// Beyond, for one format and size.
inline constexpr int kWideSides[] = {41, 51, 63};

enum class MaskKind : int {
  kRational,  ///< Random integers -127 .. 127 over a power of two, of full rank.
  kPositive,  ///< Random reals 0 .. 1 with the sum 1.
  kSigned,    ///< Random reals -1 .. 1 with the sum of magnitudes 4 and a sum near 0; to be run
              ///< with bias 0.5.
  kRank1,     ///< A column times a row of integers, over a power of two.
  kBox,
  kShift,     ///< One tap of 1, in the upper left corner.
  kTap,       ///< One tap of 1/2, in the middle.
  kGaussian,  ///< Whose radius is three sigma, as near as a side goes.
};
inline constexpr int kMaskKindCount = 8;
const char* mask_kind_name(MaskKind kind);

struct MaskCase {
  testing::TestMaskPtr mask;
  double bias = 0;
};

/// A square mask: a pure function of its arguments.
MaskCase make_mask(MaskKind kind, int side);

}  // namespace convolve::benchmarks
