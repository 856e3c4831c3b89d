// SPDX-License-Identifier: LGPL-2.1-or-later
// What a plan takes on a CPU, in microseconds: how much work it is, times constants measured with
// one thread of a CPU that has the same instructions. Pure, so that the planner's choice is a test.
//
// A frame takes
//   frame + (rows + bytes + samples * (load and code + units of work)) / threads
// and is linear in the constants: so they can be fitted to measured times (tests/benchmarks/fit.h).
#pragma once

#include <array>
#include <string>
#include <vector>

#include "kernels/core/plan/cost.h"
#include "kernels/core/plan/plan.h"

namespace convolve {

/// Code that has constants of its own.
enum class CpuCostClass : int {
  kBasic,  ///< Scalar loops over the mask,
  kWide,   ///< and those of any form whose sums are digits of more than 64 bits.
  kCoarsenedFloat32,
  kCoarsenedFloat64,
  kByteDots,          ///< coarsened-dots of samples of one byte,
  kWordDots,          ///< and of two.
  kSeparableFloat32,  ///< separable-areas and separable-two-pass.
  kSeparableFloat64,
  kSeparableDots,
  kSeparableSpline,
  kByteBox,  ///< box-runs of samples of one byte,
  kBox,      ///< and of others.
  kShift,
};
inline constexpr int kCpuCostClassCount = 13;

/// What is counted, and what the constants of the same index are microseconds per. The rest of
/// CostTerms is 0.
enum CpuCostTerm : int {
  kCpuFrame,      ///< A frame, whatever the number of threads.
  kCpuRows,       ///< A thousand rows of a component: their ends.
  kCpuMegabytes,  ///< A million bytes read or written.
  kCpuSamples,    ///< A million samples that are filtered, but for narrow boxes (is_narrow_box).
  kCpuWork,       ///< A unit of work for a million samples: see cpu_work_of().
  kCpuApart,      ///< More for a million samples of interleaved components.
  kCpuDouble,     ///< More for a million samples whose codes are made in double,
  kCpuDivided,    ///< or by an exact division.
};

/// The operands of coarsened-dots, which depend on the products that an instruction set has.
enum class DotProducts {
  kQuads,              ///< Quads of bytes: samples, of two bytes one after the other, and digits.
  kQuadsOfBytesAlone,  ///< Those of samples of a byte; of two bytes pairs of 16 bits.
  kPairs,              ///< Pairs of samples and weights of 16 bits.
};

struct CpuCostConstants {
  const char* instruction_set = "";  ///< As DeviceCapabilities::name: "AVX3_DL".
  const char* cpu = "";              ///< That they were measured on.
  bool derived = false;              ///< Taken from another row, not measured.
  DotProducts dots = DotProducts::kQuads;
  std::array<CostTerms, kCpuCostClassCount> terms{};
};

/// "coarsened-dots of bytes"
const char* cpu_cost_class_name(CpuCostClass cost_class);

/// The class of a plan of the CPU for frames of `format`.
CpuCostClass cpu_cost_class(const Plan& plan, const FrameFormat& format);

/// All rows, measured and derived; the last is of what every machine has.
const std::vector<CpuCostConstants>& cpu_cost_table();

/// The row of the device's instruction set, or the last.
const CpuCostConstants& cpu_cost_constants(const DeviceCapabilities& device);

/// True if coarsened-dots multiplies pairs of 16 bits in frames of `format` on `device`.
bool multiplies_pairs(const DeviceCapabilities& device, const FrameFormat& format);

/// What `plan` does to a frame. Units of work for a sample are multiply-adds; for coarsened-dots
/// products of four bytes, or of pairs of 16 bits (DotProducts, fir_products()), for box the share
/// of rows and columns that the halo adds, and shift has none. `threads` share the rows.
CostTerms cpu_work_of(const CpuCostConstants& constants, const Plan& plan,
                      const FrameFormat& format, const Mask& mask, int threads);

/// What `plan` takes for a frame of `format` with `threads`. What is left out: colour weighted by
/// alpha, and components that are copied.
double cpu_predicted_microseconds(const CpuCostConstants& constants, const Plan& plan,
                                  const FrameFormat& format, const Mask& mask, int threads);

}  // namespace convolve
