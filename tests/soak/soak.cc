// SPDX-License-Identifier: LGPL-2.1-or-later
// One element that plays for minutes while its mask changes, and flushes, new caps, new depths and
// buffers of other memory come at random: every frame must be right and in its place, and memory
// must not grow.
//
//   soak cuda|cpu|auto SECONDS [SEED]
//
// Run it with GST_TRACERS=leaks and G_DEBUG=fatal-warnings: what leaks ends it.
#include <gst/gst.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <utility>

#include "tests/gpu/device_memory.h"
#include "tests/gpu/host_memory.h"
#include "tests/soak/frames.h"
#include "tests/support/element.h"

namespace soak {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kSecondsOfMask = 0.2;
constexpr int kMostDepth = 4;
constexpr int kParts = 4;  ///< After each of which memory is measured.
/// What allocators keep for themselves, on the host and on the device: the driver's pool grows and
/// shrinks by blocks.
constexpr long long kHostGrowthAllowed = 8 << 20;
constexpr long long kDeviceGrowthAllowed = 32 << 20;

struct PoolDeleter {
  void operator()(GstBufferPool* pool) const {
    gst_buffer_pool_set_active(pool, FALSE);
    gst_object_unref(pool);
  }
};
using Pool = std::unique_ptr<GstBufferPool, PoolDeleter>;

/// The pool that the element offers for `info`, as an upstream element would use it; null without.
Pool offered_pool(GstHarness* harness, const GstVideoInfo& info) {
  GstCaps* caps = gst_video_info_to_caps(&info);
  GstQuery* query = gst_query_new_allocation(caps, TRUE);
  GstBufferPool* pool = nullptr;
  if (gst_pad_peer_query(harness->srcpad, query) && gst_query_get_n_allocation_pools(query) > 0) {
    guint size = 0, least = 0, most = 0;
    gst_query_parse_nth_allocation_pool(query, 0, &pool, &size, &least, &most);
    if (pool != nullptr) {
      GstStructure* config = gst_buffer_pool_get_config(pool);
      gst_buffer_pool_config_set_params(config, caps, size, least, most);
      gst_buffer_pool_set_config(pool, config);
      gst_buffer_pool_set_active(pool, TRUE);
    }
  }
  gst_query_unref(query);
  gst_caps_unref(caps);
  return Pool(pool);
}

class Soak {
 public:
  Soak(const std::string& backend, unsigned seed)
      : random_(seed),
        scenes_(make_scenes(random_)),
        pending_(scenes_),
        harness_({{"backend", backend}, {"mask", masks()[0]}, {"async-depth", "2"}}) {}

  /// Takes all the memory that it will ever take: every size, as deep as it goes.
  bool play_all_sizes() {
    for (std::size_t scene = 0; fault_.empty() && scene < scenes_.size(); ++scene) {
      set_scene(scene);
      harness_.set("async-depth", std::to_string(kMostDepth));
      for (int n = 0; n < 3 * kMostDepth; ++n) {
        push();
        drain();
      }
    }
    return fault_.empty();
  }

  /// Plays on. False after something was wrong.
  bool play(double seconds) {
    if (number_ == 0) set_scene(0);
    const Clock::time_point begin = Clock::now();
    while (fault_.empty() && Seconds(Clock::now() - begin).count() < seconds) {
      change();
      push();
      drain();
    }
    return fault_.empty();
  }

  /// The end of the stream, behind all frames.
  bool finish() {
    if (fault_.empty() && !gst_harness_push_event(harness_.get(), gst_event_new_eos()))
      fault_ = "the end of the stream was refused";
    drain();
    if (fault_.empty()) fault_ = pending_.finish();
    if (fault_.empty())
      for (const check::Message& message : harness_.problems())
        fault_ = "the element says: " + message.text;
    return fault_.empty();
  }

  const std::string& fault() const { return fault_; }
  void print_figure(double seconds) const {
    std::printf(
        "figure: %.0f s, %llu frames right, %llu dropped by %d flushes, %d masks, %d caps, "
        "%d depths\n",
        seconds, static_cast<unsigned long long>(pending_.right()),
        static_cast<unsigned long long>(pending_.dropped()), flushes_, mask_changes_, caps_changes_,
        depth_changes_);
  }

 private:
  bool one_of(int count) { return random_() % static_cast<unsigned>(count) == 0; }
  std::size_t any_of(std::size_t count) { return random_() % count; }

  void change() {
    if (Seconds(Clock::now() - mask_since_).count() >= kSecondsOfMask) {
      mask_since_ = Clock::now();
      mask_ = any_of(masks().size());
      harness_.set("mask", masks()[mask_]);
      ++mask_changes_;
    }
    if (one_of(500)) set_scene(any_of(scenes_.size()));
    if (one_of(100))
      pool_ = one_of(2) ? offered_pool(harness_.get(), scenes_[scene_].info) : Pool();
    if (one_of(200)) {
      harness_.set("async-depth", std::to_string(any_of(kMostDepth + 1)));
      ++depth_changes_;
    }
    if (one_of(400)) flush();
  }

  void set_scene(std::size_t scene) {
    scene_ = scene;
    pool_.reset();
    harness_.set_caps(scenes_[scene_].info);
    ++caps_changes_;
  }

