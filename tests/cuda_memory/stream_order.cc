// SPDX-License-Identifier: LGPL-2.1-or-later
// The element between neighbours that are slow on streams of their own, as they may be from
// GStreamer 1.24 on: a producer that still writes a frame when it is pushed, and a consumer that
// still reads one when it gives the memory back. Each frame is compared with the exact picture.
//
// A neighbour that is held up for good must hold up no other element, which may share streams with
// its own.
//
//   stream_order FRAMES      so many each way at each depth; exit status 77 before 1.24
#include <gst/video/gstvideometa.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "tests/cuda_memory/cuda_line.h"
#include "tests/cuda_memory/cuda_streams.h"

namespace {

using cuda_frames::Context;
using cuda_frames::Line;
using cuda_frames::Memories;

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

constexpr int kHeldNumber = 900000;

/// Pushes a frame of which the producer has not written anything yet, and does not before the hold
/// is let go.
std::string push_from_held_producer(Line& line, GstBufferPool* pool, cuda_frames::Hold& hold,
                                    GstBuffer** picture) {
  if (!gst_buffer_pool_set_active(pool, TRUE)) return "no pool of a stream";
  GstBuffer* const buffer = acquire(pool, kHeldNumber);
  *picture =
      cuda_frames::upload(line.context(), line.info(), frame_of(line.info(), kHeldNumber), 0);
  if (buffer == nullptr || *picture == nullptr) return "no device memory";
  if (!hold.up(buffer) || !cuda_frames::copy_late(*picture, buffer, line.info(), buffer))
    return "the driver holds no stream";
  return line.push_buffer(buffer) == GST_FLOW_OK ? "" : "the element refuses a frame";
}

/// Pushes a frame whose memory the consumer still reads, and does until the hold is let go.
std::string push_to_held_consumer(Line& line, cuda_frames::Hold& hold) {
  // After as many as the pool has, each frame gets memory that has been used.
  for (guint n = 0; n < kFramesOfPool; ++n) {
    if (line.push(static_cast<int>(n)) != GST_FLOW_OK) return "the element refuses a frame";
    GstBuffer* const buffer = gst_harness_pull(line.harness().get());
    if (buffer == nullptr) return "a frame is lost";
    const bool held = n + 1 < kFramesOfPool || hold.up(buffer);
    gst_buffer_unref(buffer);
    if (!held) return "the driver holds no stream";
  }
  return line.push(kHeldNumber) == GST_FLOW_OK ? "" : "the element refuses a frame";
}

/// Filters frames of system memory with all lines but the first.
std::string filter_with_others(std::deque<Line>& lines) {
  constexpr int kFramesOfEach = 12;
  for (int n = 0; n < kFramesOfEach; ++n)
    for (std::size_t other = 1; other < lines.size(); ++other)
      if (lines[other].push(n) != GST_FLOW_OK) return "another element refuses a frame";
  for (int n = 0; n < kFramesOfEach; ++n)
    for (std::size_t other = 1; other < lines.size(); ++other) {
      GstBuffer* const filtered = gst_harness_pull(lines[other].harness().get());
      if (filtered == nullptr) return "a frame of another element is lost";
      gst_buffer_unref(filtered);
    }
  return {};
}

/// Other elements filter frames of system memory while the neighbour of one is held up: the
/// producer if frames come in CUDA memory, or else the consumer. What is wrong, or nothing.
std::string beside_a_held_neighbour(Memories memories) {
  // More elements than have streams to themselves, and frames that take longer on the bus than
  // their kernels do.
  constexpr int kOthers = 5, kDepth = 3;
  constexpr std::chrono::seconds kInTime{2};
  const GstVideoInfo info =
      check::video_info(GST_VIDEO_FORMAT_NV12, 1280, 720, GST_VIDEO_INTERLACE_MODE_PROGRESSIVE);
  const Context context = cuda_frames::new_context();
  GstContext* shared = cuda_frames::as_gst_context(context);
  std::deque<Line> lines;
  for (int n = 0; n <= kOthers; ++n)
    gst_element_set_context(lines.emplace_back(settings(kDepth)).element(), shared);
  gst_context_unref(shared);
  Line& held = lines.front();
  GstBufferPool* pool = cuda_frames::new_pool_of_a_stream(context, info, kFramesOfPool);
  if (pool == nullptr) return "no pool of a stream";
  if (!memories.in_cuda)
    gst_pad_add_probe(held.harness().get()->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM,
                      offer_pool, pool, nullptr);
  for (Line& line : lines) {
    line.set_caps(info, &line == &held ? memories : Memories{false, false});
    line.use_context(context);
  }

  GstBuffer* picture = nullptr;
  cuda_frames::Hold hold;
  std::string problem = memories.in_cuda ? push_from_held_producer(held, pool, hold, &picture)
                                         : push_to_held_consumer(held, hold);
  const auto begin = std::chrono::steady_clock::now();
  if (problem.empty()) problem = filter_with_others(lines);
  if (problem.empty() && std::chrono::steady_clock::now() - begin > kInTime)
    problem = "other elements wait for it";
  hold.let_go();
  if (problem.empty()) problem = held.take(kHeldNumber, kMask, memories.out_cuda);
  gst_clear_buffer(&picture);
  gst_buffer_pool_set_active(pool, FALSE);
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
  const auto judge = [&](const std::string& what, const std::string& problem) {
    ++(problem.empty() ? passed : failed);
    std::printf("%s: %s\n", what.c_str(), problem.empty() ? "right" : problem.c_str());
  };
  for (const int depth : kDepths) {
    const std::string which = ", async-depth " + std::to_string(depth);
    judge("slow producer" + which, with_slow_producer(frames, depth));
    judge("slow consumer" + which, with_slow_consumer(frames, depth));
  }
  for (const Memories memories : {Memories{true, true}, {true, false}, {false, true}})
    judge("beside a held neighbour, " + cuda_frames::text(memories),
          beside_a_held_neighbour(memories));
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
