// SPDX-License-Identifier: LGPL-2.1-or-later
// Which CUDA context a device works in, and how its callers keep theirs.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <optional>

#include "kernels/core/base/status.h"

namespace convolve {

/// The functions of the driver that the runtime has no word for. Their addresses come from the
/// runtime, so that nothing links with libcuda and the module loads where there is no driver.
struct DriverFunctions {
  decltype(&cuCtxGetCurrent) get_current = nullptr;
  decltype(&cuCtxGetDevice) get_device = nullptr;
  decltype(&cuCtxGetId) get_id = nullptr;
  decltype(&cuCtxPushCurrent) push = nullptr;
  decltype(&cuCtxPopCurrent) pop = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain_primary = nullptr;
  decltype(&cuDeviceGetName) device_name = nullptr;

  /// After cudaGetDeviceCount, which loads the driver.
  static Result<DriverFunctions> load();
};

/// A context on a device. It is not owned: see primary() and current().
struct Context {
  DriverFunctions driver;
  CUcontext handle = nullptr;
  int device = 0;        ///< Ordinal, as cudaGetDevice counts.
  std::uint64_t id = 0;  ///< Unique in the process; handles are used again, ids are not.

  /// The context that is current in this thread (a GstCudaContext that the caller pushed, say), or
  /// none. It must live as long as the device that is opened in it.
  static Result<std::optional<Context>> current(const DriverFunctions& driver);

  /// The one that the runtime uses for `device` by default. The reference taken here is kept for
  /// good: giving the last one back would unload all kernels, to be loaded again at the next start.
  static Result<Context> primary(const DriverFunctions& driver, int device);
};

/// Makes a context current for a scope. At its end the caller has the context it came with, or
/// none: this backend never moves a caller to another device.
class CurrentContext {
 public:
  explicit CurrentContext(const Context& context);
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

  /// Errors: kDeviceLost, or kDeviceError if the context is gone.
  const Status& status() const { return status_; }

 private:
  const Context& context_;
  Status status_;
};

}  // namespace convolve
