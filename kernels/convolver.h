// SPDX-License-Identifier: LGPL-2.1-or-later
// The public face of the convolution engine: open a device, make a convolver, run frames.
//
//   auto device = convolve::open_device(convolve::BackendKind::kCuda, {});
//   auto source = convolve::parse_mask("gaussian:2");
//   auto mask = convolve::Mask::make(source.value());
//   auto convolver = convolve::Convolver::create(format, mask.value(), {}, device.value());
//   status = convolver.value()->run(src, dst, {});
//   status = device.value()->finish();
//
// No call throws, prints or aborts.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/core/base/border.h"
#include "kernels/core/base/status.h"
#include "kernels/core/base/stop_signal.h"
#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"
#include "kernels/core/mask/mask_grammar.h"
#include "kernels/core/mask/named_masks.h"
#include "kernels/core/plan/backend.h"
#include "kernels/core/plan/plan.h"
#include "kernels/core/weights/alpha_weighting.h"

namespace convolve {

struct PreparedWeights;

struct DeviceOptions {
  int cuda_device_id = -1;  ///< -1 = any.
  /// CUDA: work in the context that is current in this thread, if there is one on the device. The
  /// caller sees to it that it outlives the device and all that is made on it. Otherwise, and
  /// whatever is current, in the device's primary context, which lives as long as the process.
  bool use_current_context = false;
  int threads = 0;  ///< CPU: share of the process-wide pool, 0 = all cores.
  LogCallback log;  ///< Called from any thread; may be empty.
  /// While it is raised, frames and finish() return kStopped within some 100 ms. May be null.
  std::shared_ptr<const StopSignal> stop;
};

/// Opens a backend's device. Errors: kNoDevice (no driver, no such device, no code for it),
/// kDeviceLost (an earlier sticky fault, or a child forked after CUDA began), kOutOfMemory.
/// Opening the CPU succeeds unless memory runs out, or the environment asks for instructions that
/// it has not (CUDACONVOLVE_INSTRUCTION_SET: docs/testing.md).
Result<std::shared_ptr<Device>> open_device(BackendKind backend, const DeviceOptions& options);

/// True if this build has the backend at all.
bool has_backend(BackendKind backend);

/// A mask planned and prepared for one frame format on one device. Immutable: a new mask, kernel or
/// format means a new Convolver (on the same device, whose buffers it shares).
class Convolver {
 public:
  static Result<std::unique_ptr<Convolver>> create(const FrameFormat& format, const Mask& mask,
                                                   const Options& options,
                                                   std::shared_ptr<Device> device);

  /// True if the plan's bounds hold for these values too, so that no new convolver is needed. Looks
  /// at no weight, so it may be asked in every frame.
  bool serves(double scale, double bias) const;

  /// As Job::run. Errors also if the views do not match the format, or serves() is false.
  Status run(const FrameView& src, const FrameView& dst, const RunArguments& arguments);

  const Plan& plan() const { return plan_; }
  const Mask& mask() const;

 private:
  Convolver() = default;

  FrameFormat format_;
  double scale_ = 1;  ///< What the plan was made for, and so serves.
  double bias_ = 0;
  Plan plan_;
  std::shared_ptr<const PreparedWeights> weights_;  ///< The mask, and what it became for the plan.
  std::shared_ptr<Device> device_;
  std::unique_ptr<Job> job_;
};

}  // namespace convolve
