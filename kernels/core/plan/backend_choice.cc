// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/plan/backend_choice.h"

#include <algorithm>

#include "kernels/core/plan/cpu_cost.h"

namespace convolve {
namespace {

// Measured with bench_pipelines, NV12 and a 9x9 mask in page-locked pools, on an H100 SXM and its
// host (5b78d2b, tests/benchmarks/RESULTS.md), and taken to hold for other GPUs: 35 us a frame of
// 640x480, 66 of 1080p and 266 of 4K, of which the processors take 45, 48 and 63. Memory of others
// is copied by the host, too, and costs more.
constexpr double kLeastFrame = 35;
constexpr double kMegabyteAcross = 21.4;  ///< In both directions at once.
constexpr double kHostFrame = 44;
constexpr double kHostMegabyte = 1.5;

/// The CPU's constants are of the fastest processor that was measured. Beside that H100 stood a
/// Xeon that took 2.6 to 3.5 times as long as they say, and 10 us a frame for all but the filter.
constexpr double kSlowerProcessor = 3;
constexpr double kCpuFrameBeside = 10;

/// The shortest copy of a frame that large takes longer than the host takes for one on CUDA.
constexpr double kMostMegabytes = 1;

double megabytes(const FrameFormat& format) {
  double bytes = 0;
  for (int p = 0; p < format.plane_count; ++p)
    bytes += 1.0 * format.planes[p].rows * format.planes[p].row_bytes;
  return bytes / 1e6;
}

}  // namespace

FrameCost cuda_frame_cost(const FrameFormat& format, const Plan& plan) {
  const double size = megabytes(format);
  return {std::max({kLeastFrame, kMegabyteAcross * size, plan.predicted_us}),
          kHostFrame + kHostMegabyte * size};
}

FrameCost cpu_frame_cost(const FrameFormat& format, const Mask& mask, const Plan& plan,
                         const DeviceCapabilities& device) {
  // Work that is shared out is the same for one thread.
  const double alone =
      cpu_predicted_microseconds(cpu_cost_constants(device), plan, format, mask, 1);
  return {kCpuFrameBeside + kSlowerProcessor * plan.predicted_us,
          kCpuFrameBeside + kSlowerProcessor * alone};
}

bool cpu_may_cost_less(const FrameFormat& format) {
  return megabytes(format) <= kMostMegabytes;
}

bool costs_less(const FrameCost& cost, const FrameCost& other) {
  return cost.frame_us > 0 && cost.frame_us < other.frame_us &&
         cost.processor_us < other.processor_us;
}

}  // namespace convolve
