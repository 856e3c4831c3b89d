// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/core/shape/tensor_tiles.h"

#include <algorithm>

#include "kernels/core/base/round.h"
#include "kernels/core/shape/byte_phases.h"

namespace convolve {
namespace {

constexpr int kChunk = 16;
constexpr int kThreads = 32 * kTensorWarps;

TensorTile make_tile(const Mask& mask, const TileWindow& window, bool several) {
  TensorTile tile;
  tile.rows = kTensorTileRows - 8 + window.window_rows * window.windows_down;
  tile.margin = round_up(window.left, kChunk);
  tile.reach = mask.width - 1 - mask.anchor_x;
  // A lane reads 24 samples, from the beginning of its column's window, or 8 or 24 samples behind
  // it.
  const int lane_reach = 24 + (window.window_rows == 2 ? 8 : 24);
  const int width = tile.margin - window.left + kTensorTileBytes * (several ? 1 : 2) - kChunk +
                    lane_reach + kTileWindowSamples * (window.segments - 1);
  tile.chunks = divide_up(width, kChunk);
  tile.pitch = tile.chunks * kChunk;
  // Lanes that read two picture rows at once must find them in different banks.
  while (window.window_rows == 2 && tile.pitch % 64 != 32)
    tile.pitch += kChunk;
  tile.lines = kThreads / tile.chunks;
  tile.reciprocal = reciprocal(tile.chunks);
  return tile;
}

/// True for packed 4:2:2: a luma at every second byte, and two chroma at every fourth, fill the
/// rows.
bool is_packed(const PlaneFormat& plane) {
  const std::optional<BytePhases> phases = byte_phases(plane);
  if (!phases || phases->period != 4) return false;
  const auto component = [&](int p) { return phases->component[p]; };
  const int luma = component(0) == component(2) ? 0 : 1;
  const Component& first = plane.components[component(1 - luma)];
  const Component& second = plane.components[component(3 - luma)];
  return component(luma) == component(luma + 2) && component(1 - luma) != component(3 - luma) &&
         first.width == second.width &&
         first.width == divide_up(plane.components[component(luma)].width, 2);
}

}  // namespace

bool one_launch_serves(unsigned kinds) {
  return kinds == 0b1 || kinds == 0b10 || kinds == 0b11 || kinds == 0b100 || kinds == 0b1000 ||
         kinds == 0b10000 || kinds == 0b100000 || kinds == 0b110000 || kinds == 1u << kPackedKind;
}

TileWindow tile_window(const Mask& mask) {
  const int before = mask.anchor_x, after = mask.width - mask.anchor_x;
  TileWindow best;
  for (const int window_rows : {2, 1})
    for (const int shift : {0, 1}) {
      const int samples = kTileWindowSamples / window_rows;
      TileWindow window;
      window.window_rows = window_rows;
      window.shift = shift;
      window.left = round_up(before + shift, 8);
      window.segments = divide_up(window.left - shift + after + 1, samples);
      window.windows_down = divide_up(mask.height + 7, window_rows);
      if (window_rows == 2 && window.segments > 1) continue;
      if (best.windows_down == 0 ||
          window.windows_down * window.segments < best.windows_down * best.segments)
        best = window;
    }
  return best;
}

std::optional<TileKind> tile_kind(const PlaneFormat& plane) {
  if (is_packed(plane)) return kPackedKind;
  const Component& first = plane.components[0];
  const int count = plane.component_count;
  for (int c = 0; c < count; ++c) {
    const Component& component = plane.components[c];
    if (component.step != count * plane.sample_bytes || component.width != first.width ||
        component.depth != first.depth || component.shift != first.shift)
      return std::nullopt;
    if (plane.sample_bytes == 2 && !component.filtered) return std::nullopt;
  }
  if (plane.sample_bytes == 1)
    return first.depth == 8 && count <= 4 ? std::optional(count - 1) : std::nullopt;
  return count <= 2 ? std::optional(3 + count) : std::nullopt;
}

std::optional<TensorTiles> tensor_tiles(const FrameFormat& format, const Mask& mask) {
  TensorTiles tiles;
  tiles.window = tile_window(mask);
  for (const bool several : {false, true})
    tiles.tile[several ? 1 : 0] = make_tile(mask, tiles.window, several);
  for (int p = 0; p < format.plane_count; ++p) {
    const PlaneFormat& plane = format.planes[p];
    if (!has_filtered(plane)) continue;
    const std::optional<TileKind> kind = tile_kind(plane);
    if (!kind || *kind == kPackedKind) return std::nullopt;
    tiles.kinds |= 1u << *kind;
    const TensorTile& tile = tiles.tile[plane.component_count == 1 ? 0 : 1];
    // The kernel loads the windows of the next step ahead, once more than there are steps.
    const int rows = byte_planes(*kind) * tile.rows + tiles.window.window_rows;
    tiles.bytes = std::max(tiles.bytes, static_cast<std::size_t>(rows * tile.pitch));
  }
  if (!one_launch_serves(tiles.kinds) || tiles.tile[0].lines == 0) return std::nullopt;
  return tiles;
}

}  // namespace convolve
