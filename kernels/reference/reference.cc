// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/reference/reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/core/base/ratio.h"
#include "kernels/core/base/round.h"
#include "kernels/core/base/sample.h"
#include "kernels/core/weights/arithmetic.h"
#include "kernels/reference/float128.h"

// Compiled for several instruction sets, of which the program takes the best when it starts: half
// of a run of conformance is spent in such functions. One that a sanitizer watches cannot be
// chosen so, as that happens before the sanitizer begins.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WIDEST_VECTORS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDEST_VECTORS
#endif

namespace convolve {
namespace {

__extension__ typedef __int128 Int128;

/// Sums of products of whole numbers are exact in double below 2^53, in any order. These are below
/// 2^52: is_rational() sees to the integers of rational masks, digit_bits() to those of real ones.
using Whole = double;

/// Outputs that are summed at a time.
constexpr int kRun = 16;

/// The picture with its ghost cells around it, as signals: code - black.
class GhostedPicture {
 public:
  GhostedPicture(const Picture& input, int black, const Mask& mask, Border border)
      : width_(input.width + mask.width - 1) {
    const int height = input.height + mask.height - 1;
    // The last run of a row may read signals that nobody wants.
    signals_.resize(static_cast<std::size_t>(width_) * height + kRun);
    for (int y = 0; y < height; ++y) {
      const int from_y = border_index(border, y - mask.anchor_y, input.height);
      for (int x = 0; x < width_; ++x) {
        const int from_x = border_index(border, x - mask.anchor_x, input.width);
        const bool no_signal = from_x == kNoSignal || from_y == kNoSignal;
        signals_[offset(y, x)] =
            no_signal
                ? 0
                : input.codes[static_cast<std::size_t>(from_y) * input.width + from_x] - black;
      }
    }
  }

  const Whole* row(int y) const { return signals_.data() + offset(y, 0); }
  std::size_t offset(int y, int x) const { return static_cast<std::size_t>(y) * width_ + x; }

