// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/cuda_memory/cuda_line.h"

#include <gst/video/gstvideometa.h>
#include <gtest/gtest.h>

namespace cuda_frames {

std::string text(const Memories& memories) {
  const auto name = [](bool cuda) { return cuda ? "CUDA memory" : "system memory"; };
  return std::string(name(memories.in_cuda)) + " to " + name(memories.out_cuda);
}

namespace {

GstPadProbeReturn offer_pool(GstPad*, GstPadProbeInfo* info, gpointer pool) {
  GstQuery* query = GST_PAD_PROBE_INFO_QUERY(info);
  if (GST_QUERY_TYPE(query) != GST_QUERY_ALLOCATION) return GST_PAD_PROBE_OK;
  GstCaps* caps = nullptr;
  guint size = 0, least = 0, most = 0;
  GstStructure* config = gst_buffer_pool_get_config(GST_BUFFER_POOL(pool));
  gst_buffer_pool_config_get_params(config, &caps, &size, &least, &most);
  gst_query_add_allocation_pool(query, GST_BUFFER_POOL(pool), size, least, most);
  gst_query_add_allocation_meta(query, GST_VIDEO_META_API_TYPE, nullptr);
  gst_structure_free(config);
  return GST_PAD_PROBE_HANDLED;
}

}  // namespace

Line::Line(const check::Settings& settings) : harness_(settings) {
  gst_video_info_init(&info_);
}

void Line::set_caps(const GstVideoInfo& info, Memories memories) {
  info_ = info;
  in_cuda_ = memories.in_cuda;
  gst_harness_set_caps(harness_.get(), caps_of(info, memories.in_cuda),
                       caps_of(info, memories.out_cuda));
}

void Line::set_input_caps(const GstVideoInfo& info, bool cuda) {
  info_ = info;
  in_cuda_ = cuda;
  gst_harness_set_src_caps(harness_.get(), caps_of(info, cuda));
}

void Line::offer_downstream(GstBufferPool* pool) {
  gst_pad_add_probe(harness_.get()->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_pool, pool,
                    nullptr);
}

Context Line::context() {
  return context_ != nullptr ? context_ : shared_by(element());
}

GstFlowReturn Line::push(int number) {
  const oracle::Bytes frame = oracle::random_frame(info_, static_cast<unsigned>(number));
  return harness_.push_buffer(in_cuda_ ? upload(context(), info_, frame, number)
                                       : check::make_buffer(frame, number));
}

namespace {

/// True if filtering is the identity, so that frames which stay in their memory go on as they came,
/// unused bits and all.
bool changes_nothing(const oracle::Mask& mask, const oracle::Options& options) {
  if (options.bias != 0 || options.scale_numerator != options.scale_denominator) return false;
  const std::size_t anchor =
      static_cast<std::size_t>(mask.height / 2 * mask.width + mask.width / 2);
  for (std::size_t n = 0; n < mask.weights.size(); ++n)
    if (mask.weights[n] != (n == anchor ? mask.divisor : 0)) return false;
  return true;
}

}  // namespace

std::string Line::take(int number, const oracle::Mask& mask, bool out_cuda,
                       const oracle::Options& options) {
  GstBuffer* buffer = gst_harness_pull(harness_.get());
  if (buffer == nullptr) return "frame " + std::to_string(number) + " is lost";
  std::string problem;
  if (GST_BUFFER_PTS(buffer) != static_cast<GstClockTime>(number) * (GST_SECOND / 25))
    problem += "another frame has come; ";
  if (is_in_cuda_memory(buffer) != out_cuda) problem += "it is in the other memory; ";
  const oracle::Bytes frame = oracle::random_frame(info_, static_cast<unsigned>(number));
  const bool passes = in_cuda_ == out_cuda && changes_nothing(mask, options);
  const std::int64_t differing =
      oracle::differing_samples(info_, picture_of(buffer, info_),
                                passes ? frame : oracle::expected(info_, frame, mask, options));
  if (differing > 0) problem += std::to_string(differing) + " samples differ; ";
  gst_buffer_unref(buffer);
  return problem.empty() ? problem : "frame " + std::to_string(number) + ": " + problem;
}

void Line::expect(int number, const oracle::Mask& mask, bool out_cuda,
                  const oracle::Options& options) {
  EXPECT_EQ(take(number, mask, out_cuda, options), "");
}

}  // namespace cuda_frames
