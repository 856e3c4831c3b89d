// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/context.h"

#include <cuda_runtime.h>

#include "kernels/cuda/runtime/check.h"

namespace convolve {
namespace {

/// The runtime's error codes are the driver's.
cudaError_t as_runtime(CUresult result) {
  return static_cast<cudaError_t>(result);
}

template <class Function>
Status find(const char* name, Function& function) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  Status status = CONVOLVE_CUDA(
      cudaGetDriverEntryPointByVersion(name, &address, 12000, cudaEnableDefault, &result));
#else
  Status status =
      CONVOLVE_CUDA(cudaGetDriverEntryPoint(name, &address, cudaEnableDefault, &result));
#endif
  if (!status.ok()) return status;
  if (result != cudaDriverEntryPointSuccess || address == nullptr)
    return Status(Code::kNoDevice, std::string("the NVIDIA driver has no ") + name);
  function = reinterpret_cast<Function>(address);
  return {};
}

Status identify(Context& context) {
  return CONVOLVE_CUDA(as_runtime(
      context.driver.get_id(context.handle, reinterpret_cast<unsigned long long*>(&context.id))));
}

}  // namespace

Result<DriverFunctions> DriverFunctions::load() {
  DriverFunctions f;
  Status status = find("cuCtxGetCurrent", f.get_current);
  if (status.ok()) status = find("cuCtxGetDevice", f.get_device);
  if (status.ok()) status = find("cuCtxGetId", f.get_id);
  if (status.ok()) status = find("cuCtxPushCurrent", f.push);
  if (status.ok()) status = find("cuCtxPopCurrent", f.pop);
  if (status.ok()) status = find("cuDevicePrimaryCtxRetain", f.retain_primary);
  if (status.ok()) status = find("cuDeviceGetName", f.device_name);
  if (!status.ok()) return status;
  return f;
}

Result<std::optional<Context>> Context::current(const DriverFunctions& driver) {
  Context context;
  context.driver = driver;
  Status status = CONVOLVE_CUDA(as_runtime(driver.get_current(&context.handle)));
  if (!status.ok()) return status;
  if (context.handle == nullptr) return std::optional<Context>();
  status = CONVOLVE_CUDA(as_runtime(driver.get_device(&context.device)));
  if (status.ok()) status = identify(context);
  if (!status.ok()) return status;
  return std::optional<Context>(context);
}

Result<Context> Context::primary(const DriverFunctions& driver, int device) {
  Context context;
  context.driver = driver;
  context.device = device;
  Status status = CONVOLVE_CUDA(as_runtime(driver.retain_primary(&context.handle, device)));
  if (status.ok()) status = identify(context);
  if (!status.ok()) return status;
  return context;
}

CurrentContext::CurrentContext(const Context& context)
    : context_(context), status_(CONVOLVE_CUDA(as_runtime(context.driver.push(context.handle)))) {}

CurrentContext::~CurrentContext() {
  CUcontext popped = nullptr;
  if (status_.ok()) (void)CONVOLVE_CUDA(as_runtime(context_.driver.pop(&popped)));
}

}  // namespace convolve
