// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of 8-bit pixels parted into a line of bytes for each component, ghost cells included.
//
// Included once for each instruction set (see Highway's foreach_target.h), hence the guard.

#if defined(CONVOLVE_BYTE_LINES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef CONVOLVE_BYTE_LINES_INL_H_
#undef CONVOLVE_BYTE_LINES_INL_H_
#else
#define CONVOLVE_BYTE_LINES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/cpu/bytes/byte_task.h"
#include "kernels/cpu/load_line-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <bool kConst>
using Byte = std::conditional_t<kConst, const std::uint8_t, std::uint8_t>;

/// Parts `count` pixels into `lines`, a line for each byte of a pixel, or puts them together again.
template <int kBytes, bool kPart>
HWY_INLINE void move_pixels(Byte<kPart>* pixels, int count, Byte<!kPart>* const* lines) {
  const hn::ScalableTag<std::uint8_t> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::Vec<decltype(d)> v[4];
    if constexpr (kPart) {
      if constexpr (kBytes == 2) hn::LoadInterleaved2(d, pixels + i * 2, v[0], v[1]);
      if constexpr (kBytes == 3) hn::LoadInterleaved3(d, pixels + i * 3, v[0], v[1], v[2]);
      if constexpr (kBytes == 4) hn::LoadInterleaved4(d, pixels + i * 4, v[0], v[1], v[2], v[3]);
      HWY_UNROLL(4)
      for (int k = 0; k < kBytes; ++k)
        hn::StoreU(v[k], d, lines[k] + i);
    } else {
      HWY_UNROLL(4)
      for (int k = 0; k < kBytes; ++k)
        v[k] = hn::LoadU(d, lines[k] + i);
      if constexpr (kBytes == 2) hn::StoreInterleaved2(v[0], v[1], d, pixels + i * 2);
      if constexpr (kBytes == 3) hn::StoreInterleaved3(v[0], v[1], v[2], d, pixels + i * 3);
      if constexpr (kBytes == 4) hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, pixels + i * 4);
    }
  }
  for (; i < count; ++i)
    for (int k = 0; k < kBytes; ++k) {
      if constexpr (kPart)
        lines[k][i] = pixels[i * kBytes + k];
      else
        pixels[i * kBytes + k] = lines[k][i];
    }
}

template <bool kPart>
HWY_INLINE void move_pixels(int bytes, Byte<kPart>* pixels, int count, Byte<!kPart>* const* lines) {
  if (bytes == 2) return move_pixels<2, kPart>(pixels, count, lines);
  if (bytes == 3) return move_pixels<3, kPart>(pixels, count, lines);
  return move_pixels<4, kPart>(pixels, count, lines);
}

#if HWY_TARGET != HWY_SCALAR

/// Every other byte of the two vectors at `from`, from the first or the second one on.
template <bool kSecond>
HWY_INLINE hn::Vec<hn::ScalableTag<std::uint8_t>> load_every_other(const std::uint8_t* from) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto low = hn::LoadU(d, from), high = hn::LoadU(d, from + hn::Lanes(d));
  if constexpr (kSecond) return hn::ConcatOdd(d, high, low);
  return hn::ConcatEven(d, high, low);
}

/// Fills a vector of each line with every other byte from `from` on: of one part, or of two that
/// take turns.
template <int kParts, bool kSecond>
HWY_INLINE void part_alternate(const std::uint8_t* from, std::uint8_t* const* lines, int i) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto first = load_every_other<kSecond>(from);
  if constexpr (kParts == 1) {
    hn::StoreU(first, d, lines[0] + i);
  } else {
    const auto second = load_every_other<kSecond>(from + 2 * hn::Lanes(d));
    hn::StoreU(hn::ConcatEven(d, second, first), d, lines[0] + i);
    hn::StoreU(hn::ConcatOdd(d, second, first), d, lines[1] + i);
  }
}

