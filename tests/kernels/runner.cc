// SPDX-License-Identifier: LGPL-2.1-or-later
#include "tests/kernels/runner.h"

#include <functional>
#include <utility>

namespace convolve::testing {
namespace {

constexpr std::size_t kFailuresShown = 20;

/// Samples of pictures that cost next to nothing beside their reference.
constexpr int kSmallPicture = 64 * 64;

/// Whether the plan is what was asked for; says what is not.
std::string check_plan(const Plan& plan, BackendKind backend, KernelKind kernel, Form form,
                       int tile_width, bool rational, const Mask& mask) {
  if (plan.backend != backend) return "another backend was planned";
  if (plan.kernel() != kernel) return "another kernel was planned: " + plan.to_string();
  if (plan.form != form) return "another form was planned: " + plan.to_string();
  if (plan.rational != rational) return "the plan's class is not the reference's";
  if (tile_width == 0 || !is_tiled(kernel)) return {};
  const int wanted =
      kernel == KernelKind::kTiledInput ? tiled_input_tile(tile_width, mask.width) : tile_width;
  return plan.tile_width == wanted ? std::string()
                                   : "another tile was planned: " + plan.to_string();
}

}  // namespace

const char* backend_name(BackendKind backend) {
  return backend == BackendKind::kCuda ? "cuda" : "cpu";
}

const char* border_name(Border border) {
  static const char* const kNames[kBorderCount] = {"replicate", "zero", "reflect", "mirror",
                                                   "wrap"};
  return kNames[static_cast<int>(border)];
}

std::string refusal_ground(const Status& status) {
  if (status.code() != Code::kUnsupported) return {};
  for (const char* ground : {"size", "memory", "rank", "device"})
    if (status.message().find(": " + std::string(ground) + ": ") != std::string::npos)
      return ground;
  return {};
}

void Tally::add(const Tally& other) {
  for (const auto& [kernel, theirs] : other.kernels) {
    KernelTally& ours = kernels[kernel];
    ours.cases += theirs.cases;
    ours.failed += theirs.failed;
    ours.comparison.add(theirs.comparison);
  }
  forms.add(other.forms);
  refusals.insert(other.refusals.begin(), other.refusals.end());
  for (const std::string& failure : other.failures)
    if (failures.size() < kFailuresShown) failures.push_back(failure);
}

Runner::Runner(std::vector<std::shared_ptr<Device>> devices, std::vector<KernelKind> kernels)
    : devices_(std::move(devices)), kernels_(std::move(kernels)) {}

void Runner::run(const Case& c) {
  Scenes scenes;
  for (const Arrangement arrangement : c.arrangements)
    run_layout(c, arrangement, scenes);
}

const Runner::Scene& Runner::scene(const Case& c, const Component& component, int index,
                                   Scenes& scenes) {
  const bool biased = component.role != Role::kChroma && component.role != Role::kAlpha;
  const SceneKey key{component.width, component.height, index,
                     component.black, component.range,  biased};
  const auto found = scenes.find(key);
  if (found != scenes.end()) return found->second;
  Scene made;
  made.input = make_picture(c.fill, component, index);
  if (component.filtered)
    for (const Border border : c.borders)
      made.truth.push_back(
          reference_filter(made.input, component, c.mask->mask, {c.scale, c.bias, border}));
  return scenes.emplace(key, std::move(made)).first->second;
}

void Runner::run_layout(const Case& c, Arrangement arrangement, Scenes& scenes) {
  const FrameFormat format = make_format(arrangement, c.samples, c.levels, c.width, c.height);
  const FrameFormat planned =
      make_format(arrangement, c.samples, c.levels, c.width + c.spare, c.height + c.spare);
  // Misaligned and bottom-up frames are spread over the sizes.
  GuardedFrame source(format, c.width % 4, (c.width + c.height) % 5 == 0);
  int index = 0;
  for (int p = 0; p < format.plane_count; ++p)
    for (int k = 0; k < format.planes[p].component_count; ++k, ++index)
      encode_component(scene(c, format.planes[p].components[k], index, scenes).input, source.view(),
                       p, k);
  source.soil_unused_bits();
  const std::string name = c.name() + " " + arrangement_name(arrangement);
  for (const KernelKind kernel : kernels_) {
    if (!c.takes(kernel)) continue;
    // Small pictures on every device; larger ones take turns by their name, so that a run does the
    // same whatever the order of its cases.
    const bool all = c.width * c.height <= kSmallPicture;
    const std::size_t turn = std::hash<std::string>()(name) % devices_.size();
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      if (!all && d != turn) continue;
      // A case counts once, however many devices run it.
      FormCounts* counts = d == turn ? &tally_.forms : nullptr;
      const Planned how{planned, source, devices_[d], format_class(arrangement, c.samples), counts};
      for (const int tile_width : c.tile_widths_of(kernel))
        run_kernel(c, how, kernel, tile_width, name, scenes);
    }
  }
}

