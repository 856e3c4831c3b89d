// SPDX-License-Identifier: LGPL-2.1-or-later
// Several frames in flight on one device, through every kernel: sent by one thread and waited for
// by another, in pageable and page-locked memory, dense and padded, whole and as two fields. Each
// must be the reference's, whatever the others do to the bus and to the device's memory meanwhile.
// The same one at a time, where page-locked frames go in pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/convolver.h"
#include "kernels/cuda/cuda_device.h"
#include "kernels/reference/reference.h"
#include "tests/kernels/class_frames.h"
#include "tests/kernels/devices.h"
#include "tests/kernels/frame_buffer.h"
#include "tests/kernels/test_masks.h"

namespace convolve::testing {
namespace {

constexpr int kInFlight = 4;
constexpr int kSources = 5;
constexpr int kFramesOnCuda = 600;
/// All stages of frames from this one on are measured.
constexpr int kMeasuredFrom = 300;
/// The kernels of one frame of so many are timed before that on CUDA, of all on a CPU.
constexpr int kTimedOnceInOnCuda = 16;
constexpr int kFramesOnCpu = 15;
/// High enough for pieces of 64 rows of each plane.
constexpr int kWidth = 320, kHeight = 326, kLowHeight = 182;

/// The rows of one parity.
FrameView field_of(const FrameView& frame, int parity) {
  FrameView field = frame;
  for (int p = 0; p < frame.format.plane_count; ++p) {
    PlaneFormat& plane = field.format.planes[p];
    field.data[p] += parity * frame.pitch[p];
    field.pitch[p] = 2 * frame.pitch[p];
    plane.rows = (plane.rows + 1 - parity) / 2;
    for (int c = 0; c < plane.component_count; ++c)
      plane.components[c].height = (plane.components[c].height + 1 - parity) / 2;
  }
  return field;
}

/// How a frame lies in host memory.
enum class Lies { kPageable, kDense, kLockedDense, kLockedPadded };
constexpr int kLies = 4;

class Frame {
 public:
  Frame(const FrameFormat& format, Lies lies, Device& device) {
    const int padding = lies == Lies::kLockedPadded ? 48 : 0;
    std::size_t bytes = 0;
    std::size_t offset[kMaxPlanes] = {};
    view_.format = format;
    for (int p = 0; p < format.plane_count; ++p) {
      view_.pitch[p] = format.planes[p].row_bytes + padding;
      offset[p] = bytes;
      bytes += static_cast<std::size_t>(view_.pitch[p]) *
               static_cast<std::size_t>(format.planes[p].rows);
    }
    if (lies == Lies::kLockedDense || lies == Lies::kLockedPadded) {
      auto block = device.page_locked_memory(bytes);
      if (block.ok()) {
        block_ = std::move(block.value());
        view_.memory = Memory::kPageLocked;
      }
    }
    // A frame that is not dense begins on an odd address.
    const std::size_t lead = lies == Lies::kPageable ? 1 : 0;
    if (block_ == nullptr) bytes_.resize(bytes + lead);
    std::uint8_t* const begin = block_ != nullptr ? block_.get() : bytes_.data() + lead;
    for (int p = 0; p < format.plane_count; ++p)
      view_.data[p] = begin + offset[p];
  }

  const FrameView& view() const { return view_; }

  void copy_from(const FrameView& other) {
    each_row([&](std::uint8_t* row, int p, int y, std::size_t bytes) {
      std::memcpy(row, other.data[p] + y * other.pitch[p], bytes);
    });
  }
  void poison() {
    each_row([](std::uint8_t* row, int, int, std::size_t bytes) { std::memset(row, 0xA5, bytes); });
  }
  bool equals(const FrameView& other) {
    bool equal = true;
    each_row([&](const std::uint8_t* row, int p, int y, std::size_t bytes) {
      equal = equal && std::memcmp(row, other.data[p] + y * other.pitch[p], bytes) == 0;
    });
    return equal;
  }

 private:
  template <class Function>
  void each_row(Function&& function) {
    for (int p = 0; p < view_.format.plane_count; ++p)
      for (int y = 0; y < view_.format.planes[p].rows; ++y)
        function(view_.data[p] + y * view_.pitch[p], p, y,
                 static_cast<std::size_t>(view_.format.planes[p].row_bytes));
  }

  std::vector<std::uint8_t> bytes_;
  std::shared_ptr<std::uint8_t> block_;
  FrameView view_;
};

/// A 5x5 mask that the kernel serves, with whole weights.
TestMaskPtr mask_for(KernelKind kernel) {
  std::vector<double> weights(25, 1);
  if (kernel == KernelKind::kShift) {
    weights.assign(25, 0);
    weights[7] = 1;
  } else if (kernel != KernelKind::kBox) {
    for (std::size_t k = 0; k < weights.size(); ++k)
      weights[k] = static_cast<double>((1 + k % 5) * (1 + k / 5 % 3));
  }
  double sum = 0;
  for (const double w : weights)
    sum += w;
  return typed_mask("in flight", 5, 5, weights, sum);
}

struct Sent {
  std::unique_ptr<FrameInFlight> frame;
  std::unique_ptr<Frame> source, output;
  const FrameView* wanted = nullptr;
  int number = 0;
  bool kernels_timed = false, copies_timed = false;
};

/// Waits for frames in another thread than the one that sends them, and compares them.
class Receiver {
 public:
  explicit Receiver(std::size_t most) : most_(most), thread_([this] { run(); }) {}

