// SPDX-License-Identifier: LGPL-2.1-or-later
// What a backend provides. One virtual call a frame; nothing finer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kernels/core/plan/plan.h"

namespace convolve {

struct PreparedPlan;

enum class LogLevel : int { kDebug, kInfo, kWarning };
using LogCallback = std::function<void(LogLevel, const std::string&)>;

/// What may differ from frame to frame without a new plan.
struct RunArguments {
  double scale = 1;
  double bias = 0;
  Border border = Border::kReplicate;
};

/// A plan bound to a device: masks uploaded, memory taken, kernels loaded. Keeps its device alive.
class Job {
 public:
  virtual ~Job() = default;

  /// Where the mask ended up.
  virtual MaskStorage storage() const = 0;

  /// Filters `src` into `dst`: frames of the format it was prepared for, or with fewer rows or
  /// columns (a field). The two do not overlap. May only enqueue: the planes of both must stay
  /// valid until Device::finish() returns. Allocates nothing once prepared. kInvalidArgument:
  /// planes in device memory do not lie as Options::alignment says, or a form for packed 4:2:2
  /// meets shorter rows that end within a column.
  virtual Status run(const FrameView& src, const FrameView& dst, const RunArguments& arguments) = 0;
};

/// An opened device: one per element, used by one thread at a time. CUDA: a stream of its own and
/// the pitched device buffers of a frame, shared by successive jobs. CPU: a share of the pool.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceCapabilities& capabilities() const = 0;

  /// Makes a plan, of prepare_plan(), runnable for frames of `format`. May allocate and wait. The
  /// job keeps the plan's weights alive.
  virtual Result<std::unique_ptr<Job>> prepare(const FrameFormat& format,
                                               const PreparedPlan& planned) = 0;

  /// Waits for everything enqueued. Only after success are the destination planes valid.
  virtual Status finish() = 0;

  /// Nanoseconds the kernels of the last finished frame took, without transfers; 0 if unknown.
  virtual std::uint64_t last_kernel_ns() const = 0;

  /// The cudaStream_t that jobs enqueue on, for benchmarks that capture it; null on the CPU. Copies
  /// may go there, too, but no kernels that write what a job reads: that may begin before they end.
  virtual void* native_stream() const { return nullptr; }
};

}  // namespace convolve
