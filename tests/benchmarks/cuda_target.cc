// SPDX-License-Identifier: LGPL-2.1-or-later
#include <algorithm>
#include <utility>

#include "tests/benchmarks/frames.h"
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
    const std::size_t bytes = packed_bytes(format);
    const std::size_t count = std::max<std::size_t>(2, gpu_->l2_bytes() / bytes + 1);
    for (std::size_t k = 0; k < count; ++k) {
      const Pair pair{allocate_frame(), allocate_frame()};
      if (pair.src.data[0] == nullptr || pair.dst.data[0] == nullptr) return false;
      const std::size_t start = k * 4099 % (noise.size() - bytes + 1);
      const FrameView source = packed_view(format, noise.data() + start);
      for (int p = 0; p < format.plane_count; ++p)
        if (!gpu_->upload(source.data[p], device_plane(pair.src, p), format.planes[p].row_bytes,
                          format.planes[p].rows))
          return false;
      pairs_.push_back(pair);
    }
    return true;
  }

  Result<std::shared_ptr<Device>> open() override { return open_device(BackendKind::kCuda, {}); }

  bool load(const FrameWork& work, Device& device) override {
    const std::size_t bytes = packed_bytes(format_);
    if (device.native_stream() == nullptr || !device.finish().ok()) return false;
    const auto rotate = [&](auto&& enqueue) {
      return gpu_->capture(device.native_stream(), [&] {
        for (std::size_t k = 0; k < launches(); ++k)
          if (!enqueue(pairs_[k % pairs_.size()])) return false;
        return true;
      });
    };
    frames_ = rotate([&](const Pair& pair) { return work(pair.src, pair.dst); });
    copies_ = rotate([&](const Pair& pair) {
      return gpu_->enqueue_copy(device.native_stream(), pair.src.data[0], pair.dst.data[0], bytes);
    });
    return frames_ != nullptr && copies_ != nullptr;
  }

  double time_frames() override { return frames_->run_us() / static_cast<double>(launches()); }
  double time_copies() override { return copies_->run_us() / static_cast<double>(launches()); }

  std::vector<std::uint8_t> first_output() override {
    std::vector<std::uint8_t> frame(packed_bytes(format_));
    const FrameView packed = packed_view(format_, frame.data());
    for (int p = 0; p < format_.plane_count; ++p)
      if (!gpu_->download(device_plane(pairs_[0].dst, p), packed.data[p],
                          format_.planes[p].row_bytes, format_.planes[p].rows))
        return {};
    return frame;
  }

 private:
  struct Pair {
    FrameView src;
    FrameView dst;
  };

  /// Whole rounds over the pairs.
  std::size_t launches() const {
    const std::size_t rounds = (kLaunches + pairs_.size() - 1) / pairs_.size();
    return rounds * pairs_.size();
  }

  /// One allocation a frame, so that one copy of as many bytes stays inside it. Null data if memory
  /// is out.
  FrameView allocate_frame() {
    const StackedSize size = stacked_size(format_);
    const DevicePlane memory = gpu_->allocate(size.row_bytes, size.rows);
    if (memory.data == nullptr) return {};
    FrameView frame = stacked_view(format_, memory.data, memory.pitch);
    frame.memory = Memory::kCuda;
    return frame;
  }

  static DevicePlane device_plane(const FrameView& frame, int plane) {
    return {frame.data[plane], frame.pitch[plane]};
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
