// SPDX-License-Identifier: LGPL-2.1-or-later
// How the CUDA kernel box in runs cuts a picture into strips that blocks slide down, and how a
// block's shared memory is laid out.
#pragma once

#include <cstddef>
#include <optional>

#include "kernels/core/base/host_device.h"

namespace convolve {

/// Adjacent columns of a thread, a panel: 8 or 16 bytes of a row in one load.
inline constexpr int kBoxPanel = 8;
/// Words from a panel's prefix sums to the next panel's. It is odd, so that threads which access
/// the same entry of their panels, at any distance, use every bank once.
inline constexpr int kBoxPrefixPitch = kBoxPanel + 1;
/// A run: adjacent rows of a batch that one thread adds to its column sums.
inline constexpr int kBoxRun = 4;
/// Threads for each run of a batch.
inline constexpr int kBoxRunThreads = 128;
/// Most rows of a batch. A warp makes one row of outputs, so this is a block of 512 threads.
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

/// How a block makes window sums.
enum class BoxForm : int {
  kRuns,    ///< Prefix sums of column sums, for all sample formats: this file.
  kStrips,  ///< Products on tensor cores: box_strip.h.
  kBands,   ///< Scans over rows as wide as the picture: box_bands.h.
};

/// The outputs of a block, and how many rows of them it makes between two barriers.
struct BoxTile {
  int width = 0;  ///< Columns; kBands: the number of bands.
  int height = 0;
  int rows = 0;  ///< Of a batch. kRuns: 4, 8 or 16; kBands: at most.
  BoxForm form = BoxForm::kRuns;
};

/// Panels that a tile `tile_width` wide reads. The window of its first output starts up to
/// kBoxPanel - 1 columns into the first panel, and there is one prefix sum more than columns.
CONVOLVE_HD constexpr int box_panels(int tile_width, int mask_width) {
  return (kBoxPanel - 1 + tile_width + mask_width - 1) / kBoxPanel + 1;
}

/// Where the parts of a block's shared memory begin, in bytes.
struct BoxLayout {
  std::size_t columns;   ///< Column sums of `rows` rows.
  std::size_t prefixes;  ///< Prefix sums of `rows` rows, a warp each.
  std::size_t run_sums;  ///< What each run adds to the column sums.
  std::size_t carry;     ///< Two rows of column sums: those before the batch, and those after it.
  std::size_t column_sources;  ///< The byte of a row, or the column, that each column is read from.
  std::size_t panel_kinds;     ///< How the column sums of each panel are made.
  std::size_t row_sources;     ///< The addresses of the rows that enter and leave.
  std::size_t bytes;           ///< All of it.
};

CONVOLVE_HD constexpr BoxLayout box_layout(int panels, int rows, bool packed) {
  // Multiples of four panels, so that every part starts on 16 bytes.
  const std::size_t n = static_cast<std::size_t>((panels + 3) / 4 * 4);
  const std::size_t r = static_cast<std::size_t>(rows);
  const std::size_t sums = n * kBoxPanel * (packed ? 2 : 4);
  BoxLayout layout{};
  layout.columns = 0;
  layout.prefixes = layout.columns + r * sums;
  layout.run_sums = layout.prefixes + r * n * kBoxPrefixPitch * 4;
  layout.carry = layout.run_sums + r / kBoxRun * sums;
  layout.column_sources = layout.carry + 2 * sums;
  layout.panel_kinds = layout.column_sources + n * kBoxPanel * 4;
  layout.row_sources = layout.panel_kinds + n * 4;
  layout.bytes = layout.row_sources + 2 * r * 8;
  return layout;
}

/// The tile that is estimated to take the least time; nothing if the sums of not even the smallest
/// tile fit shared memory.
std::optional<BoxTile> choose_box_tile(const BoxWork& work);

}  // namespace convolve
