// SPDX-License-Identifier: LGPL-2.1-or-later
// The element between neighbours that are slow on streams of their own, as they may be from
// GStreamer 1.24 on: a producer that still writes a frame when it is pushed, and a consumer that
// still reads one when it gives the memory back. The other neighbour uses its memory as early as
// the streams allow. Each frame is compared with the exact picture.
//
// A neighbour that is held up for good must hold up no other element, which may share streams with
// its own. And frames are in flight only where somebody waits for them.
//
//   stream_order FRAMES      so many each way at each depth; exit status 77 before 1.24

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

/// Which neighbour of the element is slow. Neither waits for its own work: the other one is as
/// hasty as it may be.
enum class Slow {
  /// Frames are complete milliseconds after they were pushed; the consumer reads what comes at
  /// once.
  kProducer,
  /// Frames are read milliseconds after their memory was given back; the producer writes the next
  /// ones at once to memory that it has got back, which kernels may not have read yet.
  kConsumer,
};

/// Both neighbours work with frames on streams of their own.
class Neighbours {
 public:
  Neighbours(Slow slow, int frames, int depth)
      : slow_(slow), frames_(frames), first_(2 * depth * kNumbersOfDepth), line_(settings(depth)) {
    if (slow == Slow::kConsumer) first_ += frames;
    gst_element_set_context(line_.element(), shared_);
    // Only memory that is used again shows that somebody reads it too late.
    const bool reuses = slow == Slow::kConsumer;
    from_ = cuda_frames::new_pool_of_a_stream(context_, info_,
                                              reuses ? kFramesOfPool : static_cast<guint>(frames));
    to_ = cuda_frames::new_pool_of_a_stream(context_, info_, kFramesOfPool);
    if (reuses) line_.offer_downstream(to_);
    line_.set_caps(info_, {true, true});
    line_.use_context(context_);
  }
  ~Neighbours() {
    for (std::vector<GstBuffer*>* buffers : {&pictures_, &read_})
      for (GstBuffer*& buffer : *buffers)
        gst_clear_buffer(&buffer);
    if (from_ != nullptr) gst_buffer_pool_set_active(from_, FALSE);
    gst_clear_object(&from_);
    gst_clear_object(&to_);
    gst_context_unref(shared_);
  }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

  /// Filters all frames. Says what is wrong; empty if nothing is.
  std::string run() {
    if (from_ == nullptr || to_ == nullptr || !gst_buffer_pool_set_active(from_, TRUE))
      return "no pool of a stream";
    // Before any is pushed, so that pushing is faster than who is slow.
    for (int n = 0; n < frames_; ++n) {
      pictures_.push_back(cuda_frames::upload(context_, info_, frame_of(info_, first_ + n), 0));
      read_.push_back(cuda_frames::upload(context_, info_, frame_of(info_, -1)));
      if (pictures_.back() == nullptr || read_.back() == nullptr) return "no device memory";
    }
    std::string lost, refused;
    // In a thread of its own, as the element waits for frames of a pool to come back.
    std::thread consumer([&] { lost = consume(); });
    refused = produce();
    consumer.join();
    if (!refused.empty()) return refused;
    return lost.empty() ? compare() : lost;
  }

 private:
  std::string produce() {
    for (int n = 0; n < frames_; ++n) {
      GstBuffer* const buffer = acquire(from_, first_ + n);
      if (buffer == nullptr) return "no frame comes back";
      const auto copy = slow_ == Slow::kProducer ? cuda_frames::copy_late : cuda_frames::copy;
      if (!copy(pictures_[static_cast<std::size_t>(n)], buffer, info_, buffer))
        return "the driver refuses a copy on the stream";
      if (line_.push_buffer(buffer) != GST_FLOW_OK) return "the element refuses a frame";
    }
    return {};
  }

