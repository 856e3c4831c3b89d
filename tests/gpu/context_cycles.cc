// SPDX-License-Identifier: LGPL-2.1-or-later
// Two linked elements, each taken from READY to PAUSED and back by a thread of its own. On the way
// each asks the other for a CUDA context while the other may be asking it: neither may wait.
//
//   context_cycles cuda|cpu CYCLES
//
// Once with no context in the pipeline; then with one that the application gives to whoever asks,
// and with one that it gives to the first element alone, so that the second has it from its
// neighbour. The last two need GStreamer's CUDA library. No cycle for 10 seconds is a failure.
#include <gst/gst.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "tests/gpu/cuda_context.h"

namespace {

constexpr int kPatience = 200;  ///< Slices without a cycle,
constexpr auto kSlice = std::chrono::milliseconds(50);

constexpr char kContextType[] = "gst.cuda.context";

/// Whom the application gives its context.
enum class Given { kNobody, kAll, kFirst };

const char* name_of(Given given) {
  switch (given) {
    case Given::kNobody:
      return "without a context";
    case Given::kAll:
      return "with a context for all";
    case Given::kFirst:
      return "with a context for the first";
  }
  return "";
}

class Elements {
 public:
  Elements(const std::string& backend, Given given, GstContext* context)
      : given_(given), context_(context), pipeline_(gst_pipeline_new(nullptr)) {
    for (GstElement*& element : elements_) {
      element = gst_element_factory_make("cudaconvolve", nullptr);
      g_assert_nonnull(element);
      gst_util_set_object_arg(G_OBJECT(element), "backend", backend.c_str());
      gst_element_set_locked_state(element, TRUE);
      gst_bin_add(GST_BIN(pipeline_), element);
    }
    g_assert_true(gst_element_link(elements_[0], elements_[1]));
    GstBus* bus = gst_element_get_bus(pipeline_);
    gst_bus_set_sync_handler(
        bus,
        [](GstBus*, GstMessage* message, gpointer self) {
          static_cast<Elements*>(self)->hear(message);
          gst_message_unref(message);
          return GST_BUS_DROP;
        },
        this, nullptr);
    gst_object_unref(bus);
    gst_element_set_state(pipeline_, GST_STATE_READY);
  }
  ~Elements() {
    for (GstElement* element : elements_)
      gst_element_set_state(element, GST_STATE_NULL);
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(pipeline_);
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  /// The number of cycles that ended well, of `cycles` for each element.
  int run(int cycles) {
    std::thread threads[2];
    for (int k = 0; k < 2; ++k)
      threads[k] = std::thread([this, k, cycles] {
        for (int n = 0; n < cycles; ++n)
          if (change(k, GST_STATE_PAUSED) && change(k, GST_STATE_READY)) ++done_;
        ++ended_;
      });
    watch();
    for (std::thread& thread : threads)
      thread.join();
    return done_;
  }

  /// True if both elements, started one after the other, have the application's context.
  bool both_share() {
    bool shared = true;
    for (int k = 0; k < 2; ++k)
      shared = change(k, GST_STATE_PAUSED) && shared;
    for (GstElement* element : elements_)
      shared = has_context(element) && shared;
    return shared;
  }

  const std::string& error() const { return error_; }

 private:
  bool change(int k, GstState state) {
    return gst_element_set_state(elements_[k], state) != GST_STATE_CHANGE_FAILURE;
  }

  void hear(GstMessage* message) {
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      GError* error = nullptr;
      gst_message_parse_error(message, &error, nullptr);
      if (!failed_.exchange(true)) error_ = error->message;
      g_error_free(error);
    }
    const gchar* type = nullptr;
    if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_NEED_CONTEXT ||
        !gst_message_parse_context_type(message, &type) || g_strcmp0(type, kContextType) != 0)
      return;
    auto* asker = GST_ELEMENT(GST_MESSAGE_SRC(message));
    if (given_ == Given::kAll || (given_ == Given::kFirst && asker == elements_[0]))
      gst_element_set_context(asker, context_);
  }

  bool has_context(GstElement* element) {
    GstPad* pad = gst_element_get_static_pad(element, "src");
    GstQuery* query = gst_query_new_context(kContextType);
    GstContext* found = nullptr;
    if (gst_pad_query(pad, query)) gst_query_parse_context(query, &found);
    const GValue* ours = gst_structure_get_value(gst_context_get_structure(context_), kContextType);
    const GValue* theirs =
        found == nullptr ? nullptr
                         : gst_structure_get_value(gst_context_get_structure(found), kContextType);
    const bool same = theirs != nullptr && g_value_get_object(ours) == g_value_get_object(theirs);
    gst_query_unref(query);
    gst_object_unref(pad);
    return same;
  }

  /// Returns when both threads have ended. Threads that wait for each other cannot be ended: the
  /// process is.
  void watch() const {
    int seen = -1;
    for (int slices = 0; ended_ < 2; ++slices) {
      if (done_ != seen) {
        seen = done_;
        slices = 0;
      }
      if (slices == kPatience) {
        std::printf("FAIL %s: nothing moves after %d cycles\n0 passed, 1 failed\n", name_of(given_),
                    seen);
        std::fflush(stdout);
        std::_Exit(1);
      }
      std::this_thread::sleep_for(kSlice);
    }
  }

  Given given_;
  GstContext* context_;
  GstElement* pipeline_;
  GstElement* elements_[2];
  std::atomic<int> done_{0};
  std::atomic<int> ended_{0};
  std::atomic<bool> failed_{false};
  std::string error_;
};

/// True if all went well.
bool run(const std::string& backend, int cycles, Given given, GstContext* context) {
  Elements elements(backend, given, context);
  const auto start = std::chrono::steady_clock::now();
  const int done = elements.run(cycles);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::printf("%s: %d cycles in %.1f s\n", name_of(given), done, took.count());
  if (done != 2 * cycles)
    std::printf("FAIL %s: %d of %d cycles. %s\n", name_of(given), done, 2 * cycles,
                elements.error().c_str());
  // The CPU asks nobody for a context.
  const bool shared = given == Given::kNobody || backend == "cpu" || elements.both_share();
  if (!shared) std::printf("FAIL %s: the elements do not have it\n", name_of(given));
  std::fflush(stdout);
  return done == 2 * cycles && shared;
}

}  // namespace

int main(int argc, char** argv) {
  gst_init(&argc, &argv);
  const std::string backend = argc == 3 ? argv[1] : "";
  const int cycles = argc == 3 ? std::atoi(argv[2]) : 0;
  if (cycles <= 0 || (backend != "cuda" && backend != "cpu")) {
    std::fprintf(stderr, "usage: context_cycles cuda|cpu CYCLES\n");
    return 2;
  }
  int passed = 0;
  int failed = 0;
  const auto count = [&](bool well) { ++(well ? passed : failed); };
  count(run(backend, cycles, Given::kNobody, nullptr));
  if (GstContext* context = cudaconvolve::gpu::new_cuda_context()) {
    count(run(backend, cycles, Given::kAll, context));
    count(run(backend, cycles, Given::kFirst, context));
    gst_context_unref(context);
  } else {
    std::printf("no GstCudaContext to share\n");
  }
  std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