void Runner::run_kernel(const Case& c, const Planned& how, KernelKind kernel, int tile_width,
                        const std::string& name, Scenes& scenes) {
  const std::vector<Form> forms = forms_of(kernel, how.device->capabilities().backend);
  // Not kept: its weights would take room in the constant bank beside those of the forms.
  const Status asked = Convolver::create(how.format, c.mask->mask,
                                         c.options(kernel, std::nullopt, tile_width), how.device)
                           .status();
  if (!asked.ok()) refuse(c, kernel, tile_width, name, asked);
  for (const Form form : forms) {
    Result<std::unique_ptr<Convolver>> convolver = Convolver::create(
        how.format, c.mask->mask, c.options(kernel, form, tile_width), how.device);
    if (how.counts != nullptr) how.counts->add(form, how.format_class, convolver.ok());
    // A form may not serve where its kernel does.
    if (!convolver.ok()) continue;
    if (!asked.ok()) fail(kernel, name, "a form serves where its kernel does not");
    run_form(c, how, *convolver.value(), form, tile_width,
             name + (forms.size() > 1 ? std::string(" ") + form_info(form).name : ""), scenes);
  }
}

void Runner::run_form(const Case& c, const Planned& how, Convolver& convolver, Form form,
                      int tile_width, const std::string& name, Scenes& scenes) {
  const KernelKind kernel = form_info(form).kernel;
  const GuardedFrame& source = how.source;
  const FrameFormat& format = source.view().format;
  const int first_filtered = format.planes[0].components[0].filtered ? 0 : 1;
  const bool rational =
      scene(c, format.planes[0].components[first_filtered], first_filtered, scenes)
          .truth.front()
          .rational;
  const std::string misplanned = check_plan(convolver.plan(), how.device->capabilities().backend,
                                            kernel, form, tile_width, rational, c.mask->mask);
  if (!misplanned.empty()) return fail(kernel, name, misplanned);

  const GuardedFrame::Bytes before = source.bytes();
  GuardedFrame output(format, c.height % 4, c.width % 3 == 1);
  for (std::size_t b = 0; b < c.borders.size(); ++b) {
    const std::string where = name + " " + border_name(c.borders[b]) +
                              (tile_width == 0 ? "" : " tile " + std::to_string(tile_width));
    output.poison();
    Status status = convolver.run(source.view(), output.view(), {c.scale, c.bias, c.borders[b]});
    if (status.ok()) status = how.device->finish();
    if (!status.ok()) {
      fail(kernel, where, status.message());
      continue;
    }
    const Comparison comparison = compare(c, b, source.view(), output.view(), scenes);
    tally_.kernels[kernel].comparison.add(comparison);
    if (comparison.wrong > 0)
      fail(kernel, where,
           std::to_string(comparison.wrong) + " of " + std::to_string(comparison.samples) +
               " samples differ, first " + comparison.first_wrong + " [" +
               convolver.plan().to_string() + "]");
    else if (!output.guards_intact())
      fail(kernel, where, "wrote outside its rows");
    else if (before != source.bytes())
      fail(kernel, where, "changed its source");
    else
      ++tally_.kernels[kernel].cases;
  }
}

Comparison Runner::compare(const Case& c, std::size_t border, const FrameView& source,
                           const FrameView& output, Scenes& scenes) {
  Comparison result;
  int index = 0;
  for (int p = 0; p < output.format.plane_count; ++p)
    for (int k = 0; k < output.format.planes[p].component_count; ++k, ++index) {
      const Component& component = output.format.planes[p].components[k];
      result.add(component.filtered
                     ? compare_component(output, p, k,
                                         scene(c, component, index, scenes).truth[border].samples)
                     : compare_copied(output, source, p, k));
    }
  return result;
}

void Runner::refuse(const Case& c, KernelKind kernel, int tile_width, const std::string& name,
                    const Status& status) {
  const std::string ground = refusal_ground(status);
  if (ground.empty()) return fail(kernel, name, "refused without a ground: " + status.message());
  tally_.refusals.insert(std::string(backend_name(devices_.front()->capabilities().backend)) + " " +
                         kernel_info(kernel).nick + " " + c.mask->name +
                         (tile_width == 0 ? "" : " tile-width=" + std::to_string(tile_width)) +
                         ": " + ground);
}

void Runner::fail(KernelKind kernel, const std::string& name, const std::string& what) {
  KernelTally& tally = tally_.kernels[kernel];
  ++tally.cases;
  ++tally.failed;
  if (tally_.failures.size() < kFailuresShown)
    tally_.failures.push_back(std::string(kernel_info(kernel).nick) + " " + name + ": " + what);
}

}  // namespace convolve::testing
