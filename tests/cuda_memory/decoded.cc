// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of a decoder on the GPU, filtered where they lie.
//
//   decoded DECODER FILE                     every frame against the reference
//   decoded DECODER FILE --rounds=ROUNDS     frames/s beside the line without the element
//
// FILE is a byte stream of H.264. The pictures that the reference is computed from are those of the
// same decoder, read back without the element between.
#include <gst/app/gstappsink.h>
#include <gst/gst.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/element.h"
#include "tests/support/oracle.h"

namespace {

using Clock = std::chrono::steady_clock;

const oracle::Mask kMask = {3, 3, {1, -2, 3, 4, 5, -6, 7, -8, 9}, 13};

/// A line that plays FILE, from its decoder on as `rest` says.
class Line {
 public:
  Line(const std::string& decoder, const std::string& file, const std::string& rest) {
    const std::string text = "filesrc location=\"" + file + "\" ! h264parse ! " + decoder +
                             " ! video/x-raw(memory:CUDAMemory) ! " + rest;
    GError* error = nullptr;
    pipeline_ = gst_parse_launch(text.c_str(), &error);
    if (error == nullptr) return;
    problem_ = error->message;
    g_error_free(error);
  }
  ~Line() {
    if (pipeline_ == nullptr) return;
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(pipeline_);
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  bool play() {
    return problem_.empty() &&
           gst_element_set_state(pipeline_, GST_STATE_PLAYING) != GST_STATE_CHANGE_FAILURE;
  }

  GstElement* element(const char* name) const {
    return gst_bin_get_by_name(GST_BIN(pipeline_), name);
  }

  /// Waits for the end; what went wrong on the way, warnings included, or nothing.
  std::string problem() {
    if (!problem_.empty() || pipeline_ == nullptr) return problem_;
    GstBus* bus = gst_element_get_bus(pipeline_);
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, 60 * GST_SECOND,
        static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING));
    gst_object_unref(bus);
    if (message == nullptr) return "no end within a minute";
    GError* error = nullptr;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR)
      gst_message_parse_error(message, &error, nullptr);
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_WARNING)
      gst_message_parse_warning(message, &error, nullptr);
    if (error != nullptr) problem_ = error->message;
    g_clear_error(&error);
    gst_message_unref(message);
    return problem_;
  }

 private:
  GstElement* pipeline_ = nullptr;
  std::string problem_;
};

/// The frames of a line that ends in an appsink called `sink`, in system memory.
class Frames {
 public:
  explicit Frames(const Line& line) : sink_(line.element("sink")) {}
  ~Frames() { gst_object_unref(sink_); }
  Frames(const Frames&) = delete;
  Frames& operator=(const Frames&) = delete;

  /// The next one, laid out as info() says; empty after the last.
  oracle::Bytes next() {
    GstSample* sample = gst_app_sink_try_pull_sample(GST_APP_SINK(sink_), 20 * GST_SECOND);
    if (sample == nullptr) return {};
    gst_video_info_from_caps(&info_, gst_sample_get_caps(sample));
    // Without what decoders say of fields and colour, which is not compared.
    info_ = check::video_info(GST_VIDEO_INFO_FORMAT(&info_), info_.width, info_.height);
    oracle::Bytes picture = check::picture_of(gst_sample_get_buffer(sample), info_);
    gst_sample_unref(sample);
    return picture;
  }

  const GstVideoInfo& info() const { return info_; }

 private:
  GstElement* sink_;
  GstVideoInfo info_{};
};

