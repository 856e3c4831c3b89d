// SPDX-License-Identifier: LGPL-2.1-or-later
// What the benchmark asks of a GPU: memory, graphs of captured launches, their times, and the rates
// that times are held against. gpu.cu in builds with CUDA, gpu_stub.cc in others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace convolve::benchmarks {

/// A plane in device memory.
struct DevicePlane {
  std::uint8_t* data = nullptr;
  std::ptrdiff_t pitch = 0;
};

/// Launches captured once and replayed together.
class Graph {
 public:
  virtual ~Graph() = default;

  /// Replays the graph; microseconds from the first launch to the end of the last, or a negative
  /// number if CUDA failed.
  virtual double run_us() = 0;
};

class Gpu {
 public:
  virtual ~Gpu() = default;

  virtual std::string description() const = 0;  ///< Name, driver, clock.
  virtual std::size_t l2_bytes() const = 0;

  /// A pitched plane, freed with the Gpu; null data if memory is out.
  virtual DevicePlane allocate(int row_bytes, int rows) = 0;
  /// Frees all planes.
  virtual void free_all() = 0;

  /// Synchronous copies of packed rows. False if CUDA failed.
  virtual bool upload(const std::uint8_t* rows, const DevicePlane& to, int row_bytes,
                      int row_count) = 0;
  virtual bool download(const DevicePlane& from, std::uint8_t* rows, int row_bytes,
                        int row_count) = 0;

  /// Captures what `enqueue` puts on `stream` (a cudaStream_t). Null if anything failed.
  virtual std::unique_ptr<Graph> capture(void* stream, const std::function<bool()>& enqueue) = 0;

  /// Enqueues a one-dimensional device-to-device copy on `stream`.
  virtual bool enqueue_copy(void* stream, const std::uint8_t* from, std::uint8_t* to,
                            std::size_t bytes) = 0;

  /// Fused multiply-adds a second that the FP32 units give, measured now; 0 if CUDA failed.
  virtual double measure_fma_rate() = 0;
};

/// Device 0, or null and why.
std::unique_ptr<Gpu> open_gpu(std::string* why);

}  // namespace convolve::benchmarks
