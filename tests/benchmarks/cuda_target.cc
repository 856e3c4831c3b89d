// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <utility>

#include "tests/benchmarks/gpu.h"
#include "tests/benchmarks/targets.h"

namespace convolve::benchmarks {
namespace {

/// Launches of a graph: so many that its own start does not show.
constexpr std::size_t kLaunches = 16;

class CudaTarget final : public Target {
 public:
  explicit CudaTarget(std::unique_ptr<Gpu> gpu) : gpu_(std::move(gpu)) {}

  std::string description() const override { return gpu_->description(); }
  double measure_fma_rate() override { return gpu_->measure_fma_rate(); }

  bool lay_out(const FrameFormat& format, const std::vector<std::uint8_t>& noise) override {
    gpu_->free_all();
    pairs_.clear();
    format_ = format;
    const PlaneFormat& plane = format.planes[0];
    const std::size_t bytes = static_cast<std::size_t>(plane.row_bytes) * plane.rows;
    const std::size_t count = std::max<std::size_t>(2, gpu_->l2_bytes() / bytes + 1);
    for (std::size_t k = 0; k < count; ++k) {
      Pair pair{gpu_->allocate(plane.row_bytes, plane.rows),
                gpu_->allocate(plane.row_bytes, plane.rows)};
      if (pair.src.data == nullptr || pair.dst.data == nullptr) return false;
      const std::size_t start = k * 4099 % (noise.size() - bytes + 1);
      if (!gpu_->upload(noise.data() + start, pair.src, plane.row_bytes, plane.rows)) return false;
      pairs_.push_back(pair);
    }
    return true;
  }

  Result<std::shared_ptr<Device>> open() override { return open_device(BackendKind::kCuda, {}); }

  bool load(Convolver& convolver, Device& device) override {
    const PlaneFormat& plane = format_.planes[0];
    const std::size_t bytes = static_cast<std::size_t>(plane.row_bytes) * plane.rows;
    if (device.native_stream() == nullptr || !device.finish().ok()) return false;
    const auto rotate = [&](auto&& enqueue) {
      return gpu_->capture(device.native_stream(), [&] {
        for (std::size_t k = 0; k < launches(); ++k)
          if (!enqueue(pairs_[k % pairs_.size()])) return false;
        return true;
      });
    };
    frames_ = rotate([&](const Pair& pair) {
      return convolver.run(view(pair.src), view(pair.dst), RunArguments{}).ok();
    });
    copies_ = rotate([&](const Pair& pair) {
      return gpu_->enqueue_copy(device.native_stream(), pair.src.data, pair.dst.data, bytes);
    });
    return frames_ != nullptr && copies_ != nullptr;
  }

  double time_frames() override { return frames_->run_us() / static_cast<double>(launches()); }
  double time_copies() override { return copies_->run_us() / static_cast<double>(launches()); }

  std::vector<std::uint8_t> first_output() override {
    const PlaneFormat& plane = format_.planes[0];
    std::vector<std::uint8_t> rows(static_cast<std::size_t>(plane.row_bytes) * plane.rows);
    if (!gpu_->download(pairs_[0].dst, rows.data(), plane.row_bytes, plane.rows)) return {};
    return rows;
  }

 private:
  struct Pair {
    DevicePlane src;
    DevicePlane dst;
  };

  /// Whole rounds over the pairs.
  std::size_t launches() const {
    const std::size_t rounds = (kLaunches + pairs_.size() - 1) / pairs_.size();
    return rounds * pairs_.size();
  }

  FrameView view(const DevicePlane& plane) const {
    FrameView frame;
    frame.format = format_;
    frame.memory = Memory::kCuda;
    frame.data[0] = plane.data;
    frame.pitch[0] = plane.pitch;
    return frame;
  }

  std::unique_ptr<Gpu> gpu_;
  FrameFormat format_;
  std::vector<Pair> pairs_;
  std::unique_ptr<Graph> frames_;
  std::unique_ptr<Graph> copies_;
};

}  // namespace

std::unique_ptr<Target> make_cuda_target(std::string* why) {
  std::unique_ptr<Gpu> gpu = open_gpu(why);
  if (gpu == nullptr) return nullptr;
  return std::make_unique<CudaTarget>(std::move(gpu));
}

}  // namespace convolve::benchmarks
