// SPDX-License-Identifier: LGPL-2.1-or-later
// A plan: which kernel runs, how, and why. A plain value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "kernels/core/base/border.h"
#include "kernels/core/base/status.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/shape/tensor_mapping.h"
#include "kernels/core/weights/alpha_weighting.h"
#include "kernels/core/weights/arithmetic.h"
#include "kernels/core/weights/coarse_mask.h"
#include "kernels/core/weights/weighted_arithmetic.h"

namespace convolve {

enum class BackendKind : int { kCuda, kCpu };

/// Kernel variants. One name everywhere: enum value, file, property nick, test row, benchmark row.
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

struct KernelInfo {
  KernelKind kind;
  const char* nick;         ///< "tiled-input"
  const char* description;  ///< The idea, its source, and the backends that have it.
  bool on_cuda;
  bool on_cpu;
};

/// All kernels, kAuto first, in the order of the enum.
inline constexpr int kKernelCount = 11;
extern const KernelInfo kKernels[kKernelCount];
const KernelInfo& kernel_info(KernelKind kind);

/// Where the mask lies. Bound when the plan is prepared on a device, and shown.
enum class MaskStorage : int {
  kHostMemory,
  kConstantMemory,
  kGlobalMemory,
  kParameter,  ///< box, shift: one weight, which is part of the epilogue.
};

/// What the user asked for beyond mask and format.
struct Options {
  KernelKind kernel = KernelKind::kAuto;
  int tile_width = 0;  ///< 0 = chosen; 8, 16, 32 or 64.
  double scale = 1;    ///< -1024 .. 1024
  double bias = 0;     ///< -1 .. 1 of the nominal range
  AlphaMode alpha_mode = AlphaMode::kStraight;
  /// Of kernel tensor, on CUDA: how it maps to products; nothing = chosen. Tests and benchmarks
  /// ask.
  std::optional<TensorMapping> mapping;
  /// Of kernel separable, on CUDA: whether it takes a coarse grid; nothing = chosen. Tests and
  /// benchmarks ask.
  std::optional<bool> coarse;
  /// Of kernel box, on CUDA: whether it goes in bands; nothing = chosen. Tests and benchmarks ask.
  std::optional<bool> bands;
};

/// What the planner needs to know of a device.
struct DeviceCapabilities {
  BackendKind backend = BackendKind::kCpu;
  std::string name;              ///< "NVIDIA H100 80GB HBM3", "AVX2"
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
  KernelKind kernel = KernelKind::kBasic;
  int tile_width = 0;  ///< Output tile; 0 for kernels that have none.
  int tile_height = 0;
  bool fused = false;  ///< separable: one launch, no plane between the passes.
  bool rational = false;
  Accumulator accumulator = Accumulator::kFloat64;
  /// tensor: 8-bit digits of a weight, summed in int32, or split (split_digits.h); separable: of a
  /// column's weight, and box: of a column's sum, if they run on tensor cores, else 0.
  int digits = 0;
  TensorMapping mapping = TensorMapping::kStay;  ///< tensor: what its products are.
  CoarseSpacing coarse;                          ///< separable: on a coarse grid, if not of 0.
  MaskStorage storage = MaskStorage::kHostMemory;
  /// Colour is weighted by alpha, in a kernel of its own that makes these sums; all of the above is
  /// for the other components.
  std::optional<WeightedSums> weighted;
  /// What a frame takes that stays on the device (cost.h); 0 = nobody knows: on the CPU, and where
  /// colour is weighted.
  double predicted_us = 0;
  std::string reason;

  /// separable makes two passes, but one over a one-dimensional mask in whole digits (kWide), where
  /// the other would be a tap of 1.
  Passes passes() const {
    return kernel == KernelKind::kSeparable && accumulator != Accumulator::kWide
               ? Passes::kRowColumn
               : Passes::kDirect;
  }

  /// tensor adds up split sums, as floats.
  bool split() const {
    return kernel == KernelKind::kTensor && accumulator == Accumulator::kFloat32;
  }

  /// One line: "cuda coarsened 64x32 float32 rational constant-memory about 12 us (5x5, ...)".
  std::string to_string() const;
  /// True if both run the same, for the same reason. Not asked: predicted_us, which is another for
  /// every size of picture.
  friend bool operator==(const Plan& a, const Plan& b);
};

/// The kernels that kernel=auto chooses from on CUDA: the others are the book's, to be asked for.
inline constexpr KernelKind kChosenOnCuda[] = {KernelKind::kTensor, KernelKind::kSeparable,
                                               KernelKind::kCoarsened, KernelKind::kBox,
                                               KernelKind::kShift};

/// Largest mask that fits the 64 KB constant bank of a module, in bytes.
inline constexpr std::size_t kConstantBankBytes = 65536;

/// Output tile of tiled-input on one axis: min(tile width, 33 - K) for blocks of 32 x 32 threads
/// that load one cell each; 0 or less if K does not fit.
constexpr int tiled_input_tile(int tile_width, int k) {
  return tile_width < 33 - k ? tile_width : 33 - k;
}

/// Outputs of one block of the CUDA kernel coarsened: 16 x 8 threads with 8 x 4 outputs each. Half
/// the height took 71.4 us for 70.3 at 9x9 (4K, H100).
inline constexpr int kCoarsenedTileWidth = 128;
inline constexpr int kCoarsenedTileHeight = 32;

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
