// SPDX-License-Identifier: LGPL-2.1-or-later
// The judge is judged: hand-worked results of the reference, and wrong frames that the comparison
// must reject.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "kernels/reference/reference.h"
#include "kernels/reference/weighted.h"
#include "tests/kernels/compare.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

Component eight_bit(int black = 0) {
  Component rule;
  rule.black = black;
  return rule;
}

std::vector<int> codes_of(const ReferenceResult& result) {
  std::vector<int> codes;
  for (const Truth truth : result.samples)
    codes.push_back(truth.code);
  return codes;
}

std::vector<int> filtered(std::vector<int> row, const Component& rule, const TestMaskPtr& mask,
                          const RunArguments& arguments) {
  const Picture input{static_cast<int>(row.size()), 1, std::move(row)};
  return codes_of(reference_filter(input, rule, mask->mask, arguments));
}

TEST(Reference, TiesGoToEven) {
  // (a + b) / 2 with the pixel to the left: 0.5, 1.5, 2.5, 3.5.
  const TestMaskPtr half = typed_mask("half", 2, 1, {1, 1}, 2);
  EXPECT_EQ(filtered({0, 1, 2, 3, 4}, eight_bit(), half, {1, 0, Border::kReplicate}),
            (std::vector<int>{0, 0, 2, 2, 4}));
}

