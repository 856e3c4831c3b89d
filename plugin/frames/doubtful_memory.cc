// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/frames/doubtful_memory.h"

#include <algorithm>
#include <mutex>

#include "plugin/frames/cudamemory.h"

namespace cudaconvolve {
namespace {

/// What lost devices may still write. Never destroyed; it holds the memory in sight of tools that
/// look for leaks.
struct Abandoned {
  std::mutex mutex;
  std::vector<GstMemory*> memory;
  std::vector<GstBuffer*> buffers;
};

Abandoned& abandoned() {
  static Abandoned& all = *new Abandoned;
  return all;
}

/// Tells the leaks tracer that `memory` stays, and what it is of.
void may_be_leaked(GstMemory* memory) {
  GST_MINI_OBJECT_FLAG_SET(memory, GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED);
  GST_OBJECT_FLAG_SET(memory->allocator, GST_OBJECT_FLAG_MAY_BE_LEAKED);
  keep_context_of(memory);
}

}  // namespace

void keep_for_good(GstBuffer* buffer) {
  const std::lock_guard lock(abandoned().mutex);
  std::vector<GstBuffer*>& kept = abandoned().buffers;
  if (std::find(kept.begin(), kept.end(), buffer) != kept.end()) return;
  GST_MINI_OBJECT_FLAG_SET(buffer, GST_MINI_OBJECT_FLAG_MAY_BE_LEAKED);
  if (GstBufferPool* const pool = buffer->pool; pool != nullptr) {
    GST_OBJECT_FLAG_SET(pool, GST_OBJECT_FLAG_MAY_BE_LEAKED);
    // Who waits for a buffer of a pool that has a bound would wait for this one.
    if (gst_buffer_pool_is_active(pool)) gst_buffer_pool_set_flushing(pool, TRUE);
  }
  for (guint m = 0; m < gst_buffer_n_memory(buffer); ++m)
    may_be_leaked(gst_buffer_peek_memory(buffer, m));
  kept.push_back(gst_buffer_ref(buffer));
}

void DoubtfulMemory::keep(GstBuffer* buffer) {
  for (guint m = 0; m < gst_buffer_n_memory(buffer); ++m)
    kept_.push_back(gst_memory_ref(gst_buffer_peek_memory(buffer, m)));
}

void DoubtfulMemory::release() {
  for (GstMemory* memory : kept_)
    gst_memory_unref(memory);
  kept_.clear();
}

void DoubtfulMemory::abandon() {
  const std::lock_guard lock(abandoned().mutex);
  for (GstMemory* memory : kept_) {
    may_be_leaked(memory);
    abandoned().memory.push_back(memory);
  }
  kept_.clear();
}

}  // namespace cudaconvolve
