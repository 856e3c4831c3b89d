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
// times as long, GRAY8, RGBA and GRAY16 of up to 640x480. The constants of separable-spline, whose
// kernel is newer, were measured on a virtual Xeon (family 6, model 207) and scaled by what
// separable float32 takes there; those of SCALAR are as far from SSE4's as that class's. Those of
// box-runs of bytes, but for SCALAR's, are from family 25 (Zen 4) at 61e6c81, divided by what dot
// products take longer there (2.05 with AVX-512, 1.08 with AVX2, 1.03 with SSE4), frames and rows
// by 1.2 and bytes by 1.4. Their doubles are family 26's, and their divisions, which boxes over an
// even number of samples have, are estimated from 31x31 and 32x32. What interleaved components add
// to separable float32, which has parted them together since, is the same share of what they add to
// coarsened float32 as on family 25, but for SCALAR's. The boxes of SCALAR leave out divisions from
// 53x53 up, which other sets do not make.

CpuCostConstants avx3_dl() {
  return {"AVX3_DL",
          kZen5,
          false,
          DotProducts::kQuadsOfBytesAlone,
          {{
              // frame, rows, MB, samples, work, apart, double, divided
              // basic: within 8 %
              {{0, 0, 2628, 0, 1095, 0, 0, 0}},
              // sums in digits: within 1 %
              {{0, 0, 13130, 0, 2822, 0, 0, 0}},
              // coarsened float32: within 36 %
              {{1.291, 0, 32.43, 127, 9.518, 315.7, 14.89, 63.59}},
              // coarsened float64: within 19 %
              {{0, 0, 0, 0, 17.25, 0, 580.1, 0}},
              // coarsened-dots of bytes: within 28 %
              {{7.483, 0, 31.61, 0, 7.656, 56.86, 0, 0}},
              // coarsened-dots of two bytes: within 30 %
              {{1.806, 15.13, 31.94, 0, 7.638, 51.65, 60.36, 0}},
              // separable float32: within 40 %
              {{6.45, 0, 3.897, 146.5, 11.24, 163, 81.67, 20.48}},
              // separable float64: within 17 %
              {{0, 0, 1.242, 446.8, 25.68, 0, 0, 0}},
              // separable-dots: within 29 %
              {{9.938, 1.37, 54.63, 0, 5.561, 67.58, 0, 624.2}},
              // separable-spline: from a Xeon, within 36 %
              {{0, 270, 39.5, 0, 27.6, 262, 0, 0}},
              // box-runs of bytes: from family 25, within 35 %
              {{7.8, 4.4, 33.9, 31.9, 74, 90, 73.44, 27}},
              // box-runs: within 27 %
              {{0, 0, 118.2, 0, 1386, 313, 111.8, 20.93}},
              // shift: within 46 %
              {{1.235, 0, 19.87, 15.35, 0, 276.3, 0, 0}},
          }}};
}

CpuCostConstants avx3() {
  return {"AVX3",
          kZen5,
          false,
          DotProducts::kPairs,
          {{
              // frame, rows, MB, samples, work, apart, double, divided
              // basic: within 9 %
              {{0, 0, 2267, 0, 1161, 0, 0, 0}},
              // sums in digits: within 2 %
              {{0, 0, 13130, 0, 2923, 0, 0, 0}},
              // coarsened float32: within 34 %
              {{1.011, 0, 32.98, 123.3, 9.694, 330.5, 86.11, 83.5}},
              // coarsened float64: within 18 %
              {{0, 0, 146, 0, 17.58, 0, 0, 0}},
              // coarsened-dots of bytes: within 27 %
              {{2.64, 12.72, 42.55, 0, 9.005, 77.54, 0, 0}},
              // coarsened-dots of two bytes: within 27 %
              {{0.6056, 18.22, 35.27, 0, 8.958, 33.15, 43.84, 0}},
              // separable float32: within 32 %
              {{5.617, 0, 3.171, 146.8, 11.57, 171, 105.3, 40.32}},
              // separable float64: within 17 %
              {{0, 0, 1.655, 0, 26.25, 0, 451.7, 0}},
              // separable-dots: within 23 %
              {{7.813, 6.607, 51.62, 0, 7.017, 69.3, 0, 465}},
              // separable-spline: from a Xeon, within 43 %
              {{0, 256, 155, 0, 28.2, 10.2, 0, 0}},
              // box-runs of bytes: from family 25, within 35 %
              {{7.8, 4.4, 33.9, 31.9, 74, 90, 68.37, 27}},
              // box-runs: within 23 %
              {{0, 0, 125.8, 0, 1411, 226.1, 108.6, 17.55}},
              // shift: within 37 %
              {{0.9548, 0, 19.43, 19.54, 0, 260.7, 0, 0}},
          }}};
}

