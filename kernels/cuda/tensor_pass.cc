// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/tensor_pass.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "kernels/core/round.h"
#include "kernels/core/split_digits.h"
#include "kernels/cuda/check.h"
#include "kernels/cuda/tensor_fragments.h"
#include "kernels/cuda/tensor_packed_pairs.h"
#include "kernels/cuda/tensor_pixels.h"

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

bool aligned(const void* data, std::int64_t pitch, unsigned bytes) {
  return (reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(pitch)) % bytes == 0;
}

/// Finds out if `plane`, whose memory is known, can be stored in words.
void place_words(TensorPlane& plane) {
  plane.plain = plane.uniform && aligned(plane.dst, plane.dst_pitch, 4);
  if (!plane.copies) return;
  plane.plain = plane.plain && aligned(plane.src, plane.src_pitch, 4) && 4 % plane.period == 0;
  plane.kept = 0;
  for (int b = 0; b < 4; ++b)
    if (!plane.phase[b % plane.period].filtered) plane.kept |= 0xFFu << (8 * b);
}

/// Finds the inner columns of `plane`, whose memory and size are known.
void place_columns(TensorPlane& plane) {
  plane.columns = divide_up(plane.row_bytes, kTensorTileBytes);
  plane.inner_first = divide_up(plane.left, kTensorTileBytes);
  // The last column whose windows end inside.
  const int reach = kTensorTileBytes - kColumnBytes + kWindowBytes * plane.segments - plane.left;
  const int end =
      plane.whole_bytes < reach ? 0 : (plane.whole_bytes - reach) / kTensorTileBytes + 1;
  plane.inner_columns = aligned(plane.src, plane.src_pitch, 8)
                            ? std::max(0, std::min(end, plane.columns) - plane.inner_first)
                            : 0;
  if (plane.inner_columns == 0) plane.inner_first = 0;
  plane.inner_reciprocal = reciprocal(plane.inner_columns);
  plane.edge_reciprocal = reciprocal(plane.columns - plane.inner_columns);
}

/// The selector of the four ghosts from byte `first` of a row on, of eight bytes from `from` on;
/// where components are parted, of samples.
std::optional<std::uint32_t> ghost_select(const TensorPlane& plane, Border border, int first,
                                          int from) {
  std::uint32_t select = 0;
  for (int b = 0; b < 4; ++b) {
    const int byte = first + b;
    const int period = plane.parts > 1 ? 1 : plane.period;
    const int phase = (byte % period + period) % period;
    const int step = plane.parts > 1 ? 1 : plane.phase[phase].step;
    const int offset = plane.parts > 1 ? 0 : plane.phase[phase].offset;
    const int sample = border_index(border, (byte - offset) / step, plane.phase[phase].width);
    const int at = offset + sample * step - from;
    if (sample == kNoSignal || at < 0 || at >= 8) return std::nullopt;
    select |= static_cast<std::uint32_t>(at) << (4 * b);
  }
  return select;
}

/// True if the columns at the edges of `plane`, taken in pairs, need no patch: it finds their
/// ghosts.
bool place_ghosts(TensorPlane& plane, Border border) {
  if (plane.row_bytes % kColumnBytes != 0 || plane.row_bytes < 2 * kColumnBytes ||
      plane.whole_bytes != plane.row_bytes)
    return false;
  if (border == Border::kZero || border == Border::kWrap) return true;
  const auto left = ghost_select(plane, border, -4, 0);
  const int end = plane.row_bytes / plane.parts;
  const auto right = ghost_select(plane, border, end, end - 8);
  plane.ghost_select[0] = left.value_or(0);
  plane.ghost_select[1] = right.value_or(0);
  return left && right;
}

/// Has `plane`, whose memory and size are known, taken in pairs, or if its samples have two bytes
/// in wide pairs. `sixteen`: all planes lie on 16 bytes, as inner columns must.
void take_pairs(TensorPlane& plane, Border border, bool sixteen) {
  const bool wide = plane.sample_bytes == 2;
  // What an inner column reads lies within 8 bytes of it, and so does what an edge loads; or of
  // samples of two bytes within 16.
  plane.left = wide ? 16 : 8;
  plane.segments = wide ? 2 : 1;
  for (int i = 0; i < plane.period; ++i) {
    const int black = plane.phase[i].black;
    if (plane.phase[i].filtered)
      plane.pair_black = wide ? 0x00010001u * encode_sample<std::uint16_t>(black, plane.layout)
                              : 0x01010101u * static_cast<std::uint32_t>(black);
  }
  place_columns(plane);
  if (!sixteen) {
    plane.inner_first = plane.inner_columns = 0;
    plane.edge_reciprocal = reciprocal(plane.columns);
    return;
  }
  // Pixels have tiles of their own, all alike.
  const bool pixels = !wide && plane.parts > 2;
  if (pixels)
    plane.columns = divide_up(plane.row_bytes, kPixelTile * plane.parts);
  else if (!place_ghosts(plane, border))
    return;
  plane.inner_first = 0;
  // The ghosts of a column at the right edge that has none beside it are not found.
  const bool alone = !pixels && plane.row_bytes % kTensorTileBytes == kColumnBytes;
  plane.inner_columns = plane.columns - (alone ? 1 : 0);
  plane.inner_reciprocal = reciprocal(plane.inner_columns);
  plane.edge_reciprocal = reciprocal(plane.columns - plane.inner_columns);
}

