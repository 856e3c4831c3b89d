// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames in pageable memory on their way to the device and back, on the host: slots, rings of
// page-locked buffers and the threads that share them are the real ones, the runtime is
// fake_cudart.h's.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "kernels/core/base/stop_signal.h"
#include "kernels/cuda/runtime/frame_slot.h"
#include "kernels/cuda/runtime/staging_buffers.h"
#include "tests/kernels/fake_cudart.h"

namespace convolve {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// A plane of host memory, with guard bytes between and around its rows.
struct HostPlane {
  HostPlane(int bytes_of_row, int row_count, int gap, bool bottom_up)
      : row_bytes(bytes_of_row), rows(row_count), pitch(bytes_of_row + gap) {
    bytes.assign(static_cast<std::size_t>(pitch) * static_cast<std::size_t>(rows) + 64, 0xA5);
    plane.data = bytes.data() + 32;
    plane.pitch = pitch;
    if (!bottom_up) return;
    plane.data += static_cast<std::ptrdiff_t>(pitch) * (rows - 1);
    plane.pitch = -pitch;
  }

  void fill(std::minstd_rand& random) {
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < row_bytes; ++x)
        plane.data[y * plane.pitch + x] = static_cast<std::uint8_t>(random() >> 8);
  }

  /// The rows, one behind the other.
  Bytes dense() const {
    Bytes all;
    for (int y = 0; y < rows; ++y) {
      const std::uint8_t* row = plane.data + y * plane.pitch;
      all.insert(all.end(), row, row + row_bytes);
    }
    return all;
  }

  /// Bytes that are no samples and not as they were made.
  int overwritten() const {
    HostPlane samples(row_bytes, rows, pitch - row_bytes, plane.pitch < 0);
    for (int y = 0; y < rows; ++y)
      std::memset(samples.plane.data + y * samples.plane.pitch, 0,
                  static_cast<std::size_t>(row_bytes));
    int count = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (samples.bytes[i] != 0 && bytes[i] != 0xA5) ++count;
    return count;
  }

  int row_bytes, rows, pitch;
  Bytes bytes;
  PlaneMemory plane;
};

/// Planes of a slot's device memory, row behind row.
PlaneMemory device_plane_at(std::uint8_t* base, const HostPlane& host) {
  return {base, host.row_bytes, Memory::kCuda};
}

FrameStreams own_streams() {
  return {fake_cudart::make_stream(), fake_cudart::make_stream(), fake_cudart::make_stream()};
}

/// Brings `from` to the slot, lets a kernel add one to each byte, and notes the way back to `to`.
Status run(FrameSlot& slot, const FrameStreams& streams, const HostPlane& from, HostPlane& to) {
  Status status = slot.begin(streams);
  if (!status.ok()) return status;
  status = slot.staging().add_upload(device_plane_at(slot.source(), from), from.plane,
                                     from.row_bytes, from.rows);
  if (status.ok()) status = slot.staging().upload();
  if (status.ok()) status = slot.source_enqueued();
  if (status.ok()) status = slot.kernels_begin();
  if (!status.ok()) return status;
  fake_cudart::launch(streams.kernels,
                      [source = slot.source(), destination = slot.destination(),
                       bytes = static_cast<std::ptrdiff_t>(from.row_bytes) * from.rows] {
                        for (std::ptrdiff_t i = 0; i < bytes; ++i)
                          destination[i] = static_cast<std::uint8_t>(source[i] + 1);
                      });
  status = slot.kernels_end();
  if (status.ok())
    status = slot.staging().add_download(to.plane, device_plane_at(slot.destination(), to),
                                         to.row_bytes, to.rows);
  return status.ok() ? slot.staging().download() : status;
}

Bytes plus_one(Bytes bytes) {
  for (std::uint8_t& byte : bytes)
    ++byte;
  return bytes;
}

class StagingTest : public testing::Test {
 protected:
  std::unique_ptr<FrameSlot> slot(std::size_t bytes, const FrameStreams& streams,
                                  const StopSignal* stop = nullptr) {
    auto made = std::make_unique<FrameSlot>(fake_cudart::context(), stop);
    EXPECT_TRUE(made->initialise().ok());
    EXPECT_TRUE(made->reserve(bytes, streams).ok());
    if (measured_) {
      EXPECT_TRUE(made->measure_copies().ok());
    }
    return made;
  }

  void expect_filtered(const Bytes& source, const HostPlane& to, const char* what) {
    EXPECT_EQ(to.dense(), plus_one(source)) << what;
    EXPECT_EQ(to.overwritten(), 0) << what;
  }