CpuCostConstants avx2() {
  return {"AVX2",
          kZen5,
          false,
          DotProducts::kPairs,
          {{
              // frame, rows, MB, samples, work, apart, double, divided
              // basic: within 32 %
              {{0, 0, 42.58, 0, 1554, 0, 0, 0}},
              // sums in digits: within 2 %
              {{3.994, 0, 13100, 0, 2838, 0, 0, 0}},
              // coarsened float32: within 24 %
              {{0, 0, 65.07, 90.45, 16, 615.9, 127.3, 13.05}},
              // coarsened float64: within 7 %
              {{0, 19.7, 152.8, 0, 31.27, 88.95, 0, 0}},
              // coarsened-dots of bytes: within 33 %
              {{3.778, 0, 51.8, 0, 18.14, 76.84, 0, 0}},
              // coarsened-dots of two bytes: within 42 %
              {{5.35, 0, 56.27, 0, 18.8, 0, 84.67, 0}},
              // separable float32: within 42 %
              {{1.373, 8.895, 1.262, 255.6, 20.43, 208, 172, 77.1}},
              // separable float64: within 12 %
              {{9.294, 0, 3.184, 551.6, 39.23, 0, 0, 0}},
              // separable-dots: within 24 %
              {{7.758, 0, 69.95, 0, 13.67, 78.15, 0, 526.6}},
              // separable-spline: from a Xeon, within 45 %
              {{0, 256, 436, 0, 20.8, 31.9, 0, 0}},
              // box-runs of bytes: from family 25, within 44 %
              {{5.8, 0, 47.7, 71.6, 199, 142, 119, 50}},
              // box-runs: within 16 %
              {{0, 0, 168.6, 0, 1449, 538.7, 123.1, 8.072}},
              // shift: within 45 %
              {{1.043, 0, 26.71, 10.85, 0, 359.6, 0, 0}},
          }}};
}

CpuCostConstants sse4() {
  return {"SSE4",
          kZen5,
          false,
          DotProducts::kPairs,
          {{
              // frame, rows, MB, samples, work, apart, double, divided
              // basic: within 10 %
              {{0, 0, 2353, 0, 1135, 0, 0, 0}},
              // sums in digits: within 1 %
              {{0, 0, 13280, 0, 2819, 0, 0, 0}},
              // coarsened float32: within 31 %
              {{2.062, 0, 43, 263.7, 43.1, 643.7, 198.5, 697.5}},
              // coarsened float64: within 7 %
              {{9.379, 0, 125.5, 0, 108.8, 17440, 0, 0}},
              // coarsened-dots of bytes: within 12 %
              {{4.456, 0, 70.7, 0, 46.58, 86.96, 0, 0}},
              // coarsened-dots of two bytes: within 31 %
              {{6.458, 0, 85.4, 0, 45.16, 0, 119.9, 860.3}},
              // separable float32: within 12 %
              {{1.467, 10.8, 0, 484.3, 46.02, 279, 336.6, 773.3}},
              // separable float64: within 15 %
              {{0, 0, 2.648, 579.7, 130.1, 0, 0, 0}},
              // separable-dots: within 29 %
              {{8.227, 0, 146.8, 0, 26.12, 72.26, 0, 2666}},
              // separable-spline: from a Xeon, within 47 %
              {{243, 158, 533, 0, 47.5, 0, 0, 0}},
              // box-runs of bytes: from family 25, within 36 %
              {{4.6, 0, 65.3, 132, 277, 208, 156.2, 100}},
              // box-runs: within 7 %
              {{0, 0, 237.4, 0, 1591, 617.8, 163.3, 715.4}},
              // shift: within 74 %
              {{1.004, 0, 18.23, 21.29, 0, 365.1, 0, 0}},
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
              // separable-spline: from SSE4
              {{1207, 786, 2645, 0, 236, 0, 0, 0}},
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