/// The selector of four ghosts from sample `first` of a row on, of `count` samples from `from` on.
/// A fourth ghost that lies further from the picture's edge than that is seen by no mask.
std::uint32_t near_select(Border border, int width, int first, int from, int count) {
  std::uint32_t select = 0;
  for (int b = 0; b < 4; ++b) {
    const int at = border_index(border, first + b, width) - from;
    select |= static_cast<std::uint32_t>(std::min(std::max(at, 0), count - 1)) << (4 * b);
  }
  return select;
}

/// The same for packed 4:2:2, of which all columns are inner ones.
void take_packed_pairs(TensorPlane& plane, Border border) {
  constexpr int kLuma = 8, kChroma = 4;  // Of a column.
  const int chroma = plane.row_bytes / 4, luma = 2 * chroma;
  plane.ghost_select[0] = near_select(border, luma, -4, 0, kLuma);
  plane.ghost_select[1] = near_select(border, luma, luma, luma - kLuma, kLuma);
  plane.chroma_select[0] = near_select(border, chroma, -4, 0, kChroma);
  plane.chroma_select[1] = near_select(border, chroma, chroma, chroma - kChroma, kChroma);
  plane.columns = plane.inner_columns = divide_up(plane.row_bytes, kTensorTileBytes);
  plane.inner_first = 0;
  plane.inner_reciprocal = reciprocal(plane.columns);
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

/// Gives each plane its blocks; returns how many there are. A block's warps lie below each other,
/// or where pairs are made beside each other, all blocks of a row of tiles one after the other.
int place_blocks(TensorArguments& arguments) {
  int blocks = 0;
  const auto blocks_of = [&](int columns, int rows, int steps) {
    const int row_tiles = divide_up(rows, kTensorTileRows / kTensorWarps * steps);
    return arguments.pairs ? divide_up(columns * row_tiles, kTensorWarps)
                           : columns * divide_up(row_tiles, kTensorWarps);
  };
  for (int p = 0; p < arguments.plane_count; ++p) {
    TensorPlane& plane = arguments.plane[p];
    plane.first_block = blocks;
    plane.edge_blocks = blocks_of(plane.columns - plane.inner_columns, plane.rows, 1);
    blocks += plane.edge_blocks + blocks_of(plane.inner_columns, plane.rows, arguments.steps);
  }
  return blocks;
}

/// True if what is read and written lies on 16 bytes.
bool on_sixteen(const TensorArguments& arguments) {
  for (int p = 0; p < arguments.plane_count; ++p) {
    const TensorPlane& plane = arguments.plane[p];
    if (!aligned(plane.src, plane.src_pitch, 16) || !aligned(plane.dst, plane.dst_pitch, 16))
      return false;
  }
  return true;
}

/// True if the samples that ghosts at the sides of `plane` are lie in the ghosts' tile, all others
/// of which can be loaded by eights.
bool ghosts_in_tile(const TensorPlane& plane, const TensorTile& tile, bool packed, Border border) {
  const int width = plane.row_bytes / (plane.period * plane.sample_bytes);
  // The last tile may begin with the picture's last eight samples, or four of chroma.
  const int last = packed ? 4 : 8;
  return border != Border::kWrap && width % last == 0 && plane.whole_bytes == plane.row_bytes &&
         width > std::max(tile.margin, tile.reach) && tile.reach < tile.margin + last;
}

/// Gives all planes their tiles of so many samples, of planes with one component and with several,
/// and rows; returns how many there are.
int place_tiles(TensorArguments& arguments, int single_width, int width, int rows) {
  int tiles = 0;
  for (int p = 0; p < arguments.plane_count; ++p) {
    TensorPlane& plane = arguments.plane[p];
    plane.first_block = tiles;
    plane.columns = divide_up(plane.row_bytes / (plane.period * plane.sample_bytes),
                              plane.period == 1 ? single_width : width);
    plane.inner_reciprocal = reciprocal(plane.columns);
    tiles += plane.columns * divide_up(plane.rows, rows);
  }
  return tiles;
}

/// Gives all planes their blocks, in as few steps as have all blocks run at once: a second wave
/// would take as long again. Returns how many blocks there are.
int place_steps(TensorArguments& arguments, int resident_blocks, int most_steps) {
  arguments.steps = 1;
  int blocks = place_blocks(arguments);
  while (blocks > resident_blocks && arguments.steps < most_steps) {
    ++arguments.steps;
    blocks = place_blocks(arguments);
  }
  return blocks;
}

/// The same for pairs. Where warps would march far with one digit, they take short ways in several
/// waves, and have the L2 cache fetch all of it while others multiply: 10.5 us for 11.1 in one wave
/// (NV12, 4K, 3x3, H100), but 7.8 for 7.2 where one wave is four steps (GRAY8). In one wave all ask
/// at once, and all four steps of rows take 7.5.
///
/// Pixels of three and four bytes bring the rows of four steps before all else, and march no
/// further: 24.8 us for 29.7 in eight steps (BGR, 4K, 5x5, H100), RGBA with two digits 35.7
/// for 38.7.
int place_pairs(TensorArguments& arguments, int resident_blocks) {
  const bool pixels = arguments.plane[0].parts > 2 && arguments.plane[0].sample_bytes == 1;
  // Samples of two bytes: 14.5 us for 15.5 with three and 15.3 with five (GRAY16, 4K, 5x5, H100).
  const int short_march = pixels || arguments.plane[0].sample_bytes == 2 ? 4 : 3;
  constexpr int kMostSteps = 16, kLongMarch = 4;
  const int blocks = place_steps(arguments, resident_blocks, kMostSteps);
  arguments.early_steps = 2;
  if ((arguments.digits > 1 && !pixels) || arguments.steps <= kLongMarch) return blocks;
  arguments.steps = arguments.early_steps = short_march;
  return place_blocks(arguments);
}

}  // namespace