/// Parts every other byte of `pixels`, from the first or the second one on: luma beside chroma, one
/// part, or chroma beside luma, two parts. Returns how many codes of each: `count`, or 0 if that
/// does not fill a vector and more. Nothing behind the last byte that is a part's is read: the row
/// may end there.
template <int kParts, bool kSecond>
HWY_INLINE int load_alternate(const std::uint8_t* pixels, int count, std::uint8_t* const* lines) {
  const int lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<std::uint8_t>()));
  if (count <= lanes) return 0;
  int i = 0;
  for (; i + lanes < count; i += lanes)
    part_alternate<kParts, kSecond>(pixels + 2 * kParts * i, lines, i);
  i = count - lanes;
  part_alternate<kParts, true>(pixels + 2 * kParts * i - (kSecond ? 0 : 1), lines, i);
  return count;
}

/// Parts the `count` samples of each part from `from` on, where that of the first one is, if they
/// are luma's or both of chroma's beside luma. Returns how many.
HWY_INLINE int load_alternate(const ByteTask& task, const std::uint8_t* from, int count,
                              std::uint8_t* const* lines) {
  const int channel = task.parts[0].task.channel, step = task.parts[0].task.step;
  const std::uint8_t* const pixels = from - channel;
  if (step == 2)
    return channel == 0 ? load_alternate<1, false>(pixels, count, lines)
                        : load_alternate<1, true>(pixels, count, lines);
  if (task.count != 2) return 0;
  return channel == 0 ? load_alternate<2, false>(pixels, count, lines)
                      : load_alternate<2, true>(pixels, count, lines);
}

#else

HWY_INLINE int load_alternate(const ByteTask&, const std::uint8_t*, int, std::uint8_t* const*) {
  return 0;
}

#endif

/// Ghost cells side by side that read cells side by side, or all the same cell.
struct GhostRun {
  int column;  ///< What the first one reads, or kNoSignal.
  int step;    ///< From what one reads to what the next one reads: -1, 0 or 1.
  int length;
};

/// The run that begins at column `x`, outside of a row of `width` cells, of `most` cells at most.
HWY_INLINE GhostRun ghost_run(Border border, int x, int width, int most) {
  const int column = border_index(border, x, width);
  if (border == Border::kReplicate || border == Border::kZero) return {column, 0, most};
  const int step = border_index(border, x + 1, width) - column;
  if (step == 1) return {column, step, std::min(most, width - column)};
  if (step == -1) return {column, step, std::min(most, column + 1)};
  return {column, 0, 1};
}

#if HWY_TARGET != HWY_SCALAR

/// Copies bytes from `last` backwards, as many of `count` as are whole vectors of `d`. Returns how
/// many.
template <class D>
HWY_INLINE int copy_vectors_reversed(D d, const std::uint8_t* last, int count, std::uint8_t* to) {
  HWY_ALIGN static constexpr std::uint8_t kReversed[16] = {15, 14, 13, 12, 11, 10, 9, 8,
                                                           7,  6,  5,  4,  3,  2,  1, 0};
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto order = hn::LoadDup128(d, kReversed);
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto cells = hn::LoadU(d, last - i - (lanes - 1));
    hn::StoreU(hn::ReverseBlocks(d, hn::TableLookupBytes(cells, order)), d, to + i);
  }
  return i;
}

#endif

/// Copies `count` bytes, the last of which is at `last`, from there backwards.
HWY_INLINE void copy_reversed(const std::uint8_t* last, int count, std::uint8_t* to) {
  int i = 0;
#if HWY_TARGET != HWY_SCALAR
  i = copy_vectors_reversed(hn::ScalableTag<std::uint8_t>(), last, count, to);
  const hn::FixedTag<std::uint8_t, 16> block;
  i += copy_vectors_reversed(block, last - i, count - i, to + i);
  if (i < count && count >= 16) {
    // The rest, and bytes that are copied already, so that they are a vector.
    i = count - 16;
    i += copy_vectors_reversed(block, last - i, 16, to + i);
  }
#endif
  for (; i < count; ++i)
    to[i] = last[-i];
}

