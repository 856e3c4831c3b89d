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
  const auto taken = slot.take_source(static_cast<std::size_t>(from.row_bytes) *
                                      static_cast<std::size_t>(from.rows));
  if (!taken.ok()) return taken.status();
  status = slot.begin_source();
  if (status.ok())
    status = slot.staging().add_upload(device_plane_at(taken.value(), from), from.plane,
                                       from.row_bytes, from.rows);
  if (status.ok()) status = slot.staging().upload();
  if (status.ok()) status = slot.end_source();
  if (status.ok()) status = slot.await_source();
  if (status.ok()) status = slot.begin_kernels();
  if (!status.ok()) return status;
  fake_cudart::launch(streams.kernels,
                      [source = taken.value(), destination = slot.destination(),
                       bytes = static_cast<std::ptrdiff_t>(from.row_bytes) * from.rows] {
                        for (std::ptrdiff_t i = 0; i < bytes; ++i)
                          destination[i] = static_cast<std::uint8_t>(source[i] + 1);
                      });
  status = slot.end_kernels();
  if (status.ok()) status = slot.begin_destination();
  if (status.ok())
    status = slot.staging().add_download(to.plane, device_plane_at(slot.destination(), to),
                                         to.row_bytes, to.rows);
  if (status.ok()) status = slot.staging().download();
  return status.ok() ? slot.end_destination() : status;
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
    EXPECT_TRUE(made->reserve(bytes, streams.kernels).ok());
    if (measured_) {
      EXPECT_TRUE(made->measure_copies().ok());
    }
    return made;
  }

  void expect_filtered(const Bytes& source, const HostPlane& to, const char* what) {
    EXPECT_EQ(to.dense(), plus_one(source)) << what;
    EXPECT_EQ(to.overwritten(), 0) << what;
  }

  /// All spans of a frame of so many runs must have passed when it is finished, or they were not
  /// known.
  void expect_times(const FrameSlot& slot, unsigned runs = 1) {
    for (const std::uint64_t time :
         {slot.times().upload, slot.times().kernels, slot.times().download})
      EXPECT_EQ(time, runs * 500'000u);
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
    for (const bool both : {false, true})
      for (const FrameStreams& streams :
           {streams_, FrameStreams{streams_.kernels, streams_.kernels, streams_.kernels}}) {
        // With room for one field, the second waits for the first one's kernels.
        const auto way = slot(both ? 2 * bytes : bytes, streams);
        HostPlane top(4000, rows, 0, false), bottom(4000, rows, 0, false);
        HostPlane to_top(4000, rows, 1, false), to_bottom(4000, rows, 1, false);
        top.fill(random_);
        bottom.fill(random_);
        // So the kernel of the first still reads when the second is sent, even if the machine has
        // other work.
        fake_cudart::launch(streams.kernels,
                            [] { std::this_thread::sleep_for(std::chrono::milliseconds(150)); });
        ASSERT_TRUE(run(*way, streams, top, to_top).ok());
        ASSERT_TRUE(run(*way, streams, bottom, to_bottom).ok());
        ASSERT_TRUE(way->end(streams).ok());
        ASSERT_TRUE(way->finish().ok());
        expect_filtered(top.dense(), to_top, "first field");
        expect_filtered(bottom.dense(), to_bottom, "second field");
        expect_times(*way, 2);
        way->release();
      }
  }
}

