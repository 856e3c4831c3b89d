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
struct Places {
  std::weak_ptr<const Stream> upload, download;
  std::array<std::weak_ptr<const Stream>, kKernelStreams> kernels;

  bool expired() const {
    return upload.expired() && download.expired() &&
           std::all_of(kernels.begin(), kernels.end(),
                       [](const auto& stream) { return stream.expired(); });
  }
};

struct Contexts {
  std::mutex mutex;
  std::map<std::uint64_t, Places> streams;  ///< By the context's id.

  /// Forgets contexts whose streams are gone. The mutex is held.
  Places& of(const Context& context) {
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

/// Takes the stream in `place` into `stream`, made if there is none.
Status share(std::weak_ptr<const Stream>& place, std::shared_ptr<const Stream>& stream) {
  stream = place.lock();
  if (stream != nullptr) return {};
  Result<Stream> made = Stream::make();
  if (!made.ok()) return made.status();
  stream = std::make_shared<const Stream>(std::move(made.value()));
  place = stream;
  return {};
}

}  // namespace

Result<SharedStreams> shared_streams(const Context& context) {
  const std::lock_guard lock(contexts().mutex);
  Places& places = contexts().of(context);
  auto& least = *std::min_element(
      places.kernels.begin(), places.kernels.end(),
      [](const auto& one, const auto& other) { return one.use_count() < other.use_count(); });
  SharedStreams streams;
  Status status = share(places.upload, streams.upload);
  if (status.ok()) status = share(least, streams.kernels);
  if (status.ok()) status = share(places.download, streams.download);
  if (!status.ok()) return status;
  return streams;
}

}  // namespace convolve
