// SPDX-License-Identifier: LGPL-2.1-or-later
// Rows of pixels parted into a line of samples for each component, and put together again; of bytes
// with their ghost cells.
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

#include "kernels/cpu/load_line-inl.h"
#include "kernels/cpu/rows/row_task.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Parts `count` pixels of kParts samples, at any address, into a line of samples for each.
template <int kParts, class Stored>
HWY_INLINE void part_pixels(const std::uint8_t* pixels, int count, Stored* const* lines) {
  const hn::ScalableTag<Stored> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto* const from = reinterpret_cast<const Stored*>(pixels);
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::Vec<decltype(d)> v[4];
    if constexpr (kParts == 2) hn::LoadInterleaved2(d, from + i * 2, v[0], v[1]);
    if constexpr (kParts == 3) hn::LoadInterleaved3(d, from + i * 3, v[0], v[1], v[2]);
    if constexpr (kParts == 4) hn::LoadInterleaved4(d, from + i * 4, v[0], v[1], v[2], v[3]);
    HWY_UNROLL(4)
    for (int k = 0; k < kParts; ++k)
      hn::StoreU(v[k], d, lines[k] + i);
  }
  for (; i < count; ++i)
    for (int k = 0; k < kParts; ++k)
      lines[k][i] =
          read_sample<Stored>(pixels + (i * kParts + k) * static_cast<int>(sizeof(Stored)));
}

template <class Stored>
HWY_INLINE void part_pixels(int parts, const std::uint8_t* pixels, int count,
                            Stored* const* lines) {
  if (parts == 2) return part_pixels<2>(pixels, count, lines);
  if (parts == 3) return part_pixels<3>(pixels, count, lines);
  return part_pixels<4>(pixels, count, lines);
}

/// Puts `count` pixels together from `lines`, a line for each of the kParts bytes of a pixel.
template <int kParts>
HWY_INLINE void join_pixels(const std::uint8_t* const* lines, int count, std::uint8_t* pixels) {
  const hn::ScalableTag<std::uint8_t> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::Vec<decltype(d)> v[4];
    HWY_UNROLL(4)
    for (int k = 0; k < kParts; ++k)
      v[k] = hn::LoadU(d, lines[k] + i);
    if constexpr (kParts == 2) hn::StoreInterleaved2(v[0], v[1], d, pixels + i * 2);
    if constexpr (kParts == 3) hn::StoreInterleaved3(v[0], v[1], v[2], d, pixels + i * 3);
    if constexpr (kParts == 4) hn::StoreInterleaved4(v[0], v[1], v[2], v[3], d, pixels + i * 4);
  }
  for (; i < count; ++i)
    for (int k = 0; k < kParts; ++k)
      pixels[i * kParts + k] = lines[k][i];
}

HWY_INLINE void join_pixels(int parts, const std::uint8_t* const* lines, int count,
                            std::uint8_t* pixels) {
  if (parts == 2) return join_pixels<2>(lines, count, pixels);
  if (parts == 3) return join_pixels<3>(lines, count, pixels);
  return join_pixels<4>(lines, count, pixels);
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
HWY_INLINE int load_alternate(const GroupTask& task, const std::uint8_t* from, int count,
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

HWY_INLINE int load_alternate(const GroupTask&, const std::uint8_t*, int, std::uint8_t* const*) {
  return 0;
}

#endif

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
HWY_INLINE void fill_ghosts(const GroupTask& task, int row, int x, CellSpan ghosts, CellSpan loaded,
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
static HWY_NOINLINE void load_parts(const GroupTask& task, int y, int x, int count,
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
    part_pixels(task.count, from, pixels, to);
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
