// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/class_frames.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

constexpr std::size_t kPoolBytes = std::size_t{1} << 20;

/// Runs of one byte and runs of noise by turns.
std::vector<std::uint8_t> make_pool() {
  constexpr int kLongestRun = 96;
  Random random(41);
  std::vector<std::uint8_t> pool;
  while (pool.size() < kPoolBytes) {
    const auto patch =
        static_cast<std::uint8_t>(random.integer(0, 2) * 120 + random.integer(0, 15));
    for (int k = random.integer(1, kLongestRun); k > 0; --k)
      pool.push_back(patch);
    for (int k = random.integer(1, kLongestRun); k > 0; --k)
      pool.push_back(static_cast<std::uint8_t>(random.bits()));
  }
  return pool;
}

/// Which bytes of a row belong to a sample; empty if all do.
std::vector<bool> bytes_of_samples(const PlaneFormat& plane) {
  std::vector<bool> of_samples(static_cast<std::size_t>(plane.row_bytes));
  for (int c = 0; c < plane.component_count; ++c) {
    const Component& component = plane.components[c];
    for (int x = 0; x < component.width; ++x)
      for (int b = 0; b < plane.sample_bytes; ++b)
        of_samples[static_cast<std::size_t>(component.offset + x * component.step + b)] = true;
  }
  if (std::find(of_samples.begin(), of_samples.end(), false) == of_samples.end()) return {};
  return of_samples;
}

std::string at(int plane, int x, int y) {
  return "plane " + std::to_string(plane) + " at (" + std::to_string(x) + "," + std::to_string(y) +
         ")";
}

/// Differing bytes, and where the first one is.
struct Difference {
  long count = 0;
  std::string first;

  void add(const std::string& place, int got, int wanted) {
    if (count++ == 0)
      first = place + ": " + std::to_string(got) + ", not " + std::to_string(wanted);
  }
};

void compare_bytes(const FrameView& answer, const FrameView& truth, int p, Difference& found) {
  const PlaneFormat& plane = truth.format.planes[p];
  const std::vector<bool> counts = bytes_of_samples(plane);
  for (int y = 0; y < plane.rows; ++y) {
    const std::uint8_t* got = answer.data[p] + y * answer.pitch[p];
    const std::uint8_t* wanted = truth.data[p] + y * truth.pitch[p];
    if (std::memcmp(got, wanted, static_cast<std::size_t>(plane.row_bytes)) == 0) continue;
    for (int x = 0; x < plane.row_bytes; ++x)
      if (got[x] != wanted[x] && (counts.empty() || counts[static_cast<std::size_t>(x)]))
        found.add(at(p, x, y), got[x], wanted[x]);
  }
}

/// No code may be two off. One off may be no more than a share of them, or those that the exact
/// reference allows.
void compare_codes(const FrameView& answer, const FrameView& truth, int p,
                   const Tolerance& tolerance, Difference& found) {
  constexpr double kAlwaysAllowed = 16;
  const PlaneFormat& plane = truth.format.planes[p];
  for (int c = 0; c < plane.component_count; ++c) {
    const Picture got = decode_component(answer, p, c), wanted = decode_component(truth, p, c);
    const auto place = [&](std::size_t k) {
      const auto width = static_cast<std::size_t>(got.width);
      return at(p, static_cast<int>(k % width), static_cast<int>(k / width));
    };
    std::size_t neighbours = 0;
    for (std::size_t k = 0; k < got.codes.size(); ++k) {
      const int distance = std::abs(got.codes[k] - wanted.codes[k]);
      neighbours += distance == 1;
      if (distance > 1) found.add(place(k), got.codes[k], wanted.codes[k]);
    }
    if (static_cast<double>(neighbours) <=
        kAlwaysAllowed + tolerance.share * static_cast<double>(got.codes.size()))
      continue;
    if (!tolerance.exact) {
      found.add("plane " + std::to_string(p) + " has too many codes that are one off",
                static_cast<int>(neighbours), 0);
      continue;
    }
    const std::vector<Truth> exact = tolerance.exact(p, c);
    for (std::size_t k = 0; k < got.codes.size(); ++k)
      if (!allows(exact[k], got.codes[k]))
        found.add(place(k) + " outside the zone", got.codes[k], exact[k].code);
  }
}

}  // namespace

void fill_frame(const FrameView& frame, std::uint64_t seed) {
  static const std::vector<std::uint8_t> pool = make_pool();
  Random random(seed);
  for (int p = 0; p < frame.format.plane_count; ++p) {
    const PlaneFormat& plane = frame.format.planes[p];
    const auto bytes = static_cast<std::size_t>(plane.row_bytes);
    // Rows that are alike for a while, or none.
    const int alike = seed % 2 == 0 ? 23 : 1;
    std::size_t from = 0;
    for (int y = 0; y < plane.rows; ++y) {
      if (y % alike == 0)
        from = static_cast<std::size_t>(random.integer(0, static_cast<int>(kPoolBytes - bytes)));
      std::memcpy(frame.data[p] + y * frame.pitch[p], pool.data() + from, bytes);
    }
  }
}

std::string find_fault(const FrameView& answer, const FrameView& truth,
                       const Tolerance& tolerance) {
  Difference found;
  for (int p = 0; p < truth.format.plane_count; ++p) {
    if (tolerance.neighbours)
      compare_codes(answer, truth, p, tolerance, found);
    else
      compare_bytes(answer, truth, p, found);
  }
  return found.count == 0 ? std::string()
                          : std::to_string(found.count) + " differ, first " + found.first;
}

}  // namespace convolve::testing
