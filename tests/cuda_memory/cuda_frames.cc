// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/cuda_memory/cuda_frames.h"

#include <gst/cuda/cuda-gst.h>
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudamemory.h>
#include <gst/cuda/gstcudautils.h>
#if __has_include(<gst/cuda/gstcudastream.h>)
#include <gst/cuda/gstcudastream.h>
#define HAVE_STREAMS
#endif

#include <algorithm>

#include "tests/support/element.h"

namespace cuda_frames {
namespace {

constexpr char kFeature[] = "memory:CUDAMemory";

Context owned(GstCudaContext* context) {
  return Context(context, [](GstCudaContext* last) {
    if (last != nullptr) gst_object_unref(last);
  });
}

GstBuffer* stamped(GstBuffer* buffer, int number) {
  GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(number) * (GST_SECOND / 25);
  GST_BUFFER_DURATION(buffer) = GST_SECOND / 25;
  return buffer;
}

int rows_of(const GstVideoInfo& info, guint plane) {
  gint components[GST_VIDEO_MAX_COMPONENTS];
  gst_video_format_info_component(info.finfo, plane, components);
  return GST_VIDEO_INFO_COMP_HEIGHT(&info, components[0]);
}

/// Whole rows of the host, as far apart as they are long.
struct HostPlane {
  const guint8* data;
  std::size_t pitch;
  int rows;
};

HostPlane host_plane(const oracle::Bytes& frame, const GstVideoInfo& info, guint p) {
  return {frame.data() + GST_VIDEO_INFO_PLANE_OFFSET(&info, p),
          static_cast<std::size_t>(GST_VIDEO_INFO_PLANE_STRIDE(&info, p)), rows_of(info, p)};
}

/// To the device, or back; without a stream it is done on return. The driver's copy of pageable
/// memory alone is not: it returns once small pictures lie in its staging memory, and the default
/// stream, in which they go on from there, is one that the element's streams do not wait for.
bool copy_plane(GstCudaContext* context, CUdeviceptr device, std::size_t pitch,
                const HostPlane& host, bool up, CUstream stream = nullptr) {
  CUDA_MEMCPY2D copy = {};
  copy.srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  copy.srcHost = host.data;
  copy.dstHost = const_cast<guint8*>(host.data);
  copy.srcDevice = copy.dstDevice = device;
  copy.srcPitch = up ? host.pitch : pitch;
  copy.dstPitch = up ? pitch : host.pitch;
  copy.WidthInBytes = std::min(host.pitch, pitch);
  copy.Height = static_cast<std::size_t>(host.rows);
  if (!gst_cuda_context_push(context)) return false;
  const bool copied = stream != nullptr ? CuMemcpy2DAsync(&copy, stream) == CUDA_SUCCESS
                                        : CuMemcpy2D(&copy) == CUDA_SUCCESS &&
                                              CuStreamSynchronize(nullptr) == CUDA_SUCCESS;
  gst_cuda_context_pop(nullptr);
  return copied;
}

/// A pool of frames of `info`; null if there is no memory.
GstBufferPool* configured_pool(const Context& context, const GstVideoInfo& info, guint least,
                               guint most, gpointer stream) {
  gst_cuda_memory_init_once();
  GstBufferPool* pool = gst_cuda_buffer_pool_new(context.get());
  GstStructure* config = gst_buffer_pool_get_config(pool);
#ifdef HAVE_STREAMS
  if (stream != nullptr)
    gst_buffer_pool_config_set_cuda_stream(config, static_cast<GstCudaStream*>(stream));
#else
  (void)stream;
#endif
  GstCaps* caps = caps_of(info, true);
  gst_buffer_pool_config_set_params(config, caps, static_cast<guint>(GST_VIDEO_INFO_SIZE(&info)),
                                    least, most);
  gst_caps_unref(caps);
  if (!gst_buffer_pool_set_config(pool, config)) gst_clear_object(&pool);
  return pool;
}

/// Makes a pool of frames of `info` and activates it; null if there is no memory.
GstBufferPool* new_pool(const Context& context, const GstVideoInfo& info, gpointer stream) {
  GstBufferPool* pool = configured_pool(context, info, 0, 0, stream);
  if (pool != nullptr && !gst_buffer_pool_set_active(pool, TRUE)) gst_clear_object(&pool);
  return pool;
}

GstBuffer* take_from(GstBufferPool* pool) {
  GstBuffer* buffer = nullptr;
  if (pool != nullptr) gst_buffer_pool_acquire_buffer(pool, &buffer, nullptr);
  return buffer;
}

/// The only buffer of a new pool.
GstBuffer* from_pool(const Context& context, const GstVideoInfo& info, gpointer stream = nullptr) {
  GstBufferPool* pool = new_pool(context, info, stream);
  GstBuffer* buffer = take_from(pool);
  if (pool != nullptr) gst_buffer_pool_set_active(pool, FALSE);
  gst_clear_object(&pool);
  return buffer;
}

/// Copies the planes of `frame` to or from where `offsets` and `pitches` say, in bytes from the
/// buffer's first one.
bool copy_planes(GstBuffer* buffer, const GstVideoInfo& info, const oracle::Bytes& frame,
                 const gsize* offsets, const gint* pitches, bool up, CUstream stream = nullptr) {
  GstCudaContext* const context = GST_CUDA_MEMORY_CAST(gst_buffer_peek_memory(buffer, 0))->context;
  GstMapInfo map;
  unsigned flags = up ? GST_MAP_WRITE : GST_MAP_READ;
  flags |= unsigned{GST_MAP_CUDA};
  if (!gst_buffer_map(buffer, &map, static_cast<GstMapFlags>(flags))) return false;
  bool copied = true;
  for (guint p = 0; copied && p < GST_VIDEO_INFO_N_PLANES(&info); ++p)
    copied =
        copy_plane(context, reinterpret_cast<CUdeviceptr>(map.data) + offsets[p],
                   static_cast<std::size_t>(pitches[p]), host_plane(frame, info, p), up, stream);
  gst_buffer_unmap(buffer, &map);
  return copied;
}

/// Takes `buffer`, which may be null: with `frame` in it, or null.
GstBuffer* filled(GstBuffer* buffer, const GstVideoInfo& info, const oracle::Bytes& frame,
                  int number, CUstream stream = nullptr) {
  if (buffer == nullptr) return nullptr;
  const GstVideoMeta* meta = gst_buffer_get_video_meta(buffer);
  if (!copy_planes(buffer, info, frame, meta->offset, meta->stride, /*up=*/true, stream))
    gst_clear_buffer(&buffer);
  return buffer != nullptr ? stamped(buffer, number) : nullptr;
}

}  // namespace

const std::vector<GstVideoFormat>& formats() {
  static const std::vector<GstVideoFormat> formats = [] {
    std::vector<GstVideoFormat> found;
    GstElement* element = check::make_element();
    GstPad* pad = gst_element_get_static_pad(element, "sink");
    GstCaps* caps = gst_pad_get_pad_template_caps(pad);
    for (guint n = 0; n < gst_caps_get_size(caps); ++n) {
      if (!gst_caps_features_contains(gst_caps_get_features(caps, n), kFeature)) continue;
      const GValue* list = gst_structure_get_value(gst_caps_get_structure(caps, n), "format");
      for (guint i = 0; i < gst_value_list_get_size(list); ++i)
        found.push_back(
            gst_video_format_from_string(g_value_get_string(gst_value_list_get_value(list, i))));
    }
    gst_caps_unref(caps);
    gst_object_unref(pad);
    gst_object_unref(element);
    return found;
  }();
  return formats;
}

Context new_context(int device) {
  if (!gst_cuda_load_library()) return nullptr;
  return owned(gst_cuda_context_new(static_cast<guint>(device)));
}

GstContext* as_gst_context(const Context& context) {
  return gst_context_new_cuda_context(context.get());
}

Context shared_by(GstElement* element) {
  GstPad* pad = gst_element_get_static_pad(element, "src");
  GstQuery* query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
  GstContext* found = nullptr;
  GstCudaContext* cuda = nullptr;
  if (gst_pad_query(pad, query)) gst_query_parse_context(query, &found);
  if (found != nullptr)
    gst_structure_get(gst_context_get_structure(found), GST_CUDA_CONTEXT_TYPE,
                      GST_TYPE_CUDA_CONTEXT, &cuda, nullptr);
  gst_query_unref(query);
  gst_object_unref(pad);
  return owned(cuda);
}

GstCaps* caps_of(const GstVideoInfo& info, bool cuda) {
  GstVideoInfo copy = info;
  GstCaps* caps = gst_video_info_to_caps(&copy);
  if (cuda) gst_caps_set_features(caps, 0, gst_caps_features_new(kFeature, nullptr));
  return caps;
}

GstBuffer* upload(const Context& context, const GstVideoInfo& info, const oracle::Bytes& frame,
                  int number) {
  return filled(from_pool(context, info), info, frame, number);
}

GstBufferPool* bounded_pool(const Context& context, const GstVideoInfo& info, guint least,
                            guint most) {
  return configured_pool(context, info, least, most, nullptr);
}

Pool::~Pool() {
  if (pool_ != nullptr) gst_buffer_pool_set_active(pool_, FALSE);
  gst_clear_object(&pool_);
}

GstBuffer* Pool::upload(const oracle::Bytes& frame, int number) {
  return filled(take_from(pool_), info_, frame, number, static_cast<CUstream>(stream_));
}

#ifdef HAVE_STREAMS
bool has_streams() {
  return true;
}

GstBuffer* upload_on_a_stream(const Context& context, const GstVideoInfo& info,
                              const oracle::Bytes& frame, int number) {
  GstCudaStream* stream = gst_cuda_stream_new(context.get());
  if (stream == nullptr) return nullptr;
  GstBuffer* buffer = from_pool(context, info, stream);
  const auto handle = static_cast<CUstream>(gst_cuda_stream_get_handle(stream));
  gst_cuda_stream_unref(stream);  // The memory keeps it.
  return filled(buffer, info, frame, number, handle);
}

Pool::Pool(const Context& context, const GstVideoInfo& info) : info_(info) {
  GstCudaStream* stream = gst_cuda_stream_new(context.get());
  pool_ = new_pool(context, info, stream);
  stream_ = gst_cuda_stream_get_handle(stream);
  gst_cuda_stream_unref(stream);  // The pool keeps it.
}
#else
Pool::Pool(const Context& context, const GstVideoInfo& info)
    : info_(info), pool_(new_pool(context, info, nullptr)) {}

bool has_streams() {
  return false;
}

GstBuffer* upload_on_a_stream(const Context&, const GstVideoInfo&, const oracle::Bytes&, int) {
  return nullptr;
}
#endif

GstBuffer* upload_anywhere(const Context& context, const GstVideoInfo& info,
                           const oracle::Bytes& frame, int number, std::mt19937& random) {
  // Samples of two bytes lie on even addresses.
  const gsize sample = GST_VIDEO_INFO_COMP_DEPTH(&info, 0) > 8 ? 2 : 1;
  const auto up_to = [&](unsigned most) { return sample * (random() % (most + 1)); };
  gsize offsets[GST_VIDEO_MAX_PLANES] = {};
  gint pitches[GST_VIDEO_MAX_PLANES] = {};
  gsize end = 0;
  const guint planes = GST_VIDEO_INFO_N_PLANES(&info);
  for (guint p = 0; p < planes; ++p) {
    offsets[p] = end + up_to(40);
    pitches[p] = GST_VIDEO_INFO_PLANE_STRIDE(&info, p) + static_cast<gint>(up_to(40));
    end = offsets[p] + static_cast<gsize>(pitches[p]) * static_cast<gsize>(rows_of(info, p));
  }
  // One run of bytes that is large enough: a picture of another format, of one plane.
  GstVideoInfo bytes;
  gst_video_info_set_format(&bytes, GST_VIDEO_FORMAT_RGBA, 128, static_cast<guint>(end / 512 + 1));
  GstBuffer* pooled = from_pool(context, bytes);
  if (pooled == nullptr) return nullptr;
  GstBuffer* buffer = gst_buffer_new();
  gst_buffer_append_memory(buffer, gst_buffer_get_memory(pooled, 0));
  gst_buffer_unref(pooled);
  if (!copy_planes(buffer, info, frame, offsets, pitches, /*up=*/true)) {
    gst_buffer_unref(buffer);
    return nullptr;
  }
  gst_buffer_add_video_meta_full(buffer, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_INFO_FORMAT(&info),
                                 static_cast<guint>(GST_VIDEO_INFO_WIDTH(&info)),
                                 static_cast<guint>(GST_VIDEO_INFO_HEIGHT(&info)), planes, offsets,
                                 pitches);
  return stamped(buffer, number);
}

oracle::Bytes picture_of(GstBuffer* buffer, const GstVideoInfo& info) {
  if (!is_in_cuda_memory(buffer)) return check::picture_of(buffer, info);
  oracle::Bytes picture(GST_VIDEO_INFO_SIZE(&info));
  const GstVideoMeta* meta = gst_buffer_get_video_meta(buffer);
  if (!copy_planes(buffer, info, picture, meta->offset, meta->stride, /*up=*/false))
    picture.clear();
  return picture;
}

bool is_in_cuda_memory(GstBuffer* buffer) {
  for (guint n = 0; n < gst_buffer_n_memory(buffer); ++n)
    if (!gst_is_cuda_memory(gst_buffer_peek_memory(buffer, n))) return false;
  return gst_buffer_n_memory(buffer) > 0;
}

gpointer handle_of(GstBuffer* buffer) {
  return gst_cuda_context_get_handle(
      GST_CUDA_MEMORY_CAST(gst_buffer_peek_memory(buffer, 0))->context);
}

}  // namespace cuda_frames
