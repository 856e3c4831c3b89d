// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/frames/allocation.h"

#include <gst/video/video.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "plugin/caps.h"

namespace cudaconvolve {
namespace {

/// What an ALLOCATION query asks about.
struct Request {
  GstCaps* caps = nullptr;
  guint frame_bytes = 0;
  gboolean need_pool = FALSE;
};

std::optional<Request> parse(GstQuery* query) {
  Request request;
  gst_query_parse_allocation(query, &request.caps, &request.need_pool);
  GstVideoInfo info;
  if (request.caps == nullptr || !gst_video_info_from_caps(&info, request.caps)) return {};
  request.frame_bytes = static_cast<guint>(GST_VIDEO_INFO_SIZE(&info));
  return request;
}

/// True for memory that is made for something. Ordinary system memory is what anybody gives.
bool is_special(GstAllocator* allocator) {
  return allocator != nullptr && std::strcmp(allocator->mem_type, GST_ALLOCATOR_SYSMEM) != 0;
}

/// An allocator with its parameters, of a query or of a pool.
struct Allocation {
  Allocation() { gst_allocation_params_init(&params); }
  ~Allocation() { gst_clear_object(&allocator); }
  Allocation(const Allocation&) = delete;
  Allocation& operator=(const Allocation&) = delete;

  GstAllocator* allocator = nullptr;  ///< Owned; null means system memory.
  GstAllocationParams params;
};

/// What the pool is configured to allocate with, if that is special, takes the place of `to`.
void prefer_own_allocator(GstBufferPool* pool, Allocation& to) {
  GstStructure* config = gst_buffer_pool_get_config(pool);
  GstAllocator* own = nullptr;
  GstAllocationParams params;
  if (gst_buffer_pool_config_get_allocator(config, &own, &params) && is_special(own)) {
    gst_object_replace(reinterpret_cast<GstObject**>(&to.allocator), GST_OBJECT(own));
    to.params = params;
  }
  gst_structure_free(config);
}

/// Configures a pool of CUDA memory, which says how large its frames are: rows lie further apart
/// than the caps say. False if it takes no such frames.
bool configure(GstBufferPool* pool, const Request& request, const SharedCudaContext& context,
               guint min, guint max, guint* size) {
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, request.caps, request.frame_bytes, min, max);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  context.give_stream(pool, config);
  if (!gst_buffer_pool_set_config(pool, config)) return false;
  config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_get_params(config, nullptr, size, nullptr, nullptr);
  gst_structure_free(config);
  return true;
}

bool offer_cuda_pool(GstQuery* query, const Request& request, const SharedCudaContext& context) {
  GstBufferPool* pool = request.need_pool ? context.new_pool() : nullptr;
  guint size = 0;
  if (pool != nullptr && configure(pool, request, context, 0, 0, &size))
    gst_query_add_allocation_pool(query, pool, size, 0, 0);
  gst_clear_object(&pool);
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  return true;
}

bool choose_cuda_pool(GstQuery* query, const Request& request, const SharedCudaContext& context) {
  GstBufferPool* pool = nullptr;
  guint size = 0, min = 0, max = 0;
  const bool offered = gst_query_get_n_allocation_pools(query) > 0;
  if (offered) gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, &min, &max);
  if (pool != nullptr && !context.made(pool)) {
    gst_clear_object(&pool);
    min = max = 0;
  }
  // One that is at work cannot be configured.
  if (pool != nullptr && !configure(pool, request, context, min, max, &size)) {
    gst_clear_object(&pool);
    min = max = 0;
  }
  bool usable = pool != nullptr;
  if (!usable) {
    pool = context.new_pool();
    usable = pool != nullptr && configure(pool, request, context, min, max, &size);
  }
  if (usable) {
    // The base class configures the pool with the first allocator of the query: no other than its
    // own will do.
    while (gst_query_get_n_allocation_params(query) > 0)
      gst_query_remove_nth_allocation_param(query, 0);
    if (offered)
      gst_query_set_nth_allocation_pool(query, 0, pool, size, min, max);
    else
      gst_query_add_allocation_pool(query, pool, size, min, max);
  }
  gst_clear_object(&pool);
  return usable;
}

}  // namespace

bool offer_pool(GstQuery* query, GstAllocator* allocator, const SharedCudaContext& context) {
  const std::optional<Request> request = parse(query);
  if (!request) return false;
  if (are_in_cuda_memory(request->caps)) return offer_cuda_pool(query, *request, context);
  GstAllocationParams params;
  gst_allocation_params_init(&params);
  if (allocator != nullptr) gst_query_add_allocation_param(query, allocator, &params);
  if (request->need_pool) {
    GstBufferPool* pool = gst_video_buffer_pool_new();
    GstStructure* config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, request->caps, request->frame_bytes, 0, 0);
    gst_buffer_pool_config_set_allocator(config, allocator, &params);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    if (gst_buffer_pool_set_config(pool, config))
      gst_query_add_allocation_pool(query, pool, request->frame_bytes, 0, 0);
    gst_object_unref(pool);
  }
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  return true;
}

bool choose_pool(GstQuery* query, GstAllocator* allocator, const SharedCudaContext& context) {
  const std::optional<Request> request = parse(query);
  if (!request) return false;
  if (are_in_cuda_memory(request->caps)) return choose_cuda_pool(query, *request, context);
  GstBufferPool* pool = nullptr;
  guint size = 0;
  guint min = 0;
  guint max = 0;
  const bool offered = gst_query_get_n_allocation_pools(query) > 0;
  if (offered) gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, &min, &max);
  if (pool == nullptr) pool = gst_video_buffer_pool_new();
  size = std::max(size, request->frame_bytes);

  // The base class, which comes next, configures the pool with the first allocator of the query.
  Allocation chosen;
  const bool has_allocator = gst_query_get_n_allocation_params(query) > 0;
  if (has_allocator)
    gst_query_parse_nth_allocation_param(query, 0, &chosen.allocator, &chosen.params);
  if (!is_special(chosen.allocator)) prefer_own_allocator(pool, chosen);
  if (!is_special(chosen.allocator) && allocator != nullptr)
    gst_object_replace(reinterpret_cast<GstObject**>(&chosen.allocator), GST_OBJECT(allocator));
  if (has_allocator)
    gst_query_set_nth_allocation_param(query, 0, chosen.allocator, &chosen.params);
  else
    gst_query_add_allocation_param(query, chosen.allocator, &chosen.params);

  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, request->caps, size, min, max);
  if (gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr) &&
      gst_buffer_pool_has_option(pool, GST_BUFFER_POOL_OPTION_VIDEO_META))
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  // A pool that wants other values puts them into its configuration; the base class reads them
  // back.
  gst_buffer_pool_set_config(pool, config);
  if (offered)
    gst_query_set_nth_allocation_pool(query, 0, pool, size, min, max);
  else
    gst_query_add_allocation_pool(query, pool, size, min, max);
  gst_object_unref(pool);
  return true;
}

}  // namespace cudaconvolve
