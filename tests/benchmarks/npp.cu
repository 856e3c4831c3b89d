// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/npp.h"

#include <dlfcn.h>

#include <vector>

namespace convolve::benchmarks {
namespace {

// Our own declarations of what NPP documents for CUDA 11 to 13, so that the build needs no NPP.
struct NppSize {
  int width;
  int height;
};
struct NppPoint {
  int x;
  int y;
};
struct NppVersion {
  int major;
  int minor;
  int build;
};
struct NppStream {
  cudaStream_t stream;
  int device;
  int multiprocessors;
  int threads_per_multiprocessor;
  int threads_per_block;
  std::size_t shared_bytes_per_block;
  int compute_capability_major;
  int compute_capability_minor;
  unsigned int stream_flags;
  int reserved;  ///< 0; since NPP 13.2 the handle of a workspace, 0 being none.
};
constexpr int kNppSuccess = 0;
constexpr int kNppBorderReplicate = 2;

using GetVersion = const NppVersion* (*)();
using FilterBorder = int (*)(const std::uint8_t* src, int src_step, NppSize src_size,
                             NppPoint src_offset, std::uint8_t* dst, int dst_step, NppSize roi,
                             const float* kernel, NppSize kernel_size, NppPoint anchor, int border,
                             NppStream stream);

class OpenedNpp final : public Npp {
 public:
  OpenedNpp(GetVersion version, FilterBorder filter) : version_(*version()), filter_(filter) {}
  ~OpenedNpp() override { (void)cudaFree(kernel_); }

  std::string description() const override {
    return "NPP " + std::to_string(version_.major) + "." + std::to_string(version_.minor) + "." +
           std::to_string(version_.build) + " FilterBorder32f";
  }

  bool load(const Mask& mask, void* stream) override {
    // NPP convolves: its kernel is the mask turned by 180 degrees, and so is the anchor.
    const std::vector<float> kernel(mask.weights.rbegin(), mask.weights.rend());
    kernel_size_ = {mask.width, mask.height};
    anchor_ = {mask.width - 1 - mask.anchor_x, mask.height - 1 - mask.anchor_y};
    (void)cudaFree(kernel_);
    kernel_ = nullptr;
    const std::size_t bytes = kernel.size() * sizeof(float);
    return cudaMalloc(&kernel_, bytes) == cudaSuccess &&
           cudaMemcpy(kernel_, kernel.data(), bytes, cudaMemcpyHostToDevice) == cudaSuccess &&
           cudaDeviceSynchronize() == cudaSuccess &&
           describe_stream(static_cast<cudaStream_t>(stream));
  }

  bool filter(const FrameView& src, const FrameView& dst) override {
    const Component& component = src.format.planes[0].components[0];
    const NppSize size{component.width, component.height};
    return filter_(src.data[0], static_cast<int>(src.pitch[0]), size, {0, 0}, dst.data[0],
                   static_cast<int>(dst.pitch[0]), size, kernel_, kernel_size_, anchor_,
                   kNppBorderReplicate, stream_) == kNppSuccess;
  }

 private:
  bool describe_stream(cudaStream_t stream) {
    cudaDeviceProp properties;
    stream_ = {};
    stream_.stream = stream;
    if (cudaGetDevice(&stream_.device) != cudaSuccess ||
        cudaGetDeviceProperties(&properties, stream_.device) != cudaSuccess ||
        cudaStreamGetFlags(stream, &stream_.stream_flags) != cudaSuccess)
      return false;
    stream_.multiprocessors = properties.multiProcessorCount;
    stream_.threads_per_multiprocessor = properties.maxThreadsPerMultiProcessor;
    stream_.threads_per_block = properties.maxThreadsPerBlock;
    stream_.shared_bytes_per_block = properties.sharedMemPerBlock;
    stream_.compute_capability_major = properties.major;
    stream_.compute_capability_minor = properties.minor;
    return true;
  }

  NppVersion version_;
  FilterBorder filter_;
  NppStream stream_ = {};
  float* kernel_ = nullptr;
  NppSize kernel_size_ = {};
  NppPoint anchor_ = {};
};

}  // namespace

std::unique_ptr<Npp> open_npp(std::string* why) {
  for (const char* version : {"13", "12"})
    for (const char* folder : {"", "/usr/local/cuda/lib64/"}) {
      const auto open = [&](const char* name) {
        return dlopen((std::string(folder) + name + ".so." + version).c_str(),
                      RTLD_NOW | RTLD_GLOBAL);
      };
      // libnppif needs libnppc, which may not be where the loader looks. Neither is closed: CUDA's
      // libraries must not be.
      void* core = open("libnppc");
      void* filters = core != nullptr ? open("libnppif") : nullptr;
      if (filters == nullptr) continue;
      const auto get_version = reinterpret_cast<GetVersion>(dlsym(core, "nppGetLibVersion"));
      const auto filter =
          reinterpret_cast<FilterBorder>(dlsym(filters, "nppiFilterBorder32f_8u_C1R_Ctx"));
      if (get_version != nullptr && filter != nullptr)
        return std::make_unique<OpenedNpp>(get_version, filter);
    }
  *why = "no libnppif.so.13 or .12 with its libnppc here";
  return nullptr;
}

}  // namespace convolve::benchmarks
