// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/storm/judge.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/core/base/sample.h"
#include "kernels/core/weights/arithmetic.h"
#include "tests/kernels/compare.h"
#include "tests/storm/exact.h"

namespace storm {
namespace {

using convolve::Component;
using convolve::FrameView;
using convolve::PlaneFormat;
using convolve::Truth;

// Nanoseconds for the exact reference: of rows of every frame, and of samples in which two backends
// differ.
constexpr double kRowsBudget = 2e6;
constexpr double kDifferencesBudget = 3e8;

struct Sample {
  int code;
  bool clean;  ///< No bit outside the depth is set.
};

template <class Stored>
Sample sample_in(const std::uint8_t* at, convolve::SampleLayout layout) {
  Stored stored;
  std::memcpy(&stored, at, sizeof stored);
  const int code = convolve::decode_sample(stored, layout);
  return {code, convolve::encode_sample<Stored>(code, layout) == stored};
}

/// One filtered component of the frames.
class ComponentJudge {
 public:
  ComponentJudge(const Evidence& evidence, const Settings& settings, int plane, int component,
                 Verdict& verdict)
      : evidence_(evidence),
        settings_(settings),
        plane_(plane),
        component_(component),
        rule_(evidence.given.format.planes[plane].components[component]),
        verdict_(verdict) {}

  /// Every sample beside the other frame's; where a real mask may differ, beside the reference.
  void beside_truth(double* budget) {
    const bool rational =
        convolve::is_rational(evidence_.planned, settings_.mask, settings_.arguments.scale);
    const PlaneFormat& plane = evidence_.given.format.planes[plane_];
    for (int y = 0; y < rule_.height && verdict_.fault.empty(); ++y) {
      if (std::memcmp(row(evidence_.given, y), row(*evidence_.truth, y),
                      static_cast<std::size_t>(plane.row_bytes)) == 0)
        continue;
      std::vector<int> differ;
      for (int x = 0; x < rule_.width && verdict_.fault.empty(); ++x) {
        const Sample given = sample(evidence_.given, x, y);
        const Sample truth = sample(*evidence_.truth, x, y);
        if (given.code == truth.code && given.clean) continue;
        if (rational || !given.clean || std::abs(given.code - truth.code) > 1)
          fail(x, y, given, truth.code, "the other backend or kernel");
        differ.push_back(x);
      }
      if (verdict_.fault.empty()) check_differences(differ, y, budget);
    }
  }

  /// All rows beside the reference, or as many as `budget` has time for, or some samples.
  void beside_reference(double budget) {
    const double cost = exact().cost(rule_.width);
    const auto rows = static_cast<int>(std::min<double>(rule_.height, budget / cost));
    for (int k = 0; k < rows && verdict_.fault.empty(); ++k) {
      // Spread over the picture, the first one elsewhere in each frame.
      const auto from = static_cast<unsigned>(static_cast<std::int64_t>(k) * rule_.height / rows);
      const int y = static_cast<int>((from + evidence_.seed) % static_cast<unsigned>(rule_.height));
      check_row(0, rule_.width, y);
    }
    if (rows > 0 || rule_.height == 0) return;
    const auto samples = static_cast<int>(std::min(4.0, budget / exact().cost(1)));
    for (int k = 0; k < samples && verdict_.fault.empty(); ++k) {
      const unsigned number = evidence_.seed * 4 + static_cast<unsigned>(k);
      check_row(static_cast<int>(number * 7919u % static_cast<unsigned>(rule_.width)), 1,
                static_cast<int>(number * 104729u % static_cast<unsigned>(rule_.height)));
    }
  }

 private:
  const std::uint8_t* row(const FrameView& frame, int y) const {
    return frame.data[plane_] + y * frame.pitch[plane_];
  }

  Sample sample(const FrameView& frame, int x, int y) const {
    const PlaneFormat& plane = frame.format.planes[plane_];
    const convolve::SampleLayout layout = convolve::sample_layout(plane, rule_);
    const std::uint8_t* at =
        row(frame, y) + rule_.offset + static_cast<std::ptrdiff_t>(x) * rule_.step;
    return plane.sample_bytes == 2 ? sample_in<std::uint16_t>(at, layout)
                                   : sample_in<std::uint8_t>(at, layout);
  }

