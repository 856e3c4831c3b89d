// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/dots/coarsened_dots.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "kernels/core/base/round.h"

// The target with VNNI takes compile time, which nothing else makes up for.
#define HWY_WANT_AVX3_DL
#include "kernels/cpu/highway_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/dots/coarsened_dots.cc"
#include <hwy/foreach_target.h>  // Must come before highway.h.
#include <hwy/highway.h>

#include "kernels/cpu/dots/dot_tile-inl.h"
#include "kernels/cpu/load_line-inl.h"

HWY_BEFORE_NAMESPACE();
namespace convolve {
namespace HWY_NAMESPACE {

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
      for (int k = 0; k < kBytes; ++k)
        hn::StoreU(v[k], d, lines[k] + i);
    } else {
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

#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3

/// Bits from the first part's bytes to those of part `k` in the word that a pixel is.
HWY_INLINE int bits_to(const DotTask& task, int k) {
  return 8 * static_cast<int>(task.parts[k].task.src - task.parts[0].task.src);
}

/// Parts pixels that others have bytes of, from `from` on, where the first part's are; as many as
/// fill vectors, and none that might reach behind the row. Returns how many. `Word` is as large as
/// a pixel.
template <class Word>
HWY_INLINE int load_between(const DotTask& task, const std::uint8_t* from, int count,
                            std::uint8_t* const* lines) {
  const hn::ScalableTag<Word> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d_codes;
  const hn::Repartition<std::uint8_t, decltype(d)> d_bytes;
  const int lanes = static_cast<int>(hn::Lanes(d));
  int i = 0;
  for (; i + lanes < count; i += lanes) {
    const auto words =
        hn::BitCast(d, hn::LoadU(d_bytes, from + i * static_cast<int>(sizeof(Word))));
    for (int k = 0; k < task.count; ++k) {
      // Not TruncateTo(), which Highway 1.0.3 gets wrong for this target and words of 32 bits.
      const auto code = hn::And(hn::ShiftRightSame(words, bits_to(task, k)), hn::Set(d, 0xFF));
      hn::StoreU(hn::DemoteTo(d_codes, hn::BitCast(hn::RebindToSigned<decltype(d)>(), code)),
                 d_codes, lines[k] + i);
    }
  }
  return i;
}

/// Puts codes of such pixels back to `out`. Where stores under a mask are no instruction this
/// cannot be: others may write the bytes between at the same time.
template <class Word>
HWY_INLINE int store_between(const DotTask& task, int count, const std::uint8_t* const* codes,
                             std::uint8_t* out) {
  const hn::ScalableTag<Word> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d_codes;
  const hn::Repartition<std::uint8_t, decltype(d)> d_bytes;
  const int lanes = static_cast<int>(hn::Lanes(d));
  Word ours = 0;
  for (int k = 0; k < task.count; ++k)
    ours = static_cast<Word>(ours | Word{0xFF} << bits_to(task, k));
  const auto mask = hn::MaskFromVec(hn::BitCast(d_bytes, hn::Set(d, ours)));
  int i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto words = hn::Zero(d);
    for (int k = 0; k < task.count; ++k) {
      const auto part = hn::PromoteTo(d, hn::LoadU(d_codes, codes[k] + i));
      words = hn::Or(words, hn::ShiftLeftSame(part, bits_to(task, k)));
    }
    hn::BlendedStore(hn::BitCast(d_bytes, words), mask, d_bytes,
                     out + i * static_cast<int>(sizeof(Word)));
  }
  return i;
}

HWY_INLINE int load_vectors(const DotTask& task, const std::uint8_t* from, int count,
                            std::uint8_t* const* lines) {
  const int step = task.parts[0].task.step;
  return step == 2   ? load_between<std::uint16_t>(task, from, count, lines)
         : step == 4 ? load_between<std::uint32_t>(task, from, count, lines)
                     : 0;
}

HWY_INLINE int store_vectors(const DotTask& task, int count, const std::uint8_t* const* codes,
                             std::uint8_t* out) {
  const int step = task.parts[0].task.step;
  return step == 2   ? store_between<std::uint16_t>(task, count, codes, out)
         : step == 4 ? store_between<std::uint32_t>(task, count, codes, out)
                     : 0;
}

#else

HWY_INLINE int load_vectors(const DotTask&, const std::uint8_t*, int, std::uint8_t* const*) {
  return 0;
}

HWY_INLINE int store_vectors(const DotTask&, int, const std::uint8_t* const*, std::uint8_t*) {
  return 0;
}

#endif

bool one_plane(const DotTask& task) {
  return task.count == 1 && task.parts[0].task.step == 1;
}

/// Fills a line of each part with `count` codes of picture row `y` from column `x` on; either may
/// lie outside the picture.
void load_parts(const DotTask& task, int y, int x, int count, std::uint8_t* const* lines) {
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
  if (one_plane(task)) {
    std::memcpy(to[0], from, static_cast<std::size_t>(pixels));
  } else if (task.whole_pixels()) {
    move_pixels<true>(task.count, from, pixels, to);
  } else {
    const int loaded = load_vectors(task, from, pixels, to);
    for (int k = 0; k < task.count; ++k)
      gather_samples(task.parts[k].task, task.parts[k].task.src_row(row), x + inside + loaded,
                     pixels - loaded, to[k] + loaded);
  }

  const auto fill_ghosts = [&](int begin, int end) {
    for (int i = begin; i < end; ++i) {
      const int column = border_index(first.border, x + i, first.width);
      for (int k = 0; k < task.count; ++k) {
        const ComponentTask& part = task.parts[k].task;
        lines[k][i] = column == kNoSignal
                          ? static_cast<std::uint8_t>(part.black)
                          : part.src_row(row)[static_cast<std::ptrdiff_t>(column) * part.step];
      }
    }
  };
  fill_ghosts(0, inside);
  fill_ghosts(after, count);
}

/// Writes `count` codes of each part to picture row `y` from column `x` on.
void store_parts(const DotTask& task, int y, int x, int count, const std::uint8_t* const* codes) {
  const std::ptrdiff_t offset = static_cast<std::ptrdiff_t>(x) * task.parts[0].task.step;
  if (task.whole_pixels())
    return move_pixels<false>(task.count, task.parts[0].task.dst_row(y) + offset, count, codes);
  const int stored = store_vectors(task, count, codes, task.parts[0].task.dst_row(y) + offset);
  for (int k = 0; k < task.count; ++k) {
    const ComponentTask& part = task.parts[k].task;
    std::uint8_t* out = part.dst_row(y) + offset;
    for (int i = stored; i < count; ++i)
      out[static_cast<std::ptrdiff_t>(i) * part.step] = codes[k][i];
  }
}

/// Walks down the area with a ring of lines for each part: each is loaded once per area.
void filter_dots(const DotTask& task, const DotTaps& taps, const Area& area,
                 const Workspace& workspace) {
  const int ring = taps.height() + kMostDotRows - 1;
  const auto line = [&](int part, int index) {
    return workspace.source.at<std::uint8_t>(part * ring + index % ring);
  };
  const bool direct = one_plane(task);
  const auto lines = reinterpret_cast<const std::uint8_t**>(workspace.table);
  int loaded = 0;
  for (int y = 0; y < area.height && !task.parts[0].task.stopped(); y += kDotRows) {
    const int rows = std::min(kDotRows, area.height - y);
    const int needed = taps.height() + rows - 1;
    for (; loaded < y + needed; ++loaded) {
      std::uint8_t* to[kMaxComponents];
      for (int k = 0; k < task.count; ++k)
        to[k] = line(k, loaded);
      load_parts(task, area.y + loaded - taps.anchor_y(), area.x - taps.anchor_x(),
                 area.width + taps.width() - 1, to);
    }
    const std::uint8_t* codes[kMostDotRows][kMaxComponents];
    for (int k = 0; k < task.count; ++k) {
      DotBlock block{lines, {}, rows, task.parts[k].task.reciprocals};
      for (int r = 0; r < rows; ++r) {
        block.out[r] = direct ? task.parts[0].task.dst_row(area.y + y + r) + area.x
                              : workspace.intermediate.at<std::uint8_t>(k * kMostDotRows + r);
        codes[r][k] = task.parts[k].filtered ? block.out[r]
                                             : line(k, y + r + taps.anchor_y()) + taps.anchor_x();
      }
      if (!task.parts[k].filtered) continue;
      // Below the last row a tile may read any line: nobody wants what comes of it.
      for (int i = 0; i < taps.height() + kDotRows - 1; ++i)
        lines[i] = line(k, y + std::min(i, needed - 1));
      filter_block(taps, task.parts[k].epilogue, block, area.width);
    }
    for (int r = 0; r < rows && !direct; ++r)
      store_parts(task, area.y + y + r, area.x, area.width, codes[r]);
  }
}

bool dot_instruction() {
  return CONVOLVE_DOT_INSTRUCTION;
}

const char* instruction_set() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace HWY_NAMESPACE
}  // namespace convolve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace convolve {

