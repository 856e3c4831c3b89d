// SPDX-License-Identifier: LGPL-2.1-or-later
// What the streams of a slot wait for, and what they must not wait for, as other elements use them,
// too: on the host, with the streams of fake_cudart.h.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include "kernels/cuda/runtime/frame_slot.h"
#include "tests/kernels/fake_cudart.h"

namespace convolve {
namespace {

constexpr std::chrono::milliseconds kLate{20};
constexpr std::size_t kBytes = 4096;

FrameStreams new_streams() {
  return {fake_cudart::make_stream(), fake_cudart::make_stream(), fake_cudart::make_stream()};
}

std::unique_ptr<FrameSlot> new_slot() {
  auto slot = std::make_unique<FrameSlot>(fake_cudart::context(), nullptr);
  EXPECT_TRUE(slot->initialise().ok());
  return slot;
}

void delay(cudaStream_t stream) {
  fake_cudart::launch(stream, [] { std::this_thread::sleep_for(kLate); });
}

void expect_ends(FrameSlot& slot, const FrameStreams& streams) {
  EXPECT_TRUE(slot.end(streams).ok());
  EXPECT_TRUE(slot.finish().ok());
  slot.release();
}

/// Enqueues a frame that has `source` brought and `kernel` run.
template <class Source, class Kernel>
void run(FrameSlot& slot, const Source& source, const Kernel& kernel) {
  EXPECT_TRUE(slot.begin_source().ok());
  fake_cudart::launch(slot.streams().upload, source);
  EXPECT_TRUE(slot.end_source().ok());
  EXPECT_TRUE(slot.await_source().ok());
  EXPECT_TRUE(slot.begin_kernels().ok());
  fake_cudart::launch(slot.streams().kernels, kernel);
  EXPECT_TRUE(slot.end_kernels().ok());
  EXPECT_TRUE(slot.begin_destination().ok());
  EXPECT_TRUE(slot.end_destination().ok());
}

// Frames of one element have other streams for their kernels in turn, and use the same memory of
// its plan.
TEST(SlotOrder, KernelsComeBehindThoseOfTheFrameBefore) {
  const FrameStreams first = new_streams();
  FrameStreams second = first;
  second.kernels = fake_cudart::make_stream();
  const auto one = new_slot(), two = new_slot();
  std::atomic<bool> made{false}, seen{false};
  EXPECT_TRUE(one->begin(first).ok());
  run(
      *one, [] {},
      [&made] {
        std::this_thread::sleep_for(kLate);
        made = true;
      });
  EXPECT_TRUE(two->begin(second, first.kernels).ok());
  run(
      *two, [] {}, [&] { seen = made.load(); });
  EXPECT_TRUE(one->end(first).ok());
  expect_ends(*two, second);
  EXPECT_TRUE(seen);
  EXPECT_TRUE(one->finish().ok());
  one->release();
}

// All elements share the stream of copies to the device: one whose neighbour is slow must not hold
// it up.
TEST(SlotOrder, KernelsWaitForAnOwnerAndUploadsDoNot) {
  const FrameStreams streams = new_streams();
  const cudaStream_t owner = fake_cudart::make_stream();
  const auto slot = new_slot();
  std::atomic<bool> go{false}, ready{false}, brought{false}, too_early{false};
  fake_cudart::launch(owner, [&] {
    while (!go)
      std::this_thread::yield();
    ready = true;
  });
  EXPECT_TRUE(slot->begin(streams).ok());
  EXPECT_TRUE(slot->await_owner(owner).ok());
  run(
      *slot, [&] { brought = true; }, [&] { too_early = !ready; });
  const auto begin = std::chrono::steady_clock::now();
  while (!brought && std::chrono::steady_clock::now() - begin < std::chrono::seconds(10))
    std::this_thread::yield();
  EXPECT_TRUE(brought) << "while the owner is at work";
  std::this_thread::sleep_for(kLate);  // In which kernels that do not wait would run.
  go = true;
  expect_ends(*slot, streams);
  EXPECT_FALSE(too_early);
}

/// Enqueues a frame that lies in memory of two owners, in one run or as two fields, each
/// with a kernel that is late and then counts. The first field has owners if `both_owned`.
void run_owned(FrameSlot& slot, const FrameStreams& streams, std::atomic<int>& made,
               cudaStream_t owner, cudaStream_t other, bool fields, bool both_owned) {
  for (int field = 0; field < (fields ? 2 : 1); ++field) {
    EXPECT_TRUE(slot.begin(streams).ok());
    EXPECT_TRUE(slot.await_owner(owner).ok());
    if (field == 1 || !fields || both_owned) slot.hand_over_to(owner, other);
    slot.owe_wait();
    EXPECT_TRUE(slot.begin_kernels().ok());
    fake_cudart::launch(streams.kernels, [&made] {
      std::this_thread::sleep_for(kLate);
      ++made;
    });
    EXPECT_TRUE(slot.end_kernels().ok());
  }
}

// Nobody waits for a frame that is handed over but the streams of its owners.
TEST(SlotOrder, OwnersWaitForAFrameThatIsHandedOver) {
  const cudaStream_t kernels = fake_cudart::make_stream();
  const FrameStreams streams{kernels, kernels, kernels};
  const cudaStream_t owners[] = {fake_cudart::make_stream(), fake_cudart::make_stream()};
  for (const bool fields : {false, true})
    for (const bool same : {false, true}) {
      const auto slot = new_slot();
      slot->time_kernels(false);
      const int wanted = fields ? 2 : 1;
      std::atomic<int> made{0}, seen[2] = {0, 0};
      run_owned(*slot, streams, made, owners[0], owners[same ? 0 : 1], fields, true);
      EXPECT_TRUE(slot->end(streams, /*may_hand_over=*/true).ok());
      EXPECT_TRUE(slot->is_handed_over());
      for (int n = 0; n < (same ? 1 : 2); ++n)
        fake_cudart::launch(owners[n], [&made, &seen, n] { seen[n] = made.load(); });
      EXPECT_TRUE(slot->finish().ok());
      EXPECT_LT(made, wanted) << "finish() waits";
      EXPECT_TRUE(slot->at_rest()) << "with what is not its owners'";
      EXPECT_EQ(slot->times().kernels, 0u);
      while (made < wanted)
        std::this_thread::yield();
      std::this_thread::sleep_for(kLate);  // In which the owners look.
      for (int n = 0; n < (same ? 1 : 2); ++n)
        EXPECT_EQ(seen[n], wanted) << "owner " << n;
      slot->release();
    }
}

// A frame is waited for if one of its fields has no owners, and if the caller says so.
TEST(SlotOrder, OtherFramesAreWaitedFor) {
  const cudaStream_t kernels = fake_cudart::make_stream();
  const FrameStreams streams{kernels, kernels, kernels};
  const cudaStream_t owner = fake_cudart::make_stream();
  for (const bool fields : {false, true}) {
    const auto slot = new_slot();
    std::atomic<int> made{0};
    run_owned(*slot, streams, made, owner, owner, fields, /*both_owned=*/false);
    EXPECT_TRUE(slot->end(streams, /*may_hand_over=*/fields).ok());
    EXPECT_FALSE(slot->is_handed_over()) << fields;
    EXPECT_TRUE(slot->finish().ok());
    EXPECT_EQ(made, fields ? 2 : 1);
    EXPECT_TRUE(slot->at_rest());
    slot->release();
  }
}

// The slot of a frame that is handed over takes the next one, which comes behind it.
TEST(SlotOrder, ASlotIsUsedAgainBehindAFrameThatIsHandedOver) {
  const cudaStream_t kernels = fake_cudart::make_stream();
  const FrameStreams alone{kernels, kernels, kernels}, apart = new_streams();
  const cudaStream_t owner = fake_cudart::make_stream();
  for (const FrameStreams& next : {alone, apart}) {
    const auto slot = new_slot();
    slot->time_kernels(false);
    std::atomic<int> made{0}, seen{0};
    run_owned(*slot, alone, made, owner, owner, false, true);
    EXPECT_TRUE(slot->end(alone, /*may_hand_over=*/true).ok());
    EXPECT_TRUE(slot->finish().ok());
    EXPECT_TRUE(slot->begin(next, kernels).ok());
    run(
        *slot, [] {}, [&] { seen = made.load(); });
    expect_ends(*slot, next);
    EXPECT_EQ(seen, 1);
  }
}

// Memory is taken and cleared on a stream that may be none of the frame's.
TEST(SlotOrder, FreshMemoryIsClearedBeforeAnyStreamUsesIt) {
  const FrameStreams streams = new_streams();
  const cudaStream_t owner = fake_cudart::make_stream();
  const auto slot = new_slot();
  delay(owner);
  EXPECT_TRUE(slot->reserve(kBytes, owner).ok());
  EXPECT_TRUE(slot->begin(streams).ok());
  const auto source = slot->take_source(kBytes);
  ASSERT_TRUE(source.ok());
  std::uint8_t* const destination = slot->destination();
  bool kept = false;
  run(
      *slot, [to = source.value()] { to[0] = 1; }, [=] { destination[0] = 2; });
  EXPECT_TRUE(slot->end(streams).ok());
  EXPECT_TRUE(slot->finish().ok());
  // Behind what clears, however late that is.
  fake_cudart::launch(owner,
                      [&, from = source.value()] { kept = from[0] == 1 && destination[0] == 2; });
  slot->release();  // Frees on `owner`, behind what looks.
  std::atomic<bool> over{false};
  fake_cudart::launch(owner, [&over] { over = true; });
  while (!over)
    std::this_thread::yield();
  EXPECT_TRUE(kept);
}

// Kernels of a frame that use memory right away wait for it, too, where nothing is brought.
TEST(SlotOrder, FreshMemoryIsClearedBeforeKernelsThatWaitForNoSource) {
  const FrameStreams streams = new_streams();
  const cudaStream_t owner = fake_cudart::make_stream();
  const auto slot = new_slot();
  std::atomic<bool> cleared{false}, too_early{false};
  delay(owner);
  EXPECT_TRUE(slot->reserve(kBytes, owner).ok());
  fake_cudart::launch(owner, [&cleared] { cleared = true; });
  EXPECT_TRUE(slot->begin(streams).ok());
  EXPECT_TRUE(slot->begin_kernels().ok());
  fake_cudart::launch(streams.kernels, [&] { too_early = !cleared; });
  EXPECT_TRUE(slot->end_kernels().ok());
  expect_ends(*slot, streams);
  EXPECT_FALSE(too_early);
}

}  // namespace
}  // namespace convolve
