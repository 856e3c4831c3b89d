// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/check.h"

#include <pthread.h>

#include <atomic>
#include <mutex>
#include <string>
#include <string_view>

namespace convolve {
namespace {

enum class ProcessState { kUntouched, kInUse, kLost, kForked };

std::atomic<ProcessState> process_state{ProcessState::kUntouched};

void in_forked_child() {
  if (process_state.load() != ProcessState::kUntouched) process_state = ProcessState::kForked;
}

/// Errors after which the CUDA documentation wants the process relaunched. By number, because older
/// toolkits lack some of the names.
bool is_sticky(cudaError_t error) {
  switch (static_cast<int>(error)) {
    case 214:  // cudaErrorECCUncorrectable
    case 220:  // cudaErrorNvlinkUncorrectable
    case 226:  // cudaErrorContained
    case 700:  // cudaErrorIllegalAddress
    case 702:  // cudaErrorLaunchTimeout
    case 710:  // cudaErrorAssert
    case 714:  // cudaErrorHardwareStackError
    case 715:  // cudaErrorIllegalInstruction
    case 716:  // cudaErrorMisalignedAddress
    case 717:  // cudaErrorInvalidAddressSpace
    case 718:  // cudaErrorInvalidPc
    case 719:  // cudaErrorLaunchFailure
    case 721:  // cudaErrorTensorMemoryLeak
    case 810:  // cudaErrorMpsClientTerminated
    case 911:  // cudaErrorExternalDevice
    case 999:  // cudaErrorUnknown
      return true;
    default:
      return false;
  }
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string driver_problem() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0)
    return "no NVIDIA driver is installed";
  return "the NVIDIA driver is too old: it supports CUDA " + version_text(driver) +
         ", this build uses CUDA " + version_text(CUDART_VERSION);
}

/// What the user can do about an error that means "not on this machine", or "" for other errors.
std::string no_device_reason(cudaError_t error) {
  switch (static_cast<int>(error)) {
    case 3:  // cudaErrorInitializationError
      return "CUDA cannot be initialised (in a child forked after something else began CUDA?)";
    case 35:  // cudaErrorInsufficientDriver
      return driver_problem();
    case 34:   // cudaErrorStubLibrary
    case 36:   // cudaErrorCallRequiresNewerDriver
    case 304:  // cudaErrorOperatingSystem
    case 802:  // cudaErrorSystemNotReady
    case 803:  // cudaErrorSystemDriverMismatch
    case 804:  // cudaErrorCompatNotSupportedOnDevice
    case 805:  // cudaErrorMpsConnectionFailed
      return "the NVIDIA driver of this machine is not in working order";
    case 46:  // cudaErrorDevicesUnavailable
      return "every CUDA device is in use or in prohibited mode";
    case 100:  // cudaErrorNoDevice
      return "no CUDA device is visible to this process (see CUDA_VISIBLE_DEVICES)";
    case 101:  // cudaErrorInvalidDevice
      return "there is no CUDA device of this number";
    case 200:  // cudaErrorInvalidKernelImage
    case 209:  // cudaErrorNoKernelImageForDevice
    case 218:  // cudaErrorInvalidPtx
    case 221:  // cudaErrorJitCompilerNotFound
    case 222:  // cudaErrorUnsupportedPtxVersion
    case 223:  // cudaErrorJitCompilationDisabled
      return "this build has no code for this GPU (build option cuda-archs)";
    default:
      return "";
  }
}

}  // namespace

Status begin_cuda() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, in_forked_child); });
  ProcessState untouched = ProcessState::kUntouched;
  process_state.compare_exchange_strong(untouched, ProcessState::kInUse);
  return cuda_usable() ? Status() : cuda_unusable();
}

bool cuda_usable() {
  const ProcessState state = process_state.load(std::memory_order_relaxed);
  return state != ProcessState::kLost && state != ProcessState::kForked;
}

Status cuda_unusable() {
  if (process_state.load() == ProcessState::kForked)
    return Status(Code::kDeviceLost,
                  "CUDA was initialised before fork(): this child process cannot use it");
  return Status(Code::kDeviceLost,
                "CUDA is lost to this process: an earlier GPU fault, maybe of another component");
}

Status lose_cuda() {
  ProcessState in_use = ProcessState::kInUse;
  process_state.compare_exchange_strong(in_use, ProcessState::kLost);
  return Status(Code::kDeviceLost,
                "the GPU has not finished anything for 5 seconds: CUDA is lost to this process");
}

Status cuda_status(cudaError_t error, const char* call) {
  if (error == cudaSuccess) return {};
  // The call without its arguments, which would mean nothing to a user.
  const std::string_view text(call);
  const std::string what = std::string(text.substr(0, text.find('('))) +
                           " failed: " + cudaGetErrorName(error) + " (" + std::to_string(error) +
                           "), " + cudaGetErrorString(error);
  if (is_sticky(error)) {
    ProcessState in_use = ProcessState::kInUse;
    process_state.compare_exchange_strong(in_use, ProcessState::kLost);
    return Status(Code::kDeviceLost,
                  "GPU fault, CUDA is lost to this process (maybe by another component): " + what);
  }
  (void)cudaGetLastError();
  if (error == cudaErrorMemoryAllocation)
    return Status(Code::kOutOfMemory, "the GPU is out of memory: " + what);
  if (const std::string reason = no_device_reason(error); !reason.empty())
    return Status(Code::kNoDevice, reason + ": " + what);
  return Status(Code::kDeviceError, what);
}

}  // namespace convolve