 private:
  int width_;
  std::vector<Whole> signals_;
};

double weight_at(const Mask& mask, int y, int x) {
  return mask.dense() ? mask.weights[static_cast<std::size_t>(y) * mask.width + x]
                      : mask.column[y] * mask.row[x];
}

/// A weight that is not zero, and how far behind an output's first signal it finds its own.
struct Tap {
  Whole weight;
  std::size_t offset;
};

/// Room for sums of `width` outputs in whole runs.
std::vector<Whole> room_for_sums(int width) {
  return std::vector<Whole>(static_cast<std::size_t>(round_up(width, kRun)));
}

/// sums[x] = the sum over all taps of their weight times their signal; `signals` are what the first
/// weight of the mask meets.
WIDEST_VECTORS void sum_taps(const std::vector<Tap>& taps, const Whole* signals,
                             std::vector<Whole>* sums) {
  // Four variables, which stay in registers where an array of them would lie in memory.
  typedef Whole Quarter __attribute__((vector_size(kRun / 4 * sizeof(Whole))));
  const auto load = [](const Whole* from, Quarter* to) { std::memcpy(to, from, sizeof *to); };
  for (std::size_t x = 0; x < sums->size(); x += kRun) {
    Quarter run0 = {}, run1 = {}, run2 = {}, run3 = {}, signal;
    for (const Tap& tap : taps) {
      const Whole* const from = signals + tap.offset + x;
      load(from, &signal);
      run0 += tap.weight * signal;
      load(from + kRun / 4, &signal);
      run1 += tap.weight * signal;
      load(from + kRun / 2, &signal);
      run2 += tap.weight * signal;
      load(from + 3 * kRun / 4, &signal);
      run3 += tap.weight * signal;
    }
    Whole* const to = sums->data() + x;
    std::memcpy(to, &run0, sizeof run0);
    std::memcpy(to + kRun / 4, &run1, sizeof run1);
    std::memcpy(to + kRun / 2, &run2, sizeof run2);
    std::memcpy(to + 3 * kRun / 4, &run3, sizeof run3);
  }
}

/// B of the arithmetic: a whole code.
int offset_code(const Component& rule, double bias) {
  const bool signed_signal = rule.role == Role::kChroma || rule.role == Role::kAlpha;
  return signed_signal ? 0 : static_cast<int>(std::nearbyint(bias * rule.range));
}

/// numerator / denominator to the nearest integer, ties to even; denominator > 0.
Int128 round_quotient(Int128 numerator, Int128 denominator) {
  Int128 quotient = numerator / denominator;
  Int128 remainder = numerator % denominator;
  if (remainder < 0) {
    remainder += denominator;
    quotient -= 1;
  }
  const Int128 twice = 2 * remainder;
  if (twice > denominator || (twice == denominator && quotient % 2 != 0)) quotient += 1;
  return quotient;
}

/// A rational mask with its scale: weight(y, x) = integers(y, x) * numerator / divisor.
struct Fraction {
  std::int64_t numerator;
  std::int64_t divisor;
};

std::int64_t integer_at(const Mask& mask, int y, int x) {
  return mask.integers.empty() ? mask.column_integers[y] * mask.row_integers[x]
                               : mask.integers[static_cast<std::size_t>(y) * mask.width + x];
}

/// Whether mask and scale are of the rational class for codes up to `max_code`, and the fraction.
bool find_fraction(const Mask& mask, double scale, int max_code, Fraction* fraction) {
  if (!mask.rational || (mask.integers.empty() && mask.column_integers.empty())) return false;
  const std::optional<Ratio> ratio = ratio_of(scale);
  if (!ratio) return false;
  const std::optional<Ratio> product = multiply(*ratio, mask.gain);
  if (!product || product->den >= std::int64_t{1} << 31) return false;
  const long double magnitude = static_cast<long double>(mask.integer_magnitude) *
                                std::fabs(static_cast<long double>(product->num));
  if (static_cast<long double>(max_code) * (magnitude + 2.0L * product->den) >= 0x1p52L)
    return false;
  *fraction = {product->num, product->den};
  return true;
}

void filter_rational(const GhostedPicture& ghosted, const Picture& input, const Component& rule,
                     const Mask& mask, const Fraction& fraction, int base, RowRange rows,
                     std::vector<Truth>* result) {
  std::vector<Tap> taps;
  taps.reserve(static_cast<std::size_t>(mask.taps()));
  for (int i = 0; i < mask.height; ++i)
    for (int j = 0; j < mask.width; ++j)
      if (const std::int64_t weight = integer_at(mask, i, j); weight != 0)
        taps.push_back({static_cast<Whole>(weight), ghosted.offset(i, j)});
  std::vector<Whole> sums = room_for_sums(input.width);
  for (int y = rows.first; y < rows.end(input.height); ++y) {
    sum_taps(taps, ghosted.row(y), &sums);
    for (int x = 0; x < input.width; ++x) {
      const Int128 sum = static_cast<std::int64_t>(sums[x]);
      const Int128 numerator = Int128{base} * fraction.divisor + Int128{fraction.numerator} * sum;
      const Int128 code = round_quotient(numerator, fraction.divisor);
      Truth truth;
      truth.code = static_cast<std::uint16_t>(std::clamp<Int128>(code, 0, rule.max_code()));
      result->push_back(truth);
    }
  }
}

/// The bits of a digit of weights: with the 17 bits of a code and its sign, and one for each
/// doubling of the taps, a sum of products stays below 2^52.
int digit_bits(std::int64_t taps) {
  int bits = 52 - 17;
  for (std::int64_t reach = 1; reach < taps; reach *= 2)
    bits -= 1;
  return bits;
}

/// The weights of a real mask as whole numbers in base 2^bits, times 2^exponent.
class DigitMask {
 public:
  DigitMask(const Mask& mask, const GhostedPicture& ghosted) : bits_(digit_bits(mask.taps())) {
    int low = 0;
    int high = 0;
    bool any = false;
    for (int i = 0; i < mask.height; ++i)
      for (int j = 0; j < mask.width; ++j) {
        const double weight = weight_at(mask, i, j);
        if (weight == 0) continue;
        int exponent = 0;
        std::frexp(weight, &exponent);  // |weight| < 2^exponent, a multiple of 2^(exponent - 53)
        low = any ? std::min(low, exponent - 53) : exponent - 53;
        high = any ? std::max(high, exponent) : exponent;
        any = true;
      }
    exponent_ = low;
    taps_.resize(std::max(1, (high - low + bits_ - 1) / bits_));
    for (int i = 0; i < mask.height; ++i)
      for (int j = 0; j < mask.width; ++j)
        split(weight_at(mask, i, j), ghosted.offset(i, j));
  }