/// Copies `count` bytes, without a call if they fill a vector.
HWY_INLINE void copy_bytes(const std::uint8_t* from, int count, std::uint8_t* to) {
  const hn::ScalableTag<std::uint8_t> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  if (count < lanes) {
    std::memcpy(to, from, static_cast<std::size_t>(count));
    return;
  }
  for (int i = 0; i + lanes < count; i += lanes)
    hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  hn::StoreU(hn::LoadU(d, from + count - lanes), d, to + count - lanes);
}

/// Copies a run of cells, which are `step` bytes apart in the order of memory, to `to`.
HWY_INLINE void copy_run(const GhostRun& run, const std::uint8_t* from, int step,
                         std::uint8_t* to) {
  if (run.step == 0)
    std::memset(to, *from, static_cast<std::size_t>(run.length));
  else if (run.step == 1 && step == 1)
    std::memcpy(to, from, static_cast<std::size_t>(run.length));
  else if (step == 1)
    copy_reversed(from, run.length, to);
  else
    for (int j = 0; j < run.length; ++j)
      to[j] = from[static_cast<std::ptrdiff_t>(j) * run.step * step];
}

/// Cells of a line, from `begin` up to `end`.
struct CellSpan {
  int begin, end;
};

/// Fills `ghosts` of the lines, which begin at column `x` of row `row`; these cells lie outside of
/// the picture, and those of `loaded` have their codes. There may be hundreds in each row, for
/// which one division for each would take as long as all else.
HWY_INLINE void fill_ghosts(const ByteTask& task, int row, int x, CellSpan ghosts, CellSpan loaded,
                            std::uint8_t* const* lines) {
  const ComponentTask& first = task.parts[0].task;
  for (int i = ghosts.begin; i < ghosts.end;) {
    const GhostRun run = ghost_run(first.border, x + i, first.width, ghosts.end - i);
    const int cell = run.column - x, last = cell + run.step * (run.length - 1);
    const bool in_lines = std::min(cell, last) >= loaded.begin && std::max(cell, last) < loaded.end;
    for (int k = 0; k < task.count; ++k) {
      const ComponentTask& part = task.parts[k].task;
      std::uint8_t* const to = lines[k] + i;
      if (run.column == kNoSignal)
        std::memset(to, part.black, static_cast<std::size_t>(run.length));
      else if (in_lines)
        copy_run(run, lines[k] + cell, 1, to);
      else
        copy_run(run, part.src_row(row) + static_cast<std::ptrdiff_t>(run.column) * part.step,
                 part.step, to);
    }
    i += run.length;
  }
}

/// Fills a line of each part with `count` codes of picture row `y` from column `x` on; either may
/// lie outside the picture.
static HWY_NOINLINE void load_parts(const ByteTask& task, int y, int x, int count,
                                    std::uint8_t* const* lines) {
  const ComponentTask& first = task.parts[0].task;
  const int row = border_index(first.border, y, first.height);
  if (row == kNoSignal) {
    for (int k = 0; k < task.count; ++k)
      std::memset(lines[k], task.parts[k].task.black, static_cast<std::size_t>(count));
    return;
  }
  const int inside = std::min(std::max(-x, 0), count);
  const int after = std::min(std::max(first.width - x, inside), count);
  std::uint8_t* to[kMaxComponents];
  for (int k = 0; k < task.count; ++k)
    to[k] = lines[k] + inside;
  const std::uint8_t* from =
      first.src_row(row) + static_cast<std::ptrdiff_t>(x + inside) * first.step;
  const int pixels = after - inside;
  if (task.lies_alone()) {
    std::memcpy(to[0], from, static_cast<std::size_t>(pixels));
  } else if (task.whole_pixels()) {
    move_pixels<true>(task.count, from, pixels, to);
  } else {
    const int loaded = load_alternate(task, from, pixels, to);
    for (int k = 0; k < task.count; ++k)
      gather_samples(task.parts[k].task, task.parts[k].task.src_row(row), x + inside + loaded,
                     pixels - loaded, to[k] + loaded);
  }

  const CellSpan loaded = {inside, after};
  fill_ghosts(task, row, x, {0, inside}, loaded, lines);
  fill_ghosts(task, row, x, {after, count}, loaded, lines);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#endif  // include guard