// A frame in pieces, of which one comes while the one before is filtered: kernels wait for the
// source of their piece, though that of the next was enqueued before them.
TEST_F(StagingTest, PiecesWaitForTheirOwnSource) {
  constexpr int kRowBytes = 1000, kRows = 300, kPieces = 6, kRowsOfPiece = kRows / kPieces;
  const auto way = slot(std::size_t{kRowBytes} * kRows, streams_);
  for (int frame = 0; frame < 20; ++frame) {
    HostPlane from(kRowBytes, kRows, 0, false), to(kRowBytes, kRows, 3, false);
    from.fill(random_);
    const auto part = [](PlaneMemory plane, int piece) {
      plane.data += piece * kRowsOfPiece * plane.pitch;
      return plane;
    };
    std::uint8_t* base = nullptr;
    const auto bring = [&](int piece) {
      Status status = way->begin_source();
      if (status.ok())
        status = way->staging().add_upload(part(device_plane_at(base, from), piece),
                                           part(from.plane, piece), kRowBytes, kRowsOfPiece);
      if (status.ok()) status = way->staging().upload();
      return status.ok() ? way->end_source() : status;
    };
    ASSERT_TRUE(way->begin(streams_).ok());
    base = way->take_source(std::size_t{kRowBytes} * kRows).value();
    ASSERT_TRUE(bring(0).ok());
    for (int piece = 0; piece < kPieces; ++piece) {
      ASSERT_TRUE(way->await_source().ok());
      if (piece + 1 < kPieces) {
        ASSERT_TRUE(bring(piece + 1).ok());
      }
      ASSERT_TRUE(way->begin_kernels().ok());
      const std::ptrdiff_t offset = piece * kRowsOfPiece * kRowBytes;
      fake_cudart::launch(streams_.kernels,
                          [source = base + offset, destination = way->destination() + offset] {
                            for (int i = 0; i < kRowsOfPiece * kRowBytes; ++i)
                              destination[i] = static_cast<std::uint8_t>(source[i] + 1);
                          });
      ASSERT_TRUE(way->end_kernels().ok());
      ASSERT_TRUE(way->begin_destination().ok());
      ASSERT_TRUE(way->staging()
                      .add_download(part(to.plane, piece),
                                    part(device_plane_at(way->destination(), to), piece), kRowBytes,
                                    kRowsOfPiece)
                      .ok());
      ASSERT_TRUE(way->staging().download().ok());
      ASSERT_TRUE(way->end_destination().ok());
    }
    ASSERT_TRUE(way->end(streams_).ok());
    ASSERT_TRUE(way->finish().ok());
    expect_filtered(from.dense(), to, "in pieces");
    EXPECT_EQ(way->times().kernels, kPieces * 500'000u);
  }
  way->release();
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

// The next frame may take other streams, as after a change of depth: it must not be overtaken by
// what is still on its way to the slot's memory.
TEST_F(StagingTest, AStoppedFrameOfOtherStreamsIsForgotten) {
  StopSignal stop;
  const FrameStreams single{streams_.kernels, streams_.kernels, streams_.kernels};
  for (const bool apart_first : {true, false}) {
    const FrameStreams& first = apart_first ? streams_ : single;
    const FrameStreams& second = apart_first ? single : streams_;
    const auto way = slot(2'000'000, first, &stop);
    HostPlane from(2000, 1000, 0, false), lost(2000, 1000, 0, false), to(2000, 1000, 0, false);
    from.fill(random_);
    // After one of which nothing is left, so that the slot's memory is known to be there.
    ASSERT_TRUE(run(*way, streams_, lost, lost).ok());
    ASSERT_TRUE(way->end(streams_).ok());
    ASSERT_TRUE(way->finish().ok());
    std::atomic<bool> go{false};
    fake_cudart::launch(first.upload, [&go] {
      while (!go)
        std::this_thread::yield();
    });
    ASSERT_TRUE(run(*way, first, lost, lost).ok());
    ASSERT_TRUE(way->end(first).ok());
    stop.raise();
    EXPECT_EQ(way->finish().code(), Code::kStopped);
    stop.clear();
    std::thread later([&go] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      go = true;
    });
    ASSERT_TRUE(run(*way, second, from, to).ok());
    ASSERT_TRUE(way->end(second).ok());
    ASSERT_TRUE(way->finish().ok());
    expect_filtered(from.dense(), to, "after the stop");
    later.join();
    way->release();
  }
}

// The slot rests only when every stream has left what a stop left behind.
TEST_F(StagingTest, AFrameOfNothingWaitsForOneLeftBehind) {
  const FrameStreams single{streams_.kernels, streams_.kernels, streams_.kernels};
  for (const FrameStreams& nothing : {streams_, single}) {
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
    fake_cudart::launch(streams_.download, [&passed] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      passed = true;
    });
    ASSERT_TRUE(way->end(streams_).ok());
    stop.raise();
    EXPECT_EQ(way->finish().code(), Code::kStopped);
    stop.clear();
    std::thread later([&go] {
      std::this_thread::sleep_for(std::chrono::milliseconds(30));
      go = true;
    });
    ASSERT_TRUE(way->end(nothing).ok());
    EXPECT_TRUE(way->finish().ok());
    EXPECT_TRUE(way->at_rest());
    EXPECT_TRUE(passed);
    EXPECT_EQ(way->times().kernels, 0u) << "it had none";
    later.join();
    way->release();
  }
}

