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
            return guarded(trans_, GST_FLOW_ERROR, [&] { return finish(frame); });
          },
          [this](GstBuffer* output) { return push(output); }) {}

GstFlowReturn Stream::finish(SentFrame& frame) {
  const GstFlowReturn flow = session_.finish(frame);
  published_();
  return flow;
}

GstFlowReturn Stream::push(GstBuffer* output) {
  return gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(trans_), output);
}

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

bool Stream::set_format(GstCaps* input, GstCaps* output, const Settings& settings) {
  kind_ = kind_of_stream(trans_, input);
  const bool ok = session_.set_format(input, output, settings);
  kind_.handed_over = session_.may_hand_over();
  waited_ = 0;
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

void Stream::prepare(GstBuffer* buffer, const Settings& settings) {
  if (session_.is_foreign(buffer)) {
    drain();
    session_.adopt_context_of(buffer);
    set_depth(wanted_);
    gst_base_transform_reconfigure_src(trans_);
  }
  const int wanted = chosen_depth(settings.async_depth, kind_);
  const bool planned = session_.needs_plan(settings);
  // Once frames have gone to the CPU, those that come go there one at a time.
  const bool left_cuda = depth_ > 0 && !session_.on_cuda();
  if (planned || left_cuda || wanted != wanted_) drain();
  session_.update(settings);
  if (planned || left_cuda || wanted != wanted_) set_depth(wanted);
  // The CPU writes system memory only.
  if (session_.only_output_in_cuda_memory() && !session_.may_have_cuda())
    gst_base_transform_reconfigure_src(trans_);
  if (planned) published_();
  const bool passthrough = session_.passthrough();
  if (passthrough == (gst_base_transform_is_passthrough(trans_) != FALSE)) return;
  // Passthrough hands upstream the pool of downstream, filtering needs one of its own.
  drain();
  gst_base_transform_set_passthrough(trans_, passthrough);
  gst_base_transform_reconfigure_src(trans_);
  published_();
}

/// Maps the buffers of a frame. Posts an error for one that cannot be mapped, unless a frame before
/// it has failed: that is then the cause.
std::unique_ptr<SentFrame> Stream::open(GstBuffer* input, GstBuffer* output, GstFlowReturn* flow) {
  std::unique_ptr<SentFrame> frame = session_.open(input, output, flow);
  if (frame == nullptr || frame->unmapped == nullptr) return frame;
  // Nothing in the memory of a lost device can be mapped.
  const GstFlowReturn before = failure_before();
  if (before == GST_FLOW_OK)
    post_bad_buffer(GST_ELEMENT(trans_), frame->unmapped, frame->sent);
  else
    *flow = before;
  session_.keep_if_lost(input);
  session_.keep_if_lost(output);
  return frame;
}

GstFlowReturn Stream::filter(GstBuffer* input, GstBuffer* output) {
  GstFlowReturn flow = GST_FLOW_OK;
  const std::unique_ptr<SentFrame> frame = open(input, output, &flow);
  if (flow == GST_FLOW_OK) flow = session_.send(*frame);
  if (flow != GST_FLOW_OK) return flow;
  note_handing_over(frame->is_handed_over());
  return session_.finish(*frame);
}

/// Memory may have no stream, kernels may be long, or stages measured: then frames are waited for,
/// and had better be in flight. The first frame of a plan always is.
void Stream::note_handing_over(bool done) {
  constexpr int kFirstOfPlan = 1;
  waited_ = done ? 0 : waited_ + 1;
  if (waited_ > kFirstOfPlan) kind_.handed_over = false;
}

GstFlowReturn Stream::generate(GstBaseTransformClass* base, GstBuffer** output) {
  if (takes_over()) {
    *output = nullptr;
    return take_over();
  }
  GstBuffer* input = nullptr;
  if (trans_->queued_buf != nullptr && session_.only_output_in_cuda_memory())
    input = gst_buffer_ref(trans_->queued_buf);
  GstFlowReturn flow = base->generate_output(trans_, output);
  if (flow == Session::kRenegotiate) flow = generate_in_system_memory(base, input, output);
  gst_clear_buffer(&input);
  return flow;
}

/// After CUDA failed under caps of CUDA memory on the source pad alone.
GstFlowReturn Stream::generate_in_system_memory(GstBaseTransformClass* base, GstBuffer* input,
                                                GstBuffer** output) {
  gst_clear_buffer(output);
  gst_base_transform_reconfigure_src(trans_);
  if (!gst_base_transform_reconfigure(trans_)) {
    if (GST_PAD_IS_FLUSHING(GST_BASE_TRANSFORM_SRC_PAD(trans_))) return GST_FLOW_FLUSHING;
    GST_ELEMENT_ERROR(trans_, CORE, NEGOTIATION,
                      ("CUDA failed, and downstream takes frames in CUDA memory only"), (nullptr));
    return GST_FLOW_ERROR;
  }
  trans_->queued_buf = gst_buffer_ref(input);
  return base->generate_output(trans_, output);
}

/// True if the queued buffer does not go its usual way: others are in flight, or have failed.
bool Stream::takes_over() const {
  return failure_ != GST_FLOW_OK || (depth_ > 0 && !gst_base_transform_is_passthrough(trans_));
}

GstFlowReturn Stream::take_over() {
  GstBuffer* input = std::exchange(trans_->queued_buf, nullptr);
  GstFlowReturn flow = std::exchange(failure_, GST_FLOW_OK);
  if (input == nullptr) return flow;
  GstBuffer* output = nullptr;
  if (flow == GST_FLOW_OK)
    flow = GST_BASE_TRANSFORM_GET_CLASS(trans_)->prepare_output_buffer(trans_, input, &output);
  if (flow == GST_FLOW_OK) flow = filter_in_flight(input, output);
  if (flow != GST_FLOW_OK) session_.keep_if_lost(input);
  gst_buffer_unref(input);
  return flow;
}

/// Takes `output`.
GstFlowReturn Stream::filter_in_flight(GstBuffer* input, GstBuffer* output) {
  // The base class marks what it pushes itself.
  if (std::exchange(gap_, false)) GST_BUFFER_FLAG_SET(output, GST_BUFFER_FLAG_DISCONT);
  GstFlowReturn flow = GST_FLOW_OK;
  std::unique_ptr<SentFrame> frame = open(input, output, &flow);
  if (flow == GST_FLOW_OK && session_.needs_plan(*frame)) {
    drain();
    flow = std::exchange(failure_, GST_FLOW_OK);
  }
  if (flow == GST_FLOW_OK) flow = session_.send(*frame);
  if (flow != GST_FLOW_OK) {
    frame.reset();
    gst_buffer_unref(output);
    return flow;
  }
  frame->owns_output = true;
  // For a frame that nobody waits for here, another thread would only take longer.
  if (frame->is_handed_over() && frames_.is_clear()) {
    flow = finish(*frame);
    return flow == GST_FLOW_OK ? push(frame->take_output()) : flow;
  }
  return frames_.add(std::move(frame), static_cast<std::size_t>(depth_));
}

void Stream::drain() {
  const GstFlowReturn flow = frames_.drain();
  if (failure_ == GST_FLOW_OK) failure_ = flow;
}

void Stream::end() {
  drain();
  const GstFlowReturn flow = session_.finish_handed_over();
  if (failure_ == GST_FLOW_OK) failure_ = flow;
}

GstFlowReturn Stream::failure_before() {
  end();
  return std::exchange(failure_, GST_FLOW_OK);
}

bool Stream::has_failed() {
  end();
  return failure_ != GST_FLOW_OK;
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