  void add(Sent sent) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return sent_.size() < most_; });
    sent_.push_back(std::move(sent));
    changed_.notify_all();
  }
  /// Waits until all have come.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return sent_.empty(); });
  }
  /// What is wrong with the first bad frame, after all have come.
  std::string end() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
      changed_.notify_all();
    }
    thread_.join();
    return fault_;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return ended_ || !sent_.empty(); });
      if (sent_.empty()) return;
      Sent& sent = sent_.front();
      lock.unlock();
      const Status status = sent.frame->finish();
      std::string fault = status.message();
      const FrameTimes times = sent.frame->times();
      if (status.ok() && !sent.output->equals(*sent.wanted))
        fault = "wrong";
      else if (status.ok() && ((times.kernels > 0) != sent.kernels_timed ||
                               (times.upload > 0) != sent.copies_timed ||
                               (times.download > 0) != sent.copies_timed))
        fault = "other stages are timed";
      if (!fault.empty()) fault = "frame " + std::to_string(sent.number) + ": " + fault;
      lock.lock();
      if (fault_.empty()) fault_ = fault;
      sent_.pop_front();
      changed_.notify_all();
    }
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Sent> sent_;
  bool ended_ = false;
  std::string fault_;
  std::thread thread_;
};

void send_frames(const KernelOn& which, int most_in_flight, Arrangement arrangement, int height) {
  const bool cuda = which.backend == BackendKind::kCuda;
  auto opened = open_device(which.backend, {});
  if (cuda && !gpu_required() && !opened.ok()) GTEST_SKIP() << opened.status().message();
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  Device& device = *opened.value();
  int in_flight = 1;
  if (device.set_frames_in_flight(most_in_flight).ok()) in_flight = most_in_flight;
  EXPECT_EQ(in_flight, cuda ? most_in_flight : 1);

  const FrameFormat format = make_format(arrangement, kU8, Levels::kFull, kWidth, height);
  const TestMaskPtr mask = mask_for(which.kernel);
  Options options;
  options.kernel = which.kernel;
  auto convolver = Convolver::create(format, mask->mask, options, opened.value());
  ASSERT_TRUE(convolver.ok()) << convolver.status().message();

  std::deque<GuardedFrame> sources, wanted[2];
  for (int k = 0; k < kSources; ++k) {
    sources.emplace_back(format, 0, false);
    fill_frame(sources.back().view(), static_cast<std::uint64_t>(k + 1));
    for (std::deque<GuardedFrame>& frames : wanted)
      frames.emplace_back(format, 0, false);
    reference_run(sources.back().view(), wanted[0].back().view(), mask->mask, {});
    for (int parity = 0; parity < 2; ++parity)
      reference_run(field_of(sources.back().view(), parity),
                    field_of(wanted[1].back().view(), parity), mask->mask, {});
  }

  // Beside those that wait there is the one that is being sent.
  Receiver receiver(static_cast<std::size_t>(std::max(1, in_flight - 1)));
  Status status;
  for (int n = 0; n < (cuda ? kFramesOnCuda : kFramesOnCpu) && status.ok(); ++n) {
    const std::size_t picture = static_cast<std::size_t>(n % kSources);
    const bool fields = n % 7 == 3;
    Sent sent;
    sent.number = n;
    if (n == kMeasuredFrom) device.measure_stages();
    sent.copies_timed = cuda && n >= kMeasuredFrom;
    sent.kernels_timed = !cuda || sent.copies_timed || n % kTimedOnceInOnCuda == 0;
    sent.source = std::make_unique<Frame>(format, static_cast<Lies>(n % kLies), device);
    sent.output = std::make_unique<Frame>(format, static_cast<Lies>(n / kLies % kLies), device);
    sent.source->copy_from(sources[picture].view());
    sent.output->poison();
    sent.wanted = &wanted[fields ? 1 : 0][picture].view();
    for (int parity = 0; parity < (fields ? 2 : 1) && status.ok(); ++parity) {
      const FrameView& from = sent.source->view();
      const FrameView& to = sent.output->view();
      status = convolver.value()->run(fields ? field_of(from, parity) : from,
                                      fields ? field_of(to, parity) : to, {});
    }
    if (!status.ok()) break;
    auto frame = device.send();
    status = frame.status();
    if (!status.ok()) break;
    sent.frame = std::move(frame.value());
    receiver.add(std::move(sent));
    if (in_flight == 1) receiver.wait();
  }
  EXPECT_EQ(receiver.end(), "");
  EXPECT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(device.finish().ok());
  EXPECT_TRUE(device.at_rest());
}

class FramesInFlight : public ::testing::TestWithParam<KernelOn> {
 protected:
  ~FramesInFlight() override { set_least_bytes_of_piece(0); }
};

TEST_P(FramesInFlight, AreEachTheirOwn) {
  send_frames(GetParam(), kInFlight, Arrangement::kNv12, kLowHeight);
}

// Padded frames of one plane begin where dense ones do.
TEST_P(FramesInFlight, OfOnePlaneAreEachTheirOwn) {
  send_frames(GetParam(), kInFlight, Arrangement::kPacked1, kLowHeight);
}

TEST_P(FramesInFlight, OneAtATimeGoInPieces) {
  set_least_bytes_of_piece(1024);
  send_frames(GetParam(), 1, Arrangement::kNv12, kHeight);
}

TEST_P(FramesInFlight, OneAtATimeInPiecesOfThreePlanes) {
  set_least_bytes_of_piece(1024);
  send_frames(GetParam(), 1, Arrangement::kI420, kHeight);
}

INSTANTIATE_TEST_SUITE_P(Kernels, FramesInFlight, ::testing::ValuesIn(all_kernels()),
                         [](const auto& which) { return test_name(which.param); });

}  // namespace
}  // namespace convolve::testing
