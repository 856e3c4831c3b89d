// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame that was sent to a device, with all that it needs until it is pushed.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <optional>
#include <string>

#include "kernels/convolver.h"
#include "plugin/frames/frames.h"
#include "plugin/properties.h"

namespace cudaconvolve {

/// A plan, and what it was made for. A frame keeps the one that it was sent with.
struct ActivePlan {
  Settings settings;
  convolve::BackendKind backend = convolve::BackendKind::kCpu;
  convolve::FrameFormat format;
  int alignment = convolve::kPlaneAlignment;  ///< As Options::alignment.
  std::shared_ptr<convolve::Device> device;
  std::unique_ptr<convolve::Convolver> convolver;
  std::shared_ptr<const std::string> text;  ///< Of the convolver's plan, in one line.
};

/// The buffers are mapped as long as it lives.
struct SentFrame {
  SentFrame(GstBuffer* from, GstBuffer* to) : input(gst_buffer_ref(from)), output(to) {}
  ~SentFrame() {
    frame.reset();
    destination.reset();
    source.reset();
    gst_clear_buffer(&input);
    if (owns_output) gst_clear_buffer(&output);
  }
  SentFrame(const SentFrame&) = delete;
  SentFrame& operator=(const SentFrame&) = delete;

  /// The output, unmapped; the caller's own.
  GstBuffer* take_output() {
    destination.reset();
    GstBuffer* const taken = output;
    output = nullptr;
    return taken;
  }

  GstBuffer* input;   ///< A reference of its own.
  GstBuffer* output;  ///< Without one, as it must be writable, until `owns_output`.
  bool owns_output = false;
  std::optional<MappedFrame> source{std::in_place};
  std::optional<MappedFrame> destination{std::in_place};
  bool fields = false;    ///< The buffers hold two fields.
  bool measured = false;  ///< Its copies across the bus are timed.
  /// A frame before it failed while both were in flight: it is not pushed, and what becomes of it
  /// is not told, as the stream has ended with that other frame.
  bool dropped = false;
  std::shared_ptr<ActivePlan> plan;
  convolve::RunArguments arguments;
  convolve::Status sent;  ///< What sending it came to; if it failed there is no `frame`.
  const char* unmapped =
      nullptr;  ///< "input" or "output": the buffer whose mapping `sent` tells of.
  std::unique_ptr<convolve::FrameInFlight> frame;

  bool is_handed_over() const { return frame != nullptr && frame->is_handed_over(); }
  bool comes_in_cuda_memory() const { return source->view().memory == convolve::Memory::kCuda; }
  bool leaves_in_cuda_memory() const {
    return destination->view().memory == convolve::Memory::kCuda;
  }
};

}  // namespace cudaconvolve
