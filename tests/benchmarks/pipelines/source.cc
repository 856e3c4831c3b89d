// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/pipelines/source.h"

#include <gst/base/gstpushsrc.h>
#include <gst/video/gstvideometa.h>
#include <gst/video/gstvideopool.h>
#include <gst/video/video.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <unordered_set>
#include <vector>

using cudaconvolve::pipelines::Course;
using cudaconvolve::pipelines::Pool;
using cudaconvolve::pipelines::sample_of;
using cudaconvolve::pipelines::SourceSettings;

namespace {

/// Of a pool of the source's own.
constexpr guint kOwnBuffers = 8;
/// Random bytes that are repeated in a picture: an odd number, so that no two lines are equal.
constexpr std::size_t kNoiseBytes = (std::size_t{1} << 22) - 1;

/// The C++ part of an instance. All but `flushing` belongs to the streaming thread.
struct Parts {
  SourceSettings settings;
  GstVideoInfo info{};
  std::string pool = "none yet";
  std::atomic<bool> flushing{false};
  std::unordered_set<const GstMemory*> filled;
  std::uint64_t number = 0;
  std::uint64_t round_first = 0;
  cudaconvolve::pipelines::Clock::time_point round_begin;
  cudaconvolve::pipelines::PictureSample sample;
};

struct BenchmarkSrc {
  GstPushSrc parent;
  Parts* parts;
};
struct BenchmarkSrcClass {
  GstPushSrcClass parent_class;
};

G_DEFINE_TYPE(BenchmarkSrc, benchmark_src, GST_TYPE_PUSH_SRC)

Parts& parts_of(gpointer source) {
  return *static_cast<BenchmarkSrc*>(source)->parts;
}

const std::vector<std::uint8_t>& noise() {
  static const std::vector<std::uint8_t> bytes = [] {
    std::vector<std::uint8_t> made(kNoiseBytes);
    std::mt19937 random(1);
    std::generate(made.begin(), made.end(), [&] { return static_cast<std::uint8_t>(random()); });
    return made;
  }();
  return bytes;
}

/// Every picture begins at another byte of the noise.
bool fill(GstMemory* memory, std::size_t which) {
  GstMapInfo map;
  if (!gst_memory_map(memory, &map, GST_MAP_WRITE)) return false;
  std::size_t from = which * 104729 % kNoiseBytes;
  for (std::size_t done = 0; done < map.size;) {
    const std::size_t part = std::min(map.size - done, kNoiseBytes - from);
    std::memcpy(map.data + done, noise().data() + from, part);
    done += part;
    from = 0;
  }
  gst_memory_unmap(memory, &map);
  return true;
}

/// Only what comes for the first time costs anything.
bool fill_new_memory(Parts& parts, GstBuffer* buffer) {
  for (guint k = 0; k < gst_buffer_n_memory(buffer); ++k) {
    GstMemory* memory = gst_buffer_peek_memory(buffer, k);
    if (parts.filled.insert(memory).second && !fill(memory, parts.filled.size())) return false;
  }
  return true;
}

gboolean set_caps(GstBaseSrc* source, GstCaps* caps) {
  return gst_video_info_from_caps(&parts_of(source).info, caps);
}

/// The offered pool is set up as the base class sets it up for every source.
gboolean decide_allocation(GstBaseSrc* source, GstQuery* query) {
  Parts& parts = parts_of(source);
  GstCaps* caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  GstBufferPool* pool = nullptr;
  auto size = static_cast<guint>(GST_VIDEO_INFO_SIZE(&parts.info));
  guint min = kOwnBuffers, max = kOwnBuffers;
  const bool answered = gst_query_get_n_allocation_pools(query) > 0;
  if (parts.settings.pool != Pool::kForeign && answered)
    gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, &min, &max);
  parts.pool = pool != nullptr ? G_OBJECT_TYPE_NAME(pool) : "its own";

  const bool own = pool == nullptr;
  if (own) pool = gst_video_buffer_pool_new();
  GstStructure* config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, size, min, max);
  if (!own && gst_query_get_n_allocation_params(query) > 0) {
    GstAllocator* allocator = nullptr;
    GstAllocationParams params;
    gst_query_parse_nth_allocation_param(query, 0, &allocator, &params);
    gst_buffer_pool_config_set_allocator(config, allocator, &params);
    if (allocator != nullptr) gst_object_unref(allocator);
  }
  if (!own && gst_query_find_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr) &&
      gst_buffer_pool_has_option(pool, GST_BUFFER_POOL_OPTION_VIDEO_META))
    gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  if (!gst_buffer_pool_set_config(pool, config)) {
    // The pool has put what it wants into its configuration.
    config = gst_buffer_pool_get_config(pool);
    if (!gst_buffer_pool_config_validate_params(config, caps, size, min, max) ||
        !gst_buffer_pool_set_config(pool, config)) {
      gst_object_unref(pool);
      return FALSE;
    }
  }
  if (answered)
    gst_query_set_nth_allocation_pool(query, 0, pool, size, min, max);
  else
    gst_query_add_allocation_pool(query, pool, size, min, max);
  gst_object_unref(pool);
  return TRUE;
}

