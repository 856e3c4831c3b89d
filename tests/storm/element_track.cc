// SPDX-License-Identifier: LGPL-2.1-or-later
// Plays a track through the element. It keeps account of what must be in force: a set of properties
// that cannot be served leaves the last plan running, with one warning.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/core/weights/arithmetic.h"
#include "plugin/formats.h"
#include "tests/storm/picture.h"
#include "tests/storm/plant.h"
#include "tests/storm/play.h"
#include "tests/storm/truth.h"
#include "tests/support/element.h"
#include "tests/support/layout.h"
#include "tests/support/oracle.h"

namespace storm {
namespace {

using convolve::FrameFormat;
using convolve::FrameView;
using convolve::RunArguments;

bool same(const RunArguments& a, const RunArguments& b) {
  return a.scale == b.scale && a.bias == b.bias && a.border == b.border;
}

/// True if a change of the property needs a new plan whatever its value.
bool needs_plan(const std::string& property) {
  return property != "scale" && property != "bias" && property != "border";
}

/// What the element said since it was asked last.
struct Said {
  std::vector<std::string> errors;
  std::vector<std::string> warnings;
};

const check::Layout& layout_named(const std::string& name) {
  const std::vector<check::Layout>& all = check::honest_layouts();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const check::Layout& layout) { return layout.name == name; });
  return found != all.end() ? *found : all.front();
}

class ElementPlayer {
 public:
  ElementPlayer(const Track& track, const std::string& backend)
      : track_(track),
        backend_(backend),
        picture_(track.head),
        harness_({{"backend", track.head.get("backend", backend)},
                  {"threads", track.head.get("threads", "0")},
                  {"async-depth", track.head.get("async-depth", "0")}}) {}

  Outcome play() {
    int number = 0;
    for (const Words& step : track_.steps) {
      const bool goes_on = play_step(step, number++);
      if (!outcome_.fault.empty())
        outcome_.fault = "frame " + std::to_string(number) + ": " + outcome_.fault;
      if (!goes_on || !outcome_.fault.empty()) break;
    }
    return outcome_;
  }

