// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that are cut into pieces (core/shape/pieces.h) are the same to the byte as frames that are
// not: the pieces are filtered on the CPU, whose kernels know nothing of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/core/shape/pieces.h"
#include "tests/kernels/chains.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

constexpr Border kBorders[] = {Border::kReplicate, Border::kZero, Border::kReflect, Border::kMirror,
                               Border::kWrap};

void fill(const FrameView& frame, unsigned seed) {
  Random random(seed);
  for (int p = 0; p < frame.format.plane_count; ++p)
    for (int y = 0; y < frame.format.planes[p].rows; ++y)
      for (int x = 0; x < frame.format.planes[p].row_bytes; ++x)
        frame.data[p][y * frame.pitch[p] + x] = static_cast<std::uint8_t>(random.integer(0, 255));
}

/// The rows of one parity.
FrameView field_of(const FrameView& frame, int parity) {
  FrameView field = frame;
  for (int p = 0; p < frame.format.plane_count; ++p) {
    PlaneFormat& plane = field.format.planes[p];
    field.data[p] += parity * frame.pitch[p];
    field.pitch[p] *= 2;
    plane.rows = (plane.rows + 1 - parity) / 2;
    for (int c = 0; c < plane.component_count; ++c)
      plane.components[c].height = (plane.components[c].height + 1 - parity) / 2;
  }
  return field;
}

/// What a piece sees, in memory of its own. Rows outside the picture are those of its periodic
/// continuation.
GuardedFrame seen_by(const FramePiece& piece, const FrameView& src) {
  GuardedFrame seen(piece.format, 0, false);
  for (int p = 0; p < src.format.plane_count; ++p) {
    const PlaneRect& rect = piece.input[p];
    const int rows = src.format.planes[p].rows;
    for (int y = 0; y < rect.rows; ++y) {
      const int from = ((rect.row + y) % rows + rows) % rows;
      std::memcpy(seen.view().data[p] + y * seen.view().pitch[p],
                  src.data[p] + from * src.pitch[p] + rect.byte,
                  static_cast<std::size_t>(rect.bytes));
    }
  }
  return seen;
}

struct Case {
  Arrangement arrangement;
  SampleType samples;
  int width, height;
  std::string mask;
  bool weighted = false;
};

/// A mask of one row or column whose anchor is its last weight or, with `first`, its first: a piece
/// at the border must see far more on one side than on the other.
std::string line(int width, int height, bool first) {
  std::string text = std::to_string(width) + "x" + std::to_string(height) + "+" +
                     std::to_string(first ? 0 : width - 1) + "+" +
                     std::to_string(first ? 0 : height - 1) + ":";
  for (int i = 0; i < width * height; ++i)
    text += " " + std::to_string(i * i % 7 - 2);
  return text + " / 211";
}

const Case kCases[] = {
    {Arrangement::kPacked1, kU8, 331, 397,
     "9x5: 1 2 3 4 5 6 7 8 9 1 0 -1 2 -2 3 -3 4 4 5 6 7 8 9 1 2 "
     "3 1 2 0 4 1 1 2 1 -3 1 2 5 1 1 2 -1 1 2 3 / 64"},
    {Arrangement::kI420, kU8, 333, 395,
     "4x12+0+11: 1 2 3 4 5 6 7 8 9 1 0 1 2 2 3 3 4 4 5 6 7 8 9 1 2 3 "
     "1 2 0 4 1 1 2 1 3 1 2 5 1 1 2 1 1 2 3 3 4 5 / 131"},
    {Arrangement::kNv12, kU8, 390, 401, "box:13,31"},
    {Arrangement::kYuy2, kU8, 393, 330,
     "12x3+11+0: 1 2 3 4 5 6 7 8 9 1 0 1 2 2 3 3 4 4 5 6 7 8 9 1 2 "
     "3 1 2 0 4 1 1 2 1 3 1 / 117"},
    {Arrangement::kRgba, kU8, 260, 391, "box:41,2"},
    {Arrangement::kPacked3, kU8, 389, 263, "binomial:7"},
    {Arrangement::kPacked1, kU16, 321, 385, "box:5,63"},
    {Arrangement::kRgba, kU8, 200, 330, "binomial:9", true},
    {Arrangement::kPacked1, kU8, 331, 397, line(1, 150, false)},
    {Arrangement::kI420, kU8, 331, 397, line(1, 150, true)},
    {Arrangement::kNv12, kU8, 397, 331, line(150, 1, false)},
    {Arrangement::kYuy2, kU8, 397, 331, line(150, 1, true)},
    {Arrangement::kI420, kU8, 397, 390, "box:181,201"},
};

class Pieces : public ::testing::TestWithParam<Case> {};

