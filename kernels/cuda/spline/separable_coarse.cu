// SPDX-License-Identifier: LGPL-2.1-or-later
// Kernel `separable` on a coarse grid: 8-bit samples through a large smooth mask of rank 1, at a
// cost that hardly knows its size. coarse_mask.h has what is computed and how near it comes.
//
// Four launches, with planes of floats between them that stay in the L2 cache:
//   look   what both grids see of the picture, ghosts included (coarse_look.cuh);
//   rows   lines along themselves: grid and box (coarse_rows.cuh);
//   down   the column's grid;
//   draw   the picture, from both grids (coarse_draw.cuh).
#include <algorithm>

#include "kernels/cuda/spline/coarse_draw.cuh"
#include "kernels/cuda/spline/coarse_look.cuh"
#include "kernels/cuda/spline/coarse_rows.cuh"

namespace convolve {
namespace {

using NumberedKernel = void (*)(LaunchArguments, int);

NumberedKernel look_kernel(const LaunchArguments& a) {
  const int pairs = a.coarse.column.spacing / 2;
  return pairs == 1   ? coarse_look_kernel<1>
         : pairs == 2 ? coarse_look_kernel<2>
                      : coarse_look_kernel<4>;
}

NumberedKernel draw_kernel(const LaunchArguments& a) {
  return a.coarse.column.spacing < 4 ? coarse_draw_kernel<true> : coarse_draw_kernel<false>;
}

/// Rows that a thread draws: so many that all blocks run at once, as later ones would wait for the
/// grids again: 8, or an interval, on small pictures.
int drawn_rows(const LaunchArguments& a) {
  constexpr int kBlocks = 3, kMostRows = 32;  // Blocks of a processor.
  const int least = std::max(8, a.coarse.column.spacing);
  const int columns = divide_up(a.group.width, 4 * kDrawAcross) * a.group.channels;
  int rows = least;
  while (rows + least <= kMostRows &&
         columns * divide_up(a.group.height, rows * kDrawDown) > kBlocks * a.separable.processors)
    rows += least;
  return rows;
}

std::size_t draw_bytes(const LaunchArguments& a) {
  return static_cast<std::size_t>(beside_lines(a.coarse.cross.spacing) *
                                  beside_words(drawn_rows(a))) *
         sizeof(float4);
}

std::size_t look_bytes(const LaunchArguments& a) {
  return cross_bytes(a);
}

std::size_t rows_bytes(const LaunchArguments& a) {
  return row_floats(a) * sizeof(float);
}

cudaError_t load(const LaunchArguments& arguments) {
  cudaError_t error = load_kernel(look_kernel(arguments), look_bytes(arguments));
  if (error == cudaSuccess) error = load_kernel(coarse_rows_kernel, rows_bytes(arguments));
  if (error == cudaSuccess) error = load_kernel(coarse_down_kernel, 0);
  return error == cudaSuccess ? load_kernel(draw_kernel(arguments), draw_bytes(arguments)) : error;
}

cudaError_t launch(const LaunchArguments& arguments, cudaStream_t stream) {
  const GroupArguments& group = arguments.group;
  const CoarseArguments& coarse = arguments.coarse;
  LaunchArguments placed = arguments;
  placed.intermediate_pitch =
      static_cast<std::int64_t>(separable_coarse_bytes(coarse, group.width, group.height));
  const auto grid = [&group](int x, int y) {
    return dim3(static_cast<unsigned>(x), static_cast<unsigned>(y),
                static_cast<unsigned>(group.channels));
  };
  const int across = cross_blocks(placed);
  cudaError_t error =
      launch_overlapping(look_kernel(placed), grid(across + line_blocks(placed), 1),
                         dim3(kLookThreads), look_bytes(placed), stream, placed, across);
  if (error != cudaSuccess) return error;
  const int lines =
      looked(coarse.column, group.height) + kSilentLines + drawn(coarse.cross, group.width);
  error = launch_overlapping(coarse_rows_kernel, grid(lines, 1), dim3(kRowThreads),
                             rows_bytes(placed), stream, placed);
  if (error != cudaSuccess) return error;
  error = launch_overlapping(
      coarse_down_kernel,
      grid(divide_up(group.width, 2 * kDownAcross),
           divide_up(drawn(coarse.column, group.height), kDownRun * kDownGroups)),
      dim3(kDownThreads), static_cast<std::size_t>(round_up(coarse.column.taps, 4)) * sizeof(float),
      stream, placed);
  if (error != cudaSuccess) return error;
  const int rows = drawn_rows(placed);
  return launch_overlapping(
      draw_kernel(placed),
      grid(divide_up(group.width, 4 * kDrawAcross), divide_up(group.height, rows * kDrawDown)),
      dim3(kDrawThreads), draw_bytes(placed), stream, placed, rows);
}

}  // namespace

std::size_t separable_coarse_bytes(const CoarseArguments& coarse, int width, int height) {
  return static_cast<std::size_t>(coarse_planes(coarse, width, height, nullptr).floats) *
         sizeof(float);
}

const Variant kSeparableCoarseVariant = {KernelKind::kSeparable, false, nullptr, load, launch};

}  // namespace convolve