/// Frames filtered in CUDA memory, and on their way to system memory, beside those of the decoder.
int compare(const std::string& decoder, const std::string& file) {
  const std::string sink = "appsink name=sink sync=false max-buffers=4";
  const std::string filter = "cudaconvolve backend=cuda mask=\"" + kMask.text() + "\" ! ";
  const std::string on_gpu = "video/x-raw(memory:CUDAMemory) ! cudadownload ! video/x-raw ! ";
  Line plain(decoder, file, "cudadownload ! video/x-raw ! " + sink);
  Line in_place(decoder, file, filter + on_gpu + sink);
  Line brought(decoder, file, filter + "video/x-raw ! " + sink);
  for (Line* line : {&plain, &in_place, &brought})
    if (!line->play()) {
      std::fprintf(stderr, "decoded: a line does not play: %s\n", line->problem().c_str());
      return 1;
    }
  int frames = 0, failed = 0;
  {
    Frames decoded(plain), one(in_place), other(brought);
    for (;; ++frames) {
      const oracle::Bytes picture = decoded.next();
      const oracle::Bytes first = one.next(), second = other.next();
      if (picture.empty() && first.empty() && second.empty()) break;
      bool right = !picture.empty();
      if (right) {
        const oracle::Bytes expected =
            oracle::expected(decoded.info(), picture, kMask, oracle::Options());
        for (const oracle::Bytes* filtered : {&first, &second})
          right = right && oracle::differing_samples(decoded.info(), *filtered, expected) == 0;
      }
      if (!right) std::printf("frame %d differs\n", frames);
      failed += right ? 0 : 1;
    }
  }
  for (Line* line : {&plain, &in_place, &brought})
    if (const std::string problem = line->problem(); !problem.empty()) {
      std::printf("%s\n", problem.c_str());
      ++failed;
    }
  std::printf("figure: %s: %d frames, each on both ways beside the reference, %d failed\n",
              decoder.c_str(), frames, failed);
  return frames > 0 && failed == 0 ? 0 : 1;
}

struct Arrivals {
  std::atomic<int> count{0};
  Clock::time_point first, last;
};

GstPadProbeReturn on_frame(GstPad*, GstPadProbeInfo*, gpointer user_data) {
  Arrivals& arrivals = *static_cast<Arrivals*>(user_data);
  arrivals.last = Clock::now();
  if (arrivals.count++ == 0) arrivals.first = arrivals.last;
  return GST_PAD_PROBE_OK;
}

/// Frames a second of a line that ends in a fakesink called `sink`; 0 if it fails.
double frames_per_second(const std::string& decoder, const std::string& file,
                         const std::string& rest) {
  Line line(decoder, file, rest + "fakesink name=sink sync=false");
  Arrivals arrivals;
  GstElement* sink = line.element("sink");
  if (sink == nullptr) return 0;
  GstPad* pad = gst_element_get_static_pad(sink, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, &arrivals, nullptr);
  gst_object_unref(pad);
  gst_object_unref(sink);
  if (!line.play() || !line.problem().empty() || arrivals.count < 2) return 0;
  return (arrivals.count - 1) /
         std::chrono::duration<double>(arrivals.last - arrivals.first).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The lines in turn, so that all see the same clocks.
int measure(const std::string& decoder, const std::string& file, int rounds) {
  struct Row {
    std::string name, rest;
    std::vector<double> rates;
  };
  const auto filtered = [](const std::string& mask) {
    return "cudaconvolve backend=cuda mask=" + mask + " ! video/x-raw(memory:CUDAMemory) ! ";
  };
  std::vector<Row> rows = {{"without the element", "", {}},
                           {"sharpen", filtered("sharpen"), {}},
                           {"disk:4, 9x9", filtered("disk:4"), {}},
                           {"disk:15, 31x31", filtered("disk:15"), {}}};
  for (int round = 0; round < rounds; ++round)
    for (Row& row : rows)
      row.rates.push_back(frames_per_second(decoder, file, row.rest));
  for (const Row& row : rows)
    std::printf("%s ! %s: %.0f frames/s, %.3f of the line without the element\n", decoder.c_str(),
                row.name.c_str(), median(row.rates),
                median(row.rates) / median(rows.front().rates));
  const auto failed = [](const Row& row) {
    return std::any_of(row.rates.begin(), row.rates.end(), [](double rate) { return rate <= 0; });
  };
  return std::none_of(rows.begin(), rows.end(), failed) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  const std::string option = argc == 4 ? argv[3] : "", rounds_are = "--rounds=";
  const bool measures = option.compare(0, rounds_are.size(), rounds_are) == 0;
  const int rounds = measures ? std::atoi(option.c_str() + rounds_are.size()) : 0;
  if ((argc != 3 && argc != 4) || (argc == 4 && rounds < 1)) {
    std::fprintf(stderr, "usage: decoded DECODER FILE [--rounds=ROUNDS]\n");
    return 2;
  }
  return rounds > 0 ? measure(argv[1], argv[2], rounds) : compare(argv[1], argv[2]);
}
