// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/grid.h"

#include <cstdio>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "tests/benchmarks/grid_report.h"

namespace convolve::benchmarks {
namespace {

/// Planes, interleaved components and two-byte samples of two depths.
constexpr FormatCase kGridFormats[] = {format_case("GRAY8"), format_case("NV12"),
                                       format_case("RGBA"), format_case("P010"),
                                       format_case("GRAY16")};
constexpr MaskKind kGridKinds[] = {MaskKind::kPositive, MaskKind::kRational, MaskKind::kRank1,
                                   MaskKind::kBox};
/// To where separable has long won, and on both sides of where tensor needs a second window (17).
constexpr int kGridSides[] = {3, 5, 7, 9, 13, 17, 25, 31};

/// The kernels that kernel=auto chooses from on the CPU.
constexpr KernelKind kChosenOnCpu[] = {KernelKind::kSeparable, KernelKind::kCoarsened,
                                       KernelKind::kBox};

std::vector<KernelKind> candidates(BackendKind backend) {
  if (backend == BackendKind::kCpu) return {std::begin(kChosenOnCpu), std::end(kChosenOnCpu)};
  return {std::begin(kChosenOnCuda), std::end(kChosenOnCuda)};
}

/// The mask that `measurement` has, through all kernels. Nothing after a failure.
std::optional<GridCell> measure_cell(FrameMeasurement& measurement, BackendKind backend) {
  std::optional<FrameResult> chosen = measurement.run(KernelKind::kAuto);
  if (!chosen || !chosen->plan) return std::nullopt;
  GridCell cell;
  cell.kernel = kernel_info(chosen->plan->kernel).nick;
  cell.chosen = std::move(chosen->row);
  for (const KernelKind kernel : candidates(backend)) {
    std::optional<FrameResult> forced = measurement.run(kernel);
    if (!forced) return std::nullopt;
    if (forced->row.served) cell.forced.push_back(std::move(forced->row));
  }
  return cell;
}

}  // namespace

bool run_grid(const PlaneArguments& arguments, FrameMeasurement& measurement,
              const Setting& setting) {
  bool good = true;
  std::vector<GridCell> cells;
  for (const FormatCase& tested : or_usual(arguments.formats, kGridFormats))
    for (const SizeCase& size : or_usual(arguments.sizes, kSizes)) {
      if (!measurement.lay_out(tested, size)) return false;
      for (const MaskKind kind : or_usual(arguments.kinds, kGridKinds))
        for (const int side : or_usual(arguments.sides, kGridSides)) {
          measurement.set_mask(make_mask(kind, side), mask_kind_name(kind), side);
          std::optional<GridCell> cell = measure_cell(measurement, arguments.backend);
          good = good && cell.has_value();
          if (cell) cells.push_back(*std::move(cell));
        }
    }
  return publish(setting, cells, arguments.json) && good && !cells.empty();
}

}  // namespace convolve::benchmarks
