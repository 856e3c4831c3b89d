// SPDX-License-Identifier: LGPL-2.1-or-later
// cudaconvolve in a program: build a pipeline, change the mask while it plays, read the plan.
//
//   c++ embed.cc $(pkg-config --cflags --libs gstreamer-1.0) -o embed && ./embed
#include <gst/gst.h>

#include <cstdio>

namespace {

/// Runs on the streaming thread before each frame; the 31st and later are sharpened, not blurred.
GstPadProbeReturn on_frame(GstPad* pad, GstPadProbeInfo*, gpointer frames_seen) {
  int& frames = *static_cast<int*>(frames_seen);
  if (++frames == 31) {
    GstElement* filter = gst_pad_get_parent_element(pad);
    g_object_set(filter, "mask", "sharpen:2", nullptr);
    gst_object_unref(filter);
  }
  return GST_PAD_PROBE_OK;
}

void print_plan(GObject* filter, GParamSpec*, gpointer) {
  gchar* plan = nullptr;
  g_object_get(filter, "active-plan", &plan, nullptr);
  if (plan != nullptr) std::printf("plan: %s\n", plan);
  g_free(plan);
}

}  // namespace

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(
      "videotestsrc num-buffers=60 ! video/x-raw,format=I420,width=640,height=480 ! "
      "cudaconvolve name=filter mask=gaussian:2 border=mirror ! fakesink",
      &error);
  if (error != nullptr) {
    std::fprintf(stderr, "%s\n", error->message);
    return 1;
  }
  GstElement* filter = gst_bin_get_by_name(GST_BIN(pipeline), "filter");
  g_signal_connect(filter, "notify::active-plan", G_CALLBACK(print_plan), nullptr);
  int frames = 0;
  GstPad* pad = gst_element_get_static_pad(filter, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, &frames, nullptr);
  gst_object_unref(pad);

  gst_element_set_state(pipeline, GST_STATE_PLAYING);
  GstBus* bus = gst_element_get_bus(pipeline);
  const auto ends = static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  GstMessage* message = gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, ends);
  const bool done = GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
  std::printf("%d frames, %s\n", frames, done ? "done" : "failed");

  gst_message_unref(message);
  gst_object_unref(bus);
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_object_unref(filter);
  gst_object_unref(pipeline);
  return done ? 0 : 1;
}
