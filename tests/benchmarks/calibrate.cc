// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/core/plan/cost.h"
#include "kernels/core/plan/cpu_cost.h"
#include "tests/benchmarks/calibration_cases.h"
#include "tests/benchmarks/fit.h"

namespace convolve::benchmarks {
namespace {

/// Classes of cost, of the GPU's model or the CPU's.
constexpr int kMostClasses = std::max(kCostClassCount, kCpuCostClassCount);

class Calibration {
 public:
  Calibration(const PlaneArguments& arguments, FrameMeasurement& measurement,
              const DeviceCapabilities& device)
      : arguments_(arguments), measurement_(measurement), device_(device) {}

  /// False after a failure, which has been said.
  bool measure() {
    bool good = true;
    for (const FormatCase& tested : or_usual(arguments_.formats, kCalibrationFormats))
      for (const SizeCase& size : calibration_sizes(arguments_)) {
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
  const std::vector<FitCase>& cases(int cost_class) const {
    return cases_[static_cast<std::size_t>(cost_class)];
  }

 private:
  bool measure_kernel(const KernelRun& run) {
    const std::optional<FrameResult> result = measurement_.run(run.kernel, run.form);
    if (!result || !result->plan) return result.has_value();
    const Plan& plan = *result->plan;
    const FrameFormat& format = measurement_.format();
    const Mask& mask = measurement_.mask();
    FitCase made;
    made.microseconds = result->row.time.median;
    int found = 0;
    if (device_.backend == BackendKind::kCpu) {
      found = static_cast<int>(cpu_cost_class(plan, format));
      made.launches = {
          {{cpu_work_of(cpu_cost_constants(device_), plan, format, mask, device_.threads)}}};
    } else {
      found = static_cast<int>(cost_class(plan));
      made.launches = work_of(plan, format, mask, device_.processors);
    }
    cases_[static_cast<std::size_t>(found)].push_back(std::move(made));
    rows_.push_back(result->row);
    return true;
  }

  const PlaneArguments& arguments_;
  FrameMeasurement& measurement_;
  const DeviceCapabilities& device_;
  std::array<std::vector<FitCase>, kMostClasses> cases_;
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

/// The constants of a class, fitted to its cases or, without any, as the planner has them for the
/// device now.
void print_class(const std::vector<FitCase>& cases, const CostTerms& now, const std::string& name,
                 std::FILE* out) {
  const CostTerms terms = cases.empty() ? now : fit_terms(cases);
  std::fprintf(out, "           {{");
  for (int t = 0; t < kCostTermCount; ++t)
    std::fprintf(out, "%s%.4g", t == 0 ? "" : ", ", terms[static_cast<std::size_t>(t)]);
  std::fprintf(out, "}},  // %s: ", name.c_str());
  if (cases.empty())
    std::fprintf(out, "not measured\n");
  else
    std::fprintf(out, "cases: %zu, within %.0f %%\n", cases.size(), worst_percent(terms, cases));
}

/// A row of cost_table().
void print_row(const DeviceCapabilities& device, const Calibration& calibration, std::FILE* out) {
  const CostConstants now = cost_constants(device);
  const GpuFigures& figures = now.figures;
  std::fprintf(out,
               "      {%d, %s, false, {%d, %d, %d, %d, %d, %d, %d},\n       {{\n"
               "           // launch, MB; lone tile, work, spread, double; samples, work, spread, "
               "double\n",
               device.compute_capability, quoted(device.name).c_str(), figures.processors,
               figures.clock_mhz, figures.gigabytes_a_second, figures.float32, figures.int32,
               figures.float64, figures.int8);
  for (int c = 0; c < kCostClassCount; ++c) {
    const auto cost_class = static_cast<CostClass>(c);
    print_class(calibration.cases(c), now.of(cost_class), cost_class_name(cost_class), out);
  }
}

/// A row of cpu_cost_table().
void print_cpu_row(const DeviceCapabilities& device, const Calibration& calibration,
                   std::FILE* out) {
  const CpuCostConstants& now = cpu_cost_constants(device);
  std::fprintf(out,
               "      {%s, \"...\", false,\n       {{\n"
               "           // frame, rows, MB, samples, work, apart, double, divided\n",
               quoted(device.name).c_str());
  for (int c = 0; c < kCpuCostClassCount; ++c)
    print_class(calibration.cases(c), now.terms[static_cast<std::size_t>(c)],
                cpu_cost_class_name(static_cast<CpuCostClass>(c)), out);
}

}  // namespace

bool run_calibration(const PlaneArguments& arguments, Target& target, FrameMeasurement& measurement,
                     const Setting& setting) {
  const auto device = target.open();
  if (!device.ok()) {
    std::fprintf(stderr, "FAIL %s\n", device.status().message().c_str());
    return false;
  }
  const DeviceCapabilities& capabilities = device.value()->capabilities();
  Calibration calibration(arguments, measurement, capabilities);
  const bool good = calibration.measure();
  std::printf("      // %s, commit %s: bench_planes --calibrate, cases: %zu\n",
              setting.device.c_str(), setting.commit.c_str(), calibration.rows().size());
  if (capabilities.backend == BackendKind::kCpu)
    print_cpu_row(capabilities, calibration, stdout);
  else
    print_row(capabilities, calibration, stdout);
  std::printf("       }}},\n");
  return write_json(setting, calibration.rows(), arguments.json) && good &&
         !calibration.rows().empty();
}

}  // namespace convolve::benchmarks
