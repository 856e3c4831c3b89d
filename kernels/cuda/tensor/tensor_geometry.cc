// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cuda/tensor/tensor_geometry.h"

#include <algorithm>
#include <optional>

#include "kernels/core/base/round.h"

namespace convolve {
namespace {

bool aligned(const void* data, std::int64_t pitch, unsigned bytes) {
  return (reinterpret_cast<std::uintptr_t>(data) | static_cast<std::uintptr_t>(pitch)) % bytes == 0;
}

/// The __byte_perm() selector that makes the four ghosts from byte `first` of a row on out of the
/// eight bytes from `from` on; nothing if they are not among these. Counts samples where components
/// are deinterleaved.
std::optional<std::uint32_t> ghost_select(const TensorPlane& plane, Border border, int first,
                                          int from) {
  std::uint32_t select = 0;
  for (int b = 0; b < 4; ++b) {
    const int byte = first + b;
    const int period = plane.deinterleaved > 1 ? 1 : plane.period;
    const int phase = (byte % period + period) % period;
    const int step = plane.deinterleaved > 1 ? 1 : plane.phase[phase].step;
    const int offset = plane.deinterleaved > 1 ? 0 : plane.phase[phase].offset;
    const int sample = border_index(border, (byte - offset) / step, plane.phase[phase].width);
    const int at = offset + sample * step - from;
    if (sample == kNoSignal || at < 0 || at >= 8) return std::nullopt;
    select |= static_cast<std::uint32_t>(at) << (4 * b);
  }
  return select;
}

/// Bytes of a row that lanes take together: a column, or the columns of two lanes that deinterleave
/// samples of two bytes between them.
int column_unit(const TensorPlane& plane) {
  return plane.sample_bytes == 2 ? plane.period * kColumnBytes : kColumnBytes;
}

/// Sets the selectors of the ghosts at the sides of `plane`, taken in pairs, quads or octets. False
/// if some ghosts cannot be made by them, so that the edges need a patch. `large`: for large quads,
/// which need eight ghosts to a side.
bool find_ghost_selectors(TensorPlane& plane, Border border, bool large) {
  const int unit = column_unit(plane);
  if (plane.row_bytes % unit != 0 || plane.row_bytes < 2 * unit ||
      plane.whole_bytes != plane.row_bytes)
    return false;
  if (border == Border::kZero || border == Border::kWrap) return true;
  const auto left = ghost_select(plane, border, -4, 0);
  const int end = plane.row_bytes / plane.deinterleaved;
  const auto right = ghost_select(plane, border, end, end - 8);
  plane.ghosts.near_select[0] = left.value_or(0);
  plane.ghosts.near_select[1] = right.value_or(0);
  // All ghosts of Border::kReplicate are alike.
  if (!left || !right || !large || border == Border::kReplicate) return left && right;
  const auto far_left = ghost_select(plane, border, -8, 4);
  const auto far_right = ghost_select(plane, border, end + 4, end - 12);
  plane.ghosts.far_select[0] = far_left.value_or(0);
  plane.ghosts.far_select[1] = far_right.value_or(0);
  return far_left && far_right;
}

/// Sets the selectors of the four ghosts of a component on either side of a row, made out of its
/// first and its last eight samples.
void near_ghost_selectors(Border border, int width, std::uint32_t (&selects)[2]) {
  if (border == Border::kZero || border == Border::kWrap) return;  // Neither needs selectors.
  const int beyond[2] = {-4, width}, near[2] = {0, width - 8};
  for (const int side : {0, 1}) {
    selects[side] = 0;
    for (int b = 0; b < 4; ++b) {
      const int at = border_index(border, beyond[side] + b, width) - near[side];
      selects[side] |= static_cast<std::uint32_t>(at) << (4 * b);
    }
  }
}

/// Gives each plane its blocks; returns how many there are. The four warps of a block go down one
/// tile column, below each other, in tensor-sliding and tensor-columns, and stand beside each other
/// in all other forms.
int assign_blocks(TensorArguments& arguments) {
  const bool beside =
      arguments.form != Form::kTensorColumns && arguments.form != Form::kTensorSliding;
  int blocks = 0;
  const auto blocks_of = [&](int columns, int rows, int steps) {
    const int row_tiles = divide_up(rows, kTensorTileRows / kTensorWarps * steps);
    return beside ? divide_up(columns * row_tiles, kTensorWarps)
                  : columns * divide_up(row_tiles, kTensorWarps);
  };
  for (int p = 0; p < arguments.plane_count; ++p) {
    TensorPlane& plane = arguments.plane[p];
    plane.first_block = blocks;
    plane.edge_blocks =
        blocks_of(plane.grid.tile_columns - plane.grid.inner_tile_columns, plane.rows, 1);
    blocks += plane.edge_blocks +
              blocks_of(plane.grid.inner_tile_columns, plane.rows, arguments.launch.steps);
  }
  return blocks;
}

}  // namespace

void find_word_stores(TensorPlane& plane) {
  plane.stores.plain = plane.stores.uniform && aligned(plane.dst, plane.dst_pitch, 4);
  if (!plane.stores.copies) return;
  plane.stores.plain =
      plane.stores.plain && aligned(plane.src, plane.src_pitch, 4) && 4 % plane.period == 0;
  plane.stores.kept = 0;
  for (int b = 0; b < 4; ++b)
    if (!plane.phase[b % plane.period].filtered) plane.stores.kept |= 0xFFu << (8 * b);
}

void find_inner_tile_columns(TensorPlane& plane) {
  plane.grid.tile_columns = divide_up(plane.row_bytes, kTensorTileBytes);
  plane.grid.first_inner_tile_column = divide_up(plane.window.left, kTensorTileBytes);
  // Tile columns before this one have windows that end inside the rows.
  const int reach =
      kTensorTileBytes - kColumnBytes + kWindowBytes * plane.window.segments - plane.window.left;
  const int end =
      plane.whole_bytes < reach ? 0 : (plane.whole_bytes - reach) / kTensorTileBytes + 1;
  plane.grid.inner_tile_columns =
      aligned(plane.src, plane.src_pitch, 8)
          ? std::max(0, std::min(end, plane.grid.tile_columns) - plane.grid.first_inner_tile_column)
          : 0;
  if (plane.grid.inner_tile_columns == 0) plane.grid.first_inner_tile_column = 0;
  plane.grid.inner_reciprocal = reciprocal(plane.grid.inner_tile_columns);
  plane.grid.edge_reciprocal = reciprocal(plane.grid.tile_columns - plane.grid.inner_tile_columns);
}

void prepare_pairs(TensorPlane& plane, Border border, bool aligned16, bool large) {
  const bool wide = plane.sample_bytes == 2;
  // Inner tile columns read up to 8 bytes to either side, and edges load as much; of samples of two
  // bytes up to 16.
  plane.window.left = wide ? 16 : 8;
  plane.window.segments = wide ? 2 : 1;
  for (int i = 0; i < plane.period; ++i) {
    const int black = plane.phase[i].black;
    if (plane.phase[i].filtered)
      plane.ghosts.black = wide ? 0x00010001u * encode_sample<std::uint16_t>(black, plane.layout)
                                : 0x01010101u * static_cast<std::uint32_t>(black);
  }
  find_inner_tile_columns(plane);
  if (!aligned16) {
    plane.grid.first_inner_tile_column = plane.grid.inner_tile_columns = 0;
    plane.grid.edge_reciprocal = reciprocal(plane.grid.tile_columns);
    return;
  }
  // Pixels of three and four bytes have tiles of kPixelTileWidth pixels, all alike: they make the
  // ghosts in shared memory.
  const bool pixels = !wide && plane.deinterleaved > 2;
  if (pixels)
    plane.grid.tile_columns = divide_up(plane.row_bytes, kPixelTileWidth * plane.deinterleaved);
  else if (!find_ghost_selectors(plane, border, large))
    return;
  plane.grid.first_inner_tile_column = 0;
  // A tile column of one column at the right edge has none beside it, of which it could make
  // ghosts.
  const bool alone = !pixels && plane.row_bytes % kTensorTileBytes == column_unit(plane);
  plane.grid.inner_tile_columns = plane.grid.tile_columns - (alone ? 1 : 0);
  plane.grid.inner_reciprocal = reciprocal(plane.grid.inner_tile_columns);
  plane.grid.edge_reciprocal = reciprocal(plane.grid.tile_columns - plane.grid.inner_tile_columns);
}

void prepare_packed(TensorPlane& plane, Border border) {
  const int chroma = plane.row_bytes / 4;
  near_ghost_selectors(border, 2 * chroma, plane.ghosts.near_select);
  near_ghost_selectors(border, chroma, plane.ghosts.chroma_select);
  plane.grid.tile_columns = plane.grid.inner_tile_columns =
      divide_up(plane.row_bytes, kTensorTileBytes);
  plane.grid.first_inner_tile_column = 0;
  plane.grid.inner_reciprocal = reciprocal(plane.grid.tile_columns);
}

bool aligned_to_16(const TensorArguments& arguments) {
  for (int p = 0; p < arguments.plane_count; ++p) {
    const TensorPlane& plane = arguments.plane[p];
    if (!aligned(plane.src, plane.src_pitch, 16) || !aligned(plane.dst, plane.dst_pitch, 16))
      return false;
  }
  return true;
}

bool ghosts_in_tile(const TensorPlane& plane, const TensorTile& tile, bool packed, Border border) {
  const int width = plane.row_bytes / (plane.period * plane.sample_bytes);
  // The last tile may begin with the picture's last eight samples, or four of chroma.
  const int last = packed ? 4 : 8;
  return border != Border::kWrap && width % last == 0 && plane.whole_bytes == plane.row_bytes &&
         width > std::max(tile.margin, tile.reach) && tile.reach < tile.margin + last;
}

int assign_tiles(TensorArguments& arguments, int single_width, int width, int rows) {
  int tiles = 0;
  for (int p = 0; p < arguments.plane_count; ++p) {
    TensorPlane& plane = arguments.plane[p];
    plane.first_block = tiles;
    plane.grid.tile_columns = divide_up(plane.row_bytes / (plane.period * plane.sample_bytes),
                                        plane.period == 1 ? single_width : width);
    plane.grid.inner_reciprocal = reciprocal(plane.grid.tile_columns);
    tiles += plane.grid.tile_columns * divide_up(plane.rows, rows);
  }
  return tiles;
}

int assign_steps(TensorArguments& arguments, int resident_blocks, int most_steps) {
  arguments.launch.steps = 1;
  int blocks = assign_blocks(arguments);
  while (blocks > resident_blocks && arguments.launch.steps < most_steps) {
    ++arguments.launch.steps;
    blocks = assign_blocks(arguments);
  }
  return blocks;
}

int assign_pair_steps(TensorArguments& arguments, int resident_blocks) {
  const bool octets = arguments.plane[0].sample_bytes == 2;
  const bool pixels = arguments.plane[0].deinterleaved > 2 && !octets;
  // With four steps packed 4:2:2 takes 15.9 us, with three 17.1 and with five 16.6 (YUY2, 7x7), in
  // quads 17.1 for 18.4 and 17.6 (9x9); octets take 15.3 us for 18.4 and 18.0 (GRAY16, 4K, 7x7,
  // H100). Octets without sparse products, as with several digits, are better off in one wave: 16.5
  // us for 17.9 (9x9).
  const bool packed =
      arguments.form == Form::kTensorPackedPairs || arguments.form == Form::kTensorPackedQuads;
  const int short_slide = pixels || packed || octets ? 4 : 3;
  const bool one_wave = arguments.digits > 1 || (octets && !arguments.octets.sparse);
  constexpr int kMostSteps = 16, kLongSlide = 4;
  const int blocks = assign_steps(arguments, resident_blocks, kMostSteps);
  arguments.launch.prefetched_steps = 2;
  if ((one_wave && !pixels) || arguments.launch.steps <= kLongSlide) return blocks;
  arguments.launch.steps = arguments.launch.prefetched_steps = short_slide;
  return assign_blocks(arguments);
}

}  // namespace convolve
