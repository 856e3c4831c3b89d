// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/plan/cost.h"
#include "tests/benchmarks/calibration_cases.h"
#include "tests/benchmarks/fit.h"

namespace convolve::benchmarks {
namespace {

class Calibration {
 public:
  Calibration(const PlaneArguments& arguments, FrameMeasurement& measurement, int processors)
      : arguments_(arguments), measurement_(measurement), processors_(processors) {}

  /// False after a failure, which has been said.
  bool measure() {
    bool good = true;
    for (const FormatCase& tested : or_usual(arguments_.formats, kCalibrationFormats))
      for (const SizeCase& size : or_usual(arguments_.sizes, kCalibrationSizes)) {
        if (!measurement_.lay_out(tested, size)) return false;
        for (const CalibrationCase& c : calibration_cases(arguments_, tested, size)) {
          measurement_.set_mask(c.mask, c.name, c.mask.mask->mask.width);
          for (const KernelRun& run : c.runs)
            good = measure_kernel(run) && good;
        }
      }
    return good;
  }

  const std::vector<FrameRow>& rows() const { return rows_; }
  const std::vector<FitCase>& cases(CostClass cost_class) const {
    return cases_[static_cast<std::size_t>(cost_class)];
  }

 private:
  bool measure_kernel(const KernelRun& run) {
    const std::optional<FrameResult> result = measurement_.run(run.kernel, run.form);
    if (!result || !result->plan) return result.has_value();
    const FrameFormat& format = measurement_.format();
    const Mask& mask = measurement_.mask();
    const CostClass found = cost_class(*result->plan);
    cases_[static_cast<std::size_t>(found)].push_back(
        {work_of(*result->plan, format, mask, processors_), result->row.time.median});
    rows_.push_back(result->row);
    return true;
  }

  const PlaneArguments& arguments_;
  FrameMeasurement& measurement_;
  int processors_;
  std::array<std::vector<FitCase>, kCostClassCount> cases_;
  std::vector<FrameRow> rows_;
};

/// Largest relative error of `terms` among `cases`, in per cent.
double worst_percent(const CostTerms& terms, const std::vector<FitCase>& cases) {
  double worst = 0;
  for (const FitCase& tested : cases)
    worst =
        std::max(worst, std::fabs(predicted_microseconds(terms, tested) / tested.microseconds - 1));
  return 100 * worst;
}

/// A row of cost_table(). Classes without a case keep the constants that the planner has for the
/// device now, and say so.
void print_row(const Setting& setting, const DeviceCapabilities& device,
               const Calibration& calibration, std::FILE* out) {
  const CostConstants now = cost_constants(device);
  const GpuFigures& figures = now.figures;
  std::fprintf(out, "      // %s, commit %s: bench_planes --calibrate, cases: %zu\n",
               setting.device.c_str(), setting.commit.c_str(), calibration.rows().size());
  if (device.backend == BackendKind::kCpu)
    std::fprintf(out, "      // Of no use to the planner, which predicts GPUs only.\n");
  std::fprintf(out,
               "      {%d, %s, false, {%d, %d, %d, %d, %d, %d, %d},\n       {{\n"
               "           // launch, MB; lone tile, work, spread, double; samples, work, spread, "
               "double\n",
               device.compute_capability, quoted(device.name).c_str(), figures.processors,
               figures.clock_mhz, figures.gigabytes_a_second, figures.float32, figures.int32,
               figures.float64, figures.int8);
  for (int c = 0; c < kCostClassCount; ++c) {
    const auto cost_class = static_cast<CostClass>(c);
    const std::vector<FitCase>& cases = calibration.cases(cost_class);
    const CostTerms terms = cases.empty() ? now.of(cost_class) : fit_terms(cases);
    std::fprintf(out, "           {{");
    for (int t = 0; t < kCostTermCount; ++t)
      std::fprintf(out, "%s%.4g", t == 0 ? "" : ", ", terms[static_cast<std::size_t>(t)]);
    std::fprintf(out, "}},  // %s: ", cost_class_name(cost_class).c_str());
    if (cases.empty())
      std::fprintf(out, "not measured\n");
    else
      std::fprintf(out, "cases: %zu, within %.0f %%\n", cases.size(), worst_percent(terms, cases));
  }
  std::fprintf(out, "       }}},\n");
}

}  // namespace

bool run_calibration(const PlaneArguments& arguments, Target& target, FrameMeasurement& measurement,
                     const Setting& setting) {
  const auto device = target.open();
  if (!device.ok()) {
    std::fprintf(stderr, "FAIL %s\n", device.status().message().c_str());
    return false;
  }
  Calibration calibration(arguments, measurement, device.value()->capabilities().processors);
  const bool good = calibration.measure();
  print_row(setting, device.value()->capabilities(), calibration, stdout);
  return write_json(setting, calibration.rows(), arguments.json) && good &&
         !calibration.rows().empty();
}

}  // namespace convolve::benchmarks
