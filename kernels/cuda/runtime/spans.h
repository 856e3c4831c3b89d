// SPDX-License-Identifier: LGPL-2.1-or-later
// How long a stream works on a frame.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/runtime/handles.h"

namespace convolve {

/// Stretches of a stream's time, each between two events, that are added up. Used by one thread at
/// a time, in the context of the stream.
class StreamSpans {
 public:
  /// Until then nothing is recorded, and no time is known. Errors: of CUDA.
  Status enable();
  bool enabled() const { return !pairs_.empty(); }

  /// From here on there are none.
  void clear() { count_ = 0, open_ = false; }
  /// The stretch that ends with end(): what was enqueued in between. Errors: of CUDA.
  Status begin(cudaStream_t stream);
  /// Nothing, if no stretch has begun.
  Status end(cudaStream_t stream);

  /// Nanoseconds of all stretches, once all of them have passed; 0 if they are not known.
  std::uint64_t sum() const;

  void release() { pairs_.clear(), clear(); }

 private:
  struct Pair {
    Event first, last;
  };
  Status add_pair();

  std::vector<Pair> pairs_;
  std::size_t count_ = 0;  ///< Of stretches that have ended.
  bool open_ = false;      ///< Another one has begun.
};

}  // namespace convolve
