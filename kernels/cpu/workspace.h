// SPDX-License-Identifier: LGPL-2.1-or-later
// The scratch memory of workers, made when a plan is prepared, so that frames allocate nothing.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstddef>
#include <vector>

#include "kernels/core/base/status.h"

namespace convolve {

/// Output rows that the vector kernels compute together, so that they share loads.
inline constexpr int kBlockRows = 4;

/// Output columns per strip are a multiple of this, and so of every tile that the vector kernels
/// use for float and double up to 64-byte vectors: a tile never reaches into the next strip.
inline constexpr int kStripStep = 384;

/// Bytes after the last cell of a line that a vector may still touch.
inline constexpr std::size_t kLineSlack = 64;

/// Equally long lines in one piece of memory.
struct Lines {
  std::byte* data = nullptr;
  std::size_t stride = 0;  ///< Bytes from line to line.

  template <class T>
  T* at(int line) const {
    return reinterpret_cast<T*>(data + static_cast<std::size_t>(line) * stride);
  }
};

/// Scratch lines of a worker. Their names and comments say what kernels of floats keep in them;
/// other kernels keep bytes, knots or whole sums in lines of the same sizes.
struct Workspace {
  Lines source;        ///< Source lines as differences from black, ghost cells on both sides.
  Lines intermediate;  ///< Separable: a ring of lines that the row pass made.
  Lines sums;          ///< kBlockRows lines of sums.
  Lines samples;       ///< One line of stored samples, contiguous.
  Lines zeros;         ///< One line without signal.
  const void** table = nullptr;  ///< The lines that a block of output rows reads, top to bottom.
};

/// How much of each a workspace has. Cells are of the accumulator's size.
struct WorkspaceShape {
  std::size_t cell_bytes = sizeof(float);
  int strip_width = 0;   ///< Output columns of the widest strip.
  int source_width = 0;  ///< The same with its halo.
  int source_lines = 0;
  int intermediate_lines = 0;
  int table_lines = 0;
};

/// Bytes from line to line for lines of `cells` cells: aligned, with slack, and an odd number of
/// cache lines, so that a walk down a column does not hit the same cache set every time.
std::size_t line_stride(int cells, std::size_t cell_bytes);

/// Width of strips of a picture `width` wide whose rings of `lines` lines, each wider by `halo`,
/// stay in the cache; equal strips, as few as may be.
int choose_strip_width(int width, int halo, int lines, std::size_t cell_bytes);

/// From now on rings of lines take no more than `bytes`: for tests, whose pictures are to have
/// several strips however large the cache is.
void limit_rings(std::size_t bytes);

/// Zeroed, aligned memory. kOutOfMemory if there is none.
Result<hwy::AlignedFreeUniquePtr<std::byte[]>> allocate_lines(std::size_t bytes);

/// The workspaces of all workers.
class Workspaces {
 public:
  /// `each`: workspaces of a worker.
  static Result<Workspaces> make(const WorkspaceShape& shape, int workers, int each = 1);

  const Workspace& operator[](int worker) const { return *of(worker); }
  /// The first one of a worker, which its others follow.
  const Workspace* of(int worker) const { return &workspaces_[worker * each_]; }

 private:
  int each_ = 1;
  std::vector<Workspace> workspaces_;
  std::vector<std::vector<const void*>> tables_;
  std::vector<hwy::AlignedFreeUniquePtr<std::byte[]>> memory_;
};

}  // namespace convolve
