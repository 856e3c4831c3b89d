// SPDX-License-Identifier: LGPL-2.1-or-later
// Plays a track through the engine's public face: every way of a kernel can be asked for, and
// frames lie anywhere in host or device memory.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/core/shape/tensor_tiles.h"
#include "kernels/cuda/cuda_device.h"
#include "plugin/formats.h"
#include "tests/storm/picture.h"
#include "tests/storm/plant.h"
#include "tests/storm/play.h"
#include "tests/storm/surface.h"
#include "tests/storm/truth.h"

namespace storm {
namespace {

using convolve::FrameFormat;
using convolve::FrameView;
using convolve::Status;

/// What the engine may be asked for beside the element's properties: a form.
convolve::Options with_form(const Words& words, convolve::Options options) {
  if (const convolve::FormInfo* form = convolve::find_form(words.get("form").c_str()))
    options.form = form->form;
  return options;
}

int whole(const Words& words, const char* name, int fallback = 0) {
  return words.has(name) ? std::atoi(words.get(name).c_str()) : fallback;
}

/// The place of target `k` of a step that has several.
int target_place(const Words& words, int k) {
  return whole(words, "target") + k * 64;
}

bool lies_on(const FrameView& view, int alignment) {
  for (int p = 0; p < view.format.plane_count; ++p)
    if (!convolve::rows_lie_on(reinterpret_cast<std::uintptr_t>(view.data[p]), view.pitch[p],
                               view.format.planes[p].rows, alignment))
      return false;
  return true;
}

/// Options::alignment for frames of a step, where they lie on the device.
int alignment_of(const Words& words, const FrameFormat& format) {
  const auto good = [&](int place) {
    return lies_on(Surface(format, place, convolve::Memory::kHost, nullptr).view(),
                   convolve::kPlaneAlignment);
  };
  bool all = good(whole(words, "source"));
  for (int k = 0; k < whole(words, "times", 1); ++k)
    all = all && good(target_place(words, k));
  return all || words.get("memory") != "cuda" ? convolve::kPlaneAlignment : 1;
}

/// True if samples of both lie alike. The padding that completes the last pair of an odd width lies
/// elsewhere in wider pictures.
bool alike(const FrameFormat& a, const FrameFormat& b) {
  for (int p = 0; p < a.plane_count; ++p)
    for (int c = 0; c < a.planes[p].component_count; ++c)
      if (a.planes[p].components[c].offset != b.planes[p].components[c].offset) return false;
  return true;
}

/// `format` as of a picture that is larger by `spare` pixels each way, if there is one.
FrameFormat planned_format(const Words& words, const FrameFormat& format, int spare,
                           unsigned channels) {
  // Forms for packed 4:2:2 want rows of whole columns, as planned.
  if (convolve::tile_kind(format.planes[0]) == convolve::kPackedKind) return format;
  Words larger = words;
  const std::string size = words.get("size");
  const std::size_t times = size.find('x');
  larger.set("size", std::to_string(std::atoi(size.c_str()) + spare) + "x" +
                         std::to_string(std::atoi(size.c_str() + times + 1) + spare));
  const std::optional<GstVideoInfo> info = picture_info(caps_text(larger));
  if (!info) return format;
  const FrameFormat planned = cudaconvolve::frame_format(*info, channels);
  return alike(planned, format) ? planned : format;
}

class EnginePlayer {
 public:
  EnginePlayer(const Track& track, const std::string& backend)
      : track_(track),
        kind_(backend == "cuda" ? convolve::BackendKind::kCuda : convolve::BackendKind::kCpu),
        words_(track.head) {}

  Outcome play() {
    convolve::DeviceOptions options;
    options.threads = whole(words_, "threads");
    auto device = convolve::open_device(kind_, options);
    if (!device.ok()) {
      outcome_.fault = "no device: " + device.status().message();
      return outcome_;
    }
    device_ = std::move(device.value());
    int number = 0;
    for (const Words& step : track_.steps) {
      // What is about one frame alone does not stay.
      Words all = words_;
      for (const Words::Word& word : step) {
        if (!takes(word)) continue;
        const Words::Word what = meaning(word);
        all.set(what.first, what.second);
        if (is_property(word.first) || words_.has(what.first)) words_.set(what.first, what.second);
      }
      ++number;
      convolve::set_least_bytes_of_piece(static_cast<std::size_t>(whole(all, "pieces")));
      play_step(all, static_cast<unsigned>(number));
      convolve::set_least_bytes_of_piece(0);
      if (outcome_.fault.empty()) continue;
      outcome_.fault = "frame " + std::to_string(number) + ": " + outcome_.fault;
      break;
    }
    return outcome_;
  }