TEST(Reference, ExactDivisionBySix) {
  // Three equal taps over 6: sums 3, 9, 15 are real ties.
  const TestMaskPtr sixth = typed_mask("sixth", 3, 1, {1, 1, 1}, 6);
  EXPECT_EQ(filtered({1, 1, 1}, eight_bit(), sixth, {}), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(filtered({3, 3, 3}, eight_bit(), sixth, {}), (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(filtered({5, 5, 5}, eight_bit(), sixth, {}), (std::vector<int>{2, 2, 2}));
}

TEST(Reference, NegativeTiesGoToEven) {
  // -0.5 + 10, -1.5 + 10 around a bias of 10 codes: 9.5 and 8.5.
  const TestMaskPtr minus_half = typed_mask("minus-half", 1, 1, {-1}, 2);
  EXPECT_EQ(filtered({1, 3}, eight_bit(), minus_half, {1, 10. / 255, Border::kZero}),
            (std::vector<int>{10, 8}));
}

TEST(Reference, BordersOfAFourPixelRow) {
  const TestMaskPtr left3 = anchored(typed_mask("left3", 4, 1, {1, 0, 0, 0}), 3, 0);
  const std::vector<int> row = {10, 20, 30, 40};
  const auto with = [&](Border border) {
    return filtered(row, eight_bit(), left3, {1, 0, border});
  };
  EXPECT_EQ(with(Border::kReplicate), (std::vector<int>{10, 10, 10, 10}));
  EXPECT_EQ(with(Border::kZero), (std::vector<int>{0, 0, 0, 10}));
  EXPECT_EQ(with(Border::kReflect), (std::vector<int>{30, 20, 10, 10}));
  EXPECT_EQ(with(Border::kMirror), (std::vector<int>{40, 30, 20, 10}));
  EXPECT_EQ(with(Border::kWrap), (std::vector<int>{20, 30, 40, 10}));
}

TEST(Reference, BlackIsNoSignal) {
  // A slope on limited-range luma: flat becomes black, ghost cells of `zero` are black.
  const TestMaskPtr slope = typed_mask("slope", 3, 1, {-1, 0, 1});
  EXPECT_EQ(filtered({50, 50, 60, 70}, eight_bit(16), slope, {1, 0, Border::kReplicate}),
            (std::vector<int>{16, 26, 36, 26}));
  EXPECT_EQ(filtered({50, 50}, eight_bit(16), slope, {1, 0, Border::kZero}),
            (std::vector<int>{50, 0}));
}

TEST(Reference, BiasLeavesChromaAlone) {
  const TestMaskPtr identity = typed_mask("identity", 1, 1, {1});
  Component chroma = eight_bit(128);
  chroma.role = Role::kChroma;
  EXPECT_EQ(filtered({90}, chroma, identity, {1, 0.5, Border::kZero}), (std::vector<int>{90}));
  // rint(0.5 * 255) = 128, ties to even
  EXPECT_EQ(filtered({90}, eight_bit(), identity, {1, 0.5, Border::kZero}),
            (std::vector<int>{218}));
}

TEST(Reference, HugeWeightsCancelExactly) {
  const TestMaskPtr mask = typed_mask("cancel", 3, 1, {1e38, 0.7351, -1e38});
  EXPECT_EQ(filtered({100, 100, 100}, eight_bit(), mask, {}), (std::vector<int>{74, 74, 74}));
}

TEST(Reference, RowsAreThoseOfTheWholePicture) {
  Random random(1);
  Picture input{7, 9, {}}, alpha{7, 9, {}};
  for (int k = 0; k < 7 * 9; ++k) {
    input.codes.push_back(random.integer(0, 255));
    alpha.codes.push_back(random.integer(0, 255));
  }
  for (const Weights weights : {Weights::kRational, Weights::kReal}) {
    const Mask mask = random_mask(3, 5, weights)->mask;
    const RunArguments how{1, 0, Border::kMirror};
    const auto plain = [&](RowRange rows) {
      return codes_of(reference_filter(input, eight_bit(), mask, how, rows));
    };
    const auto weighted = [&](RowRange rows) {
      return codes_of(reference_filter_weighted(input, alpha, 255, eight_bit(), mask, how, rows));
    };
    const auto rows_of = [](const std::vector<int>& all, int first, int end) {
      return std::vector<int>(all.begin() + 7 * first, all.begin() + 7 * end);
    };
    EXPECT_EQ(plain({3, 2}), rows_of(plain({}), 3, 5));
    EXPECT_EQ(plain({8, 2}), rows_of(plain({}), 8, 9));
    EXPECT_EQ(weighted({3, 2}), rows_of(weighted({}), 3, 5));
  }
}

TEST(Reference, OnlyTheZoneAllowsNeighbours) {
  // A real weight w: 100 w = 50.5 + d. The zone of gain 1 at 8 bits is 1/64 code.
  const Picture input{1, 1, {100}};
  const auto truth_at = [&](double d) {
    const TestMaskPtr mask = typed_mask("w", 1, 1, {(50.5 + d) / 100 + 1e-9 * std::sqrt(2.)});
    EXPECT_FALSE(mask->mask.rational);
    return reference_filter(input, eight_bit(), mask->mask, {}).samples[0];
  };
  EXPECT_TRUE(allows(truth_at(0.015), 51));
  EXPECT_TRUE(allows(truth_at(0.015), 50));
  EXPECT_FALSE(allows(truth_at(0.015), 52));
  EXPECT_TRUE(allows(truth_at(-0.015), 50));
  EXPECT_TRUE(allows(truth_at(-0.015), 51));
  EXPECT_FALSE(allows(truth_at(0.016), 50));
  EXPECT_FALSE(allows(truth_at(-0.016), 51));
  EXPECT_FALSE(allows(truth_at(0.4), 52));
}

TEST(Reference, RationalMasksAllowNoNeighbour) {
  const TestMaskPtr mask = typed_mask("ratio", 1, 1, {50501}, 100000);
  const ReferenceResult result = reference_filter({1, 1, {100}}, eight_bit(), mask->mask, {});
  EXPECT_TRUE(result.rational);
  EXPECT_FALSE(allows(result.samples[0], 50));
  EXPECT_TRUE(allows(result.samples[0], 51));
}

/// A right answer in every layout, to be spoilt in one place.
class Comparer : public ::testing::TestWithParam<SampleType> {
 protected:
  Comparer()
      : format_(make_format(Arrangement::kRgba, GetParam(), Levels::kFull, 9, 6)),
        source_(format_, 1, false),
        output_(format_, 2, true) {
    Random random(5);
    for (int k = 0; k < 4; ++k) {
      Picture picture{9, 6, {}};
      for (int i = 0; i < 54; ++i)
        picture.codes.push_back(random.integer(0, format_.planes[0].components[k].max_code()));
      encode_component(picture, source_.view(), 0, k);
    }
    reference_run(source_.view(), output_.view(), mask_->mask, {});
  }

  Comparison compare() const {
    Comparison all;
    for (int k = 0; k < 3; ++k) {
      const Component& component = format_.planes[0].components[k];
      const Picture input = decode_component(source_.view(), 0, k);
      all.add(compare_component(output_.view(), 0, k,
                                reference_filter(input, component, mask_->mask, {}).samples));
    }
    all.add(compare_copied(output_.view(), source_.view(), 0, 3));
    return all;
  }

  std::uint8_t& byte(int x, int y, int offset) {
    const Component& c = format_.planes[0].components[0];
    return output_.view().data[0][y * output_.view().pitch[0] + x * c.step + offset];
  }

  TestMaskPtr mask_ = random_mask(3, 3, Weights::kRational);
  FrameFormat format_;
  GuardedFrame source_;
  GuardedFrame output_;
};

TEST_P(Comparer, AcceptsTheRightFrame) {
  EXPECT_EQ(compare().wrong, 0);
  EXPECT_EQ(compare().samples, 4 * 54);
  EXPECT_TRUE(output_.guards_intact());
}

TEST_P(Comparer, SeesOneCodeMore) {
  for (const int component : {0, 2}) {
    Picture picture = decode_component(output_.view(), 0, component);
    picture.codes[40] += picture.codes[40] == format_.planes[0].components[0].max_code() ? -1 : 1;
    encode_component(picture, output_.view(), 0, component);
  }
  EXPECT_EQ(compare().wrong, 2);
  EXPECT_EQ(compare().first_wrong.rfind("plane 0 component 0 at (4,4)", 0), 0u);
}

TEST_P(Comparer, SeesEveryBit) {
  const int bytes = format_.planes[0].components[0].step;
  for (int offset = 0; offset < bytes; ++offset)
    for (int bit = 0; bit < 8; ++bit) {
      byte(3, 2, offset) ^= static_cast<std::uint8_t>(1 << bit);
      EXPECT_EQ(compare().wrong, 1) << "byte " << offset << " bit " << bit;
      byte(3, 2, offset) ^= static_cast<std::uint8_t>(1 << bit);
    }
}

TEST_P(Comparer, SeesTouchedGuards) {
  const int row_bytes = format_.planes[0].row_bytes;
  for (const int offset : {-1, row_bytes}) {
    byte(0, 3, offset) ^= 1;
    EXPECT_FALSE(output_.guards_intact());
    byte(0, 3, offset) ^= 1;
  }
  EXPECT_TRUE(output_.guards_intact());
}

INSTANTIATE_TEST_SUITE_P(Samples, Comparer,
                         ::testing::Values(kU8, kU16, kU16Big, kU10High, kU10HighBig, kU10LowBig),
                         [](const auto& row) {
                           std::string name = row.param.name;
                           for (char& c : name)
                             c = c == '-' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace convolve::testing
