// SPDX-License-Identifier: LGPL-2.1-or-later
/**
 * SECTION:element-cudaconvolve
 * @title: cudaconvolve
 * @short_description: convolves video with a mask, on CUDA or on the CPU
 *
 * Every output pixel is the sum of the input pixels under a mask of weights. The filter runs on a
 * CUDA device if one works and on the CPU otherwise, with the same pictures. Masks, borders and the
 * rest may change while playing; a change takes effect on a frame boundary.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 videotestsrc ! cudaconvolve mask=gaussian:4 ! videoconvert ! autovideosink
 * ]| Blurs.
 * |[
 * gst-launch-1.0 v4l2src ! videoconvert ! cudaconvolve mask="0 -1 0 -1 5 -1 0 -1 0" ! videoconvert
 * ! autovideosink
 * ]| Sharpens a camera's picture.
 * |[
 * gst-launch-1.0 filesrc location=photo.jpg ! jpegdec ! cudaconvolve mask=sobel-x bias=0.5
 * channels=luma ! jpegenc ! filesink location=edges.jpg
 * ]| Shows vertical edges on grey.
 *
 * Since: 0.1
 */
#include "plugin/gstcudaconvolve.h"

#include <gst/video/video.h>

#include <memory>
#include <string>
#include <utility>

#include "plugin/caps.h"
#include "plugin/element.h"
#include "plugin/frames/cudamemory.h"
#include "plugin/log.h"
#include "plugin/object_lock.h"
#include "plugin/properties.h"
#include "plugin/report.h"
#include "plugin/starting.h"
#include "plugin/stop_reasons.h"
#include "plugin/stream.h"

GST_DEBUG_CATEGORY(cuda_convolve_debug);

using cudaconvolve::guarded;
using cudaconvolve::ObjectLock;
using cudaconvolve::Parts;
using cudaconvolve::publish;
using cudaconvolve::snapshot;
using cudaconvolve::Starting;
using cudaconvolve::Statistics;
using cudaconvolve::StopReasons;
using cudaconvolve::Stream;

