// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/frames/cudamemory.h"

#include <dlfcn.h>
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudacontext.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>

#include <mutex>
#include <utility>

#include "plugin/log.h"

namespace cudaconvolve {
namespace {

/// What GStreamer 1.24 has beyond 1.22: memory may be in the making on a stream of its own. A
/// module that was built for 1.22 finds these calls when it runs.
struct StreamCalls {
  gpointer (*memory_stream)(GstCudaMemory*) = nullptr;  ///< A GstCudaStream, or null.
  gpointer (*stream_handle)(gpointer) = nullptr;        ///< Its CUstream.
  void (*memory_sync)(GstCudaMemory*) = nullptr;
  gpointer (*new_stream)(GstCudaContext*) = nullptr;  ///< A mini object.
  gpointer (*stream_of_pool)(GstStructure*) = nullptr;
  void (*set_stream_of_pool)(GstStructure*, gpointer) = nullptr;

  bool complete() const {
    return memory_stream != nullptr && stream_handle != nullptr && memory_sync != nullptr &&
           new_stream != nullptr && stream_of_pool != nullptr && set_stream_of_pool != nullptr;
  }
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

const StreamCalls& stream_calls() {
  static const StreamCalls found = [] {
    StreamCalls calls;
    // It is loaded, as this module is linked with it; nobody else need have made its names global.
    void* const library = dlopen("libgstcuda-1.0.so.0", RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) return calls;
    find(library, "gst_cuda_memory_get_stream", calls.memory_stream);
    find(library, "gst_cuda_stream_get_handle", calls.stream_handle);
    find(library, "gst_cuda_memory_sync", calls.memory_sync);
    find(library, "gst_cuda_stream_new", calls.new_stream);
    find(library, "gst_buffer_pool_config_get_cuda_stream", calls.stream_of_pool);
    find(library, "gst_buffer_pool_config_set_cuda_stream", calls.set_stream_of_pool);
    dlclose(library);
    return calls;
  }();
  return found;
}

bool has_streams() {
  guint major = 0, minor = 0, micro = 0, nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  return major > 1 || minor >= 23;
}

GstCudaMemory* cuda_memory(GstBuffer* buffer, guint n) {
  return GST_CUDA_MEMORY_CAST(gst_buffer_peek_memory(buffer, n));
}

int device_of(GstCudaContext* context) {
  guint device = 0;
  g_object_get(context, "cuda-device-id", &device, nullptr);
  return static_cast<int>(device);
}

/// Two objects may stand for one context of CUDA.
bool are_same(GstCudaContext* theirs, GstCudaContext* ours) {
  return theirs == ours || (ours != nullptr && gst_cuda_context_get_handle(theirs) ==
                                                   gst_cuda_context_get_handle(ours));
}

}  // namespace

bool knows_cuda_memory() {
  return !has_streams() || stream_calls().complete();
}

bool cuda_memory_has_streams() {
  return stream_calls().complete();
}

bool is_in_cuda_memory(GstBuffer* buffer) {
  const guint count = gst_buffer_n_memory(buffer);
  for (guint n = 0; n < count; ++n)
    if (!gst_is_cuda_memory(gst_buffer_peek_memory(buffer, n))) return false;
  return count > 0;
}

GstMapFlags on_the_device(GstMapFlags flags) {
  unsigned bits = flags;
  bits |= unsigned{GST_MAP_CUDA};
  return static_cast<GstMapFlags>(bits);
}

const GstVideoInfo& cuda_memory_layout(GstBuffer* buffer) {
  return cuda_memory(buffer, 0)->info;
}

void* cuda_memory_stream(GstBuffer* buffer) {
  const StreamCalls& calls = stream_calls();
  if (!calls.complete()) return nullptr;
  const guint count = gst_buffer_n_memory(buffer);
  if (count == 1) {
    const gpointer stream = calls.memory_stream(cuda_memory(buffer, 0));
    return stream != nullptr ? calls.stream_handle(stream) : nullptr;
  }
  for (guint n = 0; n < count; ++n)
    calls.memory_sync(cuda_memory(buffer, n));
  return nullptr;
}

bool is_written_by_cpu(GstBuffer* buffer, guint n) {
  return GST_MEMORY_FLAG_IS_SET(gst_buffer_peek_memory(buffer, n),
                                GST_CUDA_MEMORY_TRANSFER_NEED_UPLOAD);
}

void mark_read_on_stream(GstBuffer* buffer) {
  // GST_CUDA_MEMORY_TRANSFER_NEED_SYNC of 1.24. Others may set flags of the memory meanwhile.
  constexpr guint kNeedSync = guint{GST_MEMORY_FLAG_LAST} << 2;
  const guint count = gst_buffer_n_memory(buffer);
  for (guint n = 0; n < count; ++n)
    g_atomic_int_or(&GST_MINI_OBJECT_CAST(gst_buffer_peek_memory(buffer, n))->flags, kNeedSync);
}

void keep_context_of(GstMemory* memory) {
  if (gst_is_cuda_memory(memory))
    GST_OBJECT_FLAG_SET(GST_CUDA_MEMORY_CAST(memory)->context, GST_OBJECT_FLAG_MAY_BE_LEAKED);
}

/// The mutex guards the pointers and nothing else. Whoever is asked for a context may ask this
/// element in turn, or set one on it: no lock is held meanwhile.
struct SharedCudaContext::State {
  std::mutex mutex;
  GstCudaContext* context = nullptr;
  gpointer stream = nullptr;  ///< A GstCudaStream in that context, of the pools on both sides.

