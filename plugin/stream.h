// SPDX-License-Identifier: LGPL-2.1-or-later
// The way of buffers through the element: what is done before each, one at a time or with others in
// flight, and when all in flight must be pushed first.
#pragma once

#include <gst/base/gstbasetransform.h>

#include <functional>
#include <memory>

#include "plugin/frames/depth.h"
#include "plugin/frames/frames_in_flight.h"
#include "plugin/session.h"

namespace cudaconvolve {

/// start() and stop() are called while no data flows, latency() by any thread, the rest by the
/// streaming thread.
class Stream {
 public:
  /// `published`: called by any thread when what the session says of itself may have changed.
  Stream(GstBaseTransform* trans, SharedCudaContext& shared,
         std::shared_ptr<const convolve::StopSignal> stop, std::function<void()> published);

  Session& session() { return session_; }

  bool start(const Settings& settings);
  void stop();

  /// New caps; all frames have been drained. False after posting an error.
  bool set_format(GstCaps* input, GstCaps* output, const Settings& settings);

  /// Before `buffer`: takes `settings` over, and the CUDA context that it lies in. Pushes what is
  /// in flight first if it must.
  void prepare(GstBuffer* buffer, const Settings& settings);

  /// One frame at a time.
  GstFlowReturn filter(GstBuffer* input, GstBuffer* output);

  /// What becomes of the buffer that the base class has queued. Usually it is filtered as `base`
  /// does it, and `output` given back. With frames in flight it is taken, to be pushed when it is
  /// finished: then there is no output, and the return value is what frames before it have come to.
  GstFlowReturn generate(GstBaseTransformClass* base, GstBuffer** output);

  /// A buffer was left out before it came here.
  void note_gap() { gap_ = true; }

  /// Pushes all that is in flight.
  void drain();
  /// At the end of the stream: drain(), and waits for what others wait for otherwise.
  void end();
  /// Before an error is posted: end(), and what frames before came to. If one of them has failed,
  /// that has been told, and what failed now did so because of it.
  GstFlowReturn failure_before();
  /// True if one of them has failed, of which upstream does not know yet.
  bool has_failed();
  /// After a flush: forgets all that was in flight.
  void discard();

  /// How many frames are in flight now; any thread may ask.
  std::size_t in_flight() const { return frames_.count(); }

  /// Answers a LATENCY query that upstream has answered.
  void latency(GstQuery* query) const;

 private:
  std::unique_ptr<SentFrame> open(GstBuffer* input, GstBuffer* output, GstFlowReturn* flow);
  GstFlowReturn finish(SentFrame& frame);
  GstFlowReturn push(GstBuffer* output);
  void set_depth(int wanted);
  void note_handing_over(bool done);
  bool takes_over() const;
  GstFlowReturn take_over();
  GstFlowReturn generate_in_system_memory(GstBaseTransformClass* base, GstBuffer* input,
                                          GstBuffer** output);
  GstFlowReturn filter_in_flight(GstBuffer* input, GstBuffer* output);

  GstBaseTransform* trans_;
  const std::function<void()> published_;
  Session session_;
  StreamKind kind_;
  int wanted_ = 0;  ///< The depth that depth_ was made of.
  int depth_ = 0;
  int waited_ = 0;  ///< Frames in a row that were not handed over, with none in flight.
  bool gap_ = false;
  GstFlowReturn failure_ = GST_FLOW_OK;  ///< Of drained frames, not told to the base class yet.
  mutable std::mutex mutex_;             ///< Guards what latency() reports.
  StreamKind reported_kind_;
  int reported_depth_ = 0;
  FramesInFlight frames_;
};

}  // namespace cudaconvolve
