// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/cuda_memory/cuda_streams.h"

#include <dlfcn.h>
#include <gst/cuda/cuda-gst.h>
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>
#if __has_include(<gst/cuda/gstcudastream.h>)
#include <gst/cuda/gstcudastream.h>
#define HAVE_STREAMS
#endif

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

namespace cuda_frames {

Hold::Hold() : go_(std::make_shared<std::atomic<bool>>(false)) {}

#ifdef HAVE_STREAMS
namespace {

constexpr std::chrono::milliseconds kLate{5};
constexpr std::chrono::seconds kLongestHold{4};

/// Of the driver: a function of the host that is called when its turn on the stream comes.
/// GStreamer does not look for it.
using LaunchHostFunction = CUresult (*)(CUstream, void (*)(void*), void*);

LaunchHostFunction launch_host_function() {
  static const auto found = [] {
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
    return reinterpret_cast<LaunchHostFunction>(
        driver != nullptr ? dlsym(driver, "cuLaunchHostFunc") : nullptr);
  }();
  return found;
}

GstCudaMemory* memory_of(GstBuffer* buffer) {
  return GST_CUDA_MEMORY_CAST(gst_buffer_peek_memory(buffer, 0));
}

/// The address of the first byte on the device. The memory stays where it is when it is unmapped.
CUdeviceptr address_of(GstBuffer* buffer, GstMapFlags flags) {
  GstMapInfo map;
  const unsigned on_device = unsigned{flags} | unsigned{GST_MAP_CUDA};
  if (!gst_buffer_map(buffer, &map, static_cast<GstMapFlags>(on_device))) return 0;
  const auto address = reinterpret_cast<CUdeviceptr>(map.data);
  gst_buffer_unmap(buffer, &map);
  return address;
}

/// In the current context.
bool copy_planes(GstBuffer* from, GstBuffer* to, const GstVideoInfo& info, CUstream stream) {
  const GstVideoMeta* const source = gst_buffer_get_video_meta(from);
  const GstVideoMeta* const target = gst_buffer_get_video_meta(to);
  const CUdeviceptr read = address_of(from, GST_MAP_READ), written = address_of(to, GST_MAP_WRITE);
  if (source == nullptr || target == nullptr || read == 0 || written == 0) return false;
  for (guint p = 0; p < GST_VIDEO_INFO_N_PLANES(&info); ++p) {
    gint components[GST_VIDEO_MAX_COMPONENTS];
    gst_video_format_info_component(info.finfo, p, components);
    CUDA_MEMCPY2D copy = {};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = read + source->offset[p];
    copy.srcPitch = static_cast<std::size_t>(source->stride[p]);
    copy.dstDevice = written + target->offset[p];
    copy.dstPitch = static_cast<std::size_t>(target->stride[p]);
    copy.WidthInBytes = static_cast<std::size_t>(GST_VIDEO_INFO_PLANE_STRIDE(&info, p));
    copy.Height = static_cast<std::size_t>(GST_VIDEO_INFO_COMP_HEIGHT(&info, components[0]));
    if (CuMemcpy2DAsync(&copy, stream) != CUDA_SUCCESS) return false;
  }
  return true;
}

CUstream as_stream(gpointer stream) {
  return static_cast<CUstream>(stream);
}

}  // namespace

gpointer stream_of(GstBuffer* buffer) {
  GstCudaStream* const stream = gst_cuda_memory_get_stream(memory_of(buffer));
  return stream != nullptr ? gst_cuda_stream_get_handle(stream) : nullptr;
}

GstBufferPool* new_pool_of_a_stream(const Context& context, const GstVideoInfo& info, guint count) {
  gst_cuda_memory_init_once();
  GstCudaStream* stream = gst_cuda_stream_new(context.get());
  GstBufferPool* pool = gst_cuda_buffer_pool_new(context.get());
  GstStructure* config = gst_buffer_pool_get_config(pool);
  GstCaps* caps = caps_of(info, true);
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(GST_VIDEO_INFO_SIZE(&info)),
                                    count, count);
  gst_buffer_pool_config_set_cuda_stream(config, stream);
  gst_caps_unref(caps);
  gst_clear_cuda_stream(&stream);  // The pool keeps it.
  if (!gst_buffer_pool_set_config(pool, config)) gst_clear_object(&pool);
  return pool;
}

bool copy(GstBuffer* from, GstBuffer* to, const GstVideoInfo& info, GstBuffer* of) {
  const CUstream stream = as_stream(stream_of(of));
  if (stream == nullptr || !gst_cuda_context_push(memory_of(of)->context)) return false;
  const bool asked = copy_planes(from, to, info, stream);
  gst_cuda_context_pop(nullptr);
  return asked;
}

bool copy_late(GstBuffer* from, GstBuffer* to, const GstVideoInfo& info, GstBuffer* of) {
  const CUstream stream = as_stream(stream_of(of));
  const auto be_late = [](void*) { std::this_thread::sleep_for(kLate); };
  if (stream == nullptr || launch_host_function() == nullptr) return false;
  if (!gst_cuda_context_push(memory_of(of)->context)) return false;
  const bool asked = launch_host_function()(stream, be_late, nullptr) == CUDA_SUCCESS;
  gst_cuda_context_pop(nullptr);
  return asked && copy(from, to, info, of);
}

bool Hold::up(GstBuffer* of) {
  using Go = std::shared_ptr<std::atomic<bool>>;
  const CUstream stream = as_stream(stream_of(of));
  if (stream == nullptr || launch_host_function() == nullptr) return false;
  if (!gst_cuda_context_push(memory_of(of)->context)) return false;
  auto* const mine = new Go(go_);
  const auto wait = [](void* data) {
    const std::unique_ptr<Go> go(static_cast<Go*>(data));
    const auto end = std::chrono::steady_clock::now() + kLongestHold;
    while (!**go && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  const bool asked = launch_host_function()(stream, wait, mine) == CUDA_SUCCESS;
  if (!asked) delete mine;
  gst_cuda_context_pop(nullptr);
  return asked;
}

bool await_stream_of(GstBuffer* buffer) {
  if (!gst_cuda_context_push(memory_of(buffer)->context)) return false;
  const bool over = CuStreamSynchronize(as_stream(stream_of(buffer))) == CUDA_SUCCESS;
  gst_cuda_context_pop(nullptr);
  return over;
}

#else

GstBufferPool* new_pool_of_a_stream(const Context&, const GstVideoInfo&, guint) {
  return nullptr;
}

gpointer stream_of(GstBuffer*) {
  return nullptr;
}

bool copy(GstBuffer*, GstBuffer*, const GstVideoInfo&, GstBuffer*) {
  return false;
}

bool copy_late(GstBuffer*, GstBuffer*, const GstVideoInfo&, GstBuffer*) {
  return false;
}

bool Hold::up(GstBuffer*) {
  return false;
}

bool await_stream_of(GstBuffer*) {
  return false;
}

#endif

}  // namespace cuda_frames
