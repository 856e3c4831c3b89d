// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/grid.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/benchmarks/grid_report.h"

namespace convolve::benchmarks {
namespace {

/// Planes, interleaved components, packed 4:2:2 and two-byte samples of two depths.
constexpr FormatCase kGridFormats[] = {
    format_case("GRAY8"), format_case("I420"), format_case("NV12"), format_case("BGR"),
    format_case("RGBA"),  format_case("YUY2"), format_case("P010"), format_case("GRAY16")};
constexpr MaskKind kGridKinds[] = {MaskKind::kPositive, MaskKind::kRational, MaskKind::kRank1,
                                   MaskKind::kBox};
/// To where separable has long won, and on both sides of where tensor needs a second window (17).
constexpr int kGridSides[] = {3, 5, 7, 9, 13, 17, 25, 31};

/// A prediction that far above the best one need not be measured to know that it is worse.
constexpr double kHopeless = 3;

template <std::size_t kCount>
bool is_one_of(const KernelKind (&kernels)[kCount], KernelKind kernel) {
  return std::find(std::begin(kernels), std::end(kernels), kernel) != std::end(kernels);
}

struct Candidate {
  KernelKind kernel = KernelKind::kAuto;
  Form form = Form::kBasic;
  double predicted = 0;  ///< 0: nobody knows.
};

/// All forms that kernel=auto could choose of, and that serve.
std::vector<Candidate> candidates(const FrameMeasurement& measurement,
                                  const DeviceCapabilities& device) {
  const bool cuda = device.backend == BackendKind::kCuda;
  std::vector<Candidate> serving;
  for (const FormInfo& info : kForms) {
    if (!(cuda ? is_one_of(kChosenOnCuda, info.kernel) : is_one_of(kChosenOnCpu, info.kernel)))
      continue;
    const Result<Plan> plan = measurement.plan(info.kernel, info.form, device);
    if (plan.ok()) serving.push_back({info.kernel, info.form, plan.value().predicted_us});
  }
  return serving;
}

/// The mask that `measurement` has, through all kernels. Nothing after a failure.
std::optional<GridCell> measure_cell(FrameMeasurement& measurement,
                                     const DeviceCapabilities& device) {
  const std::optional<FrameResult> chosen = measurement.run(KernelKind::kAuto);
  if (!chosen || !chosen->plan) return std::nullopt;
  GridCell cell;
  cell.chosen = chosen->row;
  cell.kernel = form_info(chosen->plan->form).name;
  for (const Candidate& candidate : candidates(measurement, device)) {
    FrameRow row = chosen->row;
    row.kernel = form_info(candidate.form).name;
    if (candidate.form == chosen->plan->form) {
      cell.kernel = row.kernel;
    } else if (candidate.predicted > kHopeless * chosen->row.predicted) {
      row.served = false;
      row.predicted = candidate.predicted;
    } else {
      std::optional<FrameResult> forced = measurement.run(candidate.kernel, candidate.form);
      if (!forced) return std::nullopt;
      row = std::move(forced->row);
    }
    cell.forced.push_back(std::move(row));
  }
  return cell;
}

/// The same, where a choice that looks bad is looked at twice: something else may have run.
std::optional<GridCell> measure_fairly(FrameMeasurement& measurement,
                                       const DeviceCapabilities& device) {
  std::optional<GridCell> cell = measure_cell(measurement, device);
  return cell && cell->chosen_badly() ? measure_cell(measurement, device) : cell;
}

}  // namespace

bool run_grid(const PlaneArguments& arguments, Target& target, FrameMeasurement& measurement,
              const Setting& setting) {
  const auto device = target.open();
  if (!device.ok()) {
    std::fprintf(stderr, "FAIL %s\n", device.status().message().c_str());
    return false;
  }
  const DeviceCapabilities capabilities = device.value()->capabilities();
  bool good = true;
  std::vector<GridCell> cells;
  for (const FormatCase& tested : or_usual(arguments.formats, kGridFormats))
    for (const SizeCase& size : or_usual(arguments.sizes, kSizes)) {
      if (!measurement.lay_out(tested, size)) return false;
      for (const MaskKind kind : or_usual(arguments.kinds, kGridKinds))
        for (const int side : or_usual(arguments.sides, kGridSides)) {
          measurement.set_mask(make_mask(kind, side), mask_kind_name(kind), side);
          std::optional<GridCell> cell = measure_fairly(measurement, capabilities);
          good = good && cell.has_value();
          if (cell) cells.push_back(*std::move(cell));
        }
    }
  return publish(setting, cells, arguments.json) && good && !cells.empty();
}

}  // namespace convolve::benchmarks
