// SPDX-License-Identifier: LGPL-2.1-or-later
#include "plugin/stream.h"

#include <utility>

#include "plugin/log.h"
#include "plugin/report.h"

namespace cudaconvolve {

Stream::Stream(GstBaseTransform* trans, SharedCudaContext& shared,
               std::shared_ptr<const convolve::StopSignal> stop, std::function<void()> published)
    : trans_(trans),
      published_(std::move(published)),
      session_(GST_ELEMENT(trans), shared, std::move(stop)),
      frames_(
          [this](SentFrame& frame) {
            return guarded(trans_, GST_FLOW_ERROR, [&] {
              const GstFlowReturn flow = session_.finish(frame);
              published_();
              return flow;
            });
          },
          [this](GstBuffer* output) {
            return gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(trans_), output);
          }) {}

bool Stream::start(const Settings& settings) {
  wanted_ = depth_ = 0;
  gap_ = false;
  failure_ = GST_FLOW_OK;
  return session_.start(settings);
}

void Stream::stop() {
  frames_.stop();
  session_.stop();
  set_depth(0);
}

bool Stream::set_format(GstCaps* caps, const Settings& settings) {
  kind_ = kind_of_stream(trans_, caps);
  const bool ok = session_.set_format(caps, settings);
  set_depth(ok ? chosen_depth(settings.async_depth, kind_) : 0);
  return ok;
}

void Stream::set_depth(int wanted) {
  wanted_ = wanted;
  depth_ = session_.set_depth(wanted);
  bool changed = false;
  {
    const std::lock_guard lock(mutex_);
    changed = reported_depth_ != depth_ || reported_kind_.frame_duration != kind_.frame_duration;
    reported_depth_ = depth_;
    reported_kind_ = kind_;
  }
  if (changed) {
    GST_INFO_OBJECT(trans_, "%d frames in flight", depth_);
    gst_element_post_message(GST_ELEMENT(trans_), gst_message_new_latency(GST_OBJECT(trans_)));
  }
}

void Stream::prepare(const Settings& settings) {
  const int wanted = chosen_depth(settings.async_depth, kind_);
  const bool planned = session_.needs_plan(settings);
  // Once frames have gone to the CPU, those that come go there one at a time.
  const bool left_cuda = depth_ > 0 && !session_.on_cuda();
  if (planned || left_cuda || wanted != wanted_) drain();
  session_.update(settings);
  if (planned || left_cuda || wanted != wanted_) set_depth(wanted);
  const bool passthrough = session_.passthrough();
  if (passthrough == (gst_base_transform_is_passthrough(trans_) != FALSE)) return;
  // Passthrough hands upstream the pool of downstream, filtering needs one of its own.
  drain();
  gst_base_transform_set_passthrough(trans_, passthrough);
  gst_base_transform_reconfigure_src(trans_);
}

GstFlowReturn Stream::filter(GstBuffer* input, GstBuffer* output) {
  GstFlowReturn flow = GST_FLOW_OK;
  const std::unique_ptr<SentFrame> frame = session_.send(input, output, &flow);
  return frame != nullptr ? session_.finish(*frame) : flow;
}

bool Stream::takes_over() const {
  return failure_ != GST_FLOW_OK || (depth_ > 0 && !gst_base_transform_is_passthrough(trans_));
}

GstFlowReturn Stream::take_over(GstBaseTransformClass* base) {
  GstBuffer* input = std::exchange(trans_->queued_buf, nullptr);
  GstFlowReturn flow = std::exchange(failure_, GST_FLOW_OK);
  if (input == nullptr) return flow;
  GstBuffer* output = nullptr;
  if (flow == GST_FLOW_OK) flow = base->prepare_output_buffer(trans_, input, &output);
  if (flow == GST_FLOW_OK) flow = filter_in_flight(input, output);
  gst_buffer_unref(input);
  return flow;
}

/// Takes `output`.
GstFlowReturn Stream::filter_in_flight(GstBuffer* input, GstBuffer* output) {
  // The base class marks what it pushes itself.
  if (std::exchange(gap_, false)) GST_BUFFER_FLAG_SET(output, GST_BUFFER_FLAG_DISCONT);
  GstFlowReturn flow = GST_FLOW_OK;
  std::unique_ptr<SentFrame> frame = session_.send(input, output, &flow);
  if (frame == nullptr) {
    gst_buffer_unref(output);
    return flow;
  }
  frame->owns_output = true;
  return frames_.add(std::move(frame), static_cast<std::size_t>(depth_));
}

void Stream::drain() {
  const GstFlowReturn flow = frames_.drain();
  if (failure_ == GST_FLOW_OK) failure_ = flow;
}

void Stream::discard() {
  frames_.discard();
  session_.settle();
  failure_ = GST_FLOW_OK;
}

void Stream::latency(GstQuery* query) const {
  const std::lock_guard lock(mutex_);
  add_latency(query, reported_depth_, reported_kind_);
}

}  // namespace cudaconvolve
