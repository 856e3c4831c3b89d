// SPDX-License-Identifier: LGPL-2.1-or-later
// The kernels that users choose from, and the forms in which these run: one table of each.
#pragma once

namespace convolve {

enum class BackendKind : int { kCuda, kCpu };

/// Kernels, as `kernel=` names them. One name everywhere: enum value, property nick, test row,
/// benchmark row.
enum class KernelKind : int {
  kAuto,
  kBasic,
  kConstant,
  kTiledInput,
  kTiledOutput,
  kCachedHalo,
  kCoarsened,
  kSeparable,
  kTensor,
  kBox,
  kShift,
};
inline constexpr int kKernelCount = 11;

struct KernelInfo {
  KernelKind kind;
  const char* nick;         ///< "tiled-input"
  const char* description;  ///< The idea, its source, and the backends that have it.
};

/// All kernels, kAuto first, in the order of the enum.
extern const KernelInfo kKernels[kKernelCount];
const KernelInfo& kernel_info(KernelKind kind);

/// The forms of the kernels: the code that runs. A plan holds one, `active-plan` prints its name,
/// and what ran is what the plan names.
enum class Form : int {
  kBasic,
  kConstant,
  kTiledInput,
  kTiledOutput,
  kCachedHalo,
  kCoarsened,
  kCoarsenedDots,
  kSeparableFused,
  kSeparableTwoPass,
  kSeparableAreas,
  kSeparableDots,
  kSeparableOnePass,
  kSeparableTensorFused,
  kSeparableTensorTwoPass,
  kSeparableSpline,
  kTensorSliding,
  kTensorColumns,
  kTensorPairs,
  kTensorQuads,
  kTensorLargeQuads,
  kTensorPixelPairs,
  kTensorPixelQuads,
  kTensorPackedPairs,
  kTensorPackedQuads,
  kTensorOctets,
  kTensorSplitOctets,
  kTensorTiles,
  kTensorWarpgroups,
  kTensorSplitWarpgroups,
  kBoxRuns,
  kBoxStrips,
  kBoxStripsRuns,
  kBoxBands,
  kShift,
};
inline constexpr int kFormCount = 34;

/// Code that has constants of its own in the cost model. A class of each accumulator, in the order
/// of Accumulator, where a form has more than one.
enum class CostClass : int {
  kBasic,
  kConstant,
  kTiledInput,
  kTiledOutput,
  kCachedHalo,
  kCoarsenedFloat32,
  kCoarsenedInt32,
  kCoarsenedFloat64,
  kCoarsenedWide,
  kSeparableFusedFloat32,
  kSeparableFusedInt32,
  kSeparableFusedFloat64,
  kSeparableTwoPass,
  kSeparableOnePass,
  kSeparableTensorFused,
  kSeparableTensorTwoPass,
  kSeparableSpline,
  kTensorSliding,
  kTensorColumns,
  kTensorPairs,
  kTensorQuads,
  kTensorTiles,
  kTensorWarpgroups,
  kTensorOctets,
  kTensorLargeQuads,
  kBoxRuns,
  kBoxStrips,
  kBoxBands,
  kShift,
};
inline constexpr int kCostClassCount = 29;

struct FormInfo {
  Form form;
  KernelKind kernel;
  CostClass cost;      ///< The first of its classes on CUDA; the CPU has its own (cpu_cost.h).
  int cost_classes;    ///< How many there are, one for each accumulator, or 1.
  const char* name;    ///< "tensor-pairs": the kernel's nick first.
  const char* room;    ///< Of its CUDA code, below kernels/cuda/: "tensor/pairs".
  const char* serves;  ///< What it is for, in a line.
  bool on_cuda;
  bool on_cpu;
  /// What the addresses and pitches of planes in device memory must be multiples of, in bytes.
  int alignment;
};

/// All forms, in the order of the enum; those of a kernel stand together.
extern const FormInfo kForms[kFormCount];
const FormInfo& form_info(Form form);

/// The form of this name, or null.
const FormInfo* find_form(const char* name);

/// True if a form of `kernel` is on `backend`; kAuto is on both.
bool has_kernel(BackendKind backend, KernelKind kernel);

}  // namespace convolve
