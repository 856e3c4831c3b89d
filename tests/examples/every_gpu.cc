// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams spread over all GPUs of a machine: as many pipelines as asked for, each with a GPU of its
// own in turn, and what each of them planned and did.
//
//   c++ -std=c++17 every_gpu.cc $(pkg-config --cflags --libs gstreamer-1.0) -o every_gpu
//   ./every_gpu [STREAMS [FRAMES]]        default: 4 streams of 300 frames
#include <gst/gst.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

/// GPUs are numbered from 0 on without gaps: an element that insists on one opens it on its way to
/// READY, or fails.
int count_gpus() {
  int count = 0;
  for (;; ++count) {
    GstElement* filter = gst_element_factory_make("cudaconvolve", nullptr);
    if (filter == nullptr) return 0;
    g_object_set(filter, "cuda-device-id", count, nullptr);
    gst_util_set_object_arg(G_OBJECT(filter), "backend", "cuda");
    const bool opened = gst_element_set_state(filter, GST_STATE_PAUSED) != GST_STATE_CHANGE_FAILURE;
    gst_element_set_state(filter, GST_STATE_NULL);
    gst_object_unref(filter);
    if (!opened) return count;
  }
}

GstElement* new_stream(int frames, int gpu) {
  const std::string device = gpu >= 0 ? " cuda-device-id=" + std::to_string(gpu) : "";
  const std::string text = "videotestsrc num-buffers=" + std::to_string(frames) +
                           " ! video/x-raw,format=NV12,width=1280,height=720 ! "
                           "cudaconvolve name=filter mask=gaussian:3" +
                           device + " ! fakesink";
  GError* error = nullptr;
  GstElement* pipeline = gst_parse_launch(text.c_str(), &error);
  if (error == nullptr) return pipeline;
  std::fprintf(stderr, "%s\n", error->message);
  std::exit(1);
}

/// False after an error.
bool play_to_the_end(GstElement* pipeline) {
  GstBus* bus = gst_element_get_bus(pipeline);
  const auto ends = static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR);
  GstMessage* message = gst_bus_timed_pop_filtered(bus, GST_CLOCK_TIME_NONE, ends);
  const bool done = GST_MESSAGE_TYPE(message) == GST_MESSAGE_EOS;
  if (!done) {
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    std::fprintf(stderr, "%s\n", error->message);
    g_error_free(error);
  }
  gst_message_unref(message);
  gst_object_unref(bus);
  return done;
}

void print_report(GstElement* pipeline, int number, int gpu) {
  GstElement* filter = gst_bin_get_by_name(GST_BIN(pipeline), "filter");
  gchar* plan = nullptr;
  GstStructure* stats = nullptr;
  guint64 frames = 0;
  g_object_get(filter, "active-plan", &plan, "stats", &stats, nullptr);
  gst_structure_get_uint64(stats, "frames", &frames);
  const std::string place = gpu >= 0 ? "GPU " + std::to_string(gpu) : "the CPU";
  std::printf("stream %d on %s: %llu frames; %s\n", number, place.c_str(),
              static_cast<unsigned long long>(frames), plan);
  gst_structure_free(stats);
  g_free(plan);
  gst_object_unref(filter);
}

}  // namespace

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  const int streams = argc > 1 ? std::atoi(argv[1]) : 4;
  const int frames = argc > 2 ? std::atoi(argv[2]) : 300;
  const int gpus = count_gpus();
  std::printf("%d GPUs\n", gpus);
  const auto gpu_of = [gpus](int number) { return gpus > 0 ? number % gpus : -1; };

  std::vector<GstElement*> pipelines;
  for (int n = 0; n < streams; ++n)
    pipelines.push_back(new_stream(frames, gpu_of(n)));
  for (GstElement* pipeline : pipelines)
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
  bool all_done = true;
  for (int n = 0; n < streams; ++n) {
    all_done = play_to_the_end(pipelines[n]) && all_done;
    print_report(pipelines[n], n, gpu_of(n));
    gst_element_set_state(pipelines[n], GST_STATE_NULL);
    gst_object_unref(pipelines[n]);
  }
  return all_done ? 0 : 1;
}