#define gst_cuda_convolve_parent_class parent_class
G_DEFINE_TYPE(GstCudaConvolve, gst_cuda_convolve, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(cudaconvolve, "cudaconvolve", GST_RANK_NONE, GST_TYPE_CUDA_CONVOLVE)

namespace cudaconvolve {

Settings snapshot(GstCudaConvolve* self) {
  const ObjectLock lock(self);
  return self->parts->properties.settings;
}

void publish(GstCudaConvolve* self) {
  Parts& parts = *self->parts;
  const std::shared_ptr<const std::string> plan = parts.stream.session().plan_text();
  std::shared_ptr<const std::string> before;
  {
    const ObjectLock lock(self);
    parts.statistics = parts.stream.session().statistics();
    before = std::exchange(parts.active_plan, plan);
  }
  // Every frame comes by here, and few bring another plan.
  if (plan == before || (plan != nullptr && before != nullptr && *plan == *before)) return;
  GST_INFO_OBJECT(self, "plan: %s", plan == nullptr ? "none" : plan->c_str());
  g_object_notify(G_OBJECT(self), "active-plan");
}

Parts::Parts(GstCudaConvolve* self)
    : stream(GST_BASE_TRANSFORM(self), context, stop.signal(), [self] { publish(self); }) {}

}  // namespace cudaconvolve

static void gst_cuda_convolve_set_property(GObject* object, guint id, const GValue* value,
                                           GParamSpec* spec) {
  GstCudaConvolve* self = GST_CUDA_CONVOLVE(object);
  guarded(self, false, [&] {
    cudaconvolve::set_property(GST_ELEMENT(self), self->parts->properties, id, value, spec);
    return true;
  });
  if (id == cudaconvolve::kPropMask) g_object_notify(object, "mask-matrix");
  if (id == cudaconvolve::kPropMaskMatrix) g_object_notify(object, "mask");
}

static void gst_cuda_convolve_get_property(GObject* object, guint id, GValue* value,
                                           GParamSpec* /*spec*/) {
  GstCudaConvolve* self = GST_CUDA_CONVOLVE(object);
  guarded(self, false, [&] {
    if (id == cudaconvolve::kPropActivePlan) {
      const ObjectLock lock(self);
      const std::string* const plan = self->parts->active_plan.get();
      g_value_set_string(value, plan == nullptr ? nullptr : plan->c_str());
    } else if (id == cudaconvolve::kPropStats) {
      Stream& stream = self->parts->stream;
      Statistics statistics;
      {
        const ObjectLock lock(self);
        statistics = self->parts->statistics;
      }
      GstStructure* stats = cudaconvolve::stats_structure(statistics, stream.in_flight());
      stream.session().stage_times().describe(stats);
      g_value_take_boxed(value, stats);
    } else {
      cudaconvolve::read_property(snapshot(self), id, value);
    }
    return true;
  });
}

static gboolean gst_cuda_convolve_start(GstBaseTransform* trans) {
  GstCudaConvolve* self = GST_CUDA_CONVOLVE(trans);
  return guarded(self, FALSE, [&]() -> gboolean {
    Starting starting(self, self->parts->properties);
    if (!starting.refusal().empty()) {
      GST_ELEMENT_ERROR(self, LIBRARY, SETTINGS, ("%s", starting.refusal().c_str()), (nullptr));
      return FALSE;
    }
    // No data flows yet, and the pads that are activated next forget a flush.
    self->parts->stop.remove_all();
    self->parts->no_pool = false;
    if (!self->parts->stream.start(starting.settings())) return FALSE;
    starting.succeed();
    return TRUE;
  });
}

static gboolean gst_cuda_convolve_stop(GstBaseTransform* trans) {
  GstCudaConvolve* self = GST_CUDA_CONVOLVE(trans);
  return guarded(self, FALSE, [&]() -> gboolean {
    {
      const ObjectLock lock(self);
      self->parts->properties.started = false;
    }
    self->parts->stream.stop();
    cudaconvolve::keep_pool_if_lost(trans);
    gst_base_transform_set_passthrough(trans, FALSE);
    publish(self);
    return TRUE;
  });
}

static void gst_cuda_convolve_before_transform(GstBaseTransform* trans, GstBuffer* buffer) {
  GstCudaConvolve* self = GST_CUDA_CONVOLVE(trans);
  if (trans->segment.format == GST_FORMAT_TIME && GST_BUFFER_PTS_IS_VALID(buffer)) {
    const GstClockTime time =
        gst_segment_to_stream_time(&trans->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
    if (GST_CLOCK_TIME_IS_VALID(time)) gst_object_sync_values(GST_OBJECT(self), time);
  }
  guarded(self, false, [&] {
    self->parts->stream.prepare(buffer, snapshot(self));
    return true;
  });
}

static GstFlowReturn gst_cuda_convolve_transform(GstBaseTransform* trans, GstBuffer* input,
                                                 GstBuffer* output) {
  GstCudaConvolve* self = GST_CUDA_CONVOLVE(trans);
  return guarded(self, GST_FLOW_ERROR, [&] {
    const GstFlowReturn flow = self->parts->stream.filter(input, output);
    publish(self);
    return flow;
  });
}

/// Buffers that are late are left out here, and the next one says so.
static GstFlowReturn gst_cuda_convolve_submit_input_buffer(GstBaseTransform* trans,
                                                           gboolean is_discont, GstBuffer* input) {
  const GstFlowReturn flow =
      GST_BASE_TRANSFORM_CLASS(parent_class)->submit_input_buffer(trans, is_discont, input);
  if (flow == GST_BASE_TRANSFORM_FLOW_DROPPED) GST_CUDA_CONVOLVE(trans)->parts->stream.note_gap();
  return flow;
}

/// With frames in flight there is no output yet: another thread pushes it.
static GstFlowReturn gst_cuda_convolve_generate_output(GstBaseTransform* trans,
                                                       GstBuffer** output) {
  Stream& stream = GST_CUDA_CONVOLVE(trans)->parts->stream;
  return guarded(trans, GST_FLOW_ERROR,
                 [&] { return stream.generate(GST_BASE_TRANSFORM_CLASS(parent_class), output); });
}

/// Called in passthrough only, where it may look at the buffer and not touch it.
static GstFlowReturn gst_cuda_convolve_transform_ip(GstBaseTransform* trans, GstBuffer* buffer) {
  GstCudaConvolve* self = GST_CUDA_CONVOLVE(trans);
  return guarded(self, GST_FLOW_ERROR, [&] {
    self->parts->stream.session().count_passthrough(buffer);
    publish(self);
    return GST_FLOW_OK;
  });
}

/// The output has the size and the meaning of the input, so that every meta keeps its own. The base
/// class does not ask for those that describe memory.
static gboolean gst_cuda_convolve_transform_meta(GstBaseTransform* /*trans*/, GstBuffer* /*output*/,
                                                 GstMeta* /*meta*/, GstBuffer* /*input*/) {
  return TRUE;
}

static gboolean gst_cuda_convolve_query(GstBaseTransform* trans, GstPadDirection direction,
                                        GstQuery* query) {
  GstCudaConvolve* self = GST_CUDA_CONVOLVE(trans);
  const bool answered = guarded(self, false, [&] {
    return GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT &&
           self->parts->context.answer(GST_ELEMENT(self), query);
  });
  if (answered) return TRUE;
  Stream& stream = self->parts->stream;
  // What is serialized comes behind the frames before it.
  const bool serialized =
      (gst_query_type_get_flags(GST_QUERY_TYPE(query)) & GST_QUERY_TYPE_SERIALIZED) != 0;
  if (direction == GST_PAD_SINK && serialized) stream.drain();
  if (!GST_BASE_TRANSFORM_CLASS(parent_class)->query(trans, direction, query)) return FALSE;
  if (direction == GST_PAD_SRC && GST_QUERY_TYPE(query) == GST_QUERY_LATENCY) stream.latency(query);
  return TRUE;
}

/// The base class calls stop() only when the streaming thread has left the frame that it works on.
static GstStateChangeReturn gst_cuda_convolve_change_state(GstElement* element,
                                                           GstStateChange transition) {
  guarded(element, false, [&] {
    if (transition == GST_STATE_CHANGE_PAUSED_TO_READY)
      GST_CUDA_CONVOLVE(element)->parts->stop.add(StopReasons::kStopping);
    return true;
  });
  return GST_ELEMENT_CLASS(parent_class)->change_state(element, transition);
}

/// FLUSH_START overtakes the frames in work, FLUSH_STOP waits for them, and all else that is
/// serialized comes behind them.
static gboolean gst_cuda_convolve_sink_event(GstBaseTransform* trans, GstEvent* event) {
  guarded(trans, false, [&] {
    Parts& parts = *GST_CUDA_CONVOLVE(trans)->parts;
    const GstEventType type = GST_EVENT_TYPE(event);
    if (type == GST_EVENT_FLUSH_START) parts.stop.add(StopReasons::kFlushing);
    if (type == GST_EVENT_FLUSH_STOP) parts.stream.discard();
    if (type == GST_EVENT_FLUSH_STOP) parts.stop.remove(StopReasons::kFlushing);
    const bool serialized = (gst_event_type_get_flags(type) & GST_EVENT_TYPE_SERIALIZED) != 0;
    if (type == GST_EVENT_EOS)
      parts.stream.end();
    else if (type != GST_EVENT_FLUSH_STOP && serialized)
      parts.stream.drain();
    return true;
  });
  return GST_BASE_TRANSFORM_CLASS(parent_class)->sink_event(trans, event);
}

static void gst_cuda_convolve_set_context(GstElement* element, GstContext* context) {
  GstCudaConvolve* self = GST_CUDA_CONVOLVE(element);
  guarded(self, false, [&] {
    self->parts->context.offer(element, context, snapshot(self).cuda_device_id);
    return true;
  });
  GST_ELEMENT_CLASS(parent_class)->set_context(element, context);
}

static void gst_cuda_convolve_finalize(GObject* object) {
  delete GST_CUDA_CONVOLVE(object)->parts;
  G_OBJECT_CLASS(parent_class)->finalize(object);
}

static void gst_cuda_convolve_class_init(GstCudaConvolveClass* klass) {
  GST_DEBUG_CATEGORY_INIT(cuda_convolve_debug, "cudaconvolve", 0, "convolution with a mask");

  GObjectClass* object_class = G_OBJECT_CLASS(klass);
  object_class->set_property = gst_cuda_convolve_set_property;
  object_class->get_property = gst_cuda_convolve_get_property;
  object_class->finalize = gst_cuda_convolve_finalize;
  cudaconvolve::install_properties(object_class);

  GstElementClass* element_class = GST_ELEMENT_CLASS(klass);
  element_class->change_state = GST_DEBUG_FUNCPTR(gst_cuda_convolve_change_state);
  element_class->set_context = GST_DEBUG_FUNCPTR(gst_cuda_convolve_set_context);
  gst_element_class_set_static_metadata(
      element_class, "Convolution filter", "Filter/Effect/Video/Hardware",
      "Convolves video with a mask (blur, sharpen, edges, ...) on CUDA or on the CPU",
      "the cudaconvolve authors");
  GstCaps* caps = cudaconvolve::make_template_caps(cudaconvolve::knows_cuda_memory());
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, caps));
  gst_element_class_add_pad_template(
      element_class, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, caps));
  gst_caps_unref(caps);

  GstBaseTransformClass* transform_class = GST_BASE_TRANSFORM_CLASS(klass);
  transform_class->passthrough_on_same_caps = FALSE;
  transform_class->transform_ip_on_passthrough = TRUE;
  transform_class->start = GST_DEBUG_FUNCPTR(gst_cuda_convolve_start);
  transform_class->stop = GST_DEBUG_FUNCPTR(gst_cuda_convolve_stop);
  cudaconvolve::install_negotiation(transform_class);
  transform_class->before_transform = GST_DEBUG_FUNCPTR(gst_cuda_convolve_before_transform);
  transform_class->submit_input_buffer = GST_DEBUG_FUNCPTR(gst_cuda_convolve_submit_input_buffer);
  transform_class->generate_output = GST_DEBUG_FUNCPTR(gst_cuda_convolve_generate_output);
  transform_class->transform = GST_DEBUG_FUNCPTR(gst_cuda_convolve_transform);
  transform_class->transform_ip = GST_DEBUG_FUNCPTR(gst_cuda_convolve_transform_ip);
  transform_class->transform_meta = GST_DEBUG_FUNCPTR(gst_cuda_convolve_transform_meta);
  transform_class->query = GST_DEBUG_FUNCPTR(gst_cuda_convolve_query);
  transform_class->sink_event = GST_DEBUG_FUNCPTR(gst_cuda_convolve_sink_event);
}

static void gst_cuda_convolve_init(GstCudaConvolve* self) {
  // GLib ends the process where memory for an object is missing, and so does this.
  self->parts = [self]() noexcept { return new Parts(self); }();
  gst_base_transform_set_qos_enabled(GST_BASE_TRANSFORM(self), TRUE);
  // A picture that fills a gap does so when filtered, too: its flag stays.
  gst_base_transform_set_gap_aware(GST_BASE_TRANSFORM(self), TRUE);
}
