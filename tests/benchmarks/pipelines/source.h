// SPDX-License-Identifier: LGPL-2.1-or-later
// A source that costs next to nothing: it makes a picture once for each memory that it gets, and
// then only passes buffers on.
#pragma once

#include <gst/gst.h>

#include <string>

#include "tests/benchmarks/pipelines/course.h"
#include "tests/benchmarks/pipelines/picture_sample.h"

namespace cudaconvolve::pipelines {

enum class Pool : int {
  kOffered,  ///< What downstream offers in answer to the ALLOCATION query.
  kForeign,  ///< The source's own: a few buffers in ordinary memory.
  kCuda,  ///< As kOffered, with caps of frames in CUDA memory, which nothing brings across the bus.
};
inline constexpr Pool kPools[] = {Pool::kOffered, Pool::kForeign, Pool::kCuda};
const char* pool_name(Pool pool);

/// The element's name in launch lines, once register_source() was called. Its caps are those that a
/// filter behind it asks for.
inline constexpr const char* kSourceName = "benchmarksrc";
bool register_source();

struct SourceSettings {
  Pool pool = Pool::kOffered;
  int live_fps = 0;  ///< So many frames a second, by the clock; 0 = as many as there is room for.
  Course* course = nullptr;
  Track* track = nullptr;  ///< Of the course.
};
/// Before the source starts.
void set_up_source(GstElement* source, const SourceSettings& settings);

/// Which pool it has got: "GstVideoBufferPool", or "its own" if downstream offered none.
std::string source_pool(GstElement* source);

/// Of the last frame that has left, after the source has ended its stream.
PictureSample source_sample(GstElement* source);

}  // namespace cudaconvolve::pipelines