HWY_EXPORT(filter_dots);
HWY_EXPORT(dot_instruction);
HWY_EXPORT(instruction_set);

void DotTask::add(const ComponentTask& task, bool filtered, const DigitEpilogue& epilogue) {
  int k = count++;
  for (; k > 0 && task.src < parts[k - 1].task.src; --k)
    parts[k] = parts[k - 1];
  parts[k] = {task, filtered, epilogue};
  parts[k].task.reciprocals = make_reciprocals(epilogue.general);
}

bool has_dot_instruction() {
  return HWY_DYNAMIC_DISPATCH(dot_instruction)();
}

const char* vector_instruction_set() {
  return HWY_DYNAMIC_DISPATCH(instruction_set)();
}

Status limit_instruction_set(const std::string& name) {
  const std::int64_t usable = (hwy::SupportedTargets() & HWY_TARGETS) | HWY_STATIC_TARGET;
  // The better a target is, the lower is its bit.
  for (std::int64_t rest = usable; rest != 0; rest &= rest - 1) {
    const std::int64_t target = rest & -rest;
    if (name != (target == HWY_STATIC_TARGET ? "baseline" : hwy::TargetName(target))) continue;
    hwy::SetSupportedTargetsForTest(rest);
    return {};
  }
  return unsupported("this machine, or this build, has no instruction set " + name);
}

