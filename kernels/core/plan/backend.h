// SPDX-License-Identifier: LGPL-2.1-or-later
// What a backend provides. One virtual call a frame; nothing finer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "kernels/core/plan/plan.h"

namespace convolve {

struct PreparedPlan;

enum class LogLevel : int { kDebug, kInfo, kWarning };
using LogCallback = std::function<void(LogLevel, const std::string&)>;

/// What may differ from frame to frame without a new plan.
struct RunArguments {
  double scale = 1;
  double bias = 0;
  Border border = Border::kReplicate;
};

/// A plan bound to a device: masks uploaded, memory taken, kernels loaded. Keeps its device alive.
class Job {
 public:
  virtual ~Job() = default;

  /// Where the mask ended up.
  virtual MaskStorage storage() const = 0;

  /// Filters `src` into `dst`: frames of the format it was prepared for, or with fewer rows or
  /// columns (a field). The two do not overlap. May only enqueue: the planes of both must stay
  /// valid until Device::finish() returns. Takes no device memory after the first frame.
  /// kInvalidArgument: planes in device memory do not lie as Options::alignment says, or a form for
  /// packed 4:2:2 meets shorter rows that end within a column.
  virtual Status run(const FrameView& src, const FrameView& dst, const RunArguments& arguments) = 0;
};

/// Where the time of a frame went, in nanoseconds; 0 where that is not known. Stages of several
/// frames overlap, and so do those of one. Upload, kernels and download are sums over the fields
/// and pieces of a frame, of the time from the first moment of each to its last; of uploads what
/// other elements copy in between counts, too.
struct FrameTimes {
  std::uint64_t host_copy = 0;  ///< Pageable memory was copied on the host, by several threads.
  std::uint64_t upload = 0;     ///< Copies to the device,
  std::uint64_t kernels = 0;    ///< kernels,
  std::uint64_t download = 0;   ///< and copies back.
  std::uint64_t waiting = 0;    ///< A thread of the host waited for the device.
};

/// A frame that a device works at. Whatever it was run with (job, planes) must outlive it.
class FrameInFlight {
 public:
  virtual ~FrameInFlight() = default;

  /// Waits until the frame is finished; to be called once, or else the destructor does. Only after
  /// success are the destination planes valid. From any thread, while others use the device.
  virtual Status finish() = 0;

  /// True if finish() does not wait for the frame: it lies in device memory, before and after,
  /// whose owners' streams wait for it. What is enqueued there from now on finds the frame
  /// filtered, and its source no longer read. What goes wrong with it on the device is told of a
  /// frame that follows, or by Device::finish().
  virtual bool is_handed_over() const { return false; }

  /// After finish(). Some devices know the time of kernels of some frames only, and that of copies
  /// across the bus of none, before Device::measure_stages() is called.
  virtual FrameTimes times() const = 0;
};

/// An opened device: one per element, used by one thread at a time. CUDA: a stream of its own and
/// the pitched device buffers of a frame, shared by successive jobs. CPU: a share of the pool.
class Device {
 public:
  virtual ~Device() = default;

  virtual const DeviceCapabilities& capabilities() const = 0;

  /// Makes a plan, of prepare_plan(), runnable for frames of `format`. May allocate and wait. The
  /// job keeps the plan's weights alive.
  virtual Result<std::unique_ptr<Job>> prepare(const FrameFormat& format,
                                               const PreparedPlan& planned) = 0;

  /// How many frames may be in flight at once: 1 until this is called. None may be now. Errors:
  /// kUnsupported if the device works at one at a time, kOutOfMemory; then it is as before.
  virtual Status set_frames_in_flight(int count) {
    return count == 1 ? Status() : unsupported("one frame at a time is in flight here");
  }

  /// What run() has enqueued since the last call is one frame, which leaves with the caller. No job
  /// may be prepared before all such frames are finished. Devices that work at one frame at a time
  /// finish it now.
  virtual Result<std::unique_ptr<FrameInFlight>> send();

  /// Waits for everything enqueued that has not left by send(). Only after success are the
  /// destination planes valid.
  virtual Status finish() = 0;

  /// From the next frame on, all stages of every frame are timed, which costs a frame that crosses
  /// the bus alone a tenth of its time.
  virtual void measure_stages() {}

  /// True if nothing that was enqueued can still read or write a frame. After an error of run() or
  /// finish() it may be false: page-locked memory that was given to them must then neither be freed
  /// nor used again before a later finish() succeeds.
  virtual bool at_rest() const { return true; }

  /// Waits up to a tenth of a second for that, whether or not the stop signal is raised.
  virtual bool come_to_rest() { return at_rest(); }

  /// Nanoseconds the kernels of the last finished frame that was timed took, without transfers; 0
  /// if unknown.
  virtual std::uint64_t last_kernel_ns() const = 0;

  /// Host memory that frames cross the bus from and to without another copy on the host. It starts
  /// on a page, and goes back with its last owner, at any time and from any thread. May be called
  /// from any thread while the device lives. Errors: kUnsupported on the CPU, which has no bus to
  /// cross; kOutOfMemory, kDeviceError, kDeviceLost.
  virtual Result<std::shared_ptr<std::uint8_t>> page_locked_memory(std::size_t bytes) {
    (void)bytes;
    return unsupported("only CUDA has page-locked memory");
  }

  /// The CUcontext that the device works in, and its ordinal; null on the CPU. It lives as long as
  /// the device.
  struct NativeContext {
    void* handle = nullptr;
    int ordinal = 0;
  };
  virtual NativeContext native_context() const { return {}; }

  /// The cudaStream_t that jobs enqueue on, for benchmarks that capture it; null on the CPU. Copies
  /// may go there, too, but no kernels that write what a job reads: that may begin before they end.
  virtual void* native_stream() const { return nullptr; }
};

}  // namespace convolve
