// SPDX-License-Identifier: LGPL-2.1-or-later
// From sums to codes: exact division, ties to even, clamping, against integer arithmetic.
#include "kernels/core/base/epilogue.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace convolve {
namespace {

/// num / den to the nearest integer, ties to even, 0 .. max_code; den > 0.
std::int64_t rounded_quotient(std::int64_t num, std::int64_t den, std::int64_t max_code) {
  std::int64_t floor = num / den;
  if (num % den < 0) --floor;
  const std::int64_t twice_rest = 2 * (num - floor * den);
  if (twice_rest > den || (twice_rest == den && floor % 2 != 0)) ++floor;
  return floor < 0 ? 0 : (floor > max_code ? max_code : floor);
}

template <class Real>
EpilogueOf<Real> division(std::int64_t numerator, std::int64_t divisor, std::int64_t base) {
  EpilogueOf<Real> e;
  e.divide = true;
  e.numerator = static_cast<Real>(numerator);
  e.divisor = static_cast<Real>(divisor);
  e.offset = static_cast<Real>(divisor * base);
  e.reciprocal = Real(1) / e.divisor;
  return e;
}

template <class Real>
class Finish : public testing::Test {};
using Reals = testing::Types<float, double>;
TYPED_TEST_SUITE(Finish, Reals);

TYPED_TEST(Finish, TiesGoToEven) {
  const EpilogueOf<TypeParam> half = division<TypeParam>(1, 2, 0);
  const EpilogueOf<TypeParam> sixth = division<TypeParam>(1, 6, 0);
  EpilogueOf<TypeParam> scaled;
  scaled.scale = TypeParam(0.5);
  const int expected[] = {0, 0, 1, 2, 2, 2, 3, 4, 4, 4, 5, 6};
  for (int sum = 0; sum < 12; ++sum) {
    const TypeParam s = static_cast<TypeParam>(sum);
    EXPECT_EQ(finish(s, half, 255), expected[sum]) << sum;
    EXPECT_EQ(finish(s, scaled, 255), expected[sum]) << sum;
    EXPECT_EQ(finish(3 * s, sixth, 255), expected[sum]) << sum << ": a sum of 3 over 6 is a tie";
  }
}

// Every sum that small divisors can meet, on both sides of the clamp.
TYPED_TEST(Finish, DividesExactly) {
  constexpr int kMaxCode = 31;
  for (std::int64_t divisor = 1; divisor <= 300; ++divisor)
    for (std::int64_t numerator : {1, 2, 7})
      for (std::int64_t base : {0, 16}) {
        const EpilogueOf<TypeParam> e = division<TypeParam>(numerator, divisor, base);
        const std::int64_t reach = (kMaxCode + 3) * divisor / numerator + 2;
        for (std::int64_t sum = -reach; sum <= reach; ++sum) {
          const std::int64_t t = divisor * base + numerator * sum;
          ASSERT_EQ(finish(static_cast<TypeParam>(sum), e, kMaxCode),
                    rounded_quotient(t, divisor, kMaxCode))
              << sum << " * " << numerator << " / " << divisor << " + " << base;
        }
      }
}

// Around every tie of large divisors, where the rounded reciprocal misleads most.
TYPED_TEST(Finish, DecidesTiesByTheRemainder) {
  const std::int64_t limit = sizeof(TypeParam) == 4 ? std::int64_t{1} << 24 : std::int64_t{1} << 52;
  const int max_code = sizeof(TypeParam) == 4 ? 255 : 65535;
  for (std::int64_t divisor = limit / (max_code + 2) - 1; divisor > 1; divisor = divisor * 2 / 3) {
    const EpilogueOf<TypeParam> e = division<TypeParam>(1, divisor, 0);
    for (int code = 0; code <= max_code; code += max_code == 255 ? 1 : 251)
      for (std::int64_t sum = (2 * code + 1) * divisor / 2 - 2;
           sum <= (2 * code + 1) * divisor / 2 + 2; ++sum)
        ASSERT_EQ(finish(static_cast<TypeParam>(sum), e, max_code),
                  rounded_quotient(sum, divisor, max_code))
            << sum << " / " << divisor;
  }
}

TYPED_TEST(Finish, ClampsBeforeItConverts) {
  EpilogueOf<TypeParam> e;
  e.scale = TypeParam(1e30);
  EXPECT_EQ(finish(TypeParam(1e7), e, 255), 255);
  EXPECT_EQ(finish(TypeParam(-1e7), e, 255), 0);
  const EpilogueOf<TypeParam> d = division<TypeParam>(1, 3, 0);
  EXPECT_EQ(finish(TypeParam(1e7), d, 255), 255);
  EXPECT_EQ(finish(TypeParam(-1e7), d, 255), 0);
}

TYPED_TEST(Finish, BaseAndScale) {
  EpilogueOf<TypeParam> e;
  e.scale = TypeParam(-2);
  e.base = TypeParam(128);
  EXPECT_EQ(finish(TypeParam(10), e, 255), 108);
  EXPECT_EQ(finish(TypeParam(-10), e, 255), 148);
}

}  // namespace
}  // namespace convolve
