// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/spans.h"

#include <cmath>
#include <utility>

#include "kernels/cuda/runtime/check.h"

namespace convolve {

Status StreamSpans::add_pair() {
  Pair pair;
  for (Event* event : {&pair.first, &pair.last}) {
    Result<Event> made = Event::make(cudaEventDefault);
    if (!made.ok()) return made.status();
    *event = std::move(made.value());
  }
  pairs_.push_back(std::move(pair));
  return {};
}

Status StreamSpans::enable() {
  return enabled() ? Status() : add_pair();
}

Status StreamSpans::begin(cudaStream_t stream) {
  open_ = false;
  if (!enabled()) return {};
  if (count_ == pairs_.size())
    if (Status status = add_pair(); !status.ok()) return status;
  Status status = CONVOLVE_CUDA(cudaEventRecord(pairs_[count_].first.get(), stream));
  open_ = status.ok();
  return status;
}

Status StreamSpans::end(cudaStream_t stream) {
  if (!std::exchange(open_, false)) return {};
  Status status = CONVOLVE_CUDA(cudaEventRecord(pairs_[count_].last.get(), stream));
  if (status.ok()) ++count_;
  return status;
}

std::uint64_t StreamSpans::sum() const {
  double nanoseconds = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    float milliseconds = 0;
    if (!CONVOLVE_CUDA(
             cudaEventElapsedTime(&milliseconds, pairs_[i].first.get(), pairs_[i].last.get()))
             .ok())
      return 0;
    nanoseconds += 1e6 * static_cast<double>(milliseconds);
  }
  return static_cast<std::uint64_t>(std::llround(nanoseconds));
}

}  // namespace convolve