  /// A reference of the caller's own, or null.
  GstCudaContext* ref() {
    const std::lock_guard lock(mutex);
    if (context != nullptr) gst_object_ref(context);
    return context;
  }

  /// A reference of the caller's own to the stream, which is made if there is none; or null.
  gpointer ref_stream(const StreamCalls& calls) {
    const std::lock_guard lock(mutex);
    if (stream == nullptr && context != nullptr) stream = calls.new_stream(context);
    return stream != nullptr ? gst_mini_object_ref(GST_MINI_OBJECT_CAST(stream)) : nullptr;
  }

  /// Takes the place of the present stream, and the caller's reference.
  void keep_stream(gpointer other) {
    {
      const std::lock_guard lock(mutex);
      std::swap(stream, other);
    }
    if (other != nullptr) gst_mini_object_unref(GST_MINI_OBJECT_CAST(other));
  }

  /// Takes the place of the present context, with the caller's reference; may be null.
  void replace(GstCudaContext* other) {
    {
      const std::lock_guard lock(mutex);
      std::swap(context, other);
    }
    keep_stream(nullptr);
    gst_clear_object(&other);
  }

  /// Takes `found` over, which may be null, unless there is a context already: that one stays.
  void keep(GstCudaContext* found) {
    {
      const std::lock_guard lock(mutex);
      if (context == nullptr) std::swap(context, found);
    }
    gst_clear_object(&found);
  }

  bool is(const GstCudaContext* other) {
    const std::lock_guard lock(mutex);
    return context == other;
  }