// Two runs of a frame may take other streams: neither is forgotten.
TEST_F(StagingTest, RunsOnOtherStreamsAreBothAwaited) {
  const FrameStreams single{streams_.kernels, streams_.kernels, streams_.kernels};
  for (const bool apart_first : {true, false}) {
    const FrameStreams& first = apart_first ? streams_ : single;
    const FrameStreams& second = apart_first ? single : streams_;
    const auto way = slot(400'000, first);
    HostPlane top(2000, 100, 0, false), bottom(2000, 100, 0, false);
    HostPlane to_top(2000, 100, 0, false), to_bottom(2000, 100, 0, false);
    top.fill(random_);
    bottom.fill(random_);
    std::atomic<int> passed{0};
    ASSERT_TRUE(run(*way, first, top, to_top).ok());
    // The upload stream, which nothing of the second run needs, is the last to end.
    int late = 90;
    for (const cudaStream_t stream : {first.upload, first.kernels, first.download}) {
      fake_cudart::launch(stream, [&passed, late] {
        std::this_thread::sleep_for(std::chrono::milliseconds(late));
        ++passed;
      });
      late -= 30;
    }
    ASSERT_TRUE(run(*way, second, bottom, to_bottom).ok());
    ASSERT_TRUE(way->end(second).ok());
    ASSERT_TRUE(way->finish().ok());
    EXPECT_EQ(passed, 3);
    expect_filtered(top.dense(), to_top, "first run");
    expect_filtered(bottom.dense(), to_bottom, "second run");
    way->release();
  }
}

// Kernels and copies across the bus are timed if that is asked for; the fake runtime's spans are
// half a millisecond long.
TEST_F(StagingTest, TimesAreThoseOfTheFrame) {
  measured_ = false;
  const auto way = slot(2'000'000, streams_);
  HostPlane from(2000, 1000, 0, false), to(2000, 1000, 0, false);
  for (const auto& [timed, measured] : {std::pair(false, false), {true, false}, {true, true}}) {
    way->time_kernels(timed);
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
    EXPECT_EQ(times.kernels, timed ? 500'000u : 0u);
    EXPECT_EQ(times.download, measured ? 500'000u : 0u);
    EXPECT_GT(times.host_copy, 0u);
    EXPECT_GE(times.waiting, 1'000'000u) << "the download is held up";
  }
  way->release();
}

// Where little memory may be page-locked, frames go in smaller loads; where none may, that is said.
TEST_F(StagingTest, SmallBuffersDoAndNoneIsSaid) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  for (const bool alone : {false, true})
    for (const std::size_t limit : {0, 1, 2, 3, 5, 8, 13, 26}) {
      fake_cudart::limit_page_locked(limit * kMiB);
      FrameStreams streams = streams_;
      streams.waiting.expected = std::chrono::microseconds(alone ? 0 : 100);
      FrameSlot way(fake_cudart::context(), nullptr);
      ASSERT_TRUE(way.initialise().ok());
      ASSERT_TRUE(way.reserve(6'000'000, streams.kernels).ok());
      HostPlane from(3000, 2000, 0, false), to(3000, 2000, 0, false);
      from.fill(random_);
      const Status status = run(way, streams, from, to);
      // Uploads take a second buffer if there is one.
      if (limit != 2) {
        ASSERT_EQ(status.ok(), limit > 2) << limit << ": " << status.message();
      }
      if (!status.ok()) {
        EXPECT_EQ(status.code(), Code::kOutOfMemory);
      }
      ASSERT_TRUE(way.end(streams).ok());
      ASSERT_TRUE(way.finish().ok());
      if (status.ok()) expect_filtered(from.dense(), to, "small buffers");
      way.release();
    }
  fake_cudart::limit_page_locked(SIZE_MAX);
}

}  // namespace
}  // namespace convolve