/// Filters `frame` in pieces and as a whole.
void compare(Convolver& convolver, const FrameView& src, const Cut& cut, Border border) {
  const bool wrap = border == Border::kWrap;
  RunArguments arguments;
  arguments.border = border;
  arguments.bias = 0.125;
  GuardedFrame whole(src.format, 0, false), pieced(src.format, 0, false);
  ASSERT_TRUE(convolver.run(src, whole.view(), arguments).ok());
  for (int i = 0; i < cut.count; ++i) {
    const FramePiece piece = frame_piece(src.format, convolver.mask(), cut, wrap, i);
    for (int p = 0; p < src.format.plane_count; ++p)
      EXPECT_EQ(piece.input[p].byte % kPlaneAlignment, 0) << "planes lie on it, pieces do not";
    const GuardedFrame seen = seen_by(piece, src);
    const GuardedFrame filtered(piece.format, 0, false);
    const Status status = convolver.run(seen.view(), filtered.view(), arguments);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int p = 0; p < src.format.plane_count; ++p) {
      const PlaneRect& wanted = piece.output[p];
      for (int y = 0; y < wanted.rows; ++y)
        std::memcpy(pieced.view().data[p] + (wanted.row + y) * pieced.view().pitch[p] + wanted.byte,
                    filtered.view().data[p] +
                        (wanted.row - piece.input[p].row + y) * filtered.view().pitch[p] +
                        wanted.byte - piece.input[p].byte,
                    static_cast<std::size_t>(wanted.bytes));
    }
  }
  EXPECT_EQ(pieced.bytes(), whole.bytes()) << cut.count << (cut.columns ? " columns" : " rows")
                                           << " border " << static_cast<int>(border);
}

TEST_P(Pieces, MakeTheWholeFrame) {
  const Case& c = GetParam();
  const auto device = open_device(BackendKind::kCpu, {});
  ASSERT_TRUE(device.ok());
  const auto source = parse_mask(c.mask);
  ASSERT_TRUE(source.ok()) << source.status().message();
  const auto mask = Mask::make(source.value());
  ASSERT_TRUE(mask.ok());
  const FrameFormat format =
      make_format(c.arrangement, c.samples, Levels::kLimited, c.width, c.height);
  // Pieces may see more rows than a picture has, beyond its ends.
  const FrameFormat roomy =
      make_format(c.arrangement, c.samples, Levels::kLimited, c.width, 3 * c.height);
  Options options;
  if (c.weighted) options.alpha_mode = AlphaMode::kPremultiplied;
  auto convolver = Convolver::create(roomy, mask.value(), options, device.value());
  ASSERT_TRUE(convolver.ok()) << convolver.status().message();

  const GuardedFrame frame(format, 0, false);
  fill(frame.view(), 5);
  for (const Border border : kBorders)
    for (const int count : {2, 5})
      for (const bool columns : {false, true}) {
        if (columns && border == Border::kWrap) continue;
        const Cut cut{count, columns};
        compare(*convolver.value(), frame.view(), cut, border);
        // Chroma of this field has one row less than half of luma's.
        compare(*convolver.value(), field_of(frame.view(), 1), cut, border);
      }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Pieces, ::testing::ValuesIn(kCases));

FrameFormat grey(int width, int height) {
  return make_format(Arrangement::kPacked1, kU8, Levels::kFull, width, height);
}

Mask square(int side) {
  return Mask::make(parse_mask("box:" + std::to_string(side)).value()).value();
}

TEST(Cuts, AreMadeOnlyOfFramesThatTakeLong) {
  EXPECT_EQ(choose_cut(grey(3840, 2160), square(31), false, 100, 60000).count, 1);
  EXPECT_GT(choose_cut(grey(3840, 2160), square(31), false, 200000, 60000).count, 1);
}

/// Work, halo included, of one piece.
double piece_us(const FrameFormat& format, const Mask& mask, const Cut& cut, double whole_us) {
  double most = 0;
  for (int i = 0; i < cut.count; ++i) {
    const PlaneFormat& plane = frame_piece(format, mask, cut, false, i).format.planes[0];
    most = std::max(most, whole_us * plane.rows / format.planes[0].rows * plane.row_bytes /
                              format.planes[0].row_bytes);
  }
  return most;
}

TEST(Cuts, LeavePiecesThatTakeAboutAsLongAsAllowed) {
  struct {
    int width, height, side;
    double whole_us;
  } const cases[] = {{32768, 20000, 151, 4.7e6},
                     {32768, 600, 255, 6.8e5},
                     {600, 32768, 255, 6.8e5},
                     {8192, 8192, 255, 2.3e6},
                     {2000, 2000, 255, 3e5}};
  for (const auto& c : cases) {
    const FrameFormat format = grey(c.width, c.height);
    const Cut cut = choose_cut(format, square(c.side), false, c.whole_us, 60000);
    EXPECT_LE(piece_us(format, square(c.side), cut, c.whole_us), 120000)
        << c.width << "x" << c.height << " in " << cut.count;
  }
}

}  // namespace
}  // namespace convolve::testing