Result<TensorPass> TensorPass::make(const FrameFormat& format, const Mask& mask, const Plan& plan,
                                    const DeviceCapabilities& device, cudaStream_t stream) {
  TensorPass pass;
  pass.format_ = format;
  pass.mask_ = mask;
  pass.rational_ = plan.rational;
  pass.split_ = plan.split();
  pass.weights_ = (plan.split() ? make_split_digits(mask)
                                : make_digits(format, mask, plan.rational, plan.digits))
                      .value_or(DigitWeights{});
  TensorArguments& arguments = pass.arguments_;
  arguments.plane_count = format.plane_count;
  arguments.mask_height = mask.height;
  arguments.anchor_y = mask.anchor_y;
  arguments.digits = plan.digits;
  arguments.split = plan.split();
  pass.mapping_ = plan.mapping;
  Status status = pass.prepare_mapping(device);
  if (!status.ok()) return status;

  const std::size_t bytes = pass.fragments_.size() * sizeof(std::uint32_t);
  Result<DeviceMemory> memory = DeviceMemory::make(bytes, stream);
  if (!memory.ok()) return memory.status();
  pass.device_fragments_ = std::move(memory.value());
  status = CONVOLVE_CUDA(cudaMemcpyAsync(pass.device_fragments_.data(), pass.fragments_.data(),
                                         bytes, cudaMemcpyHostToDevice, stream));
  if (!status.ok()) return status;
  return pass;
}

