// SPDX-License-Identifier: LGPL-2.1-or-later
// What instances_test guards against: the chapter's kernel with ONE __constant__ mask, used by
// several instances of a process at once. Each uploads its own mask before each frame, on its own
// stream, as a naive element would, with frames in flight. Passes if frames come out wrong, so that
// the test of the engine is known to be able to fail. Exit status: 0, 1, or 77 without a GPU.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr int kInstances = 16;
constexpr int kFrames = 1000;
constexpr int kInFlight = 20;
constexpr int kWidth = 256;
constexpr int kHeight = 256;
constexpr int kSide = 5;

__constant__ int shared_mask[kSide * kSide];

/// PMPP Fig. 7.8 in two dimensions, zero ghost cells.
__global__ void convolve_constant(const unsigned char* n, int* p) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= kWidth || y >= kHeight) return;
  int sum = 0;
  for (int i = 0; i < kSide; ++i)
    for (int j = 0; j < kSide; ++j) {
      const int from_x = x - kSide / 2 + j, from_y = y - kSide / 2 + i;
      if (from_x >= 0 && from_x < kWidth && from_y >= 0 && from_y < kHeight)
        sum += shared_mask[i * kSide + j] * n[from_y * kWidth + from_x];
    }
  p[y * kWidth + x] = sum;
}

std::vector<int> convolve_on_host(const std::vector<unsigned char>& n, const int* mask) {
  std::vector<int> p;
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      int sum = 0;
      for (int i = 0; i < kSide; ++i)
        for (int j = 0; j < kSide; ++j) {
          const int from_x = x - kSide / 2 + j, from_y = y - kSide / 2 + i;
          if (from_x >= 0 && from_x < kWidth && from_y >= 0 && from_y < kHeight)
            sum += mask[i * kSide + j] * n[from_y * kWidth + from_x];
        }
      p.push_back(sum);
    }
  return p;
}

/// One instance. Returns its wrong frames, or -1 if CUDA failed.
int run_instance(int number) {
  const std::size_t cells = static_cast<std::size_t>(kWidth) * kHeight;
  std::vector<unsigned char> n(cells);
  for (std::size_t k = 0; k < cells; ++k)
    n[k] = static_cast<unsigned char>(k * 31 + k / 77);
  int mask[kSide * kSide];
  for (int k = 0; k < kSide * kSide; ++k)
    mask[k] = 1 + (k + number) % 17;
  const std::vector<int> wanted = convolve_on_host(n, mask);

  cudaStream_t stream;
  unsigned char* device_n = nullptr;
  int* device_p = nullptr;
  std::vector<int> p(cells * kInFlight);
  if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess ||
      cudaMalloc(&device_n, cells) != cudaSuccess ||
      cudaMalloc(&device_p, p.size() * sizeof(int)) != cudaSuccess ||
      cudaMemcpyAsync(device_n, n.data(), cells, cudaMemcpyHostToDevice, stream) != cudaSuccess)
    return -1;
  int wrong = 0;
  bool ok = true;
  for (int first = 0; first < kFrames && ok; first += kInFlight) {
    for (int f = 0; f < kInFlight; ++f) {
      ok = ok && cudaMemcpyToSymbolAsync(shared_mask, mask, sizeof(mask), 0, cudaMemcpyHostToDevice,
                                         stream) == cudaSuccess;
      convolve_constant<<<dim3(kWidth / 32, kHeight / 8), dim3(32, 8), 0, stream>>>(
          device_n, device_p + f * cells);
      ok = ok && cudaGetLastError() == cudaSuccess;
    }
    ok = ok &&
         cudaMemcpyAsync(p.data(), device_p, p.size() * sizeof(int), cudaMemcpyDeviceToHost,
                         stream) == cudaSuccess &&
         cudaStreamSynchronize(stream) == cudaSuccess;
    for (int f = 0; f < kInFlight; ++f)
      wrong += std::equal(wanted.begin(), wanted.end(), p.begin() + f * cells) ? 0 : 1;
  }
  ok = cudaFree(device_n) == cudaSuccess && cudaFree(device_p) == cudaSuccess &&
       cudaStreamDestroy(stream) == cudaSuccess && ok;
  return ok ? wrong : -1;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    const char* required = std::getenv("CUDACONVOLVE_REQUIRE_GPU");
    const bool must = required != nullptr && std::strcmp(required, "1") == 0;
    std::printf("%s: no CUDA device\n", must ? "FAIL" : "SKIP");
    return must ? 1 : 77;
  }
  std::atomic<int> wrong{0};
  std::atomic<bool> failed{false};
  std::vector<std::thread> threads;
  for (int k = 0; k < kInstances; ++k)
    threads.emplace_back([k, &wrong, &failed] {
      const int result = run_instance(k);
      if (result < 0) failed = true;
      wrong += result > 0 ? result : 0;
    });
  for (std::thread& thread : threads)
    thread.join();
  if (failed) {
    std::printf("FAIL: a CUDA call failed\n");
    return 1;
  }
  const double share = 100.0 * wrong / (kInstances * kFrames);
  std::printf("one __constant__ symbol without slots: %.1f %% of %d frames wrong\n", share,
              kInstances * kFrames);
  std::printf("%d passed, %d failed\n", wrong > 0 ? 1 : 0, wrong > 0 ? 0 : 1);
  return wrong > 0 ? 0 : 1;
}
