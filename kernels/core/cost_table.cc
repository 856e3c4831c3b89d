// SPDX-License-Identifier: LGPL-2.1-or-later
// The constants of cost.h for each compute capability: one row measured, others derived from it.
#include <algorithm>
#include <cstddef>

#include "kernels/core/cost.h"

namespace convolve {
namespace {

/// Measured. `bench_planes --calibrate` prints such a row for the GPU that it runs on.
CostConstants h100() {
  // NVIDIA H100 80GB HBM3, driver 580.159.04: `bench_planes --calibrate` with rational, positive
  // and rank-1 masks at commit 9df2cb7, 696 cases, nearly all within 30 %. The book's kernels and
  // tensor's any mask are fitted to the times behind the tables of RESULTS.md at commit 8790e3c.
  // tensor's pairs by hand, for GRAY8, NV12 and BGR at 3x3 to 7x7, within 25 %: GRAY8 4K 7.2 us at
  // 3x3 with one digit, 10.2 at 7x7 with two, 2.9 at 3x3 in 1080p; NV12 4K 10.5 at 5x5.
  // Guessed, as too few cases reach them: separable float64 (float32 with the work of coarsened
  // float64) and separable two-pass (its reads ask for the border: twice the fused work).
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
          {{4.478, 0.5584, 0.5673, 0.03217, 4.894, 7.281, 0, 0.04372, 2.681, 4.178}},
          {{7.917, 0.2605, 0.9508, 0.0446, 4.263, 0, 0.8357, 0.06321, 25.91, 0}},  // int32
          {{10.39, 0, 4.233, 0.1005, 3.474, 0, 5.105, 0.122, 27.33, 0}},           // float64
          {{0, 1.671, 15.28, 2.595, 0, 0, 18.08, 5.832, 0, 0}},                    // wide
          {{5.569, 0.4188, 2.898, 0.06244, 0.2351, 1.902, 3.453, 0.1017, 0.6475, 0.9042}},
          {{8.321, 0.3189, 1.534, 0.06719, 0, 0, 3.927, 0.09676, 0, 0}},            // int32
          {{7.828, 0.291, 2.181, 0.1488, 0, 0, 3.563, 0.2625, 0.2158, 0}},          // float64
          {{7.828, 0.291, 2.181, 0.1077, 0, 0.9339, 3.563, 0.181, 0.2158, 1.027}},  // two-pass
          {{2.655, 0.4914, 0, 0.2482, 0, 0, 4.084, 1.602, 0,
            0}},  // wide
                  // By hand, for GRAY8, NV12, RGBA and YUY2 through 5 to 61 taps, within 25 %:
                  // GRAY8 4K 16.5 us at 31x31, RGBA 178; and for GRAY8 through 121 to 1201 taps,
                  // within 25 %: 98 us at 601x601. Samples that lie apart count once for each byte
                  // between them.
          {{4.65, 0.1, 0, 0.06, 1, 3, 0.21, 0.1, 1.4, 2.5}},           // separable, tensor cores
          {{10.9, 0.12, 0, 0.06, 1, 3, 0.75, 0.09, 1.4, 2.5}},         // the same, two-pass
          {{4.232, 0.23, 2.198, 0.06385, 0, 0, 0, 0.0829, 0.367, 0}},  // tensor, marching
          {{7.115, 0.2633, 0, 0.3927, 0.2308, 0, 0, 0.08524, 0, 0}},   // tensor, any mask
          {{1.5, 0, 0, 0.14, 0, 0, 0.537, 0.06, 0.036, 0}},            // tensor, pairs
          {{6.277, 0.4142, 0.7613, 0.186, 0, 1.392, 0.02917, 0.06666, 0, 0.138}},
          // By hand, for the 150 cases of `bench_planes` at commit ef47b21 that take it, within 30
          // %: GRAY8 4K 12.9 us at 9x9 with one digit and 36.0 at 31x31 with two.
          {{4.7, 0.33, 0.2, 0.042, 1.6, 0.14, 0, 0.0302, 0.25, 0.14}},
          // By hand, for 64 boxes of `bench_planes --grid` at commit aa32b23, within 40 %: GRAY8 4K
          // 22.1 us at 3x3 and 26.9 at 31x31, RGBA 262 and 283.
          {{7.1, 0, 3.1, 0.05, 1.6, 0, 1.75, 0.006, 5.5, 0}},
          // The same on tensor cores, by hand, for GRAY8 through 31 to 255 taps a side, within 20
          // %, but 50 at 127x127 on 640x480: 4K 17.9 us at 31x31, 1080p 8.2.
          {{5, 0.2, 0, 0.016, 0, 0, 0.857, 0.00415, 0, 0}},
          // By hand, for 96 cases of `bench_planes --kernels=shift`, within 30 %: GRAY8 4K 7.4 us,
          // 640x480 1.7, RGBA 4K 25.6, YUY2 4K 89.7. Doubles are guessed.
          {{1.45, 0.36, 0, 0, 0, 0, 0, 0, 4.4, 1}},
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
    case CostClass::kShift:
      return &GpuFigures::float32;
    case CostClass::kCoarsenedInt32:
    case CostClass::kCoarsenedWide:
    case CostClass::kSeparableInt32:
    case CostClass::kSeparableWide:
      return &GpuFigures::int32;
    case CostClass::kCoarsenedFloat64:
    case CostClass::kSeparableFloat64:
      return &GpuFigures::float64;
    case CostClass::kSeparableTensor:
    case CostClass::kSeparableTensorTwoPass:
    case CostClass::kTensorMarch:
    case CostClass::kTensorStay:
    case CostClass::kTensorPairs:
    case CostClass::kTensorTiles:
    case CostClass::kTensorGroups:
    case CostClass::kBoxStrips:
      return &GpuFigures::int8;
    case CostClass::kBox:
      return &GpuFigures::int32;
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
