// SPDX-License-Identifier: LGPL-2.1-or-later
#include "kernels/cpu/workspace.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "kernels/core/base/round.h"

namespace convolve {
namespace {

/// Rings take no more, however large the cache is: with 1 MiB the lines of a mask of 61 rows and
/// three components are as long as the rows of 1080p.
std::atomic<std::size_t> most_ring_bytes{1024 * 1024};

/// Bytes of line rings that stay in a core's second-level cache: half of it, and no less than half
/// of the 512 KiB that the smallest of today's cores have.
std::size_t ring_bytes() {
  std::size_t bytes = 256 * 1024;
#ifdef _SC_LEVEL2_CACHE_SIZE
  static const long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (cache > 0) bytes = std::max(bytes, static_cast<std::size_t>(cache) / 2);
#endif
  return std::min(bytes, most_ring_bytes.load());
}

}  // namespace

std::size_t line_stride(int cells, std::size_t cell_bytes) {
  constexpr std::size_t kCacheLine = 64;
  const std::size_t bytes = static_cast<std::size_t>(cells) * cell_bytes + kLineSlack;
  return ((bytes + kCacheLine - 1) / kCacheLine | 1) * kCacheLine;
}

void limit_rings(std::size_t bytes) {
  most_ring_bytes = bytes;
}

int choose_strip_width(int width, int halo, int lines, std::size_t cell_bytes) {
  const int cells = static_cast<int>(ring_bytes() / cell_bytes) / lines;
  const int widest = std::max(kStripStep, (cells - halo) / kStripStep * kStripStep);
  return round_up(divide_up(width, divide_up(width, widest)), kStripStep);
}

Result<hwy::AlignedFreeUniquePtr<std::byte[]>> allocate_lines(std::size_t bytes) {
  // Large blocks of calloc() are pages that the system clears when they are first used: a plan for
  // a large picture takes no time for memory that its first frame fills, looking for a stop
  // meanwhile.
  auto memory = hwy::AllocateAligned<std::byte>(
      bytes, [](void*, std::size_t size) { return std::calloc(1, size); },
      [](void*, void* block) { std::free(block); }, nullptr);
  if (memory == nullptr)
    return Status(Code::kOutOfMemory,
                  "no memory for " + std::to_string(bytes) + " bytes of CPU scratch lines");
  return memory;
}

Result<Workspaces> Workspaces::make(const WorkspaceShape& shape, int workers, int each) {
  const std::size_t source_stride = line_stride(shape.source_width, shape.cell_bytes);
  const std::size_t strip_stride = line_stride(shape.strip_width, shape.cell_bytes);
  const std::size_t sample_stride = line_stride(shape.source_width, sizeof(std::uint16_t));
  const std::size_t source_bytes = static_cast<std::size_t>(shape.source_lines) * source_stride;
  const std::size_t intermediate_bytes =
      static_cast<std::size_t>(shape.intermediate_lines) * strip_stride;
  const std::size_t sum_bytes = kBlockRows * strip_stride;

  Workspaces made;
  made.each_ = each;
  for (int i = 0; i < workers * each; ++i) {
    auto memory = allocate_lines(source_bytes + intermediate_bytes + sum_bytes + sample_stride +
                                 strip_stride);
    if (!memory.ok()) return memory.status();
    made.tables_.emplace_back(static_cast<std::size_t>(shape.table_lines));

    std::byte* next = memory.value().get();
    const auto take = [&next](std::size_t bytes, std::size_t stride) {
      const Lines lines{next, stride};
      next += bytes;
      return lines;
    };
    Workspace workspace;
    workspace.source = take(source_bytes, source_stride);
    workspace.intermediate = take(intermediate_bytes, strip_stride);
    workspace.sums = take(sum_bytes, strip_stride);
    workspace.samples = take(sample_stride, sample_stride);
    workspace.zeros = take(strip_stride, strip_stride);
    workspace.table = made.tables_.back().data();
    made.workspaces_.push_back(workspace);
    made.memory_.push_back(std::move(memory.value()));
  }
  return made;
}

}  // namespace convolve
