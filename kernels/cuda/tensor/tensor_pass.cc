// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/tensor/tensor_pass.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "kernels/core/base/round.h"
#include "kernels/core/plan/tensor_forms.h"
#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/tensor/tensor_fragments.h"
#include "kernels/cuda/tensor/tensor_geometry.h"

namespace convolve {
namespace {

/// The components of a plane that has a TileKind, in the order in which they lie in a pixel.
BytePhases side_by_side(const PlaneFormat& plane) {
  BytePhases phases;
  phases.period = plane.component_count;
  for (int c = 0; c < plane.component_count; ++c)
    phases.component[plane.components[c].offset / plane.sample_bytes] = c;
  return phases;
}

/// True if the same fragments serve both planes.
bool same_steps(const PlaneFormat& a, const PlaneFormat& b) {
  if (a.component_count != b.component_count) return false;
  for (int c = 0; c < a.component_count; ++c)
    if (a.components[c].step != b.components[c].step ||
        a.components[c].offset != b.components[c].offset)
      return false;
  return true;
}

template <class Real>
bool same_numbers(const EpilogueOf<Real>& a, const EpilogueOf<Real>& b) {
  return a.divide == b.divide && a.scale == b.scale && a.base == b.base &&
         a.numerator == b.numerator && a.offset == b.offset && a.divisor == b.divisor &&
         a.reciprocal == b.reciprocal;
}

/// True if sums of both phases become codes in the same way, whatever the quantiser.
bool same_way(const TensorPhase& a, const TensorPhase& b) {
  return a.start == b.start && a.base == b.base && a.general.in_float == b.general.in_float &&
         a.general.max_code == b.general.max_code &&
         same_numbers(a.general.narrow, b.general.narrow) &&
         same_numbers(a.general.wide, b.general.wide);
}

/// True if the values that general.wide makes of sums with `weights` fit 32 bits, and it divides
/// nothing.
bool doubles_serve(const TensorPhase& phase, const DigitWeights& weights) {
  constexpr double kTwo30 = 1073741824.0;
  const EpilogueOf<double>& wide = phase.general.wide;
  const double largest =
      weights.magnitude * phase.general.max_code + std::fabs(static_cast<double>(phase.start));
  return !wide.divide && std::fabs(wide.scale) * largest + std::fabs(wide.base) < kTwo30;
}

}  // namespace

TensorPass::TensorPass(const FrameFormat& format, const PreparedPlan& planned)
    : format_(format),
      prepared_(planned.weights),
      mask_(prepared_->mask),
      split_(prepared_->as<SplitDigits>()),
      weights_(split() ? *split_ : *prepared_->as<DigitWeights>()),
      rational_(planned.plan.rational),
      form_(planned.plan.form) {}

Result<TensorPass> TensorPass::make(const FrameFormat& format, const PreparedPlan& planned,
                                    DeviceCore& core) {
  const Plan& plan = planned.plan;
  const Mask& mask = planned.weights->mask;
  TensorPass pass(format, planned);
  TensorArguments& arguments = pass.arguments_;
  arguments.form = plan.form;
  arguments.launch.processors = std::max(1, core.capabilities().processors);
  arguments.plane_count = format.plane_count;
  arguments.mask_height = mask.height;
  arguments.anchor_y = mask.anchor_y;
  arguments.digits = plan.digits;
  pass.prepare_planes(core.capabilities());
  const std::vector<std::uint32_t> fragments = pass.make_fragments();
  Status status = pass.load();
  if (!status.ok()) return status;

  const std::size_t bytes = fragments.size() * sizeof(std::uint32_t);
  Result<DeviceMemory> memory = DeviceMemory::make(bytes, core.stream());
  if (!memory.ok()) return memory.status();
  pass.device_fragments_ = std::move(memory.value());
  status = core.staging().upload(pass.device_fragments_.data(), fragments.data(), bytes);
  if (!status.ok()) return status;
  return pass;
}

bool TensorPass::in_octets() const {
  return form_ == Form::kTensorOctets || form_ == Form::kTensorSplitOctets;
}

bool TensorPass::in_columns() const {
  return form_ == Form::kTensorColumns || form_ == Form::kTensorSliding;
}

bool TensorPass::in_packed() const {
  return form_ == Form::kTensorPackedPairs || form_ == Form::kTensorPackedQuads;
}

/// Sets what the form knows of planes before it sees their memory.
void TensorPass::prepare_planes(const DeviceCapabilities& device) {
  TensorArguments& arguments = arguments_;
  for (int p = 0; p < format_.plane_count; ++p) {
    const PlaneFormat& plane = format_.planes[p];
    if (!has_filtered(plane)) continue;
    TensorPlane& to = arguments.plane[p];
    to.sample_bytes = plane.sample_bytes;
    to.layout = sample_layout(plane, plane.components[0]);
    const std::optional<BytePhases> phases = byte_phases(plane);
    phases_[p] = phases ? *phases : side_by_side(plane);
    to.period = phases_[p].period;
    to.stores.tail = phases_[p].tail;
    if (in_octets()) {
      arguments.octets = octet_window(plane, mask_, device.compute_capability >= 80);
      to.deinterleaved = plane.sample_bytes * plane.component_count;
    } else if (in_columns()) {
      to.window = tensor_window(plane, *phases, mask_);
    } else if (makes_pairs(form_)) {
      const PairWindow window = pair_window(plane, *phases, mask_);
      arguments.pairs = {window.row_groups, window.shift};
      to.deinterleaved = window.deinterleaved;
    } else if (makes_quads(form_) && form_ != Form::kTensorLargeQuads) {
      to.deinterleaved = quad_components(plane, *phases, mask_);
    }
  }
  if (form_ == Form::kTensorSliding)
    arguments.launch.sliding_blocks = tensor_sliding_blocks(mask_.height);
  if (form_ == Form::kTensorTiles)
    arguments.tiles = tensor_tiles(format_, mask_).value_or(TensorTiles{});
  else if (uses_shared_tiles(form_))
    arguments.warpgroups = tensor_warpgroups(format_, mask_, weights_.digits, device.shared_bytes)
                               .value_or(TensorWarpgroups{});
}

/// The fragments that the form takes for `plane`.
std::vector<std::uint32_t> TensorPass::fragments_of(int plane) const {
  if (form_ == Form::kTensorTiles) return tile_fragments(mask_, weights_);
  if (uses_shared_tiles(form_)) return warpgroup_fragments(mask_, weights_);
  if (in_octets()) return octet_fragments(arguments_.octets, mask_, weights_);
  if (makes_quads(form_)) return quad_fragments(mask_, weights_);
  return makes_pairs(form_)
             ? pair_fragments(format_.planes[plane], phases_[plane], mask_, weights_)
             : tensor_fragments(format_.planes[plane], phases_[plane], mask_, weights_);
}

/// The fragments of all planes, one after the other. Planes share them where the mask alone
/// decides, or samples lie alike.
std::vector<std::uint32_t> TensorPass::make_fragments() {
  std::vector<std::uint32_t> fragments;
  const bool one_for_all = !makes_pairs(form_) && !in_columns();
  for (int p = 0; p < format_.plane_count; ++p) {
    const PlaneFormat& plane = format_.planes[p];
    if (!has_filtered(plane)) continue;
    int twin = 0;
    while (twin < p && !(has_filtered(format_.planes[twin]) &&
                         (one_for_all || same_steps(format_.planes[twin], plane))))
      ++twin;
    first_fragment_[p] = twin < p ? first_fragment_[twin] : fragments.size();
    if (twin < p) continue;
    const std::vector<std::uint32_t> words = fragments_of(p);
    fragments.insert(fragments.end(), words.begin(), words.end());
  }
  return fragments;
}

Status TensorPass::load() {
  const TensorLauncher& launcher = tensor_launcher(form_);
  Status status = CONVOLVE_CUDA(launcher.load(arguments_));
  if (status.ok() && launcher.resident != nullptr)
    status = CONVOLVE_CUDA(launcher.resident(arguments_, &resident_blocks_));
  return status;
}

void TensorPass::update_epilogues(double scale, double bias) {
  if (have_epilogues_ && scale == scale_ && bias == bias_) return;
  // A launch has one quantiser, so all components take the least able one that any of them needs.
  // The kernels of small masks take kBits to mean one digit, which sums that kBits serves have
  // anyway.
  Quantiser most = weights_.digits == 1 && !in_octets() ? Quantiser::kBits : Quantiser::kFloat;
  do {
    arguments_.quantiser = most;
    for (int p = 0; p < format_.plane_count; ++p)
      if (has_filtered(format_.planes[p]))
        most = std::min(most, update_plane(p, scale, bias, arguments_.quantiser));
  } while (most != arguments_.quantiser);
  if (in_octets()) arguments_.wide_quantiser = choose_wide_quantiser();
  have_epilogues_ = true;
  scale_ = scale;
  bias_ = bias;
}

WideQuantiser TensorPass::choose_wide_quantiser() const {
  if (split()) return WideQuantiser::kSplit;
  if (arguments_.quantiser == Quantiser::kFloat) return WideQuantiser::kFloat;
  for (int p = 0; p < format_.plane_count; ++p) {
    if (!has_filtered(format_.planes[p])) continue;
    const TensorPlane& plane = arguments_.plane[p];
    for (int i = 0; i < plane.period; ++i)
      if (plane.phase[i].filtered && !doubles_serve(plane.phase[i], weights_))
        return WideQuantiser::kGeneral;
  }
  return WideQuantiser::kDouble;
}

Quantiser TensorPass::update_plane(int p, double scale, double bias, Quantiser most) {
  TensorPlane& to = arguments_.plane[p];
  to.stores.copies = false;
  const TensorPhase* shown = nullptr;
  to.stores.uniform = true;
  for (int i = 0; i < to.period; ++i) {
    const Component& component = format_.planes[p].components[phases_[p].component[i]];
    TensorPhase& phase = to.phase[i];
    phase.offset = component.offset;
    phase.step = component.step;
    phase.black = component.black;
    phase.filtered = component.filtered;
    to.stores.copies = to.stores.copies || !component.filtered;
    if (!component.filtered) continue;
    if (split()) {
      const SplitEpilogue epilogue = make_split_epilogue(component, mask_, *split_, scale, bias);
      const bool floats = in_octets();
      phase.base = floats ? epilogue.folded_base : epilogue.base;
      phase.start = floats ? epilogue.second_start : 0;
      to.scale = epilogue.scale;
    } else {
      const DigitEpilogue epilogue =
          make_digit_epilogue(component, mask_, weights_, scale, bias, rational_, most);
      most = std::min(most, epilogue.quantiser);
      phase.start = epilogue.start;
      phase.base = epilogue.base;
      phase.general = epilogue.general;
      to.scale = epilogue.scale;  // The same for all components.
    }
    if (shown == nullptr) shown = &phase;
    to.stores.uniform = to.stores.uniform && same_way(phase, *shown);
  }
  // Bytes that are copied may be quantised to anything first, so they take the epilogue of those
  // that are filtered.
  if (to.stores.uniform && shown != nullptr) {
    to.phase[0].start = shown->start;
    to.phase[0].base = shown->base;
    to.phase[0].general = shown->general;
  }
  return most;
}

/// The arguments of a launch for the planes of `format` that have something to filter, at these
/// addresses.
TensorArguments TensorPass::arguments_for(const FrameFormat& format, const FramePlanes& in,
                                          const FramePlanes& out) const {
  TensorArguments arguments = arguments_;
  arguments.plane_count = 0;
  const auto* words = static_cast<const std::uint32_t*>(device_fragments_.data());
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    // A field may have no rows of a subsampled plane.
    if (!has_filtered(plane) || plane.rows == 0 || plane.row_bytes == 0) continue;
    const std::size_t i = static_cast<std::size_t>(p);
    TensorPlane& to = arguments.plane[arguments.plane_count++];
    to = arguments_.plane[p];
    to.src = in[i].data;
    to.src_pitch = in[i].pitch;
    to.dst = out[i].data;
    to.dst_pitch = out[i].pitch;
    to.rows = plane.rows;
    to.row_bytes = plane.row_bytes;
    to.whole_bytes = plane.row_bytes;
    to.fragments = reinterpret_cast<const uint4*>(words + first_fragment_[p]);
    for (int k = 0; k < to.period; ++k) {
      const Component& component = plane.components[phases_[p].component[k]];
      to.phase[k].width = component.width;
      // The first byte that would belong to a sample beyond the component's last.
      to.whole_bytes =
          std::min(to.whole_bytes, component.offset + component.width * component.step);
    }
    find_word_stores(to);
  }
  return arguments;
}