  /// All spans of a frame must have passed when it is finished, or they were not known.
  void expect_times(const FrameSlot& slot) {
    for (const std::uint64_t time :
         {slot.times().upload, slot.times().kernels, slot.times().download})
      EXPECT_EQ(time, 500'000u);
  }

  bool measured_ = true;
  std::minstd_rand random_{1};
  const FrameStreams streams_ = own_streams();
};

TEST_F(StagingTest, RowsOfAnySizeAndPitchComeBack) {
  struct Shape {
    int row_bytes, rows, gap;
    bool bottom_up;
  };
  for (const Shape& s :
       {Shape{1, 1, 0, false}, Shape{7, 3, 5, false}, Shape{7, 3, 5, true},
        Shape{1920, 1080, 0, false}, Shape{1920, 1081, 64, true}, Shape{262144, 5, 0, false},
        Shape{300000, 3, 8, true}, Shape{3840, 3240, 0, false}}) {
    const std::size_t bytes =
        static_cast<std::size_t>(s.row_bytes) * static_cast<std::size_t>(s.rows);
    const auto way = slot(bytes, streams_);
    HostPlane from(s.row_bytes, s.rows, s.gap, s.bottom_up), to(s.row_bytes, s.rows, 3, false);
    from.fill(random_);
    ASSERT_TRUE(run(*way, streams_, from, to).ok());
    ASSERT_TRUE(way->end(streams_).ok());
    ASSERT_TRUE(way->finish().ok());
    expect_filtered(from.dense(), to, "alone");
    expect_times(*way);
    way->release();
  }
}

// The sender goes on to the next frame while the one before is waited for in another thread, and
// sources are used again as soon as they have been sent.
TEST_F(StagingTest, FramesInFlightDoNotMix) {
  constexpr int kFrames = 60, kSlots = 3, kRowBytes = 1440, kRows = 1000;
  std::vector<std::unique_ptr<FrameSlot>> slots;
  for (int i = 0; i < kSlots; ++i)
    slots.push_back(slot(std::size_t{kRowBytes} * kRows, streams_));
  std::deque<HostPlane> outputs;
  std::vector<Bytes> sources;
  for (int f = 0; f < kFrames; ++f)
    outputs.emplace_back(kRowBytes, kRows, f % 3, f % 5 == 0);
  sources.resize(kFrames);
  std::atomic<int> sent{0}, finished{0};
  std::thread finisher([&] {
    for (int f = 0; f < kFrames; ++f) {
      while (sent <= f)
        std::this_thread::yield();
      EXPECT_TRUE(slots[static_cast<std::size_t>(f % kSlots)]->finish().ok());
      expect_times(*slots[static_cast<std::size_t>(f % kSlots)]);
      ++finished;
    }
  });
  HostPlane from(kRowBytes, kRows, 32, false);
  for (int f = 0; f < kFrames; ++f) {
    while (finished + kSlots <= f)
      std::this_thread::yield();
    FrameSlot& way = *slots[static_cast<std::size_t>(f % kSlots)];
    from.fill(random_);
    sources[static_cast<std::size_t>(f)] = from.dense();
    EXPECT_TRUE(run(way, streams_, from, outputs[static_cast<std::size_t>(f)]).ok());
    EXPECT_TRUE(way.end(streams_).ok());
    ++sent;
  }
  finisher.join();
  for (std::size_t f = 0; f < kFrames; ++f)
    expect_filtered(sources[f], outputs[f], "in flight");
  for (const auto& way : slots)
    way->release();
}

// Both fields of a frame use the same device memory: the second must not overtake what of the first
// waits for a buffer.
TEST_F(StagingTest, TheSecondFieldDoesNotOverwriteTheFirst) {
  for (const int rows : {100, 6000}) {
    const std::size_t bytes = std::size_t{4000} * static_cast<std::size_t>(rows);
    for (const FrameStreams& streams :
         {streams_, FrameStreams{streams_.kernels, streams_.kernels, streams_.kernels}}) {
      const auto way = slot(bytes, streams);
      HostPlane top(4000, rows, 0, false), bottom(4000, rows, 0, false);
      HostPlane to_top(4000, rows, 1, false), to_bottom(4000, rows, 1, false);
      top.fill(random_);
      bottom.fill(random_);
      // So the kernel of the first still reads when the second is sent.
      fake_cudart::launch(streams.kernels,
                          [] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });
      ASSERT_TRUE(run(*way, streams, top, to_top).ok());
      ASSERT_TRUE(run(*way, streams, bottom, to_bottom).ok());
      ASSERT_TRUE(way->end(streams).ok());
      ASSERT_TRUE(way->finish().ok());
      expect_filtered(top.dense(), to_top, "first field");
      expect_filtered(bottom.dense(), to_bottom, "second field");
      expect_times(*way);
      way->release();
    }
  }
}

