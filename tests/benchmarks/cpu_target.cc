// SPDX-License-Identifier: LGPL-2.1-or-later
#include <chrono>
#include <cstring>
#include <utility>

#include "tests/benchmarks/targets.h"

namespace convolve::benchmarks {
namespace {

/// 1080p pairs beyond any last-level cache of a desktop; 4K ones all the more.
constexpr std::size_t kPairs = 16;
/// Rows start on a cache line, as GStreamer's allocators see to.
constexpr std::ptrdiff_t kPitchAlignment = 64;

class CpuTarget final : public Target {
 public:
  std::string description() const override {
    const auto device = open_device(BackendKind::kCpu, {});
    if (!device.ok()) return device.status().message();
    const DeviceCapabilities& capabilities = device.value()->capabilities();
    return capabilities.name + ", " + std::to_string(capabilities.threads) + " threads";
  }

  double measure_fma_rate() override { return 0; }

  bool lay_out(const FrameFormat& format, const std::vector<std::uint8_t>& noise) override {
    format_ = format;
    const PlaneFormat& plane = format.planes[0];
    pitch_ = (plane.row_bytes + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment;
    const std::size_t packed = static_cast<std::size_t>(plane.row_bytes) * plane.rows;
    pairs_.assign(kPairs, Pair());
    for (std::size_t k = 0; k < kPairs; ++k) {
      Pair& pair = pairs_[k];
      pair.src.resize(static_cast<std::size_t>(pitch_) * plane.rows);
      pair.dst.resize(pair.src.size());
      const std::uint8_t* from = noise.data() + k * 4099 % (noise.size() - packed + 1);
      for (int y = 0; y < plane.rows; ++y)
        std::memcpy(pair.src.data() + y * pitch_,
                    from + static_cast<std::size_t>(y) * plane.row_bytes,
                    static_cast<std::size_t>(plane.row_bytes));
    }
    return true;
  }

  Result<std::shared_ptr<Device>> open() override { return open_device(BackendKind::kCpu, {}); }

  bool load(Convolver& convolver, Device& device) override {
    convolver_ = &convolver;
    device_ = &device;
    next_frame_ = 0;
    return true;
  }

  double time_frames() override {
    bool good = true;
    const double us = time_next(next_frame_, [&](Pair& pair) {
      good = good && convolver_->run(view(pair.src), view(pair.dst), RunArguments{}).ok() &&
             device_->finish().ok();
    });
    return good ? us : -1;
  }

  double time_copies() override {
    return time_next(next_copy_, [](Pair& pair) {
      std::memcpy(pair.dst.data(), pair.src.data(), pair.src.size());
    });
  }

  std::vector<std::uint8_t> first_output() override {
    const PlaneFormat& plane = format_.planes[0];
    std::vector<std::uint8_t> rows;
    for (int y = 0; y < plane.rows; ++y) {
      const std::uint8_t* row = pairs_[0].dst.data() + y * pitch_;
      rows.insert(rows.end(), row, row + plane.row_bytes);
    }
    return rows;
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
    FrameView frame;
    frame.format = format_;
    frame.data[0] = rows.data();
    frame.pitch[0] = pitch_;
    return frame;
  }

  FrameFormat format_;
  std::ptrdiff_t pitch_ = 0;
  std::vector<Pair> pairs_;
  Convolver* convolver_ = nullptr;
  Device* device_ = nullptr;
  std::size_t next_frame_ = 0;
  std::size_t next_copy_ = kPairs / 2;  // Not the pair that was just filtered.
};

}  // namespace

std::unique_ptr<Target> make_cpu_target() {
  return std::make_unique<CpuTarget>();
}

}  // namespace convolve::benchmarks