/// A live source has its frame when the clock says so.
bool wait_for_picture(Parts& parts) {
  const SourceSettings& settings = parts.settings;
  if (settings.live_fps == 0) return true;
  const auto begin = settings.course->round_begin();
  if (begin != parts.round_begin) {
    parts.round_begin = begin;
    parts.round_first = parts.number;
  }
  const std::chrono::duration<double> since(static_cast<double>(parts.number - parts.round_first) /
                                            settings.live_fps);
  return settings.course->wait_until(
      begin + std::chrono::duration_cast<cudaconvolve::pipelines::Clock::duration>(since),
      parts.flushing);
}

void stamp(Parts& parts, GstBuffer* buffer) {
  const auto fps_n = static_cast<guint64>(std::max(parts.info.fps_n, 1));
  const auto time_of = [&](std::uint64_t number) {
    return gst_util_uint64_scale(number, GST_SECOND * static_cast<guint64>(parts.info.fps_d),
                                 fps_n);
  };
  // Live ones get theirs from the base class, which asks the pipeline's clock.
  GST_BUFFER_PTS(buffer) =
      parts.settings.live_fps != 0 ? GST_CLOCK_TIME_NONE : time_of(parts.number);
  GST_BUFFER_DURATION(buffer) = time_of(parts.number + 1) - time_of(parts.number);
  GST_BUFFER_OFFSET(buffer) = parts.number;
  GST_BUFFER_OFFSET_END(buffer) = parts.number + 1;
}

GstFlowReturn create(GstPushSrc* source, GstBuffer** buffer) {
  Parts& parts = parts_of(source);
  switch (parts.settings.course->ask(parts.number, parts.flushing)) {
    case Course::Turn::kFlushing:
      return GST_FLOW_FLUSHING;
    case Course::Turn::kEnd:
      return GST_FLOW_EOS;
    case Course::Turn::kGo:
      break;
  }
  if (!wait_for_picture(parts)) return GST_FLOW_FLUSHING;
  GstBufferPool* pool = gst_base_src_get_buffer_pool(GST_BASE_SRC(source));
  const GstFlowReturn flow = gst_buffer_pool_acquire_buffer(pool, buffer, nullptr);
  gst_object_unref(pool);
  if (flow != GST_FLOW_OK) return flow;
  if (!fill_new_memory(parts, *buffer)) {
    GST_ELEMENT_ERROR(source, RESOURCE, WRITE, (nullptr), ("a memory cannot be mapped"));
    return GST_FLOW_ERROR;
  }
  stamp(parts, *buffer);
  if (parts.settings.course->sampled(parts.number)) parts.sample = sample_of(*buffer, parts.info);
  parts.settings.track->leaves(parts.number);
  ++parts.number;
  return GST_FLOW_OK;
}

gboolean unlock(GstBaseSrc* source) {
  parts_of(source).flushing = true;
  parts_of(source).settings.course->wake();
  return TRUE;
}

gboolean unlock_stop(GstBaseSrc* source) {
  parts_of(source).flushing = false;
  return TRUE;
}

gboolean is_seekable(GstBaseSrc*) {
  return FALSE;
}

void finalize(GObject* object) {
  delete static_cast<Parts*>(&parts_of(object));
  G_OBJECT_CLASS(benchmark_src_parent_class)->finalize(object);
}

void benchmark_src_class_init(BenchmarkSrcClass* klass) {
  G_OBJECT_CLASS(klass)->finalize = finalize;
  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  gst_element_class_set_static_metadata(element_class, "Benchmark source", "Source/Video",
                                        "Passes on buffers that it fills once",
                                        "cudaconvolve contributors");
  GstCaps* caps = gst_caps_from_string("video/x-raw; video/x-raw(memory:CUDAMemory)");
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);
  GstBaseSrcClass* base_class = GST_BASE_SRC_CLASS(klass);
  base_class->set_caps = set_caps;
  base_class->decide_allocation = decide_allocation;
  base_class->unlock = unlock;
  base_class->unlock_stop = unlock_stop;
  base_class->is_seekable = is_seekable;
  GST_PUSH_SRC_CLASS(klass)->create = create;
}

void benchmark_src_init(BenchmarkSrc* source) {
  source->parts = new Parts();
  gst_base_src_set_format(GST_BASE_SRC(source), GST_FORMAT_TIME);
}

}  // namespace

namespace cudaconvolve::pipelines {

const char* pool_name(Pool pool) {
  switch (pool) {
    case Pool::kOffered:
      return "offered";
    case Pool::kForeign:
      return "foreign";
    case Pool::kCuda:
      return "cuda";
  }
  return "";
}

bool register_source() {
  (void)noise();  // No row is charged for it.
  return gst_element_register(nullptr, kSourceName, GST_RANK_NONE, benchmark_src_get_type());
}

void set_up_source(GstElement* source, const SourceSettings& settings) {
  parts_of(source).settings = settings;
  const gboolean live = settings.live_fps != 0;
  gst_base_src_set_live(GST_BASE_SRC(source), live);
  gst_base_src_set_do_timestamp(GST_BASE_SRC(source), live);
}

std::string source_pool(GstElement* source) {
  return parts_of(source).pool;
}

PictureSample source_sample(GstElement* source) {
  return parts_of(source).sample;
}

}  // namespace cudaconvolve::pipelines
