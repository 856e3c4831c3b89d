// SPDX-License-Identifier: LGPL-2.1-or-later
// Quotients that vector kernels round by two terms of the divisor's reciprocal, against whole
// numbers: at every tie of every divisor, and beside it.
#include "kernels/cpu/quotient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace convolve {
namespace {

/// numerator / divisor to the nearest whole number, ties to even; numerator >= 0.
std::int64_t rounded(std::int64_t numerator, std::int64_t divisor) {
  const std::int64_t down = numerator / divisor;
  const std::int64_t twice = 2 * (numerator - down * divisor);
  return down + (twice > divisor || (twice == divisor && down % 2 == 1) ? 1 : 0);
}

/// As the kernels do it.
template <class Real>
Real rounded(Real numerator, const Reciprocal<Real>& reciprocal) {
  return std::nearbyint(
      std::fma(numerator, reciprocal.high, static_cast<Real>(numerator * reciprocal.low)));
}

Epilogue dividing(std::int64_t divisor, int max_code) {
  Epilogue e;
  e.max_code = max_code;
  e.narrow.divide = e.wide.divide = true;
  e.narrow.divisor = static_cast<float>(divisor);
  e.wide.divisor = static_cast<double>(divisor);
  return e;
}

/// How many quotients beside ties of `divisor`, from code `first` on, are rounded to another code.
template <class Real>
int wrong(std::int64_t divisor, const Reciprocal<Real>& reciprocal, int first, int codes) {
  int count = 0;
  for (std::int64_t code = first; code < first + codes; ++code) {
    const std::int64_t tie = (2 * code + 1) * divisor / 2;
    for (const std::int64_t t : {tie - 1, tie, tie + 1})
      count += rounded(static_cast<Real>(t), reciprocal) != static_cast<Real>(rounded(t, divisor));
  }
  return count;
}

TEST(Reciprocals, EveryTieOfFloats) {
  int served = 0;
  for (std::int64_t divisor = 3; divisor < 40000; ++divisor) {
    const Reciprocals reciprocals = make_reciprocals(dividing(divisor, 255));
    if (!reciprocals.narrow.serves) continue;
    ++served;
    ASSERT_EQ(wrong(divisor, reciprocals.narrow, 0, 256), 0) << divisor;
  }
  EXPECT_GT(served, 32000);
}

/// How many quotients beside ties of `divisor` come out as another code when they are made less
/// half of the codes.
int wrong_centred(std::int64_t divisor, const Reciprocal<float>& reciprocal, int max_code) {
  const std::int64_t half = (max_code + 1) / 2;
  int count = 0;
  const auto is_wrong = [&](std::int64_t t, std::int64_t wanted) {
    const float centred = rounded(static_cast<float>(t - half * divisor), reciprocal);
    const std::int64_t code = static_cast<std::int64_t>(centred) + half;
    return std::clamp<std::int64_t>(code, 0, max_code) != wanted;
  };
  for (std::int64_t code = 0; code <= max_code; ++code) {
    const std::int64_t tie = (2 * code + 1) * divisor / 2;
    for (const std::int64_t t : {tie - 1, tie, tie + 1})
      count += is_wrong(t, std::min<std::int64_t>(rounded(t, divisor), max_code));
  }
  for (const std::int64_t t : {std::int64_t{-1}, -divisor / 2, -divisor, std::int64_t{-2000000000}})
    count += is_wrong(t, 0);
  return count + is_wrong(2000000000, max_code);
}

TEST(Reciprocals, EveryTieOfCentredFloats) {
  int served = 0;
  for (std::int64_t divisor = 3; divisor < 140000; ++divisor) {
    const Reciprocal<float> centred = make_reciprocals(dividing(divisor, 255)).centred;
    if (!centred.serves) continue;
    ++served;
    ASSERT_EQ(wrong_centred(divisor, centred, 255), 0) << divisor;
  }
  EXPECT_GT(served, 129000);
}

TEST(Reciprocals, TiesOfCentredFloatsOf10And12Bits) {
  for (const int max_code : {1023, 4095}) {
    int served = 0;
    for (std::int64_t divisor = 1024; divisor < 40000; divisor += 13) {
      const Reciprocal<float> centred = make_reciprocals(dividing(divisor, max_code)).centred;
      if (!centred.serves) continue;
      ++served;
      ASSERT_EQ(wrong_centred(divisor, centred, max_code), 0) << divisor;
    }
    EXPECT_GT(served, 500) << max_code;
  }
}

/// The largest dividends of 32 bits, and offsets and divisors that floats do not hold.
TEST(Reciprocals, CentredOnesKnowTheirBounds) {
  const Reciprocal<float> least = make_reciprocals(dividing(1024, 255)).centred;
  ASSERT_TRUE(least.serves);
  EXPECT_LT(rounded(2147483648.0F, least), 4194304.0F);
  EXPECT_FALSE(make_reciprocals(dividing(1023, 255)).centred.serves);
  EXPECT_FALSE(make_reciprocals(dividing(1024, 1)).centred.serves);
  EXPECT_FALSE(make_reciprocals(dividing(131072, 255)).centred.serves);
  EXPECT_FALSE(make_reciprocals(dividing(33000, 1023)).centred.serves);
  Epilogue far = dividing(9000, 255);
  far.narrow.offset = 16777216;
  EXPECT_FALSE(make_reciprocals(far).centred.serves);
  Epilogue scaled = dividing(9000, 255);
  scaled.narrow.numerator = 7;
  EXPECT_FALSE(make_reciprocals(scaled).centred.serves);
}

TEST(Reciprocals, TiesOfDoublesOf16Bits) {
  for (std::int64_t divisor = 3; divisor < (std::int64_t{1} << 36); divisor += divisor / 7 + 1) {
    const Reciprocals reciprocals = make_reciprocals(dividing(divisor, 65535));
    ASSERT_TRUE(reciprocals.wide.serves) << divisor;
    for (const int first : {0, 255, 40000, 65400})
      ASSERT_EQ(wrong(divisor, reciprocals.wide, first, 136), 0) << divisor;
  }
}

// One term is not enough: or the second would be there for nothing.
TEST(Reciprocals, OneTermIsNotEnough) {
  int wrong_ones = 0;
  for (std::int64_t divisor = 3; divisor < 1000; ++divisor) {
    Reciprocal<float> reciprocal = make_reciprocals(dividing(divisor, 255)).narrow;
    reciprocal.low = 0;
    wrong_ones += wrong(divisor, reciprocal, 0, 256);
  }
  EXPECT_GT(wrong_ones, 1000);
}

TEST(Reciprocals, ServeNothingElse) {
  Epilogue linear = dividing(9, 255);
  linear.narrow.divide = linear.wide.divide = false;
  EXPECT_FALSE(make_reciprocals(linear).narrow.serves);
  EXPECT_FALSE(make_reciprocals(linear).wide.serves);
  EXPECT_FALSE(make_reciprocals(linear).centred.serves);
  EXPECT_FALSE(make_reciprocals(dividing(33000, 255)).narrow.serves);
  EXPECT_FALSE(make_reciprocals(dividing(9000, 1023)).narrow.serves);
}

}  // namespace
}  // namespace convolve