 private:
  void play_step(const Words& words, unsigned number) {
    const std::optional<GstVideoInfo> info = picture_info(caps_text(words));
    if (!info) return fail("no such picture: " + caps_text(words));
    auto settings = resolve(words);
    if (!settings.ok()) {
      ++outcome_.refused;
      return;
    }
    const FrameFormat format = cudaconvolve::frame_format(*info, settings.value().channels);
    Bytes frame =
        make_frame(*info, words.get("fill", "random"),
                   static_cast<unsigned>(std::strtoul(words.get("q").c_str(), nullptr, 10)));
    FrameView picture = view_of(*info, format, frame);
    const std::string part = words.get("view", "frame");
    if (part != "frame") picture = field_of(picture, part == "top" ? 0 : 1);
    if (!has_rows(picture)) return;
    const FrameFormat planned =
        planned_format(words, format, whole(words, "spare"), settings.value().channels);
    if (digits_too_slow(format, settings.value().mask, settings.value().options)) {
      ++outcome_.refused;
      return;
    }
    if (too_slow_by_alpha(format, settings.value().mask, settings.value().options))
      settings.value().options.alpha_mode = convolve::AlphaMode::kStraight;
    convolve::Options options = with_form(words, settings.value().options);
    options.alignment = alignment_of(words, picture.format);
    if (kind_ == convolve::BackendKind::kCpu && too_slow(format, settings.value().mask, options))
      options.kernel = convolve::KernelKind::kAuto;
    auto convolver = convolve::Convolver::create(planned, settings.value().mask, options, device_);
    if (!convolver.ok()) {
      check_refusal(words, convolver.status());
      convolve::Options chosen = settings.value().options;
      chosen.kernel = convolve::KernelKind::kAuto;
      chosen.alignment = options.alignment;
      convolver = convolve::Convolver::create(planned, settings.value().mask, chosen, device_);
    }
    if (!convolver.ok())
      return fail("refused though nothing is forced: " + convolver.status().message());

    run(words, picture, planned, *convolver.value(), settings.value(), number);
  }

  /// A kernel or a way of it may be refused, with a ground.
  void check_refusal(const Words& words, const Status& status) {
    ++outcome_.refused;
    const bool asked = words.get("kernel", "auto") != "auto" || words.has("form");
    if (!asked || status.code() != convolve::Code::kUnsupported ||
        ground_of(status.message()).empty())
      fail("refused without a ground: " + status.message());
  }

  void run(const Words& words, const FrameView& picture, const FrameFormat& planned,
           convolve::Convolver& convolver, const Settings& settings, unsigned number) {
    const std::string asked = kind_ == convolve::BackendKind::kCuda ? words.get("memory") : "";
    const convolve::Memory memory = asked == "cuda"     ? convolve::Memory::kCuda
                                    : asked == "locked" ? convolve::Memory::kPageLocked
                                                        : convolve::Memory::kHost;
    Surface source(picture.format, whole(words, "source"), memory, device_.get());
    std::vector<std::unique_ptr<Surface>> targets;
    for (int k = 0; k < whole(words, "times", 1); ++k) {
      targets.push_back(
          std::make_unique<Surface>(picture.format, target_place(words, k), memory, device_.get()));
      if (!targets.back()->good() || !targets.back()->poison()) return;
    }
    if (!source.good() || !source.poison() || !source.write(picture)) return;

    Bytes nothing;
    plant_fault(words, nothing);
    Status status;
    for (const std::unique_ptr<Surface>& target : targets)
      if (status.ok()) status = convolver.run(source.view(), target->view(), settings.arguments);
    if (status.ok()) status = device_->finish();
    if (!status.ok()) return fail("no frame: " + status.message());

    const std::string plan = convolver.plan().to_string();
    Surface truth(picture.format, 0, convolve::Memory::kHost, nullptr);
    truth_.prepare(planned, settings, plan);
    Evidence evidence;
    evidence.planned = planned;
    evidence.source = picture;
    evidence.seed = number;
    if (truth_.run(picture, truth.view(), settings.arguments)) evidence.truth = truth.view();
    for (const std::unique_ptr<Surface>& target : targets) {
      ++outcome_.frames;
      if (!target->read()) return fail("no frame: it cannot be copied");
      if (!target->guards_intact()) return fail("wrote outside its rows [" + plan + "]");
      evidence.given = target->host();
      plant_byte(words, target->host());
      outcome_.add(judge(evidence, settings));
      if (!outcome_.fault.empty()) {
        outcome_.fault += " [" + plan + "]";
        return;
      }
    }
  }

  static void plant_byte(const Words& words, const FrameView& given) {
    Bytes first = {*given.data[0]};
    plant_fault(words, first);
    *given.data[0] = first[0];
  }

  void fail(std::string what) {
    if (outcome_.fault.empty()) outcome_.fault = std::move(what);
  }

  const Track& track_;
  const convolve::BackendKind kind_;
  Words words_;  ///< The track's head and all properties as set last.
  std::shared_ptr<convolve::Device> device_;
  TruthMaker truth_;
  Outcome outcome_;
};

}  // namespace

Outcome play_engine(const Track& track, const std::string& backend) {
  return EnginePlayer(track, backend).play();
}

}  // namespace storm
