// SPDX-License-Identifier: LGPL-2.1-or-later
// Random numbers that are the same with every library and on every machine: a generator that the
// C++ standard pins down, and whole numbers only (the standard's distributions differ by library).
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace storm {

class Random {
 public:
  /// Another sequence for each pair.
  Random(std::uint64_t seed, std::uint64_t index)
      : generator_(seed * 0x9E3779B97F4A7C15u ^ (index + 1) * 0xBF58476D1CE4E5B9u) {}

  std::uint64_t bits() { return generator_(); }

  /// low .. high, both included.
  int integer(int low, int high) {
    return low + static_cast<int>(bits() % static_cast<std::uint64_t>(high - low + 1));
  }

  /// True in `percent` of a hundred cases.
  bool chance(int percent) { return integer(1, 100) <= percent; }

  /// 1 .. limit, each doubling as likely as the next.
  int log_uniform(int limit) {
    int doublings = 0;
    while (limit >> (doublings + 1) > 0)
      ++doublings;
    const int low = 1 << integer(0, doublings);
    return integer(low, 2 * low - 1 < limit ? 2 * low - 1 : limit);
  }

  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(bits() % from.size())];
  }

 private:
  std::mt19937_64 generator_;
};

}  // namespace storm