/// Makes the operands of the plan's mapping, which wants memory on 16 bytes, and of columns for the
/// rest, where they serve.
Status TensorPass::prepare_mapping(const DeviceCapabilities& device) {
  processors_ = std::max(1, device.processors);
  TensorArguments& arguments = arguments_;
  arguments.quads = mapping_ == TensorMapping::kQuads;
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
    if (mapping_ == TensorMapping::kWidePairs) {
      const WideWindow window = wide_window(plane, mask_, weights_.digits);
      arguments.quads = window.steps == 0;
      arguments.pair_steps = window.steps;
      arguments.pair_shift = window.shift;
      to.parts = window.parts;
    }
    if (!phases) continue;
    const TensorWindow window = tensor_window(plane, *phases, mask_);
    to.left = window.left;
    to.segments = window.segments;
    segments = std::max(segments, window.segments);
    const PairWindow pairs = pair_window(plane, *phases, mask_);
    arguments.pair_steps = pairs.steps;
    arguments.pair_shift = pairs.shift;
    to.parts = arguments.quads ? quad_parts(plane, *phases, mask_) : pairs.parts;
  }
  Status status;
  if (with_columns_) {
    append_fragments(kColumns);
    arguments.march_blocks = tensor_march_blocks(mask_.height, segments);
    status = CONVOLVE_CUDA(load_tensor(arguments.march_blocks));
    if (status.ok())
      status = CONVOLVE_CUDA(resident_tensor_blocks(arguments.march_blocks, &resident_blocks_));
  }
  if (status.ok() && (mapping_ == TensorMapping::kPairs || mapping_ == TensorMapping::kQuads)) {
    append_fragments(kPairs);
    arguments.packed = tile_kind(format_.planes[0]) == kPackedKind;
    status = CONVOLVE_CUDA(arguments.packed ? load_tensor_packed_pairs(arguments)
                                            : load_tensor_pairs(arguments));
    if (status.ok())
      status = CONVOLVE_CUDA(arguments.packed
                                 ? resident_tensor_packed_pairs_blocks(arguments, &resident_pairs_)
                                 : resident_tensor_pairs_blocks(arguments, &resident_pairs_));
  }
  if (status.ok() && mapping_ == TensorMapping::kWidePairs) {
    append_fragments(kWidePairs);
    status = CONVOLVE_CUDA(load_tensor_wide_pairs(arguments, split_));
    if (status.ok())
      status = CONVOLVE_CUDA(resident_tensor_wide_pairs_blocks(arguments, &resident_pairs_));
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
    const bool one_for_all =
        operands == kTiles || operands == kGroups || operands == kWidePairs || arguments_.quads;
    while (twin < p && !(has_filtered(format_.planes[twin]) &&
                         (one_for_all || same_steps(format_.planes[twin], plane))))
      ++twin;
    first_fragment_[operands][p] = twin < p ? first_fragment_[operands][twin] : fragments_.size();
    if (twin < p) continue;
    const LonePlane lone;
    const std::vector<std::uint32_t> words =
        operands == kGroups    ? group_fragments(mask_, weights_)
        : operands == kTiles   ? tile_fragments(mask_, weights_)
        : operands == kColumns ? tensor_fragments(plane, phases_[p], mask_, weights_)
        : arguments_.quads     ? quad_fragments(mask_, weights_)
        : operands == kPairs   ? pair_fragments(plane, phases_[p], mask_, weights_)
                               : pair_fragments(lone.plane, lone.phases, mask_, weights_);
    fragments_.insert(fragments_.end(), words.begin(), words.end());
  }
}

void TensorPass::update_epilogues(double scale, double bias) {
  if (have_epilogues_ && scale == scale_ && bias == bias_) return;
  // All components must come to codes in one way: the least of what each could. The kernels of
  // small masks take kBits to mean one digit, which sums of that size have anyway.
  Codes most =
      weights_.digits == 1 && mapping_ != TensorMapping::kWidePairs ? Codes::kBits : Codes::kFloat;
  do {
    arguments_.codes = most;
    for (int p = 0; p < format_.plane_count; ++p)
      if (has_filtered(format_.planes[p]))
        most = std::min(most, update_plane(p, scale, bias, arguments_.codes));
  } while (most != arguments_.codes);
  if (mapping_ == TensorMapping::kWidePairs) arguments_.wide_codes = choose_wide_codes();
  have_epilogues_ = true;
  scale_ = scale;
  bias_ = bias;
}

WideCodes TensorPass::choose_wide_codes() const {
  if (split_) return WideCodes::kSplit;
  if (arguments_.codes == Codes::kFloat) return WideCodes::kFloat;
  for (int p = 0; p < format_.plane_count; ++p)
    if (has_filtered(format_.planes[p]) && !doubles_serve(arguments_.plane[p].phase[0], weights_))
      return WideCodes::kGeneral;
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
      phase.base = epilogue.base;
      to.scale = epilogue.scale;
      continue;
    }
    const DigitEpilogue epilogue =
        make_digit_epilogue(component, mask_, weights_, scale, bias, rational_, most);
    most = std::min(most, epilogue.codes);
    phase.start = epilogue.start;
    phase.base = epilogue.base;
    phase.general = epilogue.general;
    to.scale = epilogue.scale;  // The same for all components.
    if (shown == nullptr) shown = &phase;
    to.uniform = to.uniform && phase.start == shown->start && phase.base == shown->base;
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
  const bool wide = mapping_ == TensorMapping::kWidePairs, sixteen = on_sixteen(arguments);
  arguments.pairs = wide || ((mapping_ == TensorMapping::kPairs || arguments.quads) && sixteen &&
                             (!arguments.packed || packed_columns_serve(format.planes[0])));
  const bool in_groups = mapping_ == TensorMapping::kGroups && (sixteen || split_);
  const bool in_tiles = with_tiles_ && !in_groups && (!with_columns_ || sixteen);
  const Operands operands = wide              ? kWidePairs
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
      take_pairs(to, border, sixteen);
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
                       : wide             ? launch_tensor_wide_pairs(arguments, stream)
                       : arguments.packed ? launch_tensor_packed_pairs(arguments, stream)
                                          : launch_tensor_pairs(arguments, stream));
}

}  // namespace convolve