Result<CoarsenedDots> CoarsenedDots::make(const FrameFormat& format, const Mask& mask,
                                          const DigitWeights& weights, int workers) {
  ComponentGroup groups[kMaxGroups];
  const int count = component_groups(format, groups);
  int widest = 1, parts = 1;
  for (int g = 0; g < count; ++g) {
    if (!groups[g].any_filtered) continue;
    widest = std::max(widest, groups[g].width);
    parts = std::max(parts, groups[g].count);
  }
  const int ring = mask.height + kMostDotRows - 1;
  const int halo = mask.width - 1;
  CoarsenedDots made;
  made.taps_ = DotTaps(mask, weights);
  made.strip_width_ = choose_strip_width(widest, halo, parts * ring, 1);
  WorkspaceShape shape;
  shape.cell_bytes = 1;
  shape.strip_width = std::min(made.strip_width_, round_up(widest, kStripStep));
  shape.source_width = shape.strip_width + halo;
  shape.source_lines = parts * ring;
  shape.intermediate_lines = parts * kMostDotRows;
  shape.table_lines = ring;
  Result<Workspaces> workspaces = Workspaces::make(shape, workers);
  if (!workspaces.ok()) return workspaces.status();
  made.workspaces_ = std::move(workspaces.value());
  return made;
}

void CoarsenedDots::filter(const DotTask& task, const Area& area, int worker) const {
  HWY_DYNAMIC_DISPATCH(filter_dots)(task, taps_, area, workspaces_[worker]);
}

}  // namespace convolve
#endif
