// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/calibrate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "kernels/core/cost.h"
#include "tests/benchmarks/fit.h"

namespace convolve::benchmarks {
namespace {

// A lone tile and a full device, planes and interleaved components, one byte a sample and two.
constexpr SizeCase kCalibrationSizes[] = {kTinySize, size_case("640x480"), size_case("1080p"),
                                          size_case("4k")};
constexpr FormatCase kCalibrationFormats[] = {format_case("GRAY8"), format_case("NV12"),
                                              format_case("RGBA"), format_case("P010"),
                                              format_case("GRAY16")};
constexpr MaskKind kCalibrationKinds[] = {MaskKind::kPositive, MaskKind::kRational,
                                          MaskKind::kRank1, MaskKind::kBox};
constexpr int kCalibrationSides[] = {3, 7, 9, 15, 31};

/// The book's kernels get rough constants, from one format and small masks: they take long.
constexpr const char* kBookFormat = "GRAY8";
constexpr int kLargestBookSide = 17;
constexpr MaskKind kBookKind = MaskKind::kBox;

/// Masks for classes that the others do not reach.
struct SpecialCase {
  const char* mask;
  KernelKind kernel;
  const char* format;
};
const SpecialCase kSpecialCases[] = {
    // Tile and halo leave shared memory.
    {"box:81,255", KernelKind::kSeparable, "GRAY8"},
    {"box:255,81", KernelKind::kSeparable, "GRAY8"},
    // Sums that no float or int32 holds.
    {"gaussian:2", KernelKind::kSeparable, "GRAY16"},
    {"gaussian:5", KernelKind::kSeparable, "GRAY16"},
    {"2x1: 1e38 -1e38", KernelKind::kCoarsened, "GRAY8"},
    {"9x1: 1e38 -1e38 1 1 1 1 1 1 1", KernelKind::kCoarsened, "GRAY8"},
    {"2x1: 1e38 -1e38", KernelKind::kSeparable, "GRAY8"},
    {"9x1: 1e38 -1e38 1 1 1 1 1 1 1", KernelKind::kSeparable, "GRAY8"},
    // Running sums: masks larger than those that all kernels get, with 15 between them.
    {"box:15", KernelKind::kBox, "GRAY8"},
    {"box:63", KernelKind::kBox, "GRAY8"},
    {"box:255", KernelKind::kBox, "GRAY8"},
    {"box:15", KernelKind::kBox, "GRAY16"},
    {"box:63", KernelKind::kBox, "GRAY16"},
    {"box:255", KernelKind::kBox, "GRAY16"},
    {"box:15", KernelKind::kBox, "RGBA"},
    {"box:63", KernelKind::kBox, "RGBA"},
    {"box:255", KernelKind::kBox, "RGBA"},
    // One tap: of 1, which moves bits, and of 1/2, which maps codes.
    {"3x1: 1 0 0", KernelKind::kShift, "GRAY8"},
    {"3x1: 1 0 0 / 2", KernelKind::kShift, "GRAY8"},
    {"3x1: 1 0 0", KernelKind::kShift, "NV12"},
    {"3x1: 1 0 0 / 2", KernelKind::kShift, "NV12"},
    {"3x1: 1 0 0", KernelKind::kShift, "RGBA"},
    {"3x1: 1 0 0 / 2", KernelKind::kShift, "RGBA"},
    {"3x1: 1 0 0", KernelKind::kShift, "GRAY16"},
    {"3x1: 1 0 0 / 2", KernelKind::kShift, "GRAY16"},
};
/// Their check takes long on large pictures.
constexpr int kWidestSpecial = 1920;

bool is_chosen(KernelKind kernel) {
  return std::find(std::begin(kChosenOnCuda), std::end(kChosenOnCuda), kernel) !=
         std::end(kChosenOnCuda);
}

class Calibration {
 public:
  Calibration(const PlaneArguments& arguments, FrameMeasurement& measurement)
      : arguments_(arguments), measurement_(measurement) {}

  /// False after a failure, which has been said.
  bool measure() {
    bool good = true;
    for (const FormatCase& tested : or_usual(arguments_.formats, kCalibrationFormats))
      for (const SizeCase& size : or_usual(arguments_.sizes, kCalibrationSizes)) {
        if (!measurement_.lay_out(tested, size)) return false;
        for (const MaskKind kind : or_usual(arguments_.kinds, kCalibrationKinds))
          for (const int side : or_usual(arguments_.sides, kCalibrationSides)) {
            measurement_.set_mask(make_mask(kind, side), mask_kind_name(kind), side);
            good = measure_mask(tested.name, kind, side) && good;
          }
        if (size.width <= kWidestSpecial) good = measure_specials(tested.name) && good;
      }
    return good;
  }

  const std::vector<FrameRow>& rows() const { return rows_; }
  const std::vector<FitCase>& cases(CostClass cost_class) const {
    return cases_[static_cast<std::size_t>(cost_class)];
  }

 private:
  bool measure_mask(const std::string& format, MaskKind kind, int side) {
    bool good = true;
    for (const KernelInfo& info : kKernels) {
      if (!(arguments_.backend == BackendKind::kCuda ? info.on_cuda : info.on_cpu)) continue;
      const bool book = format == kBookFormat && kind == kBookKind && side <= kLargestBookSide;
      if (info.kind != KernelKind::kAuto && (is_chosen(info.kind) || book))
        good = measure_kernel(info.kind) && good;
    }
    return good;
  }

  bool measure_specials(const std::string& format) {
    bool good = true;
    for (const SpecialCase& special : kSpecialCases) {
      if (format != special.format) continue;
      const testing::TestMaskPtr mask = testing::parsed_mask(special.mask);
      measurement_.set_mask({mask}, special.mask, mask->mask.width);
      good = measure_kernel(special.kernel) && good;
    }
    return good;
  }

  bool measure_kernel(KernelKind kernel) {
    const std::optional<FrameResult> result = measurement_.run(kernel);
    if (!result || !result->plan) return result.has_value();
    const FrameFormat& format = measurement_.format();
    const Mask& mask = measurement_.mask();
    const CostClass found = cost_class(*result->plan);
    cases_[static_cast<std::size_t>(found)].push_back(
        {work_of(*result->plan, format, mask), result->row.time.median});
    rows_.push_back(result->row);
    return true;
  }

  const PlaneArguments& arguments_;
  FrameMeasurement& measurement_;
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
    std::fprintf(out, "}},  // %s: ", cost_class_name(cost_class));
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
  Calibration calibration(arguments, measurement);
  const bool good = calibration.measure();
  print_row(setting, device.value()->capabilities(), calibration, stdout);
  return write_json(setting, calibration.rows(), arguments.json) && good &&
         !calibration.rows().empty();
}

}  // namespace convolve::benchmarks