// A frame that is left behind writes nothing, and the next one in its slot is right.
TEST_F(StagingTest, AStoppedFrameIsForgotten) {
  StopSignal stop;
  const auto way = slot(2'000'000, streams_, &stop);
  HostPlane from(2000, 1000, 0, false), lost(2000, 1000, 0, false), to(2000, 1000, 0, false);
  from.fill(random_);
  std::atomic<bool> go{false};
  ASSERT_TRUE(way->begin(streams_).ok());
  fake_cudart::launch(streams_.download, [&go] {
    while (!go)
      std::this_thread::yield();
  });
  ASSERT_TRUE(run(*way, streams_, from, lost).ok());
  ASSERT_TRUE(way->end(streams_).ok());
  stop.raise();
  EXPECT_EQ(way->finish().code(), Code::kStopped);
  EXPECT_FALSE(way->at_rest());
  stop.clear();
  go = true;
  ASSERT_TRUE(run(*way, streams_, from, to).ok());
  ASSERT_TRUE(way->end(streams_).ok());
  ASSERT_TRUE(way->finish().ok());
  EXPECT_TRUE(way->at_rest());
  expect_filtered(from.dense(), to, "after the stop");
  expect_times(*way);
  EXPECT_EQ(lost.dense(), Bytes(lost.dense().size(), 0xA5)) << "nobody waited for it";
  way->release();
}

// The slot rests only when every stream has left what a stop left behind.
TEST_F(StagingTest, AFrameOfNothingWaitsForOneLeftBehind) {
  StopSignal stop;
  const auto way = slot(2'000'000, streams_, &stop);
  HostPlane from(2000, 1000, 0, false), lost(2000, 1000, 0, false);
  std::atomic<bool> go{false}, passed{false};
  ASSERT_TRUE(way->begin(streams_).ok());
  fake_cudart::launch(streams_.download, [&go] {
    while (!go)
      std::this_thread::yield();
  });
  ASSERT_TRUE(run(*way, streams_, from, lost).ok());
  fake_cudart::launch(streams_.download, [&passed] { passed = true; });
  ASSERT_TRUE(way->end(streams_).ok());
  stop.raise();
  EXPECT_EQ(way->finish().code(), Code::kStopped);
  stop.clear();
  std::thread later([&go] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    go = true;
  });
  ASSERT_TRUE(way->end(streams_).ok());
  EXPECT_TRUE(way->finish().ok());
  EXPECT_TRUE(way->at_rest());
  EXPECT_TRUE(passed);
  EXPECT_EQ(way->times().kernels, 0u) << "it had none";
  later.join();
  way->release();
}

// Copies across the bus are timed once that is asked for; the fake runtime's spans are half a
// millisecond long.
TEST_F(StagingTest, TimesAreThoseOfTheFrame) {
  measured_ = false;
  const auto way = slot(2'000'000, streams_);
  HostPlane from(2000, 1000, 0, false), to(2000, 1000, 0, false);
  for (const bool measured : {false, true}) {
    if (measured) {
      ASSERT_TRUE(way->measure_copies().ok());
    }
    fake_cudart::launch(streams_.download,
                        [] { std::this_thread::sleep_for(std::chrono::milliseconds(5)); });
    ASSERT_TRUE(run(*way, streams_, from, to).ok());
    ASSERT_TRUE(way->end(streams_).ok());
    ASSERT_TRUE(way->finish().ok());
    const FrameTimes& times = way->times();
    EXPECT_EQ(times.upload, measured ? 500'000u : 0u);
    EXPECT_EQ(times.kernels, 500'000u);
    EXPECT_EQ(times.download, measured ? 500'000u : 0u);
    EXPECT_GT(times.host_copy, 0u);
    EXPECT_GE(times.waiting, 1'000'000u) << "the download is held up";
  }
  way->release();
}

TEST_F(StagingTest, FewBuffersDoAndNoneIsSaid) {
  // Buffers are kept for whoever comes next: a test that wants few takes what there is.
  std::vector<void*> all;
  for (int i = 0; i < 200; ++i) {
    Result<void*> buffer = take_staging_buffer();
    ASSERT_TRUE(buffer.ok());
    all.push_back(buffer.value());
  }
  for (const std::size_t buffers : {0, 1, 2, 3, 5}) {
    fake_cudart::limit_page_locked(0);
    for (std::size_t i = 0; i < buffers; ++i)
      give_staging_buffer(all[i]);
    FrameSlot way(fake_cudart::context(), nullptr);
    ASSERT_TRUE(way.initialise().ok());
    ASSERT_TRUE(way.reserve(6'000'000, streams_).ok());
    HostPlane from(3000, 2000, 0, false), to(3000, 2000, 0, false);
    from.fill(random_);
    const Status status = run(way, streams_, from, to);
    // One for each direction.
    ASSERT_EQ(status.ok(), buffers >= 2) << buffers << ": " << status.message();
    if (!status.ok()) {
      EXPECT_EQ(status.code(), Code::kOutOfMemory);
    }
    ASSERT_TRUE(way.end(streams_).ok());
    ASSERT_TRUE(way.finish().ok());
    if (status.ok()) expect_filtered(from.dense(), to, "few buffers");
    way.release();
    for (std::size_t i = 0; i < buffers; ++i) {
      Result<void*> buffer = take_staging_buffer();
      ASSERT_TRUE(buffer.ok()) << "of " << buffers << " buffers one is lost";
    }
  }
  fake_cudart::limit_page_locked(SIZE_MAX);
  for (void* buffer : all)
    give_staging_buffer(buffer);
}

}  // namespace
}  // namespace convolve
