// SPDX-License-Identifier: LGPL-2.1-or-later
// The element between neighbours that are slow on streams of their own, as they may be from
// GStreamer 1.24 on: a producer that still writes a frame when it is pushed, and a consumer that
// still reads one when it gives the memory back. Each frame is compared with the exact picture.
//
//   stream_order FRAMES      so many each way at each depth; exit status 77 before 1.24
#include <gst/video/gstvideometa.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda_memory/cuda_line.h"
#include "tests/cuda_memory/cuda_streams.h"

namespace {

using cuda_frames::Context;
using cuda_frames::Line;

constexpr int kDepths[] = {0, 3};
/// Frames of one depth have numbers that no other has: what an earlier one left in memory is wrong.
constexpr int kNumbersOfDepth = 100000;
constexpr guint kFramesOfPool = 3;
const oracle::Mask kMask{3, 3, {1, 2, 1, 2, 4, 2, 1, 2, 1}, 16};

GstVideoInfo frame_info() {
  return check::video_info(GST_VIDEO_FORMAT_NV12, 320, 240, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE);
}

check::Settings settings(int depth) {
  return {{"backend", "cuda"}, {"mask", kMask.text()}, {"async-depth", std::to_string(depth)}};
}

oracle::Bytes frame_of(const GstVideoInfo& info, int number) {
  return oracle::random_frame(info, static_cast<unsigned>(number));
}

GstBuffer* acquire(GstBufferPool* pool, int number) {
  GstBuffer* buffer = nullptr;
  if (gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr) != GST_FLOW_OK) return nullptr;
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(number) * (GST_SECOND / 25);
  GST_BUFFER_DURATION(buffer) = GST_SECOND / 25;
  return buffer;
}

/// Frames are complete some milliseconds after they were pushed, and what is in their memory until
/// then is another one. What is wrong, or nothing.
std::string with_slow_producer(int frames, int depth) {
  const GstVideoInfo info = frame_info();
  Line line(settings(depth));
  line.set_caps(info, {true, true});
  const Context context = line.context();
  // The pool has a buffer for each frame, so that none waits until the element gives one back.
  GstBufferPool* pool =
      cuda_frames::new_pool_of_a_stream(context, info, static_cast<guint>(frames));
  std::string problem;
  if (pool == nullptr || !gst_buffer_pool_set_active(pool, TRUE)) problem = "no pool of a stream";
  std::vector<GstBuffer*> pictures;  // What is copied late must live until then.
  const int first = depth * kNumbersOfDepth, end = first + frames;
  for (int n = first; n < end && problem.empty(); ++n) {
    pictures.push_back(cuda_frames::upload(context, info, frame_of(info, n), n));
    GstBuffer* buffer = acquire(pool, n);
    if (pictures.back() == nullptr || buffer == nullptr)
      problem = "no device memory";
    else if (!cuda_frames::copy_late(pictures.back(), buffer, info, buffer))
      problem = "the driver refuses a copy on the stream";
    else if (line.push_buffer(gst_buffer_ref(buffer)) != GST_FLOW_OK)
      problem = "the element refuses a frame";
    gst_clear_buffer(&buffer);
  }
  for (int n = first; n < end && problem.empty(); ++n)
    problem = line.take(n, kMask, /*out_cuda=*/true);
  for (GstBuffer*& picture : pictures)
    gst_clear_buffer(&picture);
  if (pool != nullptr) gst_buffer_pool_set_active(pool, FALSE);
  gst_clear_object(&pool);
  return problem;
}

/// Offers a pool of few frames of one stream, which come back while they are still read.
GstPadProbeReturn offer_pool(GstPad*, GstPadProbeInfo* info, gpointer pool) {
  GstQuery* query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION) return GST_PAD_PROBE_OK;
  GstCaps* caps = nullptr;
  guint size = 0, least = 0, most = 0;
  GstStructure* config = gst_buffer_pool_get_config(GST_BUFFER_POOL(pool));
  gst_buffer_pool_config_get_params(config, &caps, &size, &least, &most);
  gst_query_add_allocation_pool(query, GST_BUFFER_POOL(pool), size, least, most);
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  gst_structure_free(config);
  return GST_PAD_PROBE_HANDLED;
}

/// Copies each frame that comes, late, and gives its memory back at once.
std::string with_slow_consumer(int frames, int depth) {
  const GstVideoInfo info = frame_info();
  const Context context = cuda_frames::new_context();
  Line line(settings(depth));
  GstContext* shared = cuda_frames::as_gst_context(context);
  gst_element_set_context(line.element(), shared);
  gst_context_unref(shared);
  GstBufferPool* pool = cuda_frames::new_pool_of_a_stream(context, info, kFramesOfPool);
  if (pool == nullptr) return "no pool of a stream";
  gst_pad_add_probe(line.harness().get()->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_pool,
                    pool, nullptr);
  line.set_caps(info, {true, true});
  line.use_context(context);

  std::string problem, refusal;
  std::vector<GstBuffer*> read;
  // In a thread of its own, as the element waits for frames of the pool to come back. It takes all
  // frames whatever is wrong with one.
  std::thread consumer([&] {
    for (int n = 0; n < frames; ++n) {
      GstBuffer* buffer = gst_harness_pull(line.harness().get());
      if (buffer == nullptr) {
        problem = "frame " + std::to_string(n) + " is lost";
        gst_buffer_pool_set_flushing(pool, TRUE);  // The element waits no longer.
        return;
      }
      read.push_back(cuda_frames::upload(context, info, frame_of(info, -1)));
      if (read.back() == nullptr)
        problem = "no device memory";
      else if (!cuda_frames::copy_late(buffer, read.back(), info, buffer))
        problem = "no frame of the pool of a stream comes, or the driver refuses a copy";
      if (n == frames - 1) (void)cuda_frames::await_stream_of(buffer);
      gst_buffer_unref(buffer);
    }
  });
  const int first = (depth + 1) * kNumbersOfDepth;
  for (int n = first; n < first + frames && refusal.empty(); ++n)
    if (line.push(n) != GST_FLOW_OK) refusal = "the element refuses a frame";
  consumer.join();
  if (problem.empty()) problem = refusal;
  for (int n = 0; n < frames && problem.empty(); ++n) {
    const std::int64_t differing = oracle::differing_samples(
        info, cuda_frames::picture_of(read[n], info),
        oracle::expected(info, frame_of(info, first + n), kMask, oracle::Options()));
    if (differing > 0)
      problem = "frame " + std::to_string(n) + ": " + std::to_string(differing) + " samples differ";
  }
  for (GstBuffer*& copy : read)
    gst_clear_buffer(&copy);
  gst_object_unref(pool);
  return problem;
}

}  // namespace

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  const int frames = argc == 2 ? std::atoi(argv[1]) : 0;
  if (frames < 1) {
    std::fprintf(stderr, "usage: stream_order FRAMES\n");
    return 2;
  }
  if (!cuda_frames::has_streams()) {
    std::printf("SKIP: memory has no streams before GStreamer 1.24\n");
    return 77;
  }
  int passed = 0, failed = 0;
  const auto judge = [&](const char* what, int depth, const std::string& problem) {
    ++(problem.empty() ? passed : failed);
    std::printf("%s, async-depth %d, %d frames: %s\n", what, depth, frames,
                problem.empty() ? "right" : problem.c_str());
  };
  for (const int depth : kDepths) {
    judge("slow producer", depth, with_slow_producer(frames, depth));
    judge("slow consumer", depth, with_slow_consumer(frames, depth));
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
