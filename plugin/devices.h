// SPDX-License-Identifier: LGPL-2.1-or-later
// The devices that an element runs on, between READY->PAUSED and back: which are open, and what
// keeps the others from it.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <memory>
#include <utility>

#include "kernels/convolver.h"
#include "plugin/frames/cudamemory.h"
#include "plugin/properties.h"

namespace cudaconvolve {

/// Used by one thread at a time.
class Devices {
 public:
  /// `stop`: while it is raised, the devices leave frames unfinished.
  Devices(GstElement* element, SharedCudaContext& shared,
          std::shared_ptr<const convolve::StopSignal> stop)
      : element_(element), shared_(shared) {
    options_.stop = std::move(stop);
  }
  ~Devices() { close(); }
  Devices(const Devices&) = delete;
  Devices& operator=(const Devices&) = delete;

  /// Opens CUDA unless the backend is the CPU. Without a usable device `auto` says so in one INFO
  /// line and succeeds; `cuda` returns the reason.
  convolve::Status open(const Settings& settings);

  /// Lets go of all devices and of the shared context.
  void close();

  /// `auto` after give_up_until_new_caps(): tries CUDA again.
  void new_caps();

  bool has_cuda() const { return cuda_ != nullptr; }

  /// True from the moment on at which there is known to be no CUDA, until close(); any thread may
  /// ask.
  bool without_cuda() const { return without_cuda_; }

  /// Before frames in CUDA memory: the open CUDA device works in the context that the pipeline
  /// shares from here on. True if it is another device than before, for which plans must be made
  /// anew. Errors: no CUDA, or none in that context.
  convolve::Result<bool> share_context();

  /// True if `buffer` is in CUDA memory of another context.
  bool is_foreign(GstBuffer* buffer) const;
  /// Opens CUDA anew in the context that `buffer`, which is foreign, lies in. Errors: the context
  /// is of another CUDA device than was asked for, and those of open(); then there is no CUDA.
  convolve::Status adopt_context_of(GstBuffer* buffer);

  SharedCudaContext& shared() const { return shared_; }

  /// Gives page-locked memory while CUDA is open; null if it has not been since open().
  GstAllocator* allocator() const { return allocator_; }

  /// Why has_cuda() is false: ok if CUDA was not asked for.
  const convolve::Status& cuda_status() const { return cuda_status_; }

  /// The open CUDA device, or the CPU, opened on first use.
  convolve::Result<std::shared_ptr<convolve::Device>> get(convolve::BackendKind backend);

  /// Drops CUDA because of `why`. Memory that ran out may be there again for the next caps; any
  /// other failure holds until the next start.
  void give_up_cuda(const convolve::Status& why);

 private:
  convolve::Status open_cuda();
  convolve::Status open_in_shared_context();
  void close_cuda();

  GstElement* element_;
  SharedCudaContext& shared_;
  BackendChoice choice_ = BackendChoice::kAuto;
  convolve::DeviceOptions options_;
  convolve::Status cuda_status_;
  std::atomic<bool> without_cuda_{false};
  std::shared_ptr<convolve::Device> cuda_;
  GstAllocator* allocator_ = nullptr;
  std::shared_ptr<convolve::Device> cpu_;
};

}  // namespace cudaconvolve
