// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/tensor/tensor_pass.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "kernels/core/base/round.h"
#include "kernels/core/weights/split_digits.h"
#include "kernels/cuda/runtime/check.h"
#include "kernels/cuda/tensor/packed/tensor_packed_pairs.h"
#include "kernels/cuda/tensor/tensor_fragments.h"
#include "kernels/cuda/tensor/tensor_places.h"

namespace convolve {
namespace {

/// The components of a plane that has a TileKind, in the order in which they lie.
BytePhases side_by_side(const PlaneFormat& plane) {
  BytePhases phases;
  phases.period = plane.component_count;
  for (int c = 0; c < plane.component_count; ++c)
    phases.component[plane.components[c].offset / plane.sample_bytes] = c;
  return phases;
}

/// True if the same fragments serve both.
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

/// True if sums become codes in the same way in both phases, whichever Codes there are.
bool same_way(const TensorPhase& a, const TensorPhase& b) {
  return a.start == b.start && a.base == b.base && a.general.in_float == b.general.in_float &&
         a.general.max_code == b.general.max_code &&
         same_numbers(a.general.narrow, b.general.narrow) &&
         same_numbers(a.general.wide, b.general.wide);
}

/// True if values that general.wide makes of all sums of `weights` fit 32 bits, and it divides
/// nothing.
bool doubles_serve(const TensorPhase& phase, const DigitWeights& weights) {
  constexpr double kTwo30 = 1073741824.0;
  const EpilogueOf<double>& wide = phase.general.wide;
  const double largest =
      weights.magnitude * phase.general.max_code + std::fabs(static_cast<double>(phase.start));
  return !wide.divide && std::fabs(wide.scale) * largest + std::fabs(wide.base) < kTwo30;
}

}  // namespace

Result<TensorPass> TensorPass::make(const FrameFormat& format, const Mask& mask, const Plan& plan,
                                    DeviceCore& core) {
  TensorPass pass;
  pass.format_ = format;
  pass.mask_ = mask;
  pass.rational_ = plan.rational;
  pass.split_ = plan.split();
  pass.weights_ = (plan.split() ? make_split_digits(mask, plan.digits)
                                : make_digits(format, mask, plan.rational, plan.digits))
                      .value_or(DigitWeights{});
  TensorArguments& arguments = pass.arguments_;
  arguments.plane_count = format.plane_count;
  arguments.mask_height = mask.height;
  arguments.anchor_y = mask.anchor_y;
  arguments.digits = plan.digits;
  arguments.split = plan.split();
  pass.mapping_ = plan.mapping;
  Status status = pass.prepare_mapping(core.capabilities());
  if (!status.ok()) return status;

  const std::size_t bytes = pass.fragments_.size() * sizeof(std::uint32_t);
  Result<DeviceMemory> memory = DeviceMemory::make(bytes, core.stream());
  if (!memory.ok()) return memory.status();
  pass.device_fragments_ = std::move(memory.value());
  status = core.staging().upload(pass.device_fragments_.data(), pass.fragments_.data(), bytes);
  if (!status.ok()) return status;
  pass.fragments_ = {};
  return pass;
}

/// Makes the operands of the plan's mapping, which wants memory on 16 bytes, and of columns for the
/// rest, where they serve.
Status TensorPass::prepare_mapping(const DeviceCapabilities& device) {
  processors_ = std::max(1, device.processors);
  TensorArguments& arguments = arguments_;
  arguments.large_quads = mapping_ == TensorMapping::kLargeQuads;
  arguments.quads = mapping_ == TensorMapping::kQuads || arguments.large_quads;
  int segments = 1;
  for (int p = 0; p < format_.plane_count; ++p) {
    const PlaneFormat& plane = format_.planes[p];
    if (!has_filtered(plane)) continue;
    TensorPlane& to = arguments.plane[p];
    to.sample_bytes = plane.sample_bytes;
    to.layout = sample_layout(plane, plane.components[0]);
    const std::optional<BytePhases> phases = byte_phases(plane);
    with_columns_ = with_columns_ && phases;
    phases_[p] = phases ? *phases : side_by_side(plane);
    to.period = phases_[p].period;
    to.tail = phases_[p].tail;
    if (mapping_ == TensorMapping::kOctets) {
      arguments.octets = octet_window(plane, mask_, device.compute_capability >= 80);
      to.parts = plane.sample_bytes * plane.component_count;
    }
    if (!phases) continue;
    const TensorWindow window = tensor_window(plane, *phases, mask_);
    to.left = window.left;
    to.segments = window.segments;
    segments = std::max(segments, window.segments);
    const PairWindow pairs = pair_window(plane, *phases, mask_);
    arguments.pair_steps = pairs.steps;
    arguments.pair_shift = pairs.shift;
    to.parts = arguments.large_quads ? 1
               : arguments.quads     ? quad_parts(plane, *phases, mask_)
                                     : pairs.parts;
  }
  Status status;
  if (with_columns_) {
    append_fragments(kColumns);
    arguments.march_blocks = tensor_march_blocks(mask_.height, segments);
    status = CONVOLVE_CUDA(load_tensor(arguments.march_blocks));
    if (status.ok())
      status = CONVOLVE_CUDA(resident_tensor_blocks(arguments.march_blocks, &resident_blocks_));
  }
  if (status.ok() && (mapping_ == TensorMapping::kPairs || mapping_ == TensorMapping::kQuads ||
                      mapping_ == TensorMapping::kLargeQuads)) {
    append_fragments(kPairs);
    arguments.packed = tile_kind(format_.planes[0]) == kPackedKind;
    status = CONVOLVE_CUDA(arguments.packed ? load_tensor_packed_pairs(arguments)
                                            : load_tensor_pairs(arguments));
    if (status.ok())
      status = CONVOLVE_CUDA(arguments.packed
                                 ? resident_tensor_packed_pairs_blocks(arguments, &resident_pairs_)
                                 : resident_tensor_pairs_blocks(arguments, &resident_pairs_));
  }
  if (status.ok() && mapping_ == TensorMapping::kOctets) {
    append_fragments(kOctets);
    status = CONVOLVE_CUDA(load_tensor_octets(arguments, split_));
    if (status.ok())
      status = CONVOLVE_CUDA(resident_tensor_octets_blocks(arguments, split_, &resident_pairs_));
  }
  // Tiles serve where groups find memory that is not on 16 bytes, and columns do not serve.
  with_tiles_ = mapping_ == TensorMapping::kTiles ||
                (mapping_ == TensorMapping::kGroups && !with_columns_ && !split_);
  if (status.ok() && with_tiles_) {
    arguments.tiles = tensor_tiles(format_, mask_).value_or(TensorTiles{});
    append_fragments(kTiles);
    status = CONVOLVE_CUDA(load_tensor_tile(arguments));
  }
  if (status.ok() && mapping_ == TensorMapping::kGroups) {
    arguments.groups = tensor_groups(format_, mask_, weights_.digits, device.shared_bytes)
                           .value_or(TensorGroups{});
    append_fragments(kGroups);
    status = CONVOLVE_CUDA(load_tensor_groups(arguments));
  }
  return status;
}

void TensorPass::append_fragments(Operands operands) {
  for (int p = 0; p < format_.plane_count; ++p) {
    const PlaneFormat& plane = format_.planes[p];
    if (!has_filtered(plane)) continue;
    int twin = 0;
    // By the mask alone, or by how samples lie, too.
    const bool one_for_all = operands == kTiles || operands == kGroups || operands == kOctets ||
                             (operands == kPairs && arguments_.quads);
    while (twin < p && !(has_filtered(format_.planes[twin]) &&
                         (one_for_all || same_steps(format_.planes[twin], plane))))
      ++twin;
    first_fragment_[operands][p] = twin < p ? first_fragment_[operands][twin] : fragments_.size();
    if (twin < p) continue;
    const std::vector<std::uint32_t> words =
        operands == kGroups    ? group_fragments(mask_, weights_)
        : operands == kTiles   ? tile_fragments(mask_, weights_)
        : operands == kColumns ? tensor_fragments(plane, phases_[p], mask_, weights_)
        : arguments_.quads     ? quad_fragments(mask_, weights_)
        : operands == kOctets  ? octet_fragments(arguments_.octets, mask_, weights_)
                               : pair_fragments(plane, phases_[p], mask_, weights_);
    fragments_.insert(fragments_.end(), words.begin(), words.end());
  }
}

void TensorPass::update_epilogues(double scale, double bias) {
  if (have_epilogues_ && scale == scale_ && bias == bias_) return;
  // All components must come to codes in one way: the least of what each could. The kernels of
  // small masks take kBits to mean one digit, which sums of that size have anyway.
  Codes most =
      weights_.digits == 1 && mapping_ != TensorMapping::kOctets ? Codes::kBits : Codes::kFloat;
  do {
    arguments_.codes = most;
    for (int p = 0; p < format_.plane_count; ++p)
      if (has_filtered(format_.planes[p]))
        most = std::min(most, update_plane(p, scale, bias, arguments_.codes));
  } while (most != arguments_.codes);
  if (mapping_ == TensorMapping::kOctets) arguments_.wide_codes = choose_wide_codes();
  have_epilogues_ = true;
  scale_ = scale;
  bias_ = bias;
}

WideCodes TensorPass::choose_wide_codes() const {
  if (split_) return WideCodes::kSplit;
  if (arguments_.codes == Codes::kFloat) return WideCodes::kFloat;
  for (int p = 0; p < format_.plane_count; ++p) {
    if (!has_filtered(format_.planes[p])) continue;
    const TensorPlane& plane = arguments_.plane[p];
    for (int i = 0; i < plane.period; ++i)
      if (plane.phase[i].filtered && !doubles_serve(plane.phase[i], weights_))
        return WideCodes::kGeneral;
  }
  return WideCodes::kDouble;
}

Codes TensorPass::update_plane(int p, double scale, double bias, Codes most) {
  TensorPlane& to = arguments_.plane[p];
  to.copies = false;
  const TensorPhase* shown = nullptr;
  to.uniform = true;
  for (int i = 0; i < to.period; ++i) {
    const Component& component = format_.planes[p].components[phases_[p].component[i]];
    TensorPhase& phase = to.phase[i];
    phase.offset = component.offset;
    phase.step = component.step;
    phase.black = component.black;
    phase.filtered = component.filtered;
    to.copies = to.copies || !component.filtered;
    if (!component.filtered) continue;
    if (split_) {
      const SplitEpilogue epilogue = make_split_epilogue(component, mask_, weights_, scale, bias);
      const bool floats = mapping_ == TensorMapping::kOctets;
      phase.base = floats ? epilogue.folded_base : epilogue.base;
      phase.start = floats ? epilogue.second_start : 0;
      to.scale = epilogue.scale;
    } else {
      const DigitEpilogue epilogue =
          make_digit_epilogue(component, mask_, weights_, scale, bias, rational_, most);
      most = std::min(most, epilogue.codes);
      phase.start = epilogue.start;
      phase.base = epilogue.base;
      phase.general = epilogue.general;
      to.scale = epilogue.scale;  // The same for all components.
    }
    if (shown == nullptr) shown = &phase;
    to.uniform = to.uniform && same_way(phase, *shown);
  }
  // Bytes that are copied may get any code first.
  if (to.uniform && shown != nullptr) {
    to.phase[0].start = shown->start;
    to.phase[0].base = shown->base;
    to.phase[0].general = shown->general;
  }
  return most;
}

Status TensorPass::launch(const FrameFormat& format, const std::array<PlaneMemory, kMaxPlanes>& in,
                          const std::array<PlaneMemory, kMaxPlanes>& out, double scale, double bias,
                          Border border, cudaStream_t stream) {
  update_epilogues(scale, bias);
  TensorArguments arguments = arguments_;
  arguments.border = border;
  arguments.plane_count = 0;
  int planes[kMaxPlanes] = {};
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    // A field may have no rows of a subsampled plane.
    if (!has_filtered(plane) || plane.rows == 0 || plane.row_bytes == 0) continue;
    const std::size_t i = static_cast<std::size_t>(p);
    planes[arguments.plane_count] = p;
    TensorPlane& to = arguments.plane[arguments.plane_count++];
    to = arguments_.plane[p];
    to.src = in[i].data;
    to.src_pitch = in[i].pitch;
    to.dst = out[i].data;
    to.dst_pitch = out[i].pitch;
    to.rows = plane.rows;
    to.row_bytes = plane.row_bytes;
    to.whole_bytes = plane.row_bytes;
    for (int k = 0; k < to.period; ++k) {
      const Component& component = plane.components[phases_[p].component[k]];
      to.phase[k].width = component.width;
      // The first byte that would belong to a sample beyond the component's last.
      to.whole_bytes =
          std::min(to.whole_bytes, component.offset + component.width * component.step);
    }
    place_words(to);
  }
  const bool wide = mapping_ == TensorMapping::kOctets, sixteen = on_sixteen(arguments);
  arguments.pairs = wide || ((mapping_ == TensorMapping::kPairs || arguments.quads) && sixteen &&
                             (!arguments.packed || packed_columns_serve(format.planes[0])));
  const bool in_groups = mapping_ == TensorMapping::kGroups && (sixteen || split_);
  const bool in_tiles = with_tiles_ && !in_groups && (!with_columns_ || sixteen);
  const Operands operands = wide              ? kOctets
                            : arguments.pairs ? kPairs
                            : in_groups       ? kGroups
                            : in_tiles        ? kTiles
                                              : kColumns;
  const auto* words = static_cast<const std::uint32_t*>(device_fragments_.data());
  for (int i = 0; i < arguments.plane_count; ++i) {
    TensorPlane& to = arguments.plane[i];
    to.sixteen = sixteen;
    to.fragments = reinterpret_cast<const uint4*>(words + first_fragment_[operands][planes[i]]);
    if (arguments.pairs && arguments.packed)
      take_packed_pairs(to, border);
    else if (arguments.pairs)
      take_pairs(to, border, sixteen, arguments.large_quads);
    else if (in_groups)
      to.ghosts_in_tile =
          sixteen && ghosts_in_tile(to, arguments.groups.tile,
                                    arguments.groups.kinds == 1u << kPackedKind, border);
    else if (!in_tiles)
      place_columns(to);
  }
  if (in_groups) {
    arguments.blocks = place_tiles(arguments, kTensorTileBytes, kTensorTileBytes, kGroupTileRows);
    return arguments.blocks == 0
               ? Status{}
               : CONVOLVE_CUDA(launch_tensor_groups(arguments, processors_, stream));
  }
  if (in_tiles) {
    arguments.blocks =
        place_tiles(arguments, 2 * kTensorTileBytes, kTensorTileBytes, kTensorTileRows);
    return arguments.blocks == 0 ? Status{} : CONVOLVE_CUDA(launch_tensor_tile(arguments, stream));
  }
  // Where products take most of the time it is better to let blocks follow each other: at 15x15
  // 28.8 us instead of 39.1 for I420 at 4K on an H100.
  constexpr int kFewProducts = 9, kMostSteps = 16;
  const bool few = arguments.digits * arguments.mask_height <= kFewProducts;
  const int blocks = arguments.pairs ? place_pairs(arguments, resident_pairs_)
                     : arguments.march_blocks > 0
                         ? place_steps(arguments, resident_blocks_, few ? kMostSteps : 4)
                         : place_steps(arguments, resident_blocks_, 1);
  if (blocks == 0) return {};
  arguments.blocks = blocks;
  return CONVOLVE_CUDA(!arguments.pairs   ? launch_tensor(arguments, stream)
                       : wide             ? launch_tensor_octets(arguments, stream)
                       : arguments.packed ? launch_tensor_packed_pairs(arguments, stream)
                                          : launch_tensor_pairs(arguments, stream));
}

}  // namespace convolve
