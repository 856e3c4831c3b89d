// SPDX-License-Identifier: LGPL-2.1-or-later
// Decisions read from the bytes of a fuzz input. Bytes that are not there read as 0, for which
// every decision is the most usual one, so that short inputs are good cases.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>

namespace convolve::fuzz {

class ByteReader {
 public:
  explicit ByteReader(const std::string& bytes) : bytes_(bytes) {}

  bool empty() const { return at_ >= bytes_.size(); }

  std::uint8_t byte() { return empty() ? 0 : static_cast<std::uint8_t>(bytes_[at_++]); }

  /// 0 .. n - 1, n from 1 to 256.
  int below(int n) { return byte() % n; }

  template <class T, std::size_t n>
  const T& pick(const T (&choices)[n]) {
    static_assert(n <= 256);
    return choices[below(static_cast<int>(n))];
  }

  /// `usual`, or a number near it, a multiple of it, one at a limit of some type, or any other.
  std::int64_t number(std::int64_t usual) {
    constexpr std::int64_t kLimits[] = {0,
                                        1,
                                        -1,
                                        std::numeric_limits<std::int32_t>::max(),
                                        std::numeric_limits<std::int32_t>::min(),
                                        std::numeric_limits<std::uint32_t>::max(),
                                        std::numeric_limits<std::int64_t>::max(),
                                        std::numeric_limits<std::int64_t>::min(),
                                        std::numeric_limits<std::int64_t>::max() - 63,
                                        std::int64_t{1} << 15,
                                        (std::int64_t{1} << 15) + 1,
                                        -64};
    switch (below(8)) {
      case 1:
      case 2:
        return wrapped(usual, static_cast<std::int8_t>(byte()));
      case 3:
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(usual) *
                                         static_cast<std::uint64_t>(below(16)));
      case 4:
        return wrapped(0, -usual);
      case 5:
        return pick(kLimits);
      case 6:
        return static_cast<std::int32_t>(bytes_of(4));
      case 7:
        return static_cast<std::int64_t>(bytes_of(8));
      default:
        return usual;
    }
  }

 private:
  static std::int64_t wrapped(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }
  std::uint64_t bytes_of(int count) {
    std::uint64_t value = 0;
    for (int i = 0; i < count; ++i)
      value = value << 8 | byte();
    return value;
  }

  const std::string& bytes_;
  std::size_t at_ = 0;
};

}  // namespace convolve::fuzz
