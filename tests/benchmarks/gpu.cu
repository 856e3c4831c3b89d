// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/benchmarks/gpu.h"

#include <algorithm>
#include <vector>

namespace convolve::benchmarks {
namespace {

constexpr int kFmaBlocks = 132 * 16;
constexpr int kFmaThreads = 256;
constexpr int kFmaChains = 8;  ///< Independent chains per thread hide the latency of 4 cycles.
constexpr int kFmaSteps = 4096;
constexpr int kFmaRuns = 11;

/// Nothing but multiply-adds in registers.
__global__ void __launch_bounds__(kFmaThreads) fma_chains(float* sink, float a, float b) {
  float chain[kFmaChains];
  for (int k = 0; k < kFmaChains; ++k)
    chain[k] = static_cast<float>(threadIdx.x + k);
  for (int step = 0; step < kFmaSteps; ++step) {
#pragma unroll
    for (int k = 0; k < kFmaChains; ++k)
      chain[k] = fmaf(chain[k], a, b);
  }
  float sum = 0;
  for (int k = 0; k < kFmaChains; ++k)
    sum += chain[k];
  if (sum == 12345.678f) *sink = sum;  // never; the compiler cannot know
}

bool ok(cudaError_t error) {
  return error == cudaSuccess;
}

class CudaGraph final : public Graph {
 public:
  static std::unique_ptr<Graph> make(cudaGraph_t captured, cudaStream_t stream) {
    std::unique_ptr<CudaGraph> graph(new CudaGraph());
    graph->stream_ = stream;
    const bool made = ok(cudaGraphInstantiate(&graph->executable_, captured, 0)) &&
                      ok(cudaEventCreate(&graph->start_)) && ok(cudaEventCreate(&graph->stop_)) &&
                      ok(cudaGraphUpload(graph->executable_, stream));
    if (!made) return nullptr;
    return graph;
  }

  ~CudaGraph() override {
    if (executable_ != nullptr) (void)cudaGraphExecDestroy(executable_);
    if (start_ != nullptr) (void)cudaEventDestroy(start_);
    if (stop_ != nullptr) (void)cudaEventDestroy(stop_);
  }

  double run_us() override {
    float ms = 0;
    const bool ran = ok(cudaEventRecord(start_, stream_)) &&
                     ok(cudaGraphLaunch(executable_, stream_)) &&
                     ok(cudaEventRecord(stop_, stream_)) && ok(cudaEventSynchronize(stop_)) &&
                     ok(cudaEventElapsedTime(&ms, start_, stop_));
    return ran ? 1000.0 * ms : -1;
  }

 private:
  CudaGraph() = default;

  cudaStream_t stream_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  cudaEvent_t start_ = nullptr;
  cudaEvent_t stop_ = nullptr;
};

class CudaGpu final : public Gpu {
 public:
  explicit CudaGpu(const cudaDeviceProp& properties) : properties_(properties) {}
  ~CudaGpu() override { free_planes(); }

  std::string description() const override {
    int driver = 0, runtime = 0;
    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    const auto version = [](int v) {
      return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10);
    };
    return std::string(properties_.name) + ", driver for CUDA " + version(driver) + ", runtime " +
           version(runtime) + ", L2 " + std::to_string(properties_.l2CacheSize >> 20) + " MiB";
  }

  std::size_t l2_bytes() const override {
    return static_cast<std::size_t>(properties_.l2CacheSize);
  }

  DevicePlane allocate(int row_bytes, int rows) override {
    void* data = nullptr;
    std::size_t pitch = 0;
    if (!ok(cudaMallocPitch(&data, &pitch, static_cast<std::size_t>(row_bytes),
                            static_cast<std::size_t>(rows))))
      return {};
    planes_.push_back(data);
    return {static_cast<std::uint8_t*>(data), static_cast<std::ptrdiff_t>(pitch)};
  }

  void free_all() override { free_planes(); }

  bool upload(const std::uint8_t* rows, const DevicePlane& to, int row_bytes,
              int row_count) override {
    const auto width = static_cast<std::size_t>(row_bytes);
    return ok(cudaMemcpy2D(to.data, static_cast<std::size_t>(to.pitch), rows, width, width,
                           static_cast<std::size_t>(row_count), cudaMemcpyHostToDevice)) &&
           ok(cudaDeviceSynchronize());
  }

  bool download(const DevicePlane& from, std::uint8_t* rows, int row_bytes,
                int row_count) override {
    const auto width = static_cast<std::size_t>(row_bytes);
    return ok(cudaMemcpy2D(rows, width, from.data, static_cast<std::size_t>(from.pitch), width,
                           static_cast<std::size_t>(row_count), cudaMemcpyDeviceToHost));
  }

  std::unique_ptr<Graph> capture(void* stream, const std::function<bool()>& enqueue) override {
    const auto on = static_cast<cudaStream_t>(stream);
    if (!ok(cudaStreamBeginCapture(on, cudaStreamCaptureModeThreadLocal))) return nullptr;
    const bool enqueued = enqueue();
    cudaGraph_t captured = nullptr;
    if (!ok(cudaStreamEndCapture(on, &captured)) || captured == nullptr) return nullptr;
    std::unique_ptr<Graph> graph = enqueued ? CudaGraph::make(captured, on) : nullptr;
    (void)cudaGraphDestroy(captured);
    return graph;
  }

  bool enqueue_copy(void* stream, const std::uint8_t* from, std::uint8_t* to,
                    std::size_t bytes) override {
    return ok(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
                              static_cast<cudaStream_t>(stream)));
  }

  double measure_fma_rate() override {
    cudaEvent_t start = nullptr, stop = nullptr;
    float* sink = nullptr;
    double best = 0;
    bool good = ok(cudaEventCreate(&start)) && ok(cudaEventCreate(&stop)) &&
                ok(cudaMalloc(&sink, sizeof(float)));
    for (int run = 0; run < kFmaRuns && good; ++run) {
      float ms = 0;
      good = ok(cudaEventRecord(start, nullptr));
      fma_chains<<<kFmaBlocks, kFmaThreads>>>(sink, 0.999f, 0.001f);
      good = good && ok(cudaGetLastError()) && ok(cudaEventRecord(stop, nullptr)) &&
             ok(cudaEventSynchronize(stop)) && ok(cudaEventElapsedTime(&ms, start, stop));
      const double count = 1.0 * kFmaBlocks * kFmaThreads * kFmaChains * kFmaSteps;
      if (good) best = std::max(best, count / (ms * 1e-3));
    }
    (void)cudaFree(sink);
    if (start != nullptr) (void)cudaEventDestroy(start);
    if (stop != nullptr) (void)cudaEventDestroy(stop);
    return good ? best : 0;
  }

 private:
  void free_planes() {
    for (void* plane : planes_)
      (void)cudaFree(plane);
    planes_.clear();
  }

  cudaDeviceProp properties_;
  std::vector<void*> planes_;
};

}  // namespace

std::unique_ptr<Gpu> open_gpu(std::string* why) {
  cudaDeviceProp properties;
  cudaError_t error = cudaSetDevice(0);
  if (error == cudaSuccess) error = cudaGetDeviceProperties(&properties, 0);
  if (error == cudaSuccess) return std::make_unique<CudaGpu>(properties);
  *why = cudaGetErrorString(error);
  return nullptr;
}

}  // namespace convolve::benchmarks