  int count() const { return static_cast<int>(taps_.size()); }
  int bits() const { return bits_; }
  int exponent() const { return exponent_; }
  const std::vector<Tap>& taps(int d) const { return taps_[d]; }

 private:
  /// Takes digits from the top; each step is exact.
  void split(double weight, std::size_t offset) {
    for (int d = count() - 1; d >= 0; --d) {
      const int place = exponent_ + d * bits_;
      const double digit = std::trunc(std::ldexp(weight, -place));
      if (digit != 0) taps_[d].push_back({digit, offset});
      weight -= std::ldexp(digit, place);
    }
  }

  int bits_;
  int exponent_ = 0;
  std::vector<std::vector<Tap>> taps_;
};

Float128 power_of_two(int exponent) {
  Float128 power = 1;
  for (; exponent > 0; --exponent)
    power *= 2;
  for (; exponent < 0; ++exponent)
    power /= 2;
  return power;
}

/// The sum of digits in base 2^bits, to 113 bits: digits carry first, so that nothing cancels in
/// what is rounded.
Float128 value_of_digits(std::vector<std::int64_t>* digits, int bits) {
  const std::int64_t base = std::int64_t{1} << bits;
  for (std::size_t d = 0; d + 1 < digits->size(); ++d) {
    const std::int64_t carry = (*digits)[d] >> bits;  // Towards minus infinity.
    (*digits)[d] -= carry * base;
    (*digits)[d + 1] += carry;
  }
  Float128 value = 0;
  for (std::size_t d = digits->size(); d-- > 0;)
    value = value * base + (*digits)[d];
  return value;
}

/// Nearest integer to `value`, ties to even, where |value| < 2^40.
std::int64_t round_value(Float128 value) {
  std::int64_t below = static_cast<std::int64_t>(value);
  if (static_cast<Float128>(below) > value) below -= 1;
  const Float128 fraction = value - static_cast<Float128>(below);
  if (fraction > Float128{0.5} || (fraction == Float128{0.5} && below % 2 != 0)) below += 1;
  return below;
}

/// The rounded code and the neighbours that the zone around the rounding boundaries allows.
Truth judge(Float128 value, double zone_width, int max_code) {
  const Float128 limit = Float128{1} * (std::int64_t{1} << 40);
  const Float128 bounded = value > limit ? limit : (value < -limit ? -limit : value);
  Truth truth;
  truth.code =
      static_cast<std::uint16_t>(std::clamp<std::int64_t>(round_value(bounded), 0, max_code));
  const Float128 code = static_cast<Float128>(truth.code);
  truth.lower_too = truth.code > 0 && value - (code - Float128{0.5}) <= zone_width;
  truth.higher_too = truth.code < max_code && (code + Float128{0.5}) - value <= zone_width;
  return truth;
}

void filter_real(const GhostedPicture& ghosted, const Picture& input, const Component& rule,
                 const Mask& mask, double scale, int base, RowRange rows,
                 std::vector<Truth>* result) {
  const DigitMask digits(mask, ghosted);
  const double zone_width = zone(mask, scale, rule.depth);
  const Float128 unit = power_of_two(digits.exponent());
  std::vector<std::vector<Whole>> sums(digits.count(), room_for_sums(input.width));
  std::vector<std::int64_t> sum(digits.count());
  for (int y = rows.first; y < rows.end(input.height); ++y) {
    for (int d = 0; d < digits.count(); ++d)
      sum_taps(digits.taps(d), ghosted.row(y), &sums[d]);
    for (int x = 0; x < input.width; ++x) {
      for (int d = 0; d < digits.count(); ++d)
        sum[d] = static_cast<std::int64_t>(sums[d][x]);
      const Float128 value =
          Float128{1} * base + Float128{scale} * (value_of_digits(&sum, digits.bits()) * unit);
      result->push_back(judge(value, zone_width, rule.max_code()));
    }
  }
}

template <class Stored>
void decode_row(const std::uint8_t* row, const Component& component, SampleLayout layout,
                std::vector<int>* codes) {
  for (int x = 0; x < component.width; ++x) {
    Stored stored;
    std::memcpy(&stored, row + component.offset + static_cast<std::ptrdiff_t>(x) * component.step,
                sizeof(stored));
    codes->push_back(decode_sample(stored, layout));
  }
}

template <class Stored>
void encode_row(const int* codes, const Component& component, SampleLayout layout,
                std::uint8_t* row) {
  for (int x = 0; x < component.width; ++x) {
    const Stored stored = encode_sample<Stored>(codes[x], layout);
    std::memcpy(row + component.offset + static_cast<std::ptrdiff_t>(x) * component.step, &stored,
                sizeof(stored));
  }
}

void copy_bits(const FrameView& src, const FrameView& dst, int plane, int component) {
  const Component& c = src.format.planes[plane].components[component];
  const std::size_t bytes = src.format.planes[plane].sample_bytes;
  for (int y = 0; y < c.height; ++y)
    for (int x = 0; x < c.width; ++x) {
      const std::ptrdiff_t at = c.offset + static_cast<std::ptrdiff_t>(x) * c.step;
      std::memcpy(dst.data[plane] + y * dst.pitch[plane] + at,
                  src.data[plane] + y * src.pitch[plane] + at, bytes);
    }
}

}  // namespace

ReferenceResult reference_filter(const Picture& input, const Component& rule, const Mask& mask,
                                 const RunArguments& arguments, RowRange rows) {
  const GhostedPicture ghosted(input, rule.black, mask, arguments.border);
  const int base = rule.black + offset_code(rule, arguments.bias);
  ReferenceResult result;
  result.samples.reserve(input.codes.size());
  Fraction fraction;
  result.rational = find_fraction(mask, arguments.scale, rule.max_code(), &fraction);
  if (result.rational)
    filter_rational(ghosted, input, rule, mask, fraction, base, rows, &result.samples);
  else
    filter_real(ghosted, input, rule, mask, arguments.scale, base, rows, &result.samples);
  return result;
}

Picture decode_component(const FrameView& frame, int plane, int component) {
  const PlaneFormat& format = frame.format.planes[plane];
  const Component& c = format.components[component];
  Picture picture{c.width, c.height, {}};
  picture.codes.reserve(static_cast<std::size_t>(c.width) * c.height);
  for (int y = 0; y < c.height; ++y) {
    const std::uint8_t* row = frame.data[plane] + y * frame.pitch[plane];
    if (format.sample_bytes == 2)
      decode_row<std::uint16_t>(row, c, sample_layout(format, c), &picture.codes);
    else
      decode_row<std::uint8_t>(row, c, sample_layout(format, c), &picture.codes);
  }
  return picture;
}

void encode_component(const Picture& picture, const FrameView& frame, int plane, int component) {
  const PlaneFormat& format = frame.format.planes[plane];
  const Component& c = format.components[component];
  for (int y = 0; y < c.height; ++y) {
    std::uint8_t* row = frame.data[plane] + y * frame.pitch[plane];
    const int* codes = picture.codes.data() + static_cast<std::size_t>(y) * c.width;
    if (format.sample_bytes == 2)
      encode_row<std::uint16_t>(codes, c, sample_layout(format, c), row);
    else
      encode_row<std::uint8_t>(codes, c, sample_layout(format, c), row);
  }
}

void reference_run(const FrameView& src, const FrameView& dst, const Mask& mask,
                   const RunArguments& arguments) {
  for (int p = 0; p < src.format.plane_count; ++p)
    for (int c = 0; c < src.format.planes[p].component_count; ++c) {
      const Component& component = src.format.planes[p].components[c];
      if (!component.filtered) {
        copy_bits(src, dst, p, c);
        continue;
      }
      Picture picture = decode_component(src, p, c);
      const ReferenceResult result = reference_filter(picture, component, mask, arguments);
      for (std::size_t k = 0; k < picture.codes.size(); ++k)
        picture.codes[k] = result.samples[k].code;
      encode_component(picture, dst, p, c);
    }
}

}  // namespace convolve
