// SPDX-License-Identifier: LGPL-2.1-or-later
// The parts of an instance. The vmethods lie in two sources, which both need them.
#pragma once

#include <gst/base/gstbasetransform.h>

#include <memory>
#include <string>

#include "plugin/frames/cudamemory.h"
#include "plugin/gstcudaconvolve.h"
#include "plugin/properties.h"
#include "plugin/statistics.h"
#include "plugin/stop_reasons.h"
#include "plugin/stream.h"

namespace cudaconvolve {

/// The C++ part of an instance. `context`, `stop` and `stream` guard themselves, the streaming
/// thread has `no_pool` and `new_pool` for itself, and the rest is guarded by the object lock.
struct Parts {
  explicit Parts(GstCudaConvolve* self);

  SharedCudaContext context;
  StopReasons stop;
  Stream stream;
  bool no_pool = false;   ///< The user knows that there is none: each buffer asks again.
  bool new_pool = false;  ///< One of CUDA memory was agreed on, and is not active yet.
  Properties properties;
  std::shared_ptr<const std::string> active_plan;  ///< Null before caps.
  Statistics statistics;
};

/// A copy of what the user asked for.
Settings snapshot(GstCudaConvolve* self);

/// Makes what the session knows visible to the application.
void publish(GstCudaConvolve* self);

/// Before the base class deactivates the output's pool: pins it (keep_for_good()) if CUDA was lost
/// and there is a buffer in it.
void keep_pool_if_lost(GstBaseTransform* trans);

/// Installs the vmethods about caps, memory and pools.
void install_negotiation(GstBaseTransformClass* transform_class);

}  // namespace cudaconvolve

struct _GstCudaConvolve {
  GstBaseTransform parent;
  cudaconvolve::Parts* parts;
};
