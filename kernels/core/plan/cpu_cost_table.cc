// SPDX-License-Identifier: LGPL-2.1-or-later
// The constants of the CPU's cost model.
#include "kernels/core/plan/cpu_cost.h"

#include <cstddef>

namespace convolve {
namespace {

constexpr const char* kZen5 = "AMD EPYC, family 26";

// Measured: bench_planes --backend=cpu --calibrate, one thread of a virtual processor whose kernels
// were held to the instruction set; the largest error of a case follows each class. The frames of
// 320x240 to 1080p rotate through buffers that no cache holds. Of SCALAR, which takes a hundred
// times as long, GRAY8, RGBA and GRAY16 of up to 640x480.

CpuCostConstants avx3_dl() {
  return {"AVX3_DL",
          kZen5,
          false,
          DotProducts::kQuadsOfBytesAlone,
          {{
              // frame, rows, MB, samples, work, apart, double, divided
              // basic: within 8 %
              {{0, 0, 2738, 0, 1132, 0, 0, 0}},
              // sums in digits: within 1 %
              {{0, 0, 13750, 0, 2924, 0, 0, 0}},
              // coarsened float32: within 38 %
              {{0, 0, 25.8, 174.8, 10.09, 311.2, 109.1, 89.99}},
              // coarsened float64: within 31 %
              {{0, 0, 165.4, 0, 18.28, 0, 0, 0}},
              // coarsened-dots of bytes: within 22 %
              {{5.657, 0, 30.39, 0, 7.743, 91.48, 0, 0}},
              // coarsened-dots of two bytes: within 29 %
              {{0, 21.36, 35.42, 0, 7.795, 40.15, 58.38, 0}},
              // separable float32: within 43 %
              {{4.528, 0, 1.289, 161, 11.47, 299.9, 148.1, 51.69}},
              // separable float64: within 18 %
              {{0, 0, 0.3934, 0, 27.24, 0, 511.3, 0}},
              // separable-dots: within 37 %
              {{8.609, 3.643, 50.22, 0, 5.676, 98.55, 0, 599.2}},
              // separable-spline: within 33 %
              {{65.28, 593.8, 537.2, 0, 35.91, 0, 0, 0}},
              // box-runs of bytes: within 36 %
              {{10.93, 0, 23.68, 96.31, 127.5, 172.5, 105.4, 96.31}},
              // box-runs: within 20 %
              {{0, 0, 135.1, 0, 1534, 343.6, 120.9, 9.725}},
              // shift: within 53 %
              {{1.982, 0, 13.56, 29.7, 0, 285.2, 0, 0}},
          }}};
}

CpuCostConstants avx3() {
  return {"AVX3",
          kZen5,
          false,
          DotProducts::kPairs,
          {{
              // frame, rows, MB, samples, work, apart, double, divided
              // basic: within 6 %
              {{0, 0, 2726, 0, 1141, 0, 0, 0}},
              // sums in digits: within 1 %
              {{0, 0, 13640, 0, 2974, 0, 0, 0}},
              // coarsened float32: within 48 %
              {{0, 0, 31.12, 145.8, 10.19, 374.2, 120.9, 103.4}},
              // coarsened float64: within 27 %
              {{0, 0, 0, 0, 18.49, 0, 661.5, 0}},
              // coarsened-dots of bytes: within 16 %
              {{3.864, 0, 48.17, 0, 9.115, 79, 0, 0}},
              // coarsened-dots of two bytes: within 28 %
              {{0.5404, 17.83, 39.04, 0, 8.931, 39.83, 52.84, 0}},
              // separable float32: within 43 %
              {{3.375, 0, 2.048, 165.2, 11.76, 302.7, 142.2, 53.2}},
              // separable float64: within 18 %
              {{0, 0, 0, 0, 27.25, 0, 528.7, 0}},
              // separable-dots: within 39 %
              {{7.838, 3.141, 55.49, 0, 6.765, 89.37, 0, 664.5}},
              // separable-spline: within 28 %
              {{80.47, 479.9, 585.5, 0, 33.09, 0, 0, 0}},
              // box-runs of bytes: within 35 %
              {{11.78, 0, 25.34, 94.85, 137.5, 168.3, 107.5, 107.6}},
              // box-runs: within 19 %
              {{0, 0, 136.8, 0, 1618, 322.3, 107.5, 8.274}},
              // shift: within 38 %
              {{1.435, 0, 15.11, 28.25, 0, 298.2, 0, 0}},
          }}};
}

CpuCostConstants avx2() {
  return {"AVX2",
          kZen5,
          false,
          DotProducts::kPairs,
          {{
              // frame, rows, MB, samples, work, apart, double, divided
              // basic: within 6 %
              {{0, 0, 2743, 0, 1145, 0, 0, 0}},
              // sums in digits: within 3 %
              {{0, 119.2, 13850, 0, 2960, 0, 0, 0}},
              // coarsened float32: within 26 %
              {{0, 0, 40.43, 170.7, 16.9, 560.5, 149.8, 31.93}},
              // coarsened float64: within 5 %
              {{0, 0, 0, 0, 32.18, 1836, 674.6, 0}},
              // coarsened-dots of bytes: within 7 %
              {{4.01, 0, 73.21, 0, 17.85, 91.62, 0, 0}},
              // coarsened-dots of two bytes: within 39 %
              {{3.866, 2.579, 73.74, 0, 18.66, 0, 97.45, 0}},
              // separable float32: within 26 %
              {{0, 5.802, 0, 282.3, 21.34, 532.5, 179.8, 84.16}},
              // separable float64: within 28 %
              {{2.974, 0, 0, 665.1, 40.45, 0, 0, 0}},
              // separable-dots: within 26 %
              {{8.033, 0, 85.56, 0, 15.07, 82.78, 0, 1326}},
              // separable-spline: within 29 %
              {{120, 296.8, 826.9, 0, 36.87, 0, 0, 0}},
              // box-runs of bytes: within 36 %
              {{9.394, 0, 41.33, 120.3, 207, 146.4, 130.9, 154.6}},
              // box-runs: within 31 %
              {{0, 0, 173.3, 0, 1480, 550, 179, 19.76}},
              // shift: within 49 %
              {{1.887, 0, 11.61, 40.09, 0, 377.3, 0, 0}},
          }}};
}

CpuCostConstants sse4() {
  return {"SSE4",
          kZen5,
          false,
          DotProducts::kPairs,
          {{
              // frame, rows, MB, samples, work, apart, double, divided
              // basic: within 5 %
              {{0, 0, 2860, 0, 1141, 0, 0, 0}},
              // sums in digits: within 2 %
              {{0, 44.29, 13640, 0, 3011, 0, 0, 0}},
              // coarsened float32: within 28 %
              {{0, 0, 49.85, 307.9, 45.67, 591.9, 106.6, 731.1}},
              // coarsened float64: within 10 %
              {{0, 3.965, 182.6, 0, 114.7, 17710, 0, 0}},
              // coarsened-dots of bytes: within 35 %
              {{2.17, 0, 142.5, 0, 41.86, 107.7, 0, 0}},
              // coarsened-dots of two bytes: within 38 %
              {{9.2, 0, 114, 0, 43.08, 0, 125, 772.8}},
              // separable float32: within 19 %
              {{2.656, 0.2019, 0, 501.4, 50.4, 560.3, 313.1, 792}},
              // separable float64: within 15 %
              {{0, 27.31, 1.586, 677, 137, 0, 0, 0}},
              // separable-dots: within 25 %
              {{7.497, 0, 158.9, 0, 33.95, 128.6, 0, 1323}},
              // separable-spline: within 31 %
              {{117.4, 532.9, 1368, 0, 94.29, 0, 0, 0}},
              // box-runs of bytes: within 44 %
              {{7.153, 0, 69.6, 138.3, 393.5, 224.5, 179.7, 1033}},
              // box-runs: within 10 %
              {{0, 0, 254.1, 0, 1740, 735.6, 345.7, 707.9}},
              // shift: within 80 %
              {{1.37, 0, 19.57, 16.06, 0, 414.2, 0, 0}},
          }}};
}

CpuCostConstants scalar() {
  return {"SCALAR",
          kZen5,
          false,
          DotProducts::kQuads,
          {{
              // frame, rows, MB, samples, work, apart, double, divided
              // basic: within 1 %
              {{16.76, 0, 2284, 0, 1146, 0, 0, 0}},
              // sums in digits: within 2 %
              {{27.82, 0, 13380, 0, 2976, 0, 0, 0}},
              // coarsened float32: within 5 %
              {{0, 19.59, 246.1, 1278, 234.9, 1126, 8330, 10650}},
              // coarsened float64: within 4 %
              {{1.657, 0, 2276, 0, 240.9, 0, 0, 0}},
              // coarsened-dots of bytes: within 10 %
              {{0, 134.6, 2643, 0, 3752, 1666, 0, 0}},
              // coarsened-dots of two bytes: within 6 %
              {{0, 0, 2663, 0, 7354, 0, 0, 2922}},
              // separable float32: within 15 %
              {{0, 46.25, 3.079, 2668, 228.3, 1039, 7884, 11090}},
              // separable float64: within 5 %
              {{0, 0, 4.075, 10080, 221.4, 0, 0, 0}},
              // separable-dots: within 25 %
              {{21.9, 0, 988.6, 0, 680.8, 2177, 0, 38240}},
              // separable-spline: within 23 %
              {{736, 0, 7479, 0, 304.7, 0, 0, 0}},
              // box-runs of bytes: within 16 %
              {{0, 202.1, 1146, 0, 350.6, 3351, 0, 1427}},
              // box-runs: within 3 %
              {{9.035, 0, 899.9, 0, 2473, 0, 6964, 10900}},
              // shift: within 98 %
              {{1.274, 4.396, 13.07, 0, 0, 424, 0, 0}},
          }}};
}

CpuCostConstants derived(CpuCostConstants row, const char* instruction_set) {
  row.instruction_set = instruction_set;
  row.derived = true;
  return row;
}

/// Where no instruction multiplies pairs. The constants of dot products are those of SSE4 when it
/// made those of quads of two instructions.
CpuCostConstants derived_neon(const char* instruction_set) {
  CpuCostConstants row = derived(sse4(), instruction_set);
  row.dots = DotProducts::kQuads;
  const auto set = [&row](CpuCostClass cost_class, const CostTerms& terms) {
    row.terms[static_cast<std::size_t>(cost_class)] = terms;
  };
  set(CpuCostClass::kByteDots, {13.69, 0, 227.8, 0, 119.9, 123.1, 0, 0});
  set(CpuCostClass::kWordDots, {10.22, 0, 232.3, 0, 235.5, 0, 288.8, 815.3});
  return row;
}

}  // namespace

const std::vector<CpuCostConstants>& cpu_cost_table() {
  static const std::vector<CpuCostConstants> rows = {
      avx3_dl(), avx3(), avx2(), sse4(),
      // Names that only newer releases of Highway have.
      derived(avx3_dl(), "AVX3_ZEN4"), derived(avx3_dl(), "AVX3_SPR"),
      derived(avx3_dl(), "AVX10_2"), derived(sse4(), "SSE2"), derived_neon("NEON"),
      derived_neon("NEON_BF16"), derived_neon("NEON_WITHOUT_AES"), scalar()};
  return rows;
}

}  // namespace convolve
