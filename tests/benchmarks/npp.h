// SPDX-License-Identifier: LGPL-2.1-or-later
// NVIDIA's own convolution beside ours: NPP, opened at run time, since a machine may have none.
// npp.cu in builds with CUDA, npp_stub.cc in others.
#pragma once

#include <memory>
#include <string>

#include "kernels/core/base/view.h"
#include "kernels/core/mask/mask.h"

namespace convolve::benchmarks {

/// nppiFilterBorder32f_8u_C1R_Ctx, the only filter of NPP with a free mask and a border.
class Npp {
 public:
  virtual ~Npp() = default;

  virtual std::string description() const = 0;  ///< "NPP 13.0.1 FilterBorder32f".

  /// Readies `mask`, which must be dense, for frames on `stream` (a cudaStream_t).
  virtual bool load(const Mask& mask, void* stream) = 0;

  /// Enqueues plane 0, one component of 8 bits, with replicated borders.
  virtual bool filter(const FrameView& src, const FrameView& dst) = 0;
};

/// Null, and why, if there is none.
std::unique_ptr<Npp> open_npp(std::string* why);

}  // namespace convolve::benchmarks
