// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/frame_case.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "kernels/core/weights/arithmetic.h"
#include "kernels/reference/reference.h"
#include "tests/kernels/runner.h"

namespace convolve::testing {
namespace {

/// Products of the largest pictures and masks that the exact reference is asked for.
constexpr std::int64_t kReferenceWork = 24000;

/// Products of the largest pictures and masks for which the exact reference decides whether codes
/// may be one off: more than above, as that is rarely asked for.
constexpr std::int64_t kZoneWork = 300000000;

std::string name_of(const FrameFormat& frame, const TestMask& mask, const RunArguments& how) {
  const Component& first = frame.planes[0].components[0];
  std::string name = mask.name + " " + std::to_string(first.width) + "x" +
                     std::to_string(first.height) + " " + border_name(how.border);
  char values[64] = "";
  if (how.scale != 1 || how.bias != 0)
    std::snprintf(values, sizeof values, " scale %g bias %g", how.scale, how.bias);
  return name + values;
}

/// Of codes that the zone may make one off: what it takes of all values, and patches of one value
/// that lie in it.
double neighbour_share(const FrameFormat& frame, const Mask& mask, double scale) {
  constexpr double kPatches = 0.125;
  double widest = 0;
  (void)all_filtered(frame, [&](const Component& component) {
    widest = std::max(widest, zone(mask, scale, component.depth));
    return true;
  });
  return kPatches + 2 * widest;
}

}  // namespace

FrameCase::FrameCase(std::string format, const FrameFormat& frame, TestMaskPtr mask,
                     const RunArguments& how, AlphaMode alpha, std::uint64_t turn)
    : format_(std::move(format)),
      frame_(frame),
      mask_(std::move(mask)),
      how_(how),
      alpha_(alpha),
      turn_(static_cast<int>(turn % 1000)),
      name_(name_of(frame, *mask_, how)),
      source_(frame, turn_ % 4, turn_ % 7 == 0),
      truth_(frame, 0, false) {
  fill_frame(source_.view(), turn);
}

bool FrameCase::make_truth(ClassWorker& worker) {
  Options options;
  options.scale = how_.scale;
  options.bias = how_.bias;
  options.alpha_mode = alpha_;
  auto convolver = Convolver::create(frame_, mask_->mask, options, worker.truth());
  Status status = convolver.ok() ? convolver.value()->run(source_.view(), truth_.view(), how_)
                                 : convolver.status();
  if (status.ok()) status = worker.truth()->finish();
  if (!status.ok()) {
    worker.fail("cpu", format_, name_ + ": " + status.message());
    return false;
  }
  const bool rational = convolver.value()->plan().rational;
  std::int64_t bytes = 0;
  for (int p = 0; p < frame_.plane_count; ++p)
    bytes += std::int64_t{frame_.planes[p].rows} * frame_.planes[p].row_bytes;
  if (!rational) {
    tolerance_ = {true, neighbour_share(frame_, mask_->mask, how_.scale), nullptr};
    if (alpha_ == AlphaMode::kStraight && bytes * mask_->mask.taps() <= kZoneWork)
      tolerance_.exact = [this](int p, int c) {
        return reference_filter(decode_component(source_.view(), p, c),
                                frame_.planes[p].components[c], mask_->mask, how_)
            .samples;
      };
  }
  if (!rational || alpha_ == AlphaMode::kPremultiplied ||
      bytes * mask_->mask.taps() > kReferenceWork)
    return true;
  GuardedFrame exact(frame_, 0, false);
  reference_run(source_.view(), exact.view(), mask_->mask, how_);
  worker.judge("cpu", format_, name_ + ", of the reference",
               find_fault(truth_.view(), exact.view(), {}));
  return true;
}

Options FrameCase::options(const Way& way) const {
  Options options = way.options;
  options.scale = how_.scale;
  options.bias = how_.bias;
  return options;
}

std::unique_ptr<Convolver> FrameCase::make_convolver(ClassWorker& worker, const Way& way,
                                                     const FrameFormat& format) const {
  std::unique_ptr<Convolver> convolver;
  const Status status = worker.timed(way.name + " " + format_ + " " + name_ + " made", [&] {
    auto made = Convolver::create(format, mask_->mask, options(way), worker.tested());
    if (made.ok()) convolver = std::move(made.value());
    return made.status();
  });
  if (!status.ok() && status.code() != Code::kUnsupported)
    worker.fail(way.name, format_, name_ + ": " + status.message());
  else if (convolver != nullptr && !way.has_form(convolver->plan()))
    worker.fail(way.name, format_, name_ + ": another form was planned than was asked for");
  else if (convolver == nullptr || !way.planned(convolver->plan()))
    worker.refuse(way.name, format_);
  else
    return convolver;
  return nullptr;
}

void FrameCase::run(ClassWorker& worker, const std::string& key, Convolver& convolver,
                    const std::string& how_made) const {
  GuardedFrame answer(frame_, turn_ / 4 % 4, turn_ % 11 == 0);
  const GuardedFrame::Bytes before = source_.bytes();
  const Status status =
      worker.timed(key + " " + format_ + " " + name_ + " " + how_made, [&]() -> Status {
        Status run = convolver.run(source_.view(), answer.view(), how_);
        return run.ok() ? worker.tested()->finish() : run;
      });
  std::string fault = status.message();
  if (status.ok() && convolver.plan().rational == tolerance_.neighbours)
    fault = "the class is not the CPU's";
  if (status.ok() && fault.empty()) fault = find_fault(answer.view(), truth_.view(), tolerance_);
  if (fault.empty() && !answer.guards_intact()) fault = "wrote outside its rows";
  if (fault.empty() && before != source_.bytes()) fault = "changed its source";
  if (!fault.empty()) fault += " [" + convolver.plan().to_string() + "]";
  worker.judge(key, format_, name_ + " " + how_made, fault);
}

}  // namespace convolve::testing
