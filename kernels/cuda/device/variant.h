// SPDX-License-Identifier: LGPL-2.1-or-later
// What a CUDA kernel variant is to the host: a table of functions, and the arguments that they
// take. Each .cu file defines one variant or is part of one.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/core/base/border.h"
#include "kernels/core/base/epilogue.h"
#include "kernels/core/base/sample.h"
#include "kernels/core/base/view.h"
#include "kernels/core/plan/forms.h"
#include "kernels/core/plan/storage.h"
#include "kernels/core/shape/box_tile.h"
#include "kernels/core/weights/arithmetic.h"
#include "kernels/core/weights/box.h"
#include "kernels/core/weights/digits.h"

namespace convolve {

/// One component of the group that a launch filters.
struct ChannelArguments {
  int offset = 0;  ///< Bytes from the start of a row to its first sample.
  bool filtered = true;
  SampleLayout layout;
  int black = 0;
  Epilogue epilogue;
  BoxDivision division;  ///< Kernel box.
  DigitEpilogue digits;  ///< Kernel separable on tensor cores.
};

/// One component group: `width` x `height` pixels of `channels` samples, `step` bytes from pixel to
/// pixel. Everything that is constant over the grid is passed by value.
struct GroupArguments {
  const std::uint8_t* src = nullptr;
  std::uint8_t* dst = nullptr;
  std::int64_t src_pitch = 0;
  std::int64_t dst_pitch = 0;
  int width = 0;
  int height = 0;
  int step = 1;
  int channels = 1;
  int sample_bytes = 1;
  Border border = Border::kReplicate;
  ChannelArguments channel[kMaxComponents];
};

/// The mask as a kernel reads it: weights of the plan's accumulator, row-major; for separable the
/// weights of the row, then those of the column. Kernel shift reads none: its one weight is part of
/// the epilogue, and its anchor, the position of the tap, may lie outside of the mask.
struct MaskArguments {
  int width = 1;
  int height = 1;
  int anchor_x = 0;
  int anchor_y = 0;
  int slot = 0;                  ///< Byte offset into the variant's constant bank, or
  const void* global = nullptr;  ///< device memory, when storage is kGlobalMemory.
};

/// separable on tensor cores; the weights are SeparableFragments.
struct SeparableArguments {
  int column = 0;  ///< Offset of the column's first fragment, in words of 16 bytes.
  int left = 0;    ///< From here on members of SeparableWindow, then of SeparableDigits.
  int row_chunks = 1;
  int column_chunks = 1;
  int column_digits = 2;
  std::uint32_t multiplier = 1;
  std::uint32_t row_start = 0;
  int processors = 1;    ///< Multiprocessors of the device.
  int shared_bytes = 0;  ///< Most shared memory that a block may have.
  int iterations = 1;    ///< Fused: iterations of a block, 32 rows of outputs each.
  int stages = 1;        ///< Two-pass: stages of input rows in shared memory.
};

/// One axis of separable-spline: its SplineAxis, and the offsets of its tables in words of four
/// numbers (spline_tables.h).
struct SplineAxisArguments {
  int spacing = 1;
  int first = 0;
  int taps = 1;
  int analysis_weights = 0;
  int weights = 0;
  int synthesis_weights = 0;
  float box_weight = 0;
  float sum = 0;  ///< Of the convolution's weights.
};

struct SplineArguments {
  SplineAxisArguments column, row, cross;
};

struct LaunchArguments {
  Form form = Form::kBasic;
  Accumulator accumulator = Accumulator::kFloat32;
  MaskStorage storage = MaskStorage::kConstantMemory;
  int tile_width = 0;
  int tile_height = 0;
  int batch_rows = 0;                 ///< Box: rows that a block makes between two barriers.
  bool packed = false;                ///< Box: column sums fit 16 bits.
  BoxForm box_form = BoxForm::kRuns;  ///< Box: the form for this plane.
  bool settled = false;               ///< No launch that may still run writes the source.
  GroupArguments group;
  MaskArguments mask;
  void* intermediate = nullptr;         ///< Several launches: what lies between them, and its pitch
  std::int64_t intermediate_pitch = 0;  ///< in bytes, from row to row or component to component.
  SeparableArguments separable;
  SplineArguments spline;
};

/// A kernel variant. All functions work in the current context and return their own call's error.
struct Variant {
  KernelKind kind;
  bool uses_constant_bank;

  /// Copies encoded weights into the variant's constant bank at byte `slot`, on `stream`.
  cudaError_t (*upload)(const void* weights, std::size_t bytes, int slot, cudaStream_t stream);

  /// Forces the kernel that `arguments` selects to load now (CUDA loads lazily), and raises its
  /// limit of dynamic shared memory.
  cudaError_t (*load)(const LaunchArguments& arguments);

  /// Enqueues the filter on `stream`.
  cudaError_t (*launch)(const LaunchArguments& arguments, cudaStream_t stream);
};

/// Bytes of device memory between the two launches of separable-tensor-two-pass, for one component.
std::size_t separable_tensor_bytes(int width, int height, int column_chunks);

/// Bytes of device memory between the launches of separable-spline, for one component.
std::size_t separable_spline_bytes(const SplineArguments& coarse, int width, int height);

/// The variant of a form, which for some forms depends on the accumulator. Forms of kernel tensor
/// have no variants, as they filter whole frames (tensor_pass.h).
const Variant& cuda_variant(Form form, Accumulator accumulator);

/// How many launches a frame takes at most: of all components, in both fields.
int most_launches(Form form);

extern const Variant kBasicVariant;
extern const Variant kConstantVariant;
extern const Variant kTiledInputVariant;
extern const Variant kTiledOutputVariant;
extern const Variant kCachedHaloVariant;
extern const Variant kCoarsenedVariant;
extern const Variant kSeparableVariant;
extern const Variant kSeparableTensorVariant;
extern const Variant kSeparableSplineVariant;
extern const Variant kBoxVariant;
extern const Variant kShiftVariant;

}  // namespace convolve
