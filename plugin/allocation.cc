// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/allocation.h"

#include <gst/video/gstvideometa.h>
#include <gst/video/gstvideopool.h>

#include <algorithm>
#include <optional>

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

}  // namespace

bool offer_pool(GstQuery* query) {
  const std::optional<Request> request = parse(query);
  if (!request) return false;
  if (request->need_pool) {
    GstBufferPool* pool = gst_video_buffer_pool_new();
    GstStructure* config = gst_buffer_pool_get_config(pool);
    gst_buffer_pool_config_set_params(config, request->caps, request->frame_bytes, 0, 0);
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
    if (gst_buffer_pool_set_config(pool, config))
      gst_query_add_allocation_pool(query, pool, request->frame_bytes, 0, 0);
    gst_object_unref(pool);
  }
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  return true;
}

bool choose_pool(GstQuery* query) {
  const std::optional<Request> request = parse(query);
  if (!request) return false;
  GstBufferPool* pool = nullptr;
  guint size = 0;
  guint min = 0;
  guint max = 0;
  const bool offered = gst_query_get_n_allocation_pools(query) > 0;
  if (offered) gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, &min, &max);
  if (pool == nullptr) pool = gst_video_buffer_pool_new();
  size = std::max(size, request->frame_bytes);

  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, request->caps, size, min, max);
  if (gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr) &&
      gst_buffer_pool_has_option(pool, GST_BUFFER_POOL_OPTION_VIDEO_META))
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  // A pool that wants other values puts them into its configuration; the base class, which comes
  // next, reads them back.
  gst_buffer_pool_set_config(pool, config);
  if (offered)
    gst_query_set_nth_allocation_pool(query, 0, pool, size, min, max);
  else
    gst_query_add_allocation_pool(query, pool, size, min, max);
  gst_object_unref(pool);
  return true;
}

}  // namespace cudaconvolve
