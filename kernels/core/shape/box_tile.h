// SPDX-License-Identifier: LGPL-2.1-or-later
// How the CUDA kernel box cuts a picture: strips that blocks walk down, and rows in a batch.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/core/base/host_device.h"

namespace convolve {

/// Adjacent columns of a thread: 8 or 16 bytes of a row in one load.
inline constexpr int kBoxGroup = 8;
/// Words from a group's prefix sums to the next group's. Odd, so that threads which read or write
/// the same one of their groups', at any distance, meet every bank once.
inline constexpr int kBoxPitch = kBoxGroup + 1;
/// Rows of a batch that one thread adds to its column sums.
inline constexpr int kBoxRun = 4;
/// Threads for each run of rows; a block has as many as its batch has runs, times this.
inline constexpr int kBoxLanes = 128;
/// Most rows of a batch. A warp finishes one, so this is a block of 512 threads.
inline constexpr int kBoxMostRows = 16;

/// What one launch filters, and on what.
struct BoxWork {
  int width = 0;  ///< Of the picture.
  int height = 0;
  int channels = 1;  ///< Components that are filtered side by side.
  int mask_width = 1;
  int mask_height = 1;
  bool packed = false;  ///< Column sums of 16 bits; else of 32.
  int processors = 1;
  std::size_t shared_bytes = 0;  ///< Most that one block may have.
};

/// How a block goes about it.
enum class BoxForm : int {
  kRuns,    ///< By prefix sums, runs of rows: all samples (this file).
  kStrips,  ///< On tensor cores: box_strip.h.
  kBands,   ///< As wide as the picture: box_bands.h.
};

/// Outputs of a block, and how many rows of them are made between two barriers.
struct BoxTile {
  int width = 0;  ///< kBands: how many there are.
  int height = 0;
  int rows = 0;  ///< kRuns: 4, 8 or 16; kBands: at most so many.
  BoxForm form = BoxForm::kRuns;
};

/// Groups of columns that a tile `tile_width` wide reads. Its first output's window starts up to
/// kBoxGroup - 1 columns into the first group, and prefix sums have one entry more than columns.
CONVOLVE_HD constexpr int box_groups(int tile_width, int mask_width) {
  return (kBoxGroup - 1 + tile_width + mask_width - 1) / kBoxGroup + 1;
}

/// Where things lie in the shared memory of a block, in bytes from its start.
struct BoxLayout {
  std::size_t columns;   ///< Column sums of `rows` rows.
  std::size_t prefixes;  ///< Prefix sums of `rows` rows, a warp each.
  std::size_t runs;      ///< What each run of rows adds to the column sums.
  std::size_t state;     ///< Two rows of column sums: before the batch, and after it.
  std::size_t places;    ///< The byte of a row where each column's sample lies.
  std::size_t kinds;     ///< Where the columns of each group come from.
  std::size_t sources;   ///< The rows that enter and leave.
  std::size_t bytes;     ///< All of it.
};

CONVOLVE_HD constexpr BoxLayout box_layout(int groups, int rows, bool packed) {
  // Whole quads, so that every part starts on 16 bytes.
  const std::size_t n = static_cast<std::size_t>((groups + 3) / 4 * 4);
  const std::size_t r = static_cast<std::size_t>(rows);
  const std::size_t sums = n * kBoxGroup * (packed ? 2 : 4);
  BoxLayout layout{};
  layout.columns = 0;
  layout.prefixes = layout.columns + r * sums;
  layout.runs = layout.prefixes + r * n * kBoxPitch * 4;
  layout.state = layout.runs + r / kBoxRun * sums;
  layout.places = layout.state + 2 * sums;
  layout.kinds = layout.places + n * kBoxGroup * 4;
  layout.sources = layout.kinds + n * 4;
  layout.bytes = layout.sources + 2 * r * 8;
  return layout;
}

/// The tile that is estimated to take the least time; nothing if not even the smallest one's column
/// and prefix sums fit shared memory.
std::optional<BoxTile> choose_box_tile(const BoxWork& work);

}  // namespace convolve
