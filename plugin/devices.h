// SPDX-License-Identifier: LGPL-2.1-or-later
// The devices that an element runs on, between READY->PAUSED and back: which are open, and what
// keeps the others from it.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <utility>

#include "kernels/convolver.h"
#include "plugin/cudamemory.h"
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
  void drop_allocator();

  GstElement* element_;
  SharedCudaContext& shared_;
  BackendChoice choice_ = BackendChoice::kAuto;
  convolve::DeviceOptions options_;
  convolve::Status cuda_status_;
  std::shared_ptr<convolve::Device> cuda_;
  GstAllocator* allocator_ = nullptr;
  std::shared_ptr<convolve::Device> cpu_;
};

}  // namespace cudaconvolve
