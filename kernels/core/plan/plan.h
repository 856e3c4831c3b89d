// SPDX-License-Identifier: LGPL-2.1-or-later
// A plan: which form of a kernel runs, how, and why. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/core/base/border.h"
#include "kernels/core/base/status.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/plan/forms.h"
#include "kernels/core/plan/storage.h"
#include "kernels/core/shape/output_tiles.h"
#include "kernels/core/weights/alpha_weighting.h"
#include "kernels/core/weights/arithmetic.h"
#include "kernels/core/weights/spline_mask.h"
#include "kernels/core/weights/weighted_arithmetic.h"

namespace convolve {

/// The backend allocates its own planes at addresses and pitches that are multiples of this many
/// bytes, so that a thread can load that much at once.
inline constexpr int kPlaneAlignment = 16;

/// What the user asked for beyond mask and format.
struct Options {
  KernelKind kernel = KernelKind::kAuto;
  int tile_width = 0;  ///< 0 = chosen; 8, 16, 32 or 64.
  double scale = 1;    ///< -1024 .. 1024
  double bias = 0;     ///< -1 .. 1 of the nominal range
  AlphaMode alpha_mode = AlphaMode::kStraight;
  /// Of the kernel's forms this one; nothing = chosen. Tests and benchmarks ask. It chooses the
  /// kernel, too, if that is kAuto.
  std::optional<Form> form;
  /// What the addresses and pitches of the planes are multiples of, in bytes, where they lie in
  /// device memory. Planes of host memory are brought to memory that is aligned.
  int alignment = kPlaneAlignment;
};

/// What the planner needs to know of a device.
struct DeviceCapabilities {
  BackendKind backend = BackendKind::kCpu;
  std::string name;              ///< "NVIDIA H100 80GB HBM3"; of a CPU its instructions: "AVX2".
  int compute_capability = 0;    ///< 90 for 9.0; 0 on the CPU.
  std::size_t shared_bytes = 0;  ///< Most shared memory that one block may ask for.
  int threads = 1;               ///< CPU: share of the pool.
  // By which times measured on another GPU are scaled to this one; 0 = not known.
  int processors = 0;          ///< SMs.
  int clock_mhz = 0;           ///< Boost clock.
  int gigabytes_a_second = 0;  ///< Of its memory.
};

struct Plan {
  BackendKind backend = BackendKind::kCpu;
  Form form = Form::kBasic;
  int tile_width = 0;  ///< Output tile; 0 for forms that have none, or one for each plane.
  int tile_height = 0;
  bool rational = false;
  Accumulator accumulator = Accumulator::kFloat64;
  /// 8-bit digits of a weight (tensor, coarsened-dots), of a column's weight (separable on tensor
  /// cores) or of a column's sum (box-strips); 0 for forms that sum no digits.
  int digits = 0;
  KnotSpacing knot_spacing;  ///< separable-spline.
  MaskStorage storage = MaskStorage::kHostMemory;
  int threads = 1;  ///< CPU: so many share a frame.
  /// Colour is weighted by alpha, in a kernel of its own that makes these sums; all of the above is
  /// for the other components.
  std::optional<WeightedSums> weighted;
  /// What a frame takes that stays on the device (cost.h, cpu_cost.h); 0 = nobody knows: where
  /// colour is weighted.
  double predicted_us = 0;
  std::string reason;

  KernelKind kernel() const { return form_info(form).kernel; }

  /// All of separable's forms make two passes but one, over a one-dimensional mask, where the other
  /// would be a tap of 1. On the CPU those that sum floats or doubles fold symmetric factors.
  Passes passes() const {
    if (kernel() != KernelKind::kSeparable || form == Form::kSeparableOnePass)
      return Passes::kDirect;
    return backend == BackendKind::kCpu ? Passes::kFolded : Passes::kRowColumn;
  }

  /// One line: "cuda coarsened tile 128x32 float32 rational constant-memory, about 12 us (5x5,
  /// ...)".
  std::string to_string() const;
  /// True if both run the same, for the same reason. Not asked: predicted_us, which is another for
  /// every size of picture.
  friend bool operator==(const Plan& a, const Plan& b);
};

/// The kernels that kernel=auto chooses from on CUDA: the others are the book's, to be asked for.
inline constexpr KernelKind kChosenOnCuda[] = {KernelKind::kTensor, KernelKind::kSeparable,
                                               KernelKind::kCoarsened, KernelKind::kBox,
                                               KernelKind::kShift};

/// And those on the CPU, where shift is taken if it serves.
inline constexpr KernelKind kChosenOnCpu[] = {KernelKind::kBox, KernelKind::kCoarsened,
                                              KernelKind::kSeparable};

/// Output tile of the separable kernel, and whether tile, halo and row sums fit shared memory, so
/// that both passes run in one launch.
struct SeparableTile {
  int width;
  int height;
  bool fused;
  std::size_t shared_bytes;  ///< What the fused form takes.
};
SeparableTile separable_tile(const Mask& mask, Accumulator accumulator, std::size_t shared_bytes);

/// Chooses. Pure. Errors are kUnsupported with the reason (size, memory, rank, device or alpha) and
/// the kernels that would serve.
Result<Plan> make_plan(const FrameFormat& format, const Mask& mask, const Options& options,
                       const DeviceCapabilities& device);

}  // namespace convolve