 private:
  Said listen() {
    Said said;
    GstBus* bus = gst_element_get_bus(harness_.element());
    const auto kinds = static_cast<GstMessageType>(GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
    while (GstMessage* message = gst_bus_pop_filtered(bus, kinds)) {
      GError* error = nullptr;
      const bool is_error = GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR;
      if (is_error)
        gst_message_parse_error(message, &error, nullptr);
      else
        gst_message_parse_warning(message, &error, nullptr);
      (is_error ? said.errors : said.warnings).push_back(error->message);
      g_error_free(error);
      gst_message_unref(message);
    }
    gst_object_unref(bus);
    return said;
  }

  /// False if the track is at its end: with a fault, or as no frames can come.
  bool play_step(const Words& step, int number) {
    bool planned = false;
    for (const Words::Word& word : step)
      if (is_property(word.first) && set(word)) planned = planned || needs_plan(word.first);
    if (step.has("flush") && !caps_.empty()) flush();
    change_picture(step);
    if (!outcome_.fault.empty()) return false;
    if (spare_time()) planned = true;
    if (caps_ != caps_text(picture_)) {
      if (!send_caps()) return false;
      planned = false;
    }

    const Bytes frame =
        make_frame(*info_, step.get("fill", "random"),
                   static_cast<unsigned>(std::strtoul(step.get("q", "0").c_str(), nullptr, 10)));
    Words all = wanted_;
    all.add("size", picture_.get("size"));
    Bytes nothing;
    plant_fault(all, nothing);
    // All frames of a burst are the same, so that they may be in flight together.
    const int burst = std::max(1, std::atoi(step.get("burst", "1").c_str()));
    bool fields = false;
    for (int k = 0; k < burst && flow_ == GST_FLOW_OK; ++k)
      fields = push(frame, step, number);
    GstBuffer* buffer = flow_ == GST_FLOW_OK ? pull() : nullptr;
    const Said said = listen();
    if (!said.errors.empty() || flow_ != GST_FLOW_OK) gst_clear_buffer(&buffer);
    if (!said.errors.empty()) return fail("error: " + said.errors.front());
    if (flow_ != GST_FLOW_OK) return fail(std::string("no frame: ") + gst_flow_get_name(flow_));
    if (!settle(said, planned)) {
      gst_clear_buffer(&buffer);
      return false;
    }
    if (buffer == nullptr) return fail("no frame: nothing came out");
    Bytes given = check::picture_of(buffer, *info_);
    gst_buffer_unref(buffer);
    for (int k = 1; k < burst; ++k) {
      buffer = pull();
      if (buffer == nullptr) return fail("no frame: fewer came out of a burst than went in");
      const std::int64_t differing =
          oracle::differing_samples(*info_, check::picture_of(buffer, *info_), given);
      gst_buffer_unref(buffer);
      if (differing != 0) return fail("differs: frames of a burst are not alike");
    }
    plant_fault(all, given);
    judge_frame(frame, given, fields, static_cast<unsigned>(number));
    return outcome_.fault.empty();
  }

  /// True if the element takes the value.
  bool set(const Words::Word& word) {
    harness_.set(word.first, property_text(word));
    if (takes(word)) {
      wanted_.set(meaning(word).first, word.second);
      return true;
    }
    const Said said = listen();
    if (said.warnings.size() != 1) fail("no warning for " + word.first + "=" + word.second);
    ++outcome_.refused;
    return false;
  }

  /// The next frame, which comes by itself; null if it does not.
  GstBuffer* pull() {
    constexpr int kPatience = 30'000;  // Milliseconds.
    for (int waited = 0; waited < kPatience; ++waited) {
      if (GstBuffer* buffer = harness_.pull_buffer()) return buffer;
      g_usleep(waited < 20 ? 100 : 1000);
    }
    return nullptr;
  }

  void flush() {
    gst_harness_push_event(harness_.get(), gst_event_new_flush_start());
    gst_harness_push_event(harness_.get(), gst_event_new_flush_stop(TRUE));
    GstSegment segment;
    gst_segment_init(&segment, GST_FORMAT_TIME);
    gst_harness_push_event(harness_.get(), gst_event_new_segment(&segment));
  }

  /// Leaves the choice to the planner where the CPU has no time for the kernel that is asked for,
  /// alpha straight where it has none for its weighting, and the mask small where it has none for
  /// its digits: then true.
  bool spare_time() {
    const auto info = picture_info(caps_text(picture_));
    const auto settings = resolve(wanted_);
    if (!info || !settings.ok()) return false;
    const FrameFormat format = cudaconvolve::frame_format(*info, settings.value().channels);
    const convolve::Mask& mask = settings.value().mask;
    const convolve::Options& options = settings.value().options;
    const bool straight =
        too_slow_by_alpha(format, mask, options) && set({"alpha-mode", "straight"});
    const bool chosen =
        backend_ != "cuda" && too_slow(format, mask, options) && set({"kernel", "auto"});
    const bool small = digits_too_slow(format, mask, options) && set({"mask", "emboss"});
    return straight || chosen || small;
  }

  void change_picture(const Words& step) {
    for (const char* name : {"format", "size", "mode", "colorimetry"})
      if (step.has(name)) picture_.set(name, step.get(name));
  }

  /// False if the element refuses the caps with its settings, as it may, or must not.
  bool send_caps() {
    caps_ = caps_text(picture_);
    info_ = picture_info(caps_);
    if (!info_) return fail("no such picture: " + caps_);
    listen();
    gst_harness_set_src_caps(harness_.get(), gst_caps_from_string(caps_.c_str()));
    const Said said = listen();
    if (!said.errors.empty()) {
      ++outcome_.refused;
      if (!may_refuse(said.errors.front())) fail("refused the caps: " + said.errors.front());
      return false;
    }
    if (!said.warnings.empty()) return fail("warned about caps: " + said.warnings.front());
    const auto settings = resolve(wanted_);
    if (!settings.ok()) return fail("took settings that mean nothing: " + wanted_.text());
    in_force_ = wanted_;
    possible_ = {settings.value().arguments};
    refused_ = false;
    return true;
  }

  /// What is in force for the frame that was pushed.
  bool settle(const Said& said, bool planned) {
    if (!said.warnings.empty()) {
      ++outcome_.refused;
      refused_ = true;
      if (said.warnings.size() > 1) return fail("two warnings: " + said.warnings[1]);
      if (!may_refuse(said.warnings.front()))
        return fail("refused settings: " + said.warnings.front());
    } else if (planned) {
      refused_ = false;
    }
    const auto settings = resolve(wanted_);
    if (!refused_) {
      if (!settings.ok()) return fail("took settings that mean nothing: " + wanted_.text());
      in_force_ = wanted_;
      possible_.clear();
    }
    RunArguments arguments = possible_.empty() ? RunArguments{} : possible_.back();
    Words numbers = in_force_;
    for (const char* name : {"scale", "bias", "border"})
      if (wanted_.has(name)) numbers.set(name, wanted_.get(name));
    if (const auto wished = resolve(numbers); wished.ok()) arguments = wished.value().arguments;
    // Whether the last plan serves new numbers is the plan's own secret.
    if (std::none_of(possible_.begin(), possible_.end(),
                     [&](const RunArguments& other) { return same(other, arguments); }))
      possible_.push_back(arguments);
    return true;
  }

  /// Settings that contradict each other, and a kernel asked for by name that says why it cannot.
  bool may_refuse(const std::string& message) const {
    if (!resolve(wanted_).ok()) return true;
    return wanted_.get("kernel", "auto") != "auto" && !ground_of(message).empty();
  }

  /// Returns whether the frame's fields are filtered each for itself.
  bool push(const Bytes& frame, const Words& step, int number) {
    GstBuffer* buffer = check::lay_out(*info_, frame, layout_named(step.get("layout", "Plain")));
    GST_BUFFER_PTS(buffer) = static_cast<GstClockTime>(number) * (GST_SECOND / 25);
    GST_BUFFER_DURATION(buffer) = GST_SECOND / 25;
    const GstVideoInterlaceMode mode = GST_VIDEO_INFO_INTERLACE_MODE(&*info_);
    const bool mixed = mode == GST_VIDEO_INTERLACE_MODE_MIXED && step.has("interlaced");
    if (mixed) GST_BUFFER_FLAG_SET(buffer, GST_VIDEO_BUFFER_FLAG_INTERLACED);
    flow_ = harness_.push_buffer(buffer);
    return mixed || mode == GST_VIDEO_INTERLACE_MODE_INTERLEAVED;
  }

  void judge_frame(const Bytes& frame, Bytes& given, bool fields, unsigned seed) {
    ++outcome_.frames;
    std::string first_fault;
    std::vector<RunArguments> matching;
    for (const RunArguments& arguments : possible_) {
      auto settings = resolve(in_force_);
      settings.value().arguments = arguments;
      settings.value().options.scale = arguments.scale;
      settings.value().options.bias = arguments.bias;
      Outcome tried;
      judge_with(settings.value(), frame, given, fields, seed, &tried);
      if (first_fault.empty()) first_fault = tried.fault;
      if (!tried.fault.empty()) continue;
      if (matching.empty()) outcome_.add(tried);
      matching.push_back(arguments);
    }
    possible_ = matching;
    if (matching.empty()) fail(first_fault + " [" + harness_.get_string("active-plan") + "]");
  }

  void judge_with(const Settings& settings, const Bytes& frame, Bytes& given, bool fields,
                  unsigned seed, Outcome* outcome) {
    const FrameFormat format = cudaconvolve::frame_format(*info_, settings.channels);
    const std::string plan = harness_.get_string("active-plan");
    Bytes source = frame;
    Bytes truth(frame.size());
    Evidence evidence;
    evidence.planned = format;
    evidence.seed = seed;
    evidence.passthrough = convolve::is_passthrough(format, settings.mask, settings.arguments.scale,
                                                    settings.arguments.bias);
    if (!evidence.passthrough && !track_.head.has("backend") && plan.rfind(backend_, 0) != 0) {
      outcome->fault = "another backend ran";
      return;
    }
    if (!evidence.passthrough) truth_.prepare(format, settings, plan);
    for (int parity = 0; parity < (fields ? 2 : 1); ++parity) {
      const auto part = [&](Bytes& bytes) {
        const FrameView view = view_of(*info_, format, bytes);
        return fields ? field_of(view, parity) : view;
      };
      evidence.source = part(source);
      evidence.given = part(given);
      if (!has_rows(evidence.source)) continue;
      evidence.truth.reset();
      if (!evidence.passthrough && truth_.run(evidence.source, part(truth), settings.arguments))
        evidence.truth = part(truth);
      outcome->add(judge(evidence, settings));
    }
  }

  bool fail(std::string what) {
    if (outcome_.fault.empty()) outcome_.fault = std::move(what);
    return false;
  }

  const Track& track_;
  const std::string backend_;
  Words picture_;  ///< The track's head, as changed since.
  check::Harness harness_;
  TruthMaker truth_;
  Outcome outcome_;

  std::string caps_;
  std::optional<GstVideoInfo> info_;
  GstFlowReturn flow_ = GST_FLOW_OK;
  Words wanted_;                        ///< All properties as set last.
  Words in_force_;                      ///< Those of the last plan.
  std::vector<RunArguments> possible_;  ///< One of them is in force.
  bool refused_ = false;                ///< The last plan runs on without what was set since.
};

}  // namespace

Outcome play_element(const Track& track, const std::string& backend) {
  return ElementPlayer(track, backend).play();
}

}  // namespace storm
