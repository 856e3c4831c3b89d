// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/runtime/shared_streams.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>

namespace convolve {
namespace {

constexpr std::size_t kKernelStreams = 2;

/// Of one context.
struct SharedStreams {
  std::weak_ptr<const Stream> upload;
  std::array<std::weak_ptr<const Stream>, kKernelStreams> kernels;

  bool expired() const {
    return upload.expired() && std::all_of(kernels.begin(), kernels.end(),
                                           [](const auto& stream) { return stream.expired(); });
  }
};

struct Contexts {
  std::mutex mutex;
  std::map<std::uint64_t, SharedStreams> streams;  ///< By the context's id.

  /// Forgets contexts whose streams are gone. The mutex is held.
  SharedStreams& of(const Context& context) {
    for (auto it = streams.begin(); it != streams.end();)
      it = it->second.expired() ? streams.erase(it) : std::next(it);
    return streams[context.id];
  }
};

/// Never destroyed: nothing of CUDA may run in static destructors.
Contexts& contexts() {
  static Contexts& contexts = *new Contexts;
  return contexts;
}

/// The stream in `place`, made if there is none.
Result<std::shared_ptr<const Stream>> share(std::weak_ptr<const Stream>& place) {
  if (std::shared_ptr<const Stream> stream = place.lock()) return stream;
  Result<Stream> made = Stream::make();
  if (!made.ok()) return made.status();
  const auto stream = std::make_shared<const Stream>(std::move(made.value()));
  place = stream;
  return stream;
}

}  // namespace

Result<std::shared_ptr<const Stream>> shared_upload_stream(const Context& context) {
  const std::lock_guard lock(contexts().mutex);
  return share(contexts().of(context).upload);
}

Result<std::shared_ptr<const Stream>> shared_kernel_stream(const Context& context) {
  const std::lock_guard lock(contexts().mutex);
  auto& places = contexts().of(context).kernels;
  return share(*std::min_element(
      places.begin(), places.end(),
      [](const auto& one, const auto& other) { return one.use_count() < other.use_count(); }));
}

}  // namespace convolve