  bool has_context() {
    const std::lock_guard lock(mutex);
    return context != nullptr;
  }
};

namespace {

/// The context in `context`, if it is for the device; the caller's own reference.
GstCudaContext* context_in(GstElement* element, GstContext* context, int device_id) {
  GstCudaContext* found = nullptr;
  gst_cuda_handle_set_context(element, context, device_id, &found);
  return found;
}

/// The context that an element on either side has, or null.
GstCudaContext* ask_neighbours(GstElement* element, int device_id) {
  GstCudaContext* cuda = nullptr;
  for (const char* name : {"src", "sink"}) {
    GstPad* pad = gst_element_get_static_pad(element, name);
    if (pad == nullptr) continue;
    GstQuery* query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
    GstContext* found = nullptr;
    if (gst_pad_peer_query(pad, query)) gst_query_parse_context(query, &found);
    if (found != nullptr) cuda = context_in(element, found, device_id);
    gst_query_unref(query);
    gst_object_unref(pad);
    if (cuda != nullptr) break;
  }
  return cuda;
}

}  // namespace

/// Elements that come later need not make one of their own.
void SharedCudaContext::tell_pipeline(GstElement* element) {
  GstCudaContext* const cuda = state_->ref();
  if (cuda == nullptr) return;
  GST_DEBUG_OBJECT(element, "shares %" GST_PTR_FORMAT " from now on", cuda);
  gst_element_post_message(
      element,
      gst_message_new_have_context(GST_OBJECT_CAST(element), gst_context_new_cuda_context(cuda)));
  gst_object_unref(cuda);
}

SharedCudaContext::SharedCudaContext() : state_(std::make_unique<State>()) {}

SharedCudaContext::~SharedCudaContext() {
  release();
}

void SharedCudaContext::offer(GstElement* element, GstContext* context, int device_id) {
  state_->keep(context_in(element, context, device_id));
}

bool SharedCudaContext::answer(GstElement* element, GstQuery* query) {
  GstCudaContext* context = state_->ref();
  if (context == nullptr) return false;
  const bool answered = gst_cuda_handle_context_query(element, query, context) != FALSE;
  gst_object_unref(context);
  return answered;
}

bool SharedCudaContext::provide(GstElement* element,
                                const convolve::Device::NativeContext& native) {
  if (!state_->has_context() && native.handle != nullptr) {
    state_->keep(gst_cuda_context_new_wrapped(static_cast<CUcontext>(native.handle),
                                              static_cast<CUdevice>(native.ordinal)));
    tell_pipeline(element);
  }
  return state_->has_context();
}

bool SharedCudaContext::is_foreign(GstBuffer* buffer) const {
  const std::lock_guard lock(state_->mutex);
  return !are_same(cuda_memory(buffer, 0)->context, state_->context);
}

bool SharedCudaContext::adopt(GstElement* element, GstBuffer* buffer, int device_id) {
  GstCudaContext* context = cuda_memory(buffer, 0)->context;
  if (device_id != -1 && device_of(context) != device_id) return false;
  state_->replace(GST_CUDA_CONTEXT(gst_object_ref(context)));
  tell_pipeline(element);
  return true;
}

void* SharedCudaContext::handle() const {
  const std::lock_guard lock(state_->mutex);
  return state_->context != nullptr ? gst_cuda_context_get_handle(state_->context) : nullptr;
}

GstBufferPool* SharedCudaContext::new_pool() const {
  GstCudaContext* context = state_->ref();
  if (context == nullptr) return nullptr;
  gst_cuda_memory_init_once();  // A pool finds no allocator before.
  GstBufferPool* const pool = gst_cuda_buffer_pool_new(context);
  gst_object_unref(context);
  return pool;
}

void SharedCudaContext::give_stream(GstBufferPool* pool, GstStructure* config) const {
  const StreamCalls& calls = stream_calls();
  if (!calls.complete()) return;
  GstCudaContext* const context = GST_CUDA_BUFFER_POOL(pool)->context;
  // GStreamer refuses a stream of another object, even if that stands for the same context of CUDA.
  const bool ours = state_->is(context);
  if (gpointer const theirs = calls.stream_of_pool(config)) {
    if (ours)
      state_->keep_stream(theirs);
    else
      gst_mini_object_unref(GST_MINI_OBJECT_CAST(theirs));
    return;
  }
  gpointer const stream = ours ? state_->ref_stream(calls) : calls.new_stream(context);
  if (stream == nullptr) return;
  calls.set_stream_of_pool(config, stream);
  gst_mini_object_unref(GST_MINI_OBJECT_CAST(stream));
}

bool SharedCudaContext::made(GstBufferPool* pool) const {
  const std::lock_guard lock(state_->mutex);
  return GST_IS_CUDA_BUFFER_POOL(pool) &&
         are_same(GST_CUDA_BUFFER_POOL(pool)->context, state_->context);
}

bool SharedCudaContext::acquire(GstElement* element, int device_id) {
  if (!gst_cuda_load_library()) {
    GST_DEBUG_OBJECT(element, "no CUDA driver library: no context to share");
    return false;
  }
  if (!state_->has_context()) state_->keep(ask_neighbours(element, device_id));
  if (!state_->has_context()) {
    // Bins and the application answer by calling set_context before this returns.
    gst_element_post_message(
        element, gst_message_new_need_context(GST_OBJECT_CAST(element), GST_CUDA_CONTEXT_TYPE));
  }
  GstCudaContext* context = state_->ref();
  if (context == nullptr) {
    GST_DEBUG_OBJECT(element, "nobody has a CUDA context to share");
    return false;
  }
  GST_DEBUG_OBJECT(element, "shares %" GST_PTR_FORMAT, context);
  gst_object_unref(context);
  return true;
}

void SharedCudaContext::release() {
  state_->replace(nullptr);
}

SharedCudaContext::Scope::Scope(SharedCudaContext& shared) {
  GstCudaContext* context = shared.state_->ref();
  if (context == nullptr) return;
  if (gst_cuda_context_push(context))
    pushed_ = GST_OBJECT(context);
  else
    gst_object_unref(context);
}

SharedCudaContext::Scope::~Scope() {
  if (pushed_ == nullptr) return;
  gst_cuda_context_pop(nullptr);
  gst_object_unref(pushed_);
}

}  // namespace cudaconvolve
