// SPDX-License-Identifier: LGPL-2.1-or-later
// The vmethods by which the element agrees with its neighbours: caps, memory and pools.
#include <string>
#include <utility>

#include "plugin/caps.h"
#include "plugin/element.h"
#include "plugin/frames/allocation.h"
#include "plugin/log.h"
#include "plugin/report.h"

namespace cudaconvolve {
namespace {

/// GST_TYPE_BASE_TRANSFORM, whose vmethods come first or last.
GstBaseTransformClass* g_base_class = nullptr;

Parts& parts_of(GstBaseTransform* trans) {
  return *GST_CUDA_CONVOLVE(trans)->parts;
}

/// Before a start everything that a start may bring is possible: neighbours are linked then.
bool may_have_cuda_memory(GstBaseTransform* trans) {
  return knows_cuda_memory() && convolve::has_backend(convolve::BackendKind::kCuda) &&
         parts_of(trans).stream.session().may_have_cuda() &&
         snapshot(GST_CUDA_CONVOLVE(trans)).backend != BackendChoice::kCpu;
}

GstCaps* transform_caps(GstBaseTransform* trans, GstPadDirection /*direction*/, GstCaps* caps,
                        GstCaps* filter) {
  GstCaps* other = caps_of_other_side(caps, may_have_cuda_memory(trans));
  if (filter == nullptr) return other;
  GstCaps* filtered = gst_caps_intersect_full(filter, other, GST_CAPS_INTERSECT_FIRST);
  gst_caps_unref(other);
  return filtered;
}

/// Frames stay in the memory in which they come if the other side takes them so.
GstCaps* fixate_caps(GstBaseTransform* trans, GstPadDirection direction, GstCaps* caps,
                     GstCaps* othercaps) {
  return g_base_class->fixate_caps(trans, direction, caps, prefer_memory_of(caps, othercaps));
}

gboolean set_caps(GstBaseTransform* trans, GstCaps* incaps, GstCaps* outcaps) {
  GstCudaConvolve* self = GST_CUDA_CONVOLVE(trans);
  return guarded(self, FALSE, [&]() -> gboolean {
    Stream& stream = self->parts->stream;
    const bool ok = stream.set_format(incaps, outcaps, snapshot(self));
    gst_base_transform_set_passthrough(trans, ok && stream.session().passthrough());
    publish(self);
    return ok ? TRUE : FALSE;
  });
}

gboolean get_unit_size(GstBaseTransform* /*trans*/, GstCaps* caps, gsize* size) {
  return frame_bytes(caps, size) ? TRUE : FALSE;
}

/// Frames of all supported formats have one fixed size; the base class would otherwise want input
/// buffers of whole multiples of it and refuse padded ones.
gboolean transform_size(GstBaseTransform* /*trans*/, GstPadDirection /*direction*/,
                        GstCaps* /*caps*/, gsize /*size*/, GstCaps* othercaps, gsize* othersize) {
  return frame_bytes(othercaps, othersize) ? TRUE : FALSE;
}

gboolean propose_allocation(GstBaseTransform* trans, GstQuery* decide_query, GstQuery* query) {
  if (!g_base_class->propose_allocation(trans, decide_query, query)) return FALSE;
  // Passthrough: downstream has answered.
  if (decide_query == nullptr) return TRUE;
  Parts& parts = parts_of(trans);
  return guarded(trans, FALSE, [&]() -> gboolean {
    return offer_pool(query, parts.stream.session().allocator(), parts.context) ? TRUE : FALSE;
  });
}

/// The base class ends the stream without a word on the bus.
void report_out_of_memory(GstBaseTransform* trans, const char* missing, GstCaps* caps) {
  guarded(trans, false, [&] {
    gsize bytes = 0;
    const bool known = caps != nullptr && frame_bytes(caps, &bytes);
    post_error(GST_ELEMENT(trans), missing,
               convolve::Status(convolve::Code::kOutOfMemory,
                                "out of memory for a frame of " +
                                    (known ? std::to_string(bytes) : "unknown") + " bytes"));
    return true;
  });
}

gboolean decide_allocation(GstBaseTransform* trans, GstQuery* query) {
  Parts& parts = parts_of(trans);
  const bool chosen = guarded(trans, false, [&] {
    return choose_pool(query, parts.stream.session().allocator(), parts.context);
  });
  GstCaps* caps = nullptr;
  gst_query_parse_allocation(query, &caps, nullptr);
  if (chosen) {
    parts.no_pool = false;
    parts.new_pool = are_in_cuda_memory(caps);
    return g_base_class->decide_allocation(trans, query);
  }
  // The user already knows of a frame that failed, and a missing pool may only be its consequence.
  const bool failed = guarded(trans, true, [&] { return parts.stream.has_failed(); });
  if (failed || std::exchange(parts.no_pool, true)) return FALSE;
  report_out_of_memory(trans, "there is no pool for the output", caps);
  return FALSE;
}

/// True if the pool of the output, if there is one, is active: one of CUDA memory is activated
/// here, which fails for want of memory, and of which the base class would say only that it failed.
bool has_active_pool(GstBaseTransform* trans, bool activate) {
  GstBufferPool* pool = gst_base_transform_get_buffer_pool(trans);
  const bool active = pool == nullptr || gst_buffer_pool_is_active(pool) ||
                      (activate && gst_buffer_pool_set_active(pool, TRUE));
  gst_clear_object(&pool);
  return active;
}

GstFlowReturn take_output_buffer(GstBaseTransform* trans, GstBuffer* input, GstBuffer** output) {
  Parts& parts = parts_of(trans);
  Stream& stream = parts.stream;
  const bool activates = parts.new_pool && !gst_base_transform_is_passthrough(trans);
  if (activates) parts.new_pool = !has_active_pool(trans, /*activate=*/true);
  const GstFlowReturn flow = activates && parts.new_pool
                                 ? GST_FLOW_ERROR
                                 : g_base_class->prepare_output_buffer(trans, input, output);
  // Pools of a device that is lost are flushed.
  const bool fails =
      flow == GST_FLOW_ERROR || (flow == GST_FLOW_FLUSHING && stream.session().has_told_loss());
  if (!fails) return flow;
  const GstFlowReturn before = stream.failure_before();
  stream.session().keep_if_lost(input);
  if (before != GST_FLOW_OK) return before;
  // The base class posts an error when it cannot activate a pool, so a second one would be noise.
  const bool told = !parts.new_pool && !has_active_pool(trans, /*activate=*/false);
  if (told || stream.session().has_told_loss()) return GST_FLOW_ERROR;
  GstCaps* caps = gst_pad_get_current_caps(GST_BASE_TRANSFORM_SRC_PAD(trans));
  report_out_of_memory(trans, "there is no buffer for the output", caps);
  gst_clear_caps(&caps);
  return GST_FLOW_ERROR;
}

GstFlowReturn prepare_output_buffer(GstBaseTransform* trans, GstBuffer* input, GstBuffer** output) {
  return guarded(trans, GST_FLOW_ERROR, [&] { return take_output_buffer(trans, input, output); });
}

}  // namespace

void keep_pool_if_lost(GstBaseTransform* trans) {
  GstBufferPool* pool = gst_base_transform_get_buffer_pool(trans);
  if (pool == nullptr) return;
  GstBufferPoolAcquireParams at_once = {};
  at_once.flags = GST_BUFFER_POOL_ACQUIRE_FLAG_DONTWAIT;
  Session& session = parts_of(trans).stream.session();
  GstBuffer* buffer = nullptr;
  if (session.has_told_loss() &&
      gst_buffer_pool_acquire_buffer(pool, &buffer, &at_once) == GST_FLOW_OK)
    session.keep_if_lost(buffer);
  gst_clear_buffer(&buffer);
  gst_object_unref(pool);
}

void install_negotiation(GstBaseTransformClass* transform_class) {
  g_base_class = GST_BASE_TRANSFORM_CLASS(g_type_class_peek(GST_TYPE_BASE_TRANSFORM));
  transform_class->transform_caps = GST_DEBUG_FUNCPTR(transform_caps);
  transform_class->fixate_caps = GST_DEBUG_FUNCPTR(fixate_caps);
  transform_class->set_caps = GST_DEBUG_FUNCPTR(set_caps);
  transform_class->get_unit_size = GST_DEBUG_FUNCPTR(get_unit_size);
  transform_class->transform_size = GST_DEBUG_FUNCPTR(transform_size);
  transform_class->propose_allocation = GST_DEBUG_FUNCPTR(propose_allocation);
  transform_class->decide_allocation = GST_DEBUG_FUNCPTR(decide_allocation);
  transform_class->prepare_output_buffer = GST_DEBUG_FUNCPTR(prepare_output_buffer);
}

}  // namespace cudaconvolve