  ExactComponent& exact() {
    if (!exact_) exact_.emplace(evidence_.source, evidence_.planned, plane_, component_, settings_);
    return *exact_;
  }

  /// `count` samples of row `y` from `x` on beside the reference.
  void check_row(int x, int count, int y) {
    const std::vector<Truth> truths = exact().row(x, count, y);
    for (int k = 0; k < count && verdict_.fault.empty(); ++k) {
      const Sample given = sample(evidence_.given, x + k, y);
      const Truth truth = truths[static_cast<std::size_t>(k)];
      if (!given.clean || !convolve::allows(truth, given.code))
        fail(x + k, y, given, truth.code, "the reference");
    }
    verdict_.exact += count;
  }

  /// Samples of row `y` in which two backends differ: those near each other at once, as what the
  /// mask sees of them is nearly the same.
  void check_differences(const std::vector<int>& differ, int y, double* budget) {
    verdict_.neighbours += static_cast<std::int64_t>(differ.size());
    for (std::size_t k = 0; k < differ.size() && verdict_.fault.empty();) {
      std::size_t last = k;
      while (last + 1 < differ.size() && differ[last + 1] - differ[last] <= settings_.mask.width)
        ++last;
      const int count = differ[last] - differ[k] + 1;
      *budget -= exact().cost(count);
      if (*budget > 0)
        check_row(differ[k], count, y);
      else
        verdict_.unchecked += static_cast<std::int64_t>(last - k + 1);
      k = last + 1;
    }
  }

  void fail(int x, int y, Sample given, int wanted, const char* whose) {
    if (!verdict_.fault.empty()) return;
    verdict_.fault = "differs: plane " + std::to_string(plane_) + " component " +
                     std::to_string(component_) + " at (" + std::to_string(x) + "," +
                     std::to_string(y) + "): " + std::to_string(given.code) +
                     (given.clean ? "" : " and bits outside the depth") + ", not " +
                     std::to_string(wanted) + " as of " + whose;
  }

  const Evidence& evidence_;
  const Settings& settings_;
  int plane_;
  int component_;
  const Component& rule_;
  Verdict& verdict_;
  std::optional<ExactComponent> exact_;
};

/// Everything in the rows, what no component describes included.
std::string beside_source(const Evidence& evidence) {
  for (int p = 0; p < evidence.given.format.plane_count; ++p)
    for (int y = 0; y < evidence.given.format.planes[p].rows; ++y)
      if (std::memcmp(evidence.given.data[p] + y * evidence.given.pitch[p],
                      evidence.source.data[p] + y * evidence.source.pitch[p],
                      static_cast<std::size_t>(evidence.given.format.planes[p].row_bytes)) != 0)
        return "differs: plane " + std::to_string(p) + " row " + std::to_string(y) +
               " is not that of the source, which should pass through";
  return {};
}

}  // namespace

Verdict judge(const Evidence& evidence, const Settings& settings) {
  Verdict verdict;
  if (evidence.passthrough) {
    verdict.fault = beside_source(evidence);
    return verdict;
  }
  double differences_budget = kDifferencesBudget;
  const convolve::FrameFormat& format = evidence.given.format;
  int filtered = 0;
  (void)convolve::all_filtered(format, [&](const Component& /*component*/) { return ++filtered; });
  for (int p = 0; p < format.plane_count; ++p)
    for (int c = 0; c < format.planes[p].component_count; ++c) {
      if (!verdict.fault.empty()) return verdict;
      if (!format.planes[p].components[c].filtered) {
        const auto copied =
            convolve::testing::compare_copied(evidence.given, evidence.source, p, c);
        if (copied.wrong > 0) verdict.fault = "differs, a copied component: " + copied.first_wrong;
        continue;
      }
      ComponentJudge component(evidence, settings, p, c, verdict);
      if (evidence.truth) component.beside_truth(&differences_budget);
      if (verdict.fault.empty()) component.beside_reference(kRowsBudget / filtered);
    }
  return verdict;
}

}  // namespace storm
