// SPDX-License-Identifier: LGPL-2.1-or-later
// What a user waits for: whole frames of common formats through masks of every kind.
//
//   bench_planes [--backend=cuda|cpu] [--formats=LIST] [--sizes=LIST] [--kinds=LIST]
//                [--sides=LIST] [--kernels=LIST] [--npp=yes|no] [--seconds=S] [--commit=NAME]
//                [--json=FILE] [--threads=N]
//   bench_planes --grid ...       the planner's choices against all kernels (grid.h)
//   bench_planes --calibrate ...  constants of the planner for this GPU or CPU (calibrate.h)
//
// Lists have commas: --formats=GRAY8,NV12 --sizes=4k,640x480 --kinds=rational,box --sides=3,31
// --kernels=auto,coarsened (default: auto; not with --grid or --calibrate). --forms=tensor-tiles
// adds each of these forms (forms.h). RGBA-weighted is RGBA with
// alpha-mode=premultiplied. Beside 8-bit grey with rational masks stands NVIDIA's NPP, in 4K, if
// the machine has it; PyTorch and CuPy have a program of their own, peers_gpu.py. Prints Markdown;
// with --json also writes one JSON object a row. Every row takes about S seconds (default 0.1) and
// the check of its result. Exit status: 0, 1 after a wrong result or a failed call, 2 bad usage or
// a build that must not be measured, 77 no GPU (1 if CUDACONVOLVE_REQUIRE_GPU=1).
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/benchmarks/calibrate.h"
#include "tests/benchmarks/frame_measurement.h"
#include "tests/benchmarks/grid.h"
#include "tests/benchmarks/measure.h"
#include "tests/benchmarks/npp.h"
#include "tests/benchmarks/plane_arguments.h"
#include "tests/benchmarks/targets.h"

namespace convolve::benchmarks {
namespace {

/// The one format and size that NPP and the widest masks are measured with.
constexpr const char* kPlainFormat = "GRAY8";
constexpr const char* kPlainSize = "4k";

/// Reals of one sign take the time of those of both. The truth of weighted colour is slow where it
/// is real.
std::vector<MaskKind> usual_kinds(const FormatCase& tested, int side) {
  if (tested.alpha_mode != AlphaMode::kStraight) return {MaskKind::kRational, MaskKind::kRank1};
  std::vector<MaskKind> kinds = {MaskKind::kRational, MaskKind::kPositive, MaskKind::kRank1,
                                 MaskKind::kBox};
  if (std::string(tested.name) == kPlainFormat && side <= kMaskSides[std::size(kMaskSides) - 1])
    kinds.insert(kinds.end(), {MaskKind::kSigned, MaskKind::kShift});
  return kinds;
}

constexpr KernelKind kSweepKernels[] = {KernelKind::kAuto};

/// One mask through every kernel. False after a wrong result or a failed call.
bool sweep_mask(const PlaneArguments& arguments, FrameMeasurement& measurement, Npp* npp,
                std::vector<FrameRow>* rows) {
  bool good = true;
  for (const KernelKind kernel : or_usual(arguments.kernels, kSweepKernels)) {
    const std::optional<FrameResult> result = measurement.run(kernel);
    good = good && result.has_value();
    if (result) rows->push_back(result->row);
  }
  for (const Form form : arguments.forms) {
    const std::optional<FrameResult> result = measurement.run(form_info(form).kernel, form);
    good = good && result.has_value();
    if (result) rows->push_back(result->row);
  }
  if (npp != nullptr) rows->push_back(measurement.run_npp(*npp));
  return good;
}

bool sweep(const PlaneArguments& arguments, FrameMeasurement& measurement, Npp* npp,
           std::vector<FrameRow>* rows) {
  bool good = true;
  for (const FormatCase& tested : or_usual(arguments.formats, kFormats))
    for (const SizeCase& size : or_usual(arguments.sizes, kSizes)) {
      if (!measurement.lay_out(tested, size)) return false;
      const bool plain =
          std::string(tested.name) == kPlainFormat && std::string(size.name) == kPlainSize;
      std::vector<int> usual_sides(std::begin(kMaskSides), std::end(kMaskSides));
      if (plain)
        usual_sides.insert(usual_sides.end(), std::begin(kWideSides), std::end(kWideSides));
      for (const int side : or_usual(arguments.sides, usual_sides))
        for (const MaskKind kind : or_usual(arguments.kinds, usual_kinds(tested, side))) {
          measurement.set_mask(make_mask(kind, side), mask_kind_name(kind), side);
          const bool beside = plain && kind == MaskKind::kRational;
          good = sweep_mask(arguments, measurement, beside ? npp : nullptr, rows) && good;
        }
    }
  return good && !rows->empty();
}

int run_sweep(const PlaneArguments& arguments, FrameMeasurement& measurement,
              const Setting& setting) {
  std::string why;
  const bool wanted = arguments.backend == BackendKind::kCuda && arguments.npp;
  const std::unique_ptr<Npp> npp = wanted ? open_npp(&why) : nullptr;
  if (wanted && npp == nullptr) std::fprintf(stderr, "no rows of NPP: %s\n", why.c_str());
  std::vector<FrameRow> rows;
  const bool good = sweep(arguments, measurement, npp.get(), &rows);
  return publish(setting, rows, arguments.json) && good ? 0 : 1;
}

int run(const PlaneArguments& arguments) {
  int status = 0;
  const std::unique_ptr<Target> target = open_target(
      arguments.backend, &status, arguments.mode == PlaneMode::kCalibrate ? 1 : arguments.threads);
  if (target == nullptr) return status;
  const Setting setting = setting_of(*target, arguments.backend, arguments.commit);
  FrameMeasurement measurement(*target, arguments.seconds, setting.fma_rate);
  switch (arguments.mode) {
    case PlaneMode::kGrid:
      return run_grid(arguments, *target, measurement, setting) ? 0 : 1;
    case PlaneMode::kCalibrate:
      return run_calibration(arguments, *target, measurement, setting) ? 0 : 1;
    case PlaneMode::kSweep:
      break;
  }
  return run_sweep(arguments, measurement, setting);
}

}  // namespace
}  // namespace convolve::benchmarks

int main(int argc, char** argv) {
  convolve::benchmarks::PlaneArguments arguments;
  if (!convolve::benchmarks::parse_arguments(argc, argv, &arguments)) {
    std::fprintf(stderr,
                 "usage: bench_planes [--grid | --calibrate] [--backend=cuda|cpu] [--formats=LIST] "
                 "[--sizes=LIST] [--kinds=LIST] [--sides=LIST] [--kernels=LIST] [--npp=yes|no] "
                 "[--seconds=S] [--commit=NAME] [--json=FILE] [--threads=N]\n");
    return 2;
  }
  return convolve::benchmarks::run(arguments);
}