  /// Takes all frames, whatever is wrong with one.
  std::string consume() {
    std::string problem;
    for (int n = 0; n < frames_; ++n) {
      GstBuffer* const buffer = gst_harness_pull(line_.harness().get());
      if (buffer == nullptr) {
        gst_buffer_pool_set_flushing(to_, TRUE);  // The element waits no longer.
        return "frame " + std::to_string(n) + " is lost";
      }
      const auto copy = slow_ == Slow::kConsumer ? cuda_frames::copy_late : cuda_frames::copy;
      if (!copy(buffer, read_[static_cast<std::size_t>(n)], info_, buffer))
        problem = "frames come without a stream, or the driver refuses a copy";
      if (n == frames_ - 1) (void)cuda_frames::await_stream_of(buffer);
      gst_buffer_unref(buffer);
    }
    return problem;
  }

  std::string compare() const {
    for (int n = 0; n < frames_; ++n) {
      const std::int64_t differing = oracle::differing_samples(
          info_, cuda_frames::picture_of(read_[static_cast<std::size_t>(n)], info_),
          oracle::expected(info_, frame_of(info_, first_ + n), kMask, oracle::Options()));
      if (differing > 0)
        return "frame " + std::to_string(n) + ": " + std::to_string(differing) + " samples differ";
    }
    return {};
  }

  const Slow slow_;
  const int frames_;
  int first_;
  const GstVideoInfo info_ = frame_info();
  const Context context_ = cuda_frames::new_context();
  GstContext* const shared_ = cuda_frames::as_gst_context(context_);
  GstBufferPool* from_ = nullptr;
  GstBufferPool* to_ = nullptr;
  std::vector<GstBuffer*> pictures_, read_;
  Line line_;
};

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
  if (!memories.in_cuda) held.offer_downstream(pool);
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

GstClockTime latency_of(Line& line) {
  return gst_harness_query_latency(line.harness().get());
}

/// Without a wish for it, frames between streams are not in flight, as they are handed over. Memory
/// without a stream is waited for, so soon some are. What is wrong, or nothing.
std::string depth_without_a_wish() {
  constexpr int kFrames = 20;
  constexpr GstClockTime kInFlight = 3 * (GST_SECOND / 25);
  GstVideoInfo info = frame_info();
  info.fps_n = 25;
  const Context context = cuda_frames::new_context();
  GstContext* shared = cuda_frames::as_gst_context(context);
  GstBufferPool* from = cuda_frames::new_pool_of_a_stream(context, info, kFramesOfPool);
  if (from == nullptr || !gst_buffer_pool_set_active(from, TRUE)) return "no pool of a stream";
  Line line(settings(-1));
  gst_element_set_context(line.element(), shared);
  gst_context_unref(shared);
  gst_harness_set_live(line.harness().get(), FALSE);
  line.set_caps(info, {true, true});
  line.use_context(context);
  std::string problem;
  for (int n = 0; n < kFrames && problem.empty(); ++n) {
    GstBuffer* const buffer = acquire(from, n);
    GstBuffer* picture = cuda_frames::upload(context, info, frame_of(info, n), 0);
    if (buffer == nullptr || picture == nullptr ||
        !cuda_frames::copy(picture, buffer, info, buffer) ||
        line.push_buffer(buffer) != GST_FLOW_OK)
      return "the element refuses a frame";
    problem = line.take(n, kMask, true);
    gst_clear_buffer(&picture);
    if (latency_of(line) != 0) problem += "frames that are handed over are in flight";
  }
  for (int n = 0; n < kFrames && problem.empty(); ++n) {
    if (line.push(n) != GST_FLOW_OK) return "the element refuses a frame without a stream";
    problem = line.take(n, kMask, true);
  }
  if (problem.empty() && latency_of(line) != kInFlight)
    problem = "frames that are waited for are not in flight";
  gst_buffer_pool_set_active(from, FALSE);
  gst_object_unref(from);
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
    judge("slow producer" + which, Neighbours(Slow::kProducer, frames, depth).run());
    judge("slow consumer" + which, Neighbours(Slow::kConsumer, frames, depth).run());
  }
  judge("depth without a wish", depth_without_a_wish());
  for (const Memories memories : {Memories{true, true}, {true, false}, {false, true}})
    judge("beside a held neighbour, " + cuda_frames::text(memories),
          beside_a_held_neighbour(memories));
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