/// Gives all planes their tile columns, ghosts and blocks; returns how many blocks, or of
/// warpgroups tiles, there are.
int TensorPass::assign_grid(TensorArguments& arguments, bool aligned16) const {
  for (int i = 0; i < arguments.plane_count; ++i) {
    TensorPlane& to = arguments.plane[i];
    to.aligned16 = aligned16;
    if (in_packed())
      prepare_packed(to, arguments.border);
    else if (in_columns())
      find_inner_tile_columns(to);
    else if (!uses_shared_tiles(form_))
      prepare_pairs(to, arguments.border, aligned16, form_ == Form::kTensorLargeQuads);
    else if (form_ != Form::kTensorTiles)
      to.ghosts_in_tile =
          aligned16 &&
          ghosts_in_tile(to, arguments.warpgroups.tile,
                         arguments.warpgroups.kinds == 1u << kPackedKind, arguments.border);
  }
  if (form_ == Form::kTensorTiles)
    return assign_tiles(arguments, 2 * kTensorTileBytes, kTensorTileBytes, kTensorTileRows);
  if (uses_shared_tiles(form_))
    return assign_tiles(arguments, kTensorTileBytes, kTensorTileBytes, kWarpgroupTileRows);
  if (form_ == Form::kTensorColumns) return assign_steps(arguments, resident_blocks_, 1);
  if (form_ != Form::kTensorSliding) return assign_pair_steps(arguments, resident_blocks_);
  // Where products take most of the time it is better to let blocks follow each other than to run
  // all at once: at 15x15 28.8 us instead of 39.1 for I420 at 4K on an H100.
  constexpr int kFewProducts = 9, kMostSteps = 16;
  const bool few = arguments.digits * arguments.mask_height <= kFewProducts;
  return assign_steps(arguments, resident_blocks_, few ? kMostSteps : 4);
}

Status TensorPass::launch(const FrameFormat& format, const FramePlanes& in, const FramePlanes& out,
                          double scale, double bias, Border border, cudaStream_t stream) {
  update_epilogues(scale, bias);
  TensorArguments arguments = arguments_for(format, in, out);
  arguments.border = border;
  const bool aligned16 = aligned_to_16(arguments);
  if (in_packed() && !packed_columns_serve(format.planes[0]))
    return invalid_argument(std::string("form ") + form_info(form_).name +
                            " was planned for rows of whole columns, not one alone in the last 128"
                            " bytes, and these are not such");
  arguments.launch.blocks = assign_grid(arguments, aligned16);
  if (arguments.launch.blocks == 0) return {};
  return CONVOLVE_CUDA(tensor_launcher(form_).launch(arguments, stream));
}

}  // namespace convolve
