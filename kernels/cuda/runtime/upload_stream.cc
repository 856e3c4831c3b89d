// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/upload_stream.h"

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace convolve {
namespace {

struct UploadStreams {
  std::mutex mutex;
  std::map<std::uint64_t, std::weak_ptr<const Stream>> of_context;  ///< By its id.
};

/// Never destroyed: nothing of CUDA may run in static destructors.
UploadStreams& upload_streams() {
  static UploadStreams& streams = *new UploadStreams;
  return streams;
}

}  // namespace

Result<std::shared_ptr<const Stream>> shared_upload_stream(const Context& context) {
  UploadStreams& streams = upload_streams();
  const std::lock_guard<std::mutex> lock(streams.mutex);
  const auto known = streams.of_context.find(context.id);
  if (known != streams.of_context.end())
    if (std::shared_ptr<const Stream> stream = known->second.lock()) return stream;
  Result<Stream> made = Stream::make();
  if (!made.ok()) return made.status();
  const auto stream = std::make_shared<const Stream>(std::move(made.value()));
  for (auto it = streams.of_context.begin(); it != streams.of_context.end();)
    it = it->second.expired() ? streams.of_context.erase(it) : std::next(it);
  streams.of_context[context.id] = stream;
  return stream;
}

}  // namespace convolve
