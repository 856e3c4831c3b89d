// SPDX-License-Identifier: LGPL-2.1-or-later
// The constants of cost.h for each compute capability: one row measured, others derived from it.
#include <algorithm>
#include <cstddef>

#include "kernels/core/plan/cost.h"

namespace convolve {
namespace {

/// The measured row. `bench_planes --calibrate` prints such a row for the GPU that it runs on.
CostConstants h100() {
  // NVIDIA H100 80GB HBM3, driver 580.159.04. Fitted to what `bench_planes --grid` measured at
  // commits 0e06fdf and d95934f, 672 cells, 3,282 times, and to boxes of 41 to 255 taps a side; the
  // nearer a time is to the best of its cell, or to a wrong choice, the more it counts.
  // tensor-tiles and tensor-warpgroups are fitted to the 768 cells at af857f1, and
  // tensor-large-quads to the cells of 13x13 there. The form that these constants choose is within
  // 10 % or 0.5 us of the best measured in all 768 cells, the predicted time within 20 %.
  //
  // Not fitted to that grid are
  // - the kernels of the book: to the times behind the tables of RESULTS.md at commit 8790e3c;
  // - coarsened wide and separable-one-pass: `bench_planes --calibrate` at commit 9df2cb7;
  // - coarsened float32: by hand, to uniform masks of 3 to 31 a side (GRAY8 and RGBA, 4K to
  //   640x480), within 30 %;
  // - coarsened float64: by hand, to uniform masks of 9, 15 and 31 a side (GRAY16, 4K) at commit
  //   014f2b1, within 3 %;
  // - separable-tensor-fused: by hand, to Gaussians of 3 to 61 a side and integers of 3 to 31
  //   (GRAY8, NV12, BGR, RGBA and YUY2, 4K to 640x480) at the commit before the one that brought
  //   these constants, within 11 %;
  // - separable-tensor-two-pass: by hand, to GRAY8 through 121 to 1201 taps, within 25 %; exact
  //   divisions and interleaved samples to boxes of 101 and 255 a side (GRAY8, NV12, YUY2, BGR and
  //   RGBA, 4K to 640x480) at commit 297e781, within 42 %, so that box-runs, whose constants say
  //   too little of YUY2 and RGBA at 1080p, is chosen where it is faster. Interleaved samples count
  //   once for each byte between them;
  // - separable-spline: by hand, to GRAY8 of 4K, 1080p and 640x480 through gaussian:25 to 500,
  //   within 30 %; interleaved samples to one time, 168 us for a component of RGBA in 4K;
  // - shift: by hand, a tenth below its times, so that tensor-pairs, which takes the same, is not
  //   chosen in its place: GRAY8 4K 7.4 us, 640x480 1.7, RGBA 4K 25.6, YUY2 4K 89.7. What doubles
  //   cost it is guessed;
  // - box-bands: by hand, to 17 to 999 taps a side of GRAY8 and I420 in 4K, 1080p and 640x480,
  //   within 14 %;
  // - tensor-octets: to 3x3 to 9x9 of GRAY16 and P010 at 4K, 1080p and 640x480, within 19 %; exact
  //   divisions by hand, to boxes of 6x6.
  // Guessed, as too few cases reach them: separable-fused float64 (float32 with the work of
  // coarsened float64) and separable-two-pass (its reads ask for the border: twice the work of
  // separable-fused).
  return {
      90,
      "H100 SXM",
      false,
      {132, 1980, 3352, 128, 64, 64, 2730},
      {{
          // launch, MB; lone tile, work, spread, double; samples, work, spread, double
          // basic
          {{5.94, 3.566, 0, 0, 0, 0, 0, 0.6023, 0, 0}},
          // constant
          {{0.5455, 3.508, 0, 1.567, 0, 0, 0, 0.6437, 0, 0}},
          // tiled-input
          {{0, 0, 15.59, 0.957, 0, 0, 11.63, 0.05891, 0, 0}},
          // tiled-output
          {{0, 6.645, 2.739, 0.5314, 0, 0, 0, 0.2497, 0, 0}},
          // cached-halo
          {{0, 0, 46.05, 2.935, 0, 0, 21.96, 1.388, 0, 0}},
          // coarsened float32
          {{4, 0.3066, 0.0751, 0.068, 9.39, 4.39, 0, 0.039, 3.6, 0.6975}},
          // coarsened int32
          {{8.67, 0, 0, 0.07805, 0, 0, 1.436, 0.06549, 0, 0}},
          // coarsened float64
          {{3.74, 1.05, 6.675, 0.154, 23.46, 0, 0, 0.1005, 0, 0}},
          // coarsened wide
          {{0, 1.671, 15.28, 2.595, 0, 0, 18.08, 5.832, 0, 0}},
          // separable-fused float32
          {{7.643, 0.4965, 1.637, 0.06292, 0, 0.7449, 2.876, 0.09019, 0, 0.8389}},
          // separable-fused int32
          {{8.527, 1.298, 0, 0.06649, 0, 0, 0.05189, 0.0925, 0, 0}},
          // separable-fused float64
          {{7.828, 0.291, 2.181, 0.1488, 0, 0, 3.563, 0.2625, 0.2158, 0}},
          // separable-two-pass
          {{7.828, 0.291, 2.181, 0.1077, 0, 0.9339, 3.563, 0.181, 0.2158, 1.027}},
          // separable-one-pass
          {{2.655, 0.4914, 0, 0.2482, 0, 0, 4.084, 1.602, 0, 0}},
          // separable-tensor-fused
          {{0.8, 0.47, 0, 0.3, 4.9, 5.897, 0, 0.066, 0.85, 3.109}},
          // separable-tensor-two-pass
          {{10.9, 0.12, 0, 0.06, 4.2, 7.7, 0.75, 0.09, 0.6, 6}},
          // separable-spline
          {{20, 0, 0, 0, 0, 0, 0, 0.22, 15, 0}},
          // tensor-sliding
          {{4.048, 0.3065, 2.208, 0.07232, 0, 0, 0, 0.08088, 0.1092, 0}},
          // tensor-columns
          {{3.942, 0.3188, 0.846, 0.2721, 0.8363, 0, 0, 0.07932, 0.105, 0}},
          // tensor-pairs
          {{1.128, 0.2815, 0.0285, 0.2035, 2, 0, 0, 0.06113, 0.02185, 0.0036}},
          // tensor-quads
          {{2.16, 0.18, 0.0285, 0.03, 1.5, 0, 0, 0.0513, 0.55, 0.0036}},
          // tensor-tiles
          {{0.2043, 0.3929, 3.882, 0.07653, 0, 1.253, 0, 0.03366, 0.2558, 0.06553}},
          // tensor-warpgroups
          {{3.456, 0.1105, 0, 0.008698, 0.4409, 1.511, 0.4328, 0.02462, 0.05739, 0.2047}},
          // tensor-octets
          {{1.486, 0.3536, 0.2208, 0.1559, 0, 0.1, 0, 0.0377, 0.3324, 0.16}},
          // tensor-large-quads
          {{2.308, 0.2239, 0, 0.05345, 0, 0, 0.154, 0.04539, 0.2274, 0}},
          // box-runs
          {{4.897, 0.9849, 0, 0.08351, 2.097, 0, 0, 0, 12.28, 0}},
          // box-strips
          {{3.649, 0.8059, 0.3116, 0.0135, 0, 0, 0, 0.003777, 0, 0}},
          // box-bands
          {{7.3, 0.305, 0, 0.0003, 0, 0, 0, 0, 0, 0}},
          // shift
          {{1.1, 0.35, 0, 0, 0, 0, 0, 0, 4.4, 1}},
      }},
  };
}

/// The measured row, scaled by published figures to a GPU of another compute capability, of which
/// none has been measured.
CostConstants derived(int compute_capability, const char* gpu, const GpuFigures& figures) {
  CostConstants row = scaled(h100(), figures);
  row.compute_capability = compute_capability;
  row.gpu = gpu;
  row.derived = true;
  return row;
}

/// The arithmetic rate of a device that the work of a class is bound by.
int GpuFigures::*work_rate(CostClass cost_class) {
  switch (cost_class) {
    case CostClass::kBasic:
    case CostClass::kConstant:
    case CostClass::kTiledInput:
    case CostClass::kTiledOutput:
    case CostClass::kCachedHalo:
    case CostClass::kCoarsenedFloat32:
    case CostClass::kSeparableFusedFloat32:
    case CostClass::kSeparableTwoPass:
    case CostClass::kSeparableSpline:
    case CostClass::kShift:
      return &GpuFigures::float32;
    case CostClass::kCoarsenedInt32:
    case CostClass::kCoarsenedWide:
    case CostClass::kSeparableFusedInt32:
    case CostClass::kSeparableOnePass:
      return &GpuFigures::int32;
    case CostClass::kCoarsenedFloat64:
    case CostClass::kSeparableFusedFloat64:
      return &GpuFigures::float64;
    case CostClass::kSeparableTensorFused:
    case CostClass::kSeparableTensorTwoPass:
    case CostClass::kTensorSliding:
    case CostClass::kTensorColumns:
    case CostClass::kTensorPairs:
    case CostClass::kTensorQuads:
    case CostClass::kTensorTiles:
    case CostClass::kTensorWarpgroups:
    case CostClass::kTensorOctets:
    case CostClass::kTensorLargeQuads:
    case CostClass::kBoxStrips:
      return &GpuFigures::int8;
    case CostClass::kBoxRuns:
    case CostClass::kBoxBands:
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