  void flush() {
    pending_.flush();
    gst_harness_push_event(harness_.get(), gst_event_new_flush_start());
    gst_harness_push_event(harness_.get(), gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(harness_.get(), gst_event_new_segment(&segment));
    ++flushes_;
  }

  void push() {
    const Scene& scene = scenes_[scene_];
    const std::size_t picture = any_of(scene.pictures.size());
    const Bytes& bytes = scene.pictures[picture];
    GstBuffer* buffer = nullptr;
    if (pool_ == nullptr ||
        gst_buffer_pool_acquire_buffer(pool_.get(), &buffer, nullptr) != GST_FLOW_OK) {
      buffer = gst_buffer_new_memdup(bytes.data(), bytes.size());
    } else {
      copy(bytes, scene.info, buffer);
    }
    GST_BUFFER_PTS(buffer) = number_ * kFrameTime;
    GST_BUFFER_DURATION(buffer) = kFrameTime;
    pending_.push({number_++, scene_, picture, mask_, false});
    const GstFlowReturn flow = harness_.push_buffer(buffer);
    if (flow != GST_FLOW_OK && fault_.empty())
      fault_ = std::string("a push returned ") + gst_flow_get_name(flow);
  }

  /// Into a buffer whose rows may lie further apart.
  void copy(const Bytes& bytes, const GstVideoInfo& info, GstBuffer* buffer) {
    GstVideoFrame to;
    GstBuffer* from_buffer = gst_buffer_new_wrapped_full(
        GST_MEMORY_FLAG_READONLY, const_cast<std::uint8_t*>(bytes.data()), bytes.size(), 0,
        bytes.size(), nullptr, nullptr);
    GstVideoFrame from;
    auto* mutable_info = const_cast<GstVideoInfo*>(&info);
    if (gst_video_frame_map(&from, mutable_info, from_buffer, GST_MAP_READ)) {
      if (gst_video_frame_map(&to, mutable_info, buffer, GST_MAP_WRITE)) {
        gst_video_frame_copy(&to, &from);
        gst_video_frame_unmap(&to);
      }
      gst_video_frame_unmap(&from);
    }
    gst_buffer_unref(from_buffer);
  }

  /// Checks all that has come out.
  void drain() {
    while (GstBuffer* buffer = harness_.pull_buffer()) {
      const std::string wrong = pending_.check(buffer);
      if (fault_.empty()) fault_ = wrong;
      gst_buffer_unref(buffer);
    }
    // Events pile up in the harness otherwise.
    while (GstEvent* event = gst_harness_try_pull_event(harness_.get()))
      gst_event_unref(event);
  }

  std::mt19937 random_;
  const std::vector<Scene> scenes_;
  Pending pending_;
  check::Harness harness_;
  Pool pool_;  ///< Null: frames come in foreign memory.
  std::size_t scene_ = 0, mask_ = 0;
  Clock::time_point mask_since_ = Clock::now();
  std::uint64_t number_ = 0;
  int flushes_ = 0, mask_changes_ = 0, caps_changes_ = 0, depth_changes_ = 0;
  std::string fault_;
};

int run(const std::string& backend, double seconds, unsigned seed) {
  const bool cuda = backend == "cuda";
  std::string fault;
  long long device_growth = 0, host_growth = 0;
  {
    Soak soak(backend, seed);
    bool good = soak.play(seconds / 5) && soak.play_all_sizes();
    const long long device_before = cuda ? cudaconvolve::gpu::device_bytes_used() : 0;
    const long long host_before = cudaconvolve::gpu::host_bytes_used();
    for (int part = 1; part <= kParts; ++part) {
      good = good && soak.play(seconds * 4 / 5 / kParts) && soak.play_all_sizes();
      device_growth = cuda ? cudaconvolve::gpu::device_bytes_used() - device_before : 0;
      host_growth = cudaconvolve::gpu::host_bytes_used() - host_before;
      std::printf("after part %d of %d: device memory %+lld KiB, host memory %+lld KiB\n", part,
                  kParts, device_growth / 1024, host_growth / 1024);
    }
    (void)soak.finish();
    soak.print_figure(seconds);
    fault = soak.fault();
  }
  std::printf("figure: device memory %+lld bytes, host memory %+lld KiB\n", device_growth,
              host_growth / 1024);
  if (fault.empty() && device_growth > kDeviceGrowthAllowed) fault = "device memory grew";
  if (fault.empty() && host_growth > kHostGrowthAllowed) fault = "host memory grew";
  if (!fault.empty()) std::printf("FAIL seed %u: %s\n", seed, fault.c_str());
  std::printf("%d passed, %d failed\n", fault.empty() ? 1 : 0, fault.empty() ? 0 : 1);
  return fault.empty() ? 0 : 1;
}

}  // namespace
}  // namespace soak

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  const std::string backend = argc > 1 ? argv[1] : "";
  const double seconds = argc > 2 ? std::atof(argv[2]) : 0;
  if ((backend != "cuda" && backend != "cpu" && backend != "auto") || seconds <= 0) {
    std::fprintf(stderr, "usage: soak cuda|cpu|auto SECONDS [SEED]\n");
    return 2;
  }
  const unsigned seed = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3]))
                                 : static_cast<unsigned>(std::time(nullptr));
  std::printf("seed %u\n", seed);
  std::fflush(stdout);
  const int status = soak::run(backend, seconds, seed);
  gst_deinit();
  return status;
}
