// SPDX-License-Identifier: LGPL-2.1-or-later
// The constants of cost.h for each compute capability: one row measured, others derived from it.
#include <algorithm>
#include <cstddef>

#include "kernels/core/cost.h"

namespace convolve {
namespace {

/// Measured. `bench_planes --calibrate` prints such a row for the GPU that it runs on.
CostConstants h100() {
  // NVIDIA H100 80GB HBM3, driver 580.159.04, commit 8790e3c: fitted to the times behind the tables
  // of tests/benchmarks/RESULTS.md, 936 cases, all but one (tiled-input, 34 %) within 30 %. Not
  // among them, and guessed until somebody calibrates: separable float64 (float32 with the work of
  // coarsened float64), separable two-pass (its reads ask for the border: twice the fused work) and
  // the wide ones (six digits in int64: eight times the work of float64, and half as much again
  // for an output a thread).
  return {
      90,
      "H100 SXM",
      false,
      {132, 1980, 3352, 128, 64, 64, 2730},
      {{
          // launch, MB; lone tile, work, spread, double; samples, work, spread, double
          {{5.94, 3.566, 0, 0, 0, 0, 0, 0.6023, 0, 0}},        // basic
          {{0.5455, 3.508, 0, 1.567, 0, 0, 0, 0.6437, 0, 0}},  // constant
          {{0, 0, 15.59, 0.957, 0, 0, 11.63, 0.05891, 0, 0}},  // tiled-input
          {{0, 6.645, 2.739, 0.5314, 0, 0, 0, 0.2497, 0, 0}},  // tiled-output
          {{0, 0, 46.05, 2.935, 0, 0, 21.96, 1.388, 0, 0}},    // cached-halo
          {{5.01, 0.4841, 0.4594, 0.03728, 4.42, 3.655, 0.1047, 0.04295, 2.905, 1.113}},
          {{7.823, 0, 1.253, 0.04595, 4.913, 0, 2.025, 0.0598, 27.83, 0}},  // int32
          {{9.804, 0, 4.246, 0.103, 5.951, 0, 4.91, 0.1246, 20.29, 0}},     // float64
          {{9.804, 0, 4.246, 0.824, 5.951, 0, 4.91, 0.9968, 20.29, 0}},     // wide
          {{7.828, 0.291, 2.181, 0.05386, 0, 0.9339, 3.563, 0.0905, 0.2158, 1.027}},
          {{9.363, 0.84, 0, 0.06377, 0, 0, 1.456, 0.09908, 0, 0}},                  // int32
          {{7.828, 0.291, 2.181, 0.1488, 0, 0, 3.563, 0.2625, 0.2158, 0}},          // float64
          {{7.828, 0.291, 2.181, 0.1077, 0, 0.9339, 3.563, 0.181, 0.2158, 1.027}},  // two-pass
          {{9.804, 0, 4.246, 1.236, 5.951, 0, 4.91, 1.495, 20.29, 0}},              // wide
          {{4.141, 0.3291, 1.499, 0.1362, 0, 0, 0, 0.07646, 0.1515, 0}},  // tensor, marching
          {{7.115, 0.2633, 0, 0.3927, 0.2308, 0, 0, 0.08524, 0, 0}},      // tensor, any mask
      }},
  };
}

/// From published figures of a GPU of that compute capability: nobody here has measured one.
CostConstants derived(int compute_capability, const char* gpu, const GpuFigures& figures) {
  CostConstants row = scaled(h100(), figures);
  row.compute_capability = compute_capability;
  row.gpu = gpu;
  row.derived = true;
  return row;
}

/// The rate that a class's work goes at.
int GpuFigures::*work_rate(CostClass cost_class) {
  switch (cost_class) {
    case CostClass::kBasic:
    case CostClass::kConstant:
    case CostClass::kTiledInput:
    case CostClass::kTiledOutput:
    case CostClass::kCachedHalo:
    case CostClass::kCoarsenedFloat32:
    case CostClass::kSeparableFloat32:
    case CostClass::kSeparableTwoPass:
      return &GpuFigures::float32;
    case CostClass::kCoarsenedInt32:
    case CostClass::kCoarsenedWide:
    case CostClass::kSeparableInt32:
    case CostClass::kSeparableWide:
      return &GpuFigures::int32;
    case CostClass::kCoarsenedFloat64:
    case CostClass::kSeparableFloat64:
      return &GpuFigures::float64;
    case CostClass::kTensorMarch:
    case CostClass::kTensorStay:
      return &GpuFigures::int8;
  }
  return &GpuFigures::float32;
}

double ratio(int from, int to) {
  return static_cast<double>(from) / to;
}

}  // namespace

CostConstants scaled(const CostConstants& row, const GpuFigures& figures) {
  const GpuFigures& from = row.figures;
  const double clock = ratio(from.clock_mhz, figures.clock_mhz);
  const double device = clock * ratio(from.processors, figures.processors);
  const double bytes = ratio(from.gigabytes_a_second, figures.gigabytes_a_second);
  const double in_double = ratio(from.float64, figures.float64);
  CostConstants result = row;
  result.figures = figures;
  for (int c = 0; c < kCostClassCount; ++c) {
    int GpuFigures::*const rate = work_rate(static_cast<CostClass>(c));
    const double work = ratio(from.*rate, figures.*rate);
    CostTerms& terms = result.terms[static_cast<std::size_t>(c)];
    terms[kCostMegabytes] *= bytes;
    terms[kCostLoneTile] *= clock;
    terms[kCostLoneWork] *= clock * work;
    terms[kCostLoneSpread] *= clock;
    terms[kCostLoneDouble] *= clock * in_double;
    terms[kCostSamples] *= device;
    terms[kCostWork] *= device * work;
    terms[kCostSpread] *= device;
    terms[kCostDouble] *= device * in_double;
  }
  return result;
}

// Figures: NVIDIA's data sheets and architecture papers; rates: CUDA C++ Programming Guide,
// arithmetic throughput. int8 is the dense INT8 rate of the data sheet, but for compute capability
// 9.0, where mma.sync was measured at a product in 6 clocks of a tensor core, and 10.0, whose rate
// for mma.sync is not published and is taken to be the same.
const std::vector<CostConstants>& cost_table() {
  static const std::vector<CostConstants> rows = {
      derived(75, "T4", {40, 1590, 320, 64, 64, 2, 1024}),
      derived(80, "A100 SXM", {108, 1410, 2039, 64, 64, 32, 2048}),
      derived(86, "GeForce RTX 3090", {82, 1695, 936, 128, 64, 2, 1024}),
      derived(89, "GeForce RTX 4090", {128, 2520, 1008, 128, 64, 2, 1024}),
      h100(),
      derived(100, "B200", {148, 1965, 8000, 128, 64, 64, 2730}),
      derived(120, "GeForce RTX 5090", {170, 2407, 1792, 128, 64, 2, 1024}),
  };
  return rows;
}

CostConstants cost_constants(const DeviceCapabilities& device) {
  const std::vector<CostConstants>& rows = cost_table();
  const auto newer =
      std::find_if(rows.begin() + 1, rows.end(), [&device](const CostConstants& row) {
        return row.compute_capability > device.compute_capability;
      });
  const CostConstants& row = *(newer - 1);
  GpuFigures figures = row.figures;
  if (device.processors > 0) figures.processors = device.processors;
  if (device.clock_mhz > 0) figures.clock_mhz = device.clock_mhz;
  if (device.gigabytes_a_second > 0) figures.gigabytes_a_second = device.gigabytes_a_second;
  return scaled(row, figures);
}

}  // namespace convolve
