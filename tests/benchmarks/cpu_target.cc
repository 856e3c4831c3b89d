// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "tests/benchmarks/frames.h"
#include "tests/benchmarks/targets.h"

namespace convolve::benchmarks {
namespace {

/// 1080p pairs beyond any last-level cache of a desktop; 4K ones all the more, where fewer do.
constexpr std::size_t kMostPairs = 16;
constexpr std::size_t kFewestPairs = 4;
constexpr std::size_t kEnoughBytes = std::size_t{512} << 20;
/// Rows start on a cache line, as GStreamer's allocators see to.
constexpr std::ptrdiff_t kPitchAlignment = 64;

class CpuTarget final : public Target {
 public:
  explicit CpuTarget(int threads) { options_.threads = threads; }

  std::string description() const override {
    const auto device = open_device(BackendKind::kCpu, options_);
    if (!device.ok()) return device.status().message();
    const DeviceCapabilities& capabilities = device.value()->capabilities();
    return capabilities.name + ", " + std::to_string(capabilities.threads) + " threads";
  }

  double measure_fma_rate() override { return 0; }

  bool lay_out(const FrameFormat& format, const std::vector<std::uint8_t>& noise) override {
    format_ = format;
    const StackedSize size = stacked_size(format);
    pitch_ = (size.row_bytes + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    const std::size_t packed = packed_bytes(format);
    const std::size_t count = std::clamp(kEnoughBytes / packed / 2, kFewestPairs, kMostPairs);
    pairs_.assign(count, Pair());
    next_copy_ = count / 2;
    for (std::size_t k = 0; k < count; ++k) {
      Pair& pair = pairs_[k];
      pair.src.resize(static_cast<std::size_t>(pitch_) * size.rows);
      pair.dst.resize(pair.src.size());
      const std::size_t start = k * 4099 % (noise.size() - packed + 1);
      copy_rows(packed_view(format, noise.data() + start), view(pair.src));
    }
    return true;
  }

  Result<std::shared_ptr<Device>> open() override {
    return open_device(BackendKind::kCpu, options_);
  }

  bool load(const FrameWork& work, Device& device) override {
    work_ = work;
    device_ = &device;
    next_frame_ = 0;
    return true;
  }

  double time_frames() override {
    bool good = true;
    const double us = time_next(next_frame_, [&](Pair& pair) {
      good = good && work_(view(pair.src), view(pair.dst)) && device_->finish().ok();
    });
    return good ? us : -1;
  }

  double time_copies() override {
    return time_next(next_copy_, [&](Pair& pair) {
      std::memcpy(pair.dst.data(), pair.src.data(), packed_bytes(format_));
    });
  }

  std::vector<std::uint8_t> first_output() override {
    std::vector<std::uint8_t> frame(packed_bytes(format_));
    copy_rows(view(pairs_[0].dst), packed_view(format_, frame.data()));
    return frame;
  }

 private:
  struct Pair {
    std::vector<std::uint8_t> src;
    std::vector<std::uint8_t> dst;
  };

  /// One pair after the other, a pair a batch; microseconds.
  template <class Work>
  double time_next(std::size_t& turn, Work&& work) {
    Pair& pair = pairs_[turn++ % pairs_.size()];
    const auto start = std::chrono::steady_clock::now();
    work(pair);
    const std::chrono::duration<double, std::micro> elapsed =
        std::chrono::steady_clock::now() - start;
    return elapsed.count();
  }

  FrameView view(std::vector<std::uint8_t>& rows) const {
    return stacked_view(format_, rows.data(), pitch_);
  }

  static void copy_rows(const FrameView& from, const FrameView& to) {
    for (int p = 0; p < from.format.plane_count; ++p)
      for (int y = 0; y < from.format.planes[p].rows; ++y)
        std::memcpy(to.data[p] + y * to.pitch[p], from.data[p] + y * from.pitch[p],
                    static_cast<std::size_t>(from.format.planes[p].row_bytes));
  }

  DeviceOptions options_;
  FrameFormat format_;
  std::ptrdiff_t pitch_ = 0;
  std::vector<Pair> pairs_;
  FrameWork work_;
  Device* device_ = nullptr;
  std::size_t next_frame_ = 0;
  std::size_t next_copy_ = 0;  ///< Not the pair that was just filtered.
};

}  // namespace

std::unique_ptr<Target> make_cpu_target(int threads) {
  return std::make_unique<CpuTarget>(threads);
}

}  // namespace convolve::benchmarks
