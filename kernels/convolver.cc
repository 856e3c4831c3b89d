// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/convolver.h"

#include <cmath>
#include <exception>
#include <new>
#include <utility>

#include "kernels/core/plan/prepared_plan.h"
#include "kernels/cpu/cpu_device.h"
#include "kernels/cuda/cuda_device.h"

namespace convolve {
namespace {

/// Nothing may throw across the face; the standard library may, on exhaustion.
template <class Function>
auto guarded(Function&& function) -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return Status(Code::kOutOfMemory, "host memory is exhausted");
  } catch (const std::exception& e) {
    return Status(Code::kDeviceError, std::string("unexpected failure: ") + e.what());
  }
}

bool same_layout(const Component& planned, const Component& given) {
  return planned.offset == given.offset && planned.step == given.step &&
         planned.depth == given.depth && planned.shift == given.shift &&
         planned.filtered == given.filtered && given.width >= 0 && given.height >= 0 &&
         given.width <= planned.width && given.height <= planned.height;
}

Status check_view(const FrameFormat& planned, const FrameView& view, const char* which) {
  const auto mismatch = [which](const char* what, int plane) {
    return invalid_argument(std::string(which) + " frame does not match the planned format: " +
                            what + " of plane " + std::to_string(plane));
  };
  if (view.format.plane_count != planned.plane_count)
    return mismatch("number", planned.plane_count);
  for (int p = 0; p < planned.plane_count; ++p) {
    const PlaneFormat& a = planned.planes[p];
    const PlaneFormat& b = view.format.planes[p];
    if (a.component_count != b.component_count || a.sample_bytes != b.sample_bytes ||
        a.big_endian != b.big_endian)
      return mismatch("sample layout", p);
    if (b.rows > a.rows || b.row_bytes > a.row_bytes) return mismatch("size", p);
    for (int c = 0; c < a.component_count; ++c)
      if (!same_layout(a.components[c], b.components[c])) return mismatch("a component", p);
    if (b.rows > 0 && view.data[p] == nullptr) return mismatch("missing memory", p);
    const std::ptrdiff_t pitch = view.pitch[p] < 0 ? -view.pitch[p] : view.pitch[p];
    if (b.rows > 1 && pitch < b.row_bytes) return mismatch("too small a pitch", p);
  }
  return {};
}

bool same_size(const FrameFormat& a, const FrameFormat& b) {
  for (int p = 0; p < a.plane_count; ++p) {
    if (a.planes[p].rows != b.planes[p].rows || a.planes[p].row_bytes != b.planes[p].row_bytes)
      return false;
    for (int c = 0; c < a.planes[p].component_count; ++c)
      if (a.planes[p].components[c].width != b.planes[p].components[c].width ||
          a.planes[p].components[c].height != b.planes[p].components[c].height)
        return false;
  }
  return true;
}

}  // namespace

bool has_backend(BackendKind backend) {
  return backend == BackendKind::kCpu || has_cuda_backend();
}

Result<std::shared_ptr<Device>> open_device(BackendKind backend, const DeviceOptions& options) {
  return guarded([&]() -> Result<std::shared_ptr<Device>> {
    if (backend == BackendKind::kCuda)
      return open_cuda_device(options.cuda_device_id, options.use_current_context, options.log,
                              options.stop);
    return open_cpu_device(options.threads, options.log, options.stop);
  });
}

Result<std::unique_ptr<Convolver>> Convolver::create(const FrameFormat& format, const Mask& mask,
                                                     const Options& options,
                                                     std::shared_ptr<Device> device) {
  return guarded([&]() -> Result<std::unique_ptr<Convolver>> {
    Result<PreparedPlan> planned = prepare_plan(format, mask, options, device->capabilities());
    if (!planned.ok()) return planned.status();
    Result<std::unique_ptr<Job>> job = device->prepare(format, planned.value());
    if (!job.ok()) return job.status();
    std::unique_ptr<Convolver> convolver(new Convolver());
    convolver->format_ = format;
    convolver->scale_ = options.scale;
    convolver->bias_ = options.bias;
    convolver->plan_ = std::move(planned.value().plan);
    convolver->plan_.storage = job.value()->storage();
    convolver->weights_ = std::move(planned.value().weights);
    convolver->device_ = std::move(device);
    convolver->job_ = std::move(job.value());
    return convolver;
  });
}

bool Convolver::serves(double scale, double bias) const {
  return (scale == scale_ && bias == bias_) || plan_serves(format_, plan_, *weights_, scale, bias);
}

const Mask& Convolver::mask() const {
  return weights_->mask;
}

Status Convolver::run(const FrameView& src, const FrameView& dst, const RunArguments& arguments) {
  return guarded([&]() -> Status {
    if (Status status = check_view(format_, src, "source"); !status.ok()) return status;
    if (Status status = check_view(format_, dst, "destination"); !status.ok()) return status;
    if (!same_size(src.format, dst.format))
      return invalid_argument("source and destination frame differ in size");
    if (plan_.weighted && !alpha_covers(format_, src.format))
      return invalid_argument("the frame's alpha does not cover its colour");
    if (!serves(arguments.scale, arguments.bias))
      return invalid_argument("scale " + std::to_string(arguments.scale) +
                              " is outside what the plan was proven for");
    return job_->run(src, dst, arguments);
  });
}

}  // namespace convolve
